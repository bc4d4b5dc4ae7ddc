/**
 * Tests the console end to end, in headless Chromium against the service as a user starts it, from an empty home. On
 * every page the console of the browser stays silent, no other host is requested, and axe-core finds nothing.
 */
import assert from 'node:assert/strict'
import path from 'node:path'
import { after, before, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { ensureConsole } from '../../packages/console/build.ts'
import { HOSTILE_TEXTS } from '../hostile/hostile-texts.ts'
import { type Receiver, startReceiver } from '../servers/receiver.ts'
import { type Service, startService, temporaryFolder } from '../servers/service.ts'
import { openBrowser, openPage, PATIENCE_MS, signIn, type Watched } from './browser.ts'
import { HOSTILE } from './hostile.ts'
import {
  apiOf,
  assertAccessible,
  assertPages,
  assertSilent as assertSilentPage,
  button,
  link,
  refusal,
  runJob,
  settle,
  TOKEN,
} from './steps.ts'

const home = temporaryFolder()
let service: Service
let browser: Browser
let receiver: Receiver
let watched: Watched

before(async () => {
  await ensureConsole()
  receiver = await startReceiver()
  const env = { ASSAY_TOKEN: TOKEN, ASSAY_WEBHOOK_TARGETS: 'public,loopback' }
  const started = await Promise.all([
    startService({ home: path.join(home.folder, 'home'), wrapped: false, env }),
    openBrowser(),
  ])
  service = started[0]
  browser = started[1]
  watched = await openPage(browser, service.url)
})

after(async () => {
  await browser?.close()
  service?.signal('SIGTERM')
  await service?.exited
  await receiver?.close()
  home.remove()
})

const assertSilent = (allowed?: RegExp[]): void => assertSilentPage(watched, allowed)

test('leads to sign-in, refuses a wrong token in words, and comes back to the address that was asked', async () => {
  const { page } = watched
  await page.goto('/jobs?status=completed')
  await assertAccessible(page, 'sign-in')
  assertSilent()
  await page.getByLabel('Token').fill('wrong')
  await button(page, 'Sign in').click()
  await page.getByText('No valid token').waitFor()
  assert.equal(await page.getByLabel('Token').inputValue(), 'wrong', 'what was typed is still there')
  assertSilent([refusal(401)])
  await page.getByLabel('Token').fill(TOKEN)
  await button(page, 'Sign in').click()
  await page.getByRole('heading', { name: 'Jobs', level: 1 }).waitFor()
  assert.match(page.url(), /\/jobs\?status=completed$/)
  await page.getByText('No job fits these filters').waitFor()
  const kept = await page.evaluate(() =>
    [JSON.stringify(localStorage), JSON.stringify(sessionStorage), document.cookie].join(),
  )
  assert.doesNotMatch(kept, /console-token|assay_sign_in/, 'no script of the page can read a secret')
  assertSilent()
})

test('begins with the insights, leads on while there are none, and shows a viewer no machinery', async () => {
  const { page } = watched
  await page.goto('/')
  await page.getByRole('heading', { name: 'Insights', level: 1 }).waitFor()
  await page.getByText('Nothing has been found yet').waitFor()
  assert.equal(await link(page, 'Make a report from a table').getAttribute('href'), '/files')
  await assertAccessible(page, 'no insights')
  const { token } = await apiOf(service.url).tokens.create({ name: 'reader', scopes: ['viewer'] })
  const viewer = await openPage(browser, service.url)
  await signIn(viewer.page, token)
  await viewer.page.getByText('Once somebody has run a report, its insight is here.').waitFor()
  const sections = await viewer.page
    .getByRole('navigation', { name: 'Sections' })
    .getByRole('link')
    .allInnerTexts()
  assert.deepEqual(sections, ['Insights', 'Templates', 'Metrics', 'Schedules', 'Subscriptions', 'API'])
  assert.deepEqual(viewer.complaints, [])
  await viewer.context.close()
  const wall = { name: 'wall', scopes: ['viewer' as const], templates: ['penguins'] }
  const limited = await openPage(browser, service.url)
  await signIn(limited.page, (await apiOf(service.url).tokens.create(wall)).token)
  await link(limited.page, 'Templates').click()
  await limited.page.getByText('1 template').or(limited.page.locator('.card')).first().waitFor()
  assert.equal(await limited.page.locator('.card').count(), 1, 'its own template and no other')
  assert.equal(await link(limited.page, 'Schedules').count(), 0)
  await limited.page.goto('/account')
  await limited.page.getByText('It cannot list where else you are signed in.').waitFor()
  assert.deepEqual(limited.complaints, [])
  await limited.context.close()
  assertSilent()
})

test('finds templates by words and tags that stand in the address', async () => {
  const { page } = watched
  await link(page, 'Templates').click()
  await page.getByRole('heading', { name: 'Templates', level: 1 }).waitFor()
  await page.getByLabel('Search').fill('late flights')
  await page.waitForURL(/q=late/)
  await link(page, /Flight delays/).waitFor()
  await page.getByText(/^[1-3] of \d+ templates$/).waitFor()
  await page.getByLabel('Search').fill('')
  await link(page, 'weather').click()
  await page.waitForURL(/tag=weather/)
  await page.reload()
  await link(page, /weather|Weather/)
    .first()
    .waitFor()
  await page.getByText(/^[1-3] of \d+ templates$/).waitFor()
  assertSilent()
})

test('tells a fault beside its field, keeps what was typed, runs, follows live and shows the insight', async () => {
  const { page } = watched
  const polled: string[] = []
  page.on('request', (request) => {
    if (request.url().includes('/jobs/status')) polled.push(request.url())
  })
  await page.goto('/templates/flight-delays')
  await page.getByLabel('origin').fill('nowhere')
  await page.getByLabel('Top', { exact: true }).fill('7')
  await button(page, 'Run').click()
  const origin = page.getByLabel('origin')
  await page.locator('.field-fault').first().waitFor()
  assert.equal(await origin.getAttribute('aria-invalid'), 'true')
  assert.equal(await origin.inputValue(), 'nowhere')
  await assertAccessible(page, 'a form with a fault')
  await origin.fill('ORD')
  assertSilent([refusal(422)])
  await button(page, 'Run').click()
  await page.waitForURL(/\/jobs\/[0-9a-f-]{36}$/)
  await page.getByRole('heading', { name: /^Flight delays from Chicago \(ORD\)/ }).waitFor()
  await page.locator('.drawing.wide svg').first().waitFor()
  await page.getByText(/^Timeline: /).click()
  const spans = page.getByRole('list', { name: 'Steps of the run' }).getByRole('listitem')
  assert.match((await spans.allInnerTexts()).join(), /^Waited.*Data and text.*worst_days/s)
  assert.ok(polled.length <= 4, `the status was not polled (${polled.length})`)
  assertSilent()
})

test('shows an insight to read: contents, charts, sorted tables, the SQL and rows behind, downloads', async () => {
  const { page } = watched
  await link(page, /^Flight delays from Chicago \(ORD\)/).click()
  await page.waitForURL(/\/insights\//)
  await page.locator('.drawing.wide svg').nth(1).waitFor()
  await page.getByRole('navigation', { name: 'Contents' }).getByRole('link').last().click()
  await page.waitForURL(/#computed/)
  await page.locator('.drawing.wide').last().hover()
  await page.locator('.chart-tip:not([hidden])').filter({ hasText: 'Late flights' }).waitFor()
  const table = page.getByRole('group', { name: /^Table: Day, Weekday/ })
  const days = () => table.locator('tbody tr td:first-child').allInnerTexts()
  await table.getByRole('button', { name: /^Day/ }).click()
  assert.deepEqual(await days(), (await days()).toSorted().toReversed())
  await table.getByRole('button', { name: /^Day/ }).click()
  assert.deepEqual(await days(), (await days()).toSorted())
  await link(page, /SQL and rows of worst_days/)
    .first()
    .click()
  await page.getByText('order by delay desc, day').waitFor()
  await page.locator('.tok-keyword').first().waitFor()
  const answer = page.locator('.trace [role="status"]')
  await page.locator('.lead .number').first().click()
  await answer.getByText('late_share, row 1 in totals').waitFor()
  await answer.getByRole('link', { name: 'SQL and rows of totals' }).click()
  await page.getByRole('group', { name: 'Rows of totals' }).locator('tr[aria-current]').first().waitFor()
  await table.locator('tbody td .number').first().click()
  await answer.getByText(/day, row \d+ in worst_days/).waitFor()
  await page.getByLabel('Where does a number come from?').fill('15')
  await answer.getByText(/^The template holds this number/).waitFor()
  await page.getByText('The numbers behind it').first().click()
  await page.getByRole('group', { name: /^Numbers behind/ }).waitFor()
  await assertAccessible(page, 'insight')
  for (const [item, ending] of [
    ['Markdown', 'md'],
    ['HTML, one file', 'html'],
    ['JSON with all numbers', 'json'],
  ] as const) {
    await button(page, /^Download/).click()
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('menuitem', { name: item }).click(),
    ])
    assert.match(download.suggestedFilename(), new RegExp(`^flight-delays-.*\\.${ending}$`))
  }
  await page.emulateMedia({ media: 'print' })
  assert.equal(await page.locator('.bar').isVisible(), false)
  assert.equal(await page.locator('.drawing.wide svg').first().isVisible(), true)
  assert.ok((await page.pdf()).length > 10_000)
  await page.emulateMedia({ media: 'screen' })
  assertSilent()
})

test('runs again with other variables and shows the two insights beside each other', async () => {
  const { page } = watched
  await link(page, 'the job').click()
  await link(page, 'Change and run').click()
  const top = page.getByLabel('Top', { exact: true })
  assert.equal(await top.inputValue(), '7', 'the values of the earlier job')
  await top.fill('3')
  await button(page, 'Run').click()
  await page.getByRole('link', { name: /^Flight delays from Chicago \(ORD\)/ }).click()
  await button(page, 'Compare').click()
  await page
    .getByRole('menuitem', { name: /^With other variables/ })
    .first()
    .click()
  await page.waitForURL(/beside=/)
  const variables = page.getByRole('group', { name: 'Variables that differ' })
  await variables.waitFor()
  assert.match(await variables.innerText(), /top\s+3\s+7/)
  await page.locator('.drawing svg:visible').nth(3).waitFor()
  await assertAccessible(page, 'two insights')
  assertSilent()
})

test('finds an insight by words and filters in the address, with its figure and how it moved', async () => {
  const { page } = watched
  for (const period of ['2001-06-04..2001-06-10', '2001-06-11..2001-06-17'])
    await runJob(service.url, 'flight-delays', { origin: 'LAX', period })
  await page.goto('/')
  await page.getByLabel('Search').fill('LAX late june')
  await page.waitForURL(/q=LAX/)
  const rows = page.locator('.found')
  await page.waitForFunction(() => document.querySelectorAll('.found').length === 2)
  assert.match(await rows.first().innerText(), /Flight delays from Los Angeles \(LAX\), 11 to 17 June 2001/)
  assert.match(await rows.first().innerText(), /(up|down) [\d.]+ points? since 4 to 10 June 2001/)
  await rows
    .first()
    .getByRole('img', { name: /share of late flights over 2 periods/ })
    .waitFor()
  await assertAccessible(page, 'the library')
  await page.getByLabel('Tag').selectOption('weather')
  await page.getByText('No insight fits these filters').waitFor()
  await link(page, 'show all insights').click()
  await page.getByLabel('How sure').selectOption('Clear')
  await page.waitForURL(/grade=firm/)
  assertSilent()
})

test('cancels a job, tells its error with the remedy, and lists jobs by filters in the address', async () => {
  const { page } = watched
  const api = apiOf(service.url)
  const draft = await api.jobs.create({ template_id: 'penguins' })
  await page.goto(`/jobs/${draft}`)
  await button(page, 'Cancel').click()
  await link(page, 'More about this error').waitFor()
  await page.getByText('A person canceled the job.').waitFor()
  await assertAccessible(page, 'a canceled job')
  await link(page, 'Jobs').first().click()
  await page.getByLabel('State').selectOption('canceled')
  await page.waitForURL(/ending=canceled/)
  await page.getByText('by a person', { exact: false }).last().waitFor()
  assert.equal(await page.locator('tbody tr').count(), 1)
  await assertAccessible(page, 'jobs')
  assertSilent()
})

test('writes a template: faults with line and column while typing, a preview on the data, saved and run', async () => {
  const { page } = watched
  await page.goto('/templates/new')
  const editor = page.locator('.cm-content')
  await editor.waitFor()
  await page.getByText('No faults found').waitFor()
  await assertAccessible(page, 'editor')
  await editor.click()
  await page.keyboard.press('Control+End')
  await page.keyboard.type('{{ nothing.here }}')
  await button(page, /^Line \d+, column \d+$/).waitFor()
  await button(page, /^Line \d+, column \d+$/).click()
  assert.ok((await page.locator('.cm-lint-marker-error').count()) > 0)
  await page.reload()
  await page.getByText('nothing.here').first().waitFor()
  await editor.click()
  await page.keyboard.press('Control+End')
  for (const _ of '{{ nothing.here }}') await page.keyboard.press('Backspace')
  await page.getByText('No faults found').waitFor()
  await button(page, 'Preview').click()
  await page.getByText('3 species were weighed.').waitFor()
  await page.locator('.preview .drawing svg:visible').waitFor()
  await button(page, 'Show what runs where').click()
  await page.getByText('SQL · here, over penguins').waitFor()
  await assertAccessible(page, 'what runs where')
  await page.getByText(/^It is saved as/).click()
  await page.getByLabel('Id').fill('my-penguins')
  await button(page, 'Save').click()
  await page.waitForURL(/\/templates\/my-penguins$/)
  await link(page, 'Source').click()
  await page.locator('.cm-liquid').first().waitFor()
  await assertAccessible(page, 'source')
  await link(page, 'Edit').click()
  await page.locator('.cm-content').waitFor()
  await page.goBack()
  await link(page, 'Run').click()
  await button(page, 'Run').click()
  await page.getByRole('heading', { name: 'Penguins by species' }).waitFor()
  assertSilent()
})

test('defines a metric: faults while typing, saved, found, and its review filled in', async () => {
  const { page } = watched
  await page.goto('/metric/new')
  const editor = page.locator('.cm-content')
  await editor.waitFor()
  await page.getByText('No faults found').waitFor()
  await assertAccessible(page, 'metric editor')
  await editor.click()
  await page.keyboard.press('Control+End')
  await page.keyboard.type('where: birth = 1')
  await button(page, 'Line 8, column 1').waitFor()
  await page.getByText('Did you mean "births"').first().waitFor()
  for (const _ of 'birth = 1') await page.keyboard.press('Backspace')
  await page.keyboard.type('births > 0')
  await page.getByText('No faults found').waitFor()
  await button(page, 'Save births_by_day').click()
  await page.waitForURL(/\/metric\/births_by_day$/)
  await page.getByText('not_null: births').first().waitFor()
  await page
    .getByRole('region', { name: 'State of its data' })
    .getByText(/^The newest day is /)
    .waitFor()
  await assertAccessible(page, 'metric')
  await link(page, 'Metrics').first().click()
  await page.getByLabel('Search').fill('children born')
  await page.waitForURL(/q=children/)
  await page.getByRole('row', { name: /births_by_day/ }).waitFor()
  await link(page, 'Births').click()
  await link(page, 'Review it').click()
  assert.equal(await page.getByRole('checkbox', { name: 'births_by_day' }).isChecked(), true)
  assert.equal(await page.getByRole('checkbox', { name: 'late_flights' }).isChecked(), false)
  assertSilent()
})

test('registers a webhook, tests it, and shows what was sent and what came back', async () => {
  const { page } = watched
  await page.goto('/webhooks')
  await page.getByText('No webhook yet').waitFor()
  await assertAccessible(page, 'no webhooks')
  await link(page, 'New webhook').first().click()
  await page.getByLabel('Address').fill('http://10.0.0.1/')
  await page.getByLabel('Receiver name').fill('reports')
  await button(page, 'Create').click()
  await page.locator('.field-fault').waitFor()
  assert.equal(await page.getByLabel('Receiver name').inputValue(), 'reports')
  await assertAccessible(page, 'a webhook that is refused')
  assertSilent([refusal(422)])
  await page.getByLabel('Address').fill(`${receiver.url}/hook`)
  await button(page, 'Add a header').click()
  await page.getByLabel('Name 1').fill('authorization')
  await page.getByLabel('Value 1').fill('Bearer for-the-receiver')
  await button(page, 'Create').click()
  await page.getByText(/^whsec_/).waitFor()
  await button(page, 'Send a test').click()
  await page.getByText('Attempt 1: answered 200').waitFor()
  const arrival = await receiver.next()
  assert.equal(arrival.headers.authorization, 'Bearer for-the-receiver')
  assert.doesNotMatch(await page.content(), /for-the-receiver/)
  await link(page, 'Go to the webhook').click()
  await page.getByRole('link', { name: 'webhook.test' }).click()
  await page.getByText('The delivery arrived: the receiver answered 200').waitFor()
  await page.getByText('What was sent').click()
  await page.getByText('"type": "webhook.test"').waitFor()
  await assertAccessible(page, 'delivery')
  assertSilent()
})

test('says in a sentence why a delivery has not arrived, sends again, recovers after counting, rotates', async () => {
  const { page } = watched
  const api = apiOf(service.url)
  const [webhook] = (await api.webhooks.list()).items
  assert.ok(webhook)
  const { webhook_id } = webhook
  receiver.answer((response) => response.writeHead(503).end('not today'))
  const job = await runJob(service.url, 'penguins')
  await receiver.next()
  await page.goto(`/webhooks/${webhook_id}?job=${job.assignment_id}`)
  await page.getByText(/tried once without success and will be tried again/).waitFor()
  await page
    .getByText(/The last attempt failed with the answer 503/)
    .first()
    .waitFor()
  await link(page, 'Its delivery').click()
  await page.getByText('Next try').waitFor()
  receiver.answer((response) => response.writeHead(204).end())
  await button(page, 'Send again').click()
  await page.getByText('The delivery arrived: the receiver answered 204').waitFor()
  const draft = await api.jobs.create({ template_id: 'penguins', presence_name: 'others' })
  await page.goto(`/webhooks/${webhook_id}?job=${draft}`)
  await page.getByText('only the webhooks with the receiver name that it gives').waitFor()
  await button(page, 'Recover').click()
  await page.getByLabel('Also events that were never sent').check()
  await button(page, 'Count').click()
  await page.getByText(/\d+ would be sent again/).waitFor()
  await assertAccessible(page, 'a dialog')
  await button(page, 'Send again').click()
  await page.getByText(/^Done: \d+ of \d+ created again/).waitFor()
  await button(page, 'Close').click()
  await button(page, /^More/).click()
  await page.getByRole('menuitem', { name: 'Rotate the secret' }).click()
  await button(page, 'Rotate').click()
  await page.getByText(/^whsec_/).waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('img', { name: /^Attempts by hour/ }).waitFor()
  await button(page, 'Disable').click()
  await page.getByText(/^Disabled/).waitFor()
  await button(page, 'Enable').click()
  await button(page, 'Disable').waitFor()
  await assertAccessible(page, 'webhook')
  assertSilent()
})

/**
 * Checks that bob stays signed in in another tab, and in the browser after a restart. He signs the other browser out,
 * and changes his password.
 */
async function findsItsAccount({ context }: Watched): Promise<Page> {
  const tab = await context.newPage()
  await tab.goto('/insights')
  await button(tab, /^bob/).click()
  await tab.getByRole('menuitem', { name: 'Your account' }).click()
  await tab.getByRole('cell', { name: 'this browser' }).waitFor()
  await assertAccessible(tab, 'the account')
  const [cookie] = (await context.cookies()).filter(({ name }) => name === 'assay_sign_in')
  assert.ok(cookie?.httpOnly && cookie.sameSite === 'Strict' && cookie.expires * 1000 > Date.now() + 2e9)
  const again = await browser.newContext({ baseURL: service.url, storageState: await context.storageState() })
  again.setDefaultTimeout(PATIENCE_MS)
  const restarted = await again.newPage()
  await restarted.goto('/insights')
  await button(restarted, /^bob/).waitFor()
  await again.close()
  const elsewhere = await openPage(browser, service.url)
  await elsewhere.page.goto('/')
  await button(elsewhere.page, 'User and password').click()
  await elsewhere.page.getByLabel('User', { exact: false }).first().fill('bob')
  await elsewhere.page.getByLabel(/^Password/).fill('a long enough password')
  await button(elsewhere.page, 'Sign in').click()
  await elsewhere.page.getByRole('heading', { name: 'Insights', level: 1 }).waitFor()
  await tab.reload()
  await button(tab, /^Sign out Chrome/).click()
  await button(tab, /^Sign out Chrome/).waitFor({ state: 'detached' })
  await elsewhere.page.goto('/templates')
  await elsewhere.page.getByText('Your session has ended').waitFor()
  await elsewhere.context.close()
  await tab.getByLabel('Present password').fill('a long enough password')
  await tab.getByLabel('New password').fill('a password that is as long')
  await button(tab, 'Change the password').click()
  await tab.getByText('Every other browser is signed out').waitFor()
  return tab
}

test('administers: a token that is shown once, a user who signs in by password and sees no administration', async () => {
  const { page } = watched
  await page.goto('/system/tokens')
  await page.getByLabel('Name').fill('nightly')
  await button(page, 'Create a token').click()
  await page.getByText('It is shown only now').waitFor()
  await button(page, 'Revoke nightly').click()
  await button(page, 'Revoke the token').click()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await button(page, 'Revoke nightly').waitFor({ state: 'detached' })
  await link(page, 'Users').click()
  await page.getByLabel('User', { exact: false }).first().fill('bob')
  await page.getByLabel(/^Password/).fill('a long enough password')
  await page.getByLabel('Scope', { exact: true }).selectOption('viewer')
  await button(page, 'Create a user').click()
  await page.getByText('bob can sign in now.').waitFor()
  const other = await openPage(browser, service.url)
  await other.page.goto('/')
  await button(other.page, 'User and password').click()
  await other.page.getByLabel('User', { exact: false }).first().fill('bob')
  await other.page.getByLabel(/^Password/).fill('a long enough password')
  await button(other.page, 'Sign in').click()
  await other.page.getByRole('heading', { name: 'Insights', level: 1 }).waitFor()
  await other.page.goto('/templates/penguins')
  await other.page.getByText('This needs a token with the scope analyst.').waitFor()
  assert.equal(await link(other.page, 'System').count(), 0)
  const tab = await findsItsAccount(other)
  await button(other.page, /^bob/).click()
  const [revoked] = await Promise.all([
    other.page.waitForResponse(/auth\/logout$/),
    other.page.getByRole('menuitem', { name: 'Sign out' }).click(),
  ])
  assert.equal(revoked.status(), 204)
  await button(other.page, 'User and password').waitFor()
  await button(tab, 'User and password').waitFor()
  assert.deepEqual(await tab.evaluate(() => Object.keys(localStorage)), [])
  assert.equal(
    await other.page.evaluate(() => Object.keys(sessionStorage).some((key) => key.startsWith('assay.'))),
    false,
  )
  assert.deepEqual(other.complaints, [])
  await other.context.close()
  assertSilent()
})

test('ends a session that the service no longer takes, and goes on afterwards where it was', async () => {
  const api = apiOf(service.url)
  const { token, token_id } = await api.tokens.create({ name: 'short', scopes: ['analyst'] })
  const other = await openPage(browser, service.url)
  const { page } = other
  await signIn(page, token)
  await page.goto('/templates/flight-delays')
  await page.getByLabel('origin').fill('SFO')
  await api.tokens.delete(token_id)
  await button(page, 'Run').click()
  await page.getByText('Your session has ended').waitFor()
  await page.getByLabel('Token').fill(TOKEN)
  await button(page, 'Sign in').click()
  await page.getByLabel('origin').waitFor()
  assert.equal(await page.getByLabel('origin').inputValue(), 'SFO')
  await other.context.close()
})

test('lets no template run a script or fetch anything from elsewhere', async () => {
  const { page } = watched
  await apiOf(service.url).templates.put('hostile', HOSTILE)
  const job = await runJob(service.url, 'hostile')
  assert.equal(job.job_status, 'completed')
  const { url } = await apiOf(service.url).links.create(job.insight_id, { expires_in: 3600 })
  for (const address of [`/insights/${job.insight_id}`, `/jobs/${job.assignment_id}`, url]) {
    await page.goto(address)
    await page.getByText('The end of the hostile text.').waitFor()
    assert.ok((await page.locator('main td').count()) > HOSTILE_TEXTS.length)
    const within = 'main td :is(a, img, em, strong, del, code, h1, ul, br, table)'
    assert.deepEqual(
      await page.locator(within).evaluateAll((all) => all.map((one) => one.parentElement!.outerHTML)),
      [],
    )
    assert.equal(await page.locator('main :is([href*="evil.example"], [src*="evil.example"])').count(), 0)
    await page.locator('.drawing.wide svg').waitFor()
    const found = await page.evaluate(() => ({
      ran: 'ran' in globalThis,
      scripts: [
        ...document.querySelectorAll('main :is(script, iframe, object, style, form:not(.vega-bindings))'),
      ].map(({ outerHTML }) => outerHTML),
      handlers: document.querySelectorAll('main [onerror], main [onload], main [onclick]').length,
      addresses: [...document.querySelectorAll<HTMLAnchorElement>('main a[href]')].map(({ href }) => href),
      pictures: [...document.querySelectorAll<HTMLImageElement>('main img')].map(({ src }) => src),
    }))
    assert.equal(found.ran, false)
    assert.deepEqual(found.scripts, [])
    assert.equal(found.handlers, 0)
    assert.deepEqual(
      found.addresses.filter((href) => /^(javascript|data|vbscript):/i.test(href)),
      [],
    )
    assert.deepEqual(
      found.pictures.filter((src) => !src.startsWith('data:image/')),
      [],
    )
  }
  await page.goto('/templates/hostile')
  await page.getByRole('heading', { level: 1 }).waitFor()
  assert.equal(await page.evaluate(() => 'ran' in globalThis), false)
  assertSilent()
})

test('has its policy in force: neither an inline script, nor eval, nor another host', async () => {
  const { page } = watched
  await page.goto('/templates')
  const outcome = await page.evaluate(async () => {
    const inline = document.createElement('script')
    inline.textContent = 'globalThis.ran = true'
    document.body.append(inline)
    const style = document.createElement('style')
    style.textContent = 'body { color: rgb(1, 2, 3) }'
    document.head.append(style)
    // The page itself evaluates text of a timer. The policy does not apply to what the debugger evaluates.
    const evaluated = await new Promise((resolve) => {
      addEventListener('securitypolicyviolation', (event) => {
        if (event.blockedURI === 'eval') resolve('refused')
      })
      Object.assign(globalThis, { tellEvaluated: () => resolve('evaluated') })
      setTimeout('tellEvaluated()' as unknown as () => void)
    })
    const elsewhere = await fetch('http://localhost:9/').then(
      () => 'fetched',
      () => 'refused',
    )
    return { ran: 'ran' in globalThis, colour: getComputedStyle(document.body).color, evaluated, elsewhere }
  })
  assert.equal(outcome.ran, false)
  assert.notEqual(outcome.colour, 'rgb(1, 2, 3)')
  assert.equal(outcome.evaluated, 'refused')
  assert.equal(outcome.elsewhere, 'refused')
  assert.ok(watched.complaints.splice(0).length >= 3, 'the browser told of each')
})

test('marks in the header that a schedule fails, leads to why in two clicks, and runs failed jobs again', async () => {
  const { page } = watched
  const api = apiOf(service.url)
  await api.templates.put('broken', "# Broken\n\n```sql rows\nselect error('no such thing') as n\n```\n")
  const chat = { kind: 'slack' as const, url: `${receiver.url}/chat` }
  const [told, gone] = await Promise.all([api.subscriptions.create(chat), api.subscriptions.create(chat)])
  const notify = [told.subscription_id, gone.subscription_id]
  const made = { name: 'Every night', template_id: 'broken', cron: '0 3 * * *', notify }
  const { schedule_id } = await api.schedules.create(made)
  for (const _ of [1, 2]) await api.jobs.wait((await api.schedules.runNow(schedule_id)).assignment_id)
  await page.goto('/')
  await link(page, /things? fails?$/).click()
  await page.getByText(/^Its last 2 runs failed\. A step of the report failed: /).waitFor()
  await assertAccessible(page, 'health')
  await link(page, 'See why the last one failed: Every night').click()
  await page.getByText('no such thing').first().waitFor()
  await page.goto('/schedules')
  await page.getByText('the last 2 runs failed').waitFor()
  await page.goto('/jobs?ending=failed&template=broken')
  await link(page, 'Broken').first().waitFor()
  await api.subscriptions.delete(gone.subscription_id)
  await button(page, 'Run these 2 again').click()
  await page.getByText('2 new jobs were made and run.').waitFor()
  await assertAccessible(page, 'failed jobs')
  const all = await api.jobs.list({ template_id: 'broken' })
  assert.deepEqual(
    all.items.slice(0, 2).map((job) => job.notify),
    [[told.subscription_id], [told.subscription_id]],
    'the people that the failed jobs named, but for a subscription that is gone',
  )
  assert.equal(all.items.length, 4)
  await api.schedules.delete(schedule_id)
  await api.subscriptions.delete(told.subscription_id)
  assertSilent([refusal(422)])
})

test('is accessible on every page, light and dark, and no page is wider than a phone', async () => {
  const api = apiOf(service.url)
  const [job] = (await api.jobs.list({ template_id: 'flight-delays', job_status: 'completed' })).items
  const [webhook] = (await api.webhooks.list()).items
  assert.ok(job && webhook)
  const addresses = [
    '/insights',
    '/templates',
    '/templates/flight-delays',
    '/templates/flight-delays?tab=source',
    '/templates/new',
    '/metric',
    '/metric/flights',
    '/jobs',
    '/health',
    '/account',
    `/jobs/${job.assignment_id}`,
    `/insights/${job.insight_id}`,
    '/webhooks',
    '/webhooks/new',
    `/webhooks/${webhook.webhook_id}`,
    '/system',
    '/system/tokens',
    '/system/users',
    '/system/events',
    '/system/settings',
  ]
  await assertPages(browser, service.url, addresses)
})

test('works by keyboard alone: past the sections, through the menu, to a template', async () => {
  const { page } = watched
  await page.goto('/templates')
  await page.locator('.card').first().waitFor()
  await page.keyboard.press('Tab')
  assert.equal(await page.evaluate(() => document.activeElement?.textContent), 'Skip to the content')
  await page.keyboard.press('Enter')
  assert.equal(await page.evaluate(() => document.activeElement?.id), 'main')
  await button(page, /^admin/).focus()
  await page.keyboard.press('Enter')
  await page.locator('.menu-item:focus').waitFor()
  await page.keyboard.press('d')
  await page.getByRole('menuitemradio', { name: 'Dark' }).and(page.locator(':focus')).waitFor()
  await page.keyboard.press('Enter')
  assert.equal(await page.evaluate(() => document.documentElement.style.colorScheme), 'dark')
  // A closing menu returns the focus a moment later.
  await button(page, /^admin/)
    .and(page.locator(':focus'))
    .waitFor()
  await link(page, /Flight delays/).focus()
  await page.keyboard.press('Enter')
  await page.waitForURL(/\/templates\/flight-delays/)
  assert.equal(
    await page.evaluate(() => document.activeElement?.id),
    'main',
    'the focus moved to the new page',
  )
  assertSilent()
})

test('on a phone the section that is shown is in view, and Tab still begins at the top', async () => {
  const { page, context } = await openPage(browser, service.url, { width: 390 })
  await signIn(page, TOKEN)
  await page.goto('/system')
  const section = page.getByRole('navigation', { name: 'Sections' }).getByRole('link', { name: 'System' })
  await section.waitFor()
  await page.waitForFunction(() => {
    const active = document.querySelector('.sections .active')?.getBoundingClientRect()
    return active !== undefined && active.left >= 0 && active.right <= innerWidth
  })
  await page.keyboard.press('Tab')
  assert.equal(await page.evaluate(() => document.activeElement?.textContent), 'Skip to the content')
  await context.close()
})

test('first page is below 200 kB as sent', async () => {
  const { page, context } = await openPage(browser, service.url)
  let sent = 0
  const session = await context.newCDPSession(page)
  await session.send('Network.enable')
  session.on('Network.loadingFinished', ({ encodedDataLength }) => {
    sent += encodedDataLength
  })
  await page.goto('/')
  await signIn(page, TOKEN)
  await settle(page)
  assert.ok(sent > 50_000 && sent < 200_000, `${sent} bytes`)
  await context.close()
})
