/**
 * Tests the audit trail in the console: the actions of others, found by filters in the address. Also tests the pages
 * of outgoing data and of the repository.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { after, test } from 'node:test'
import { ACTIONS } from '@assay/model/audit'
import { fieldWords, ACTIONS as TOLD } from '../../packages/console/src/audit.ts'
import { openGitServer } from '../../packages/service/git/git-server-fixture.ts'
import { openPage, signIn } from './browser.ts'
import { stand } from './stand.ts'
import {
  apiOf,
  assertAccessible,
  assertPages,
  assertSilent,
  button,
  link,
  refusal,
  runJob,
  TOKEN,
} from './steps.ts'

const OPENAPI = path.join(import.meta.dirname, '../../openapi.json')
const GREETING = '---\ntitle: A greeting\n---\n\n# Good morning\n'
const git = await openGitServer({ after })
await git.commit({ 'greeting.md': GREETING }, 'Add a greeting')

const stood = stand({ ASSAY_TEMPLATES: git.url, ASSAY_TEMPLATES_EVERY: '1h' })

test('has words for each action', () => {
  assert.deepEqual(TOLD.toSorted(), ACTIONS.toSorted())
})

test('has words for each field of a change and each filter of a list', () => {
  const { components, paths } = JSON.parse(readFileSync(OPENAPI, 'utf8')) as {
    components: { schemas: Record<string, { properties?: object }> }
    paths: Record<string, { get?: { parameters?: { in: string; name: string }[] } }>
  }
  const changed = Object.entries(components.schemas)
    .filter(([name]) => /^Change\w+Request$/.test(name))
    .flatMap(([, { properties = {} }]) => Object.keys(properties))
  const filters = ['/insights', '/subscriptions', '/readers'].flatMap((at) => {
    const found = Object.entries(paths).find(([address]) => address.endsWith(at))
    return (found?.[1].get?.parameters ?? []).flatMap(({ in: place, name }) =>
      place === 'query' ? [name] : [],
    )
  })
  const fields = [...changed, ...filters].filter((name) => name !== 'limit' && name !== 'cursor')
  assert.ok(fields.includes('pinned_by') && fields.includes('retry_schedule'), fields.join())
  assert.deepEqual(
    fields.filter((name) => fieldWords([name]) === name),
    [],
  )
  assert.equal(fieldWords(['sales', 'q']), 'sales, words')
})

test('tells who did what to which thing, with a way to it, and filters that can be shared', async () => {
  const { page } = stood.watched
  const api = apiOf(stood.service.url)
  const job = await runJob(stood.service.url, 'penguins')
  await api.jobs.markdown(job.insight_id!)
  await api.connections.create({ name: 'shop', kind: 'sqlite', options: { file: 'shop.db' } })
  await api.connections.change('shop', { description: 'Orders', limits: { rows: 5 } })
  const { token_id } = await api.tokens.create({ name: 'short', scopes: ['viewer'] })
  await api.tokens.delete(token_id)

  await link(page, 'System').click()
  await link(page, 'Audit trail').click()
  for (const words of ['ran a job', 'read a result', 'added a connection', 'revoked a token'])
    await page.getByRole('cell', { name: words }).first().waitFor()
  await page.getByRole('cell', { name: 'changed a connection the description, the limits' }).waitFor()
  await assertAccessible(page, 'the audit trail')
  await page.getByLabel('What', { exact: true }).selectOption('connection.change')
  await page.waitForURL(/action=connection\.change/)
  await page.waitForFunction(() => document.querySelectorAll('tbody tr').length === 1)
  await page.getByRole('cell', { name: 'changed a connection' }).waitFor()
  await page.reload()
  await link(page, 'shop').click()
  await page.getByRole('heading', { name: 'shop', level: 1 }).waitFor()
  await page.goBack()
  await link(page, 'its records: shop').click()
  await page.waitForURL((url) => url.searchParams.get('object') === 'shop' && !url.searchParams.has('action'))
  await page.getByRole('cell', { name: 'added a connection' }).waitFor()
  assert.equal(await page.locator('tbody tr').count(), 2)
  await page.getByLabel('Who', { exact: true }).fill('somebody')
  await page.keyboard.press('Enter')
  await page.getByText('No record fits these filters').waitFor()
  await page.getByText('user_id=somebody&object_id=shop').waitFor()
  await assertAccessible(page, 'nothing recorded')
  await link(page, 'Remove the filters').click()
  await page.getByRole('cell', { name: 'ran a job' }).first().waitFor()
  await page.getByLabel('Before', { exact: true }).fill('2001-01-01T00:00')
  await page.getByText('No record fits these filters').waitFor()
  await page.getByLabel('Before', { exact: true }).fill('')
  await page.getByLabel('From', { exact: true }).fill('2001-01-01T00:00')
  await page.getByRole('cell', { name: 'ran a job' }).first().waitFor()
  stood.assertSilent()
})

test('goes back page by page, and leads to what a record names', async () => {
  const { page } = stood.watched
  const api = apiOf(stood.service.url)
  const drafts = await Promise.all(
    Array.from({ length: 51 }, () => api.jobs.create({ template_id: 'penguins' })),
  )
  await page.goto('/system/audit?action=job.create')
  await button(page, 'Show more').waitFor()
  assert.equal(await page.locator('tbody tr').count(), 50)
  await button(page, 'Show more').click()
  await page.waitForFunction(() => document.querySelectorAll('tbody tr').length === 52)
  await button(page, 'Show more').waitFor({ state: 'detached' })
  await page.goto(`/system/audit?object=${drafts[0]}`)
  await page.locator('tbody a').filter({ hasText: '…' }).first().click()
  await page.waitForURL(new RegExp(`/jobs/${drafts[0]}$`))
  stood.assertSilent()
})

test('a page that found nothing among the newest leads further back', async () => {
  const { page } = stood.watched
  await page.route('**/v1alpha/audit?*', async (route) => {
    const url = new URL(route.request().url())
    const isFirst = url.searchParams.get('cursor') === null
    url.searchParams.delete('cursor')
    const answer = await route.fetch({ url: url.href })
    await route.fulfill(isFirst ? { json: { items: [], next_cursor: 'further' } } : { response: answer })
  })
  await page.goto('/system/audit?action=token.create')
  await page.getByText('No match among the newest').waitFor()
  await assertAccessible(page, 'nothing among the newest')
  await button(page, 'Look further back').click()
  await page.getByRole('cell', { name: 'created a token' }).first().waitFor()
  await page.unroute('**/v1alpha/audit?*')
  stood.assertSilent()
})

test('is accessible, fits a phone, and is for admins', async () => {
  await assertPages(stood.browser, stood.service.url, [
    '/system/audit',
    '/system/audit?user=nobody',
    '/system/workspaces',
  ])
  const { page, complaints, context } = await stood.openAs('analyst')
  await page.goto('/system/audit')
  await page.getByText('For admins').waitFor()
  assert.deepEqual(complaints, [])
  await context.close()
})

test('shows what leaves, stops all of it, and opens it again', async () => {
  const { page } = stood.watched
  const api = apiOf(stood.service.url)
  await page.goto(`${stood.service.url}/system/outgoing`)
  await page.getByRole('row', { name: 'Mails 0 5,000 every workspace' }).waitFor()
  await api.outgoing.change({ budgets: { query: 40 }, hosts: ['db.example.com'] })
  await page.reload()
  await page.getByRole('row', { name: 'Queries over connections 0 40 this workspace' }).waitFor()
  await page.getByText('db.example.com').waitFor()
  await assertAccessible(page, 'what leaves')

  await button(page, 'Change').click()
  await page.getByLabel('Mails', { exact: true }).fill('many')
  await page.getByLabel('Queries over connections').fill('')
  await page.getByLabel('Hosts of connections, downloads').fill('db.example.com\nhttps://evil.example')
  await button(page, 'Save').click()
  await page.getByText('must be a whole number such as 200, or empty').waitFor()
  await page.getByLabel('Mails', { exact: true }).fill('300')
  await button(page, 'Save').click()
  await page.getByText('“https://evil.example” must be a host such as db.example.com').waitFor()
  await assertAccessible(page, 'rules with faults')
  await page.getByLabel('Hosts of connections, downloads').fill('db.example.com\n*.files.example')
  await page.getByLabel('Own domains of mail').check()
  await page.getByLabel('Domains whose addresses get mail').fill('example.com')
  await page.getByLabel('Templates may ask the language model').uncheck()
  await button(page, 'Save').click()
  await page.getByRole('row', { name: 'Mails 0 300 this workspace' }).waitFor()
  await page.getByRole('row', { name: 'Queries over connections 0 no limit every workspace' }).waitFor()
  await page.getByText('templates may not ask it').waitFor()
  const { model, hosts, mail_domains } = await api.outgoing.read()
  assert.deepEqual(
    [model, hosts, mail_domains],
    [false, ['db.example.com', '*.files.example'], ['example.com']],
  )
  const [changed] = (await api.audit({ action: 'outgoing.change' })).items
  assert.deepEqual(changed?.fields, ['budgets', 'hosts', 'mail_domains', 'model'])

  await api.workspaces.create({ workspace_id: 'guests' })
  await page.reload()
  await page.getByLabel('Workspace').selectOption('guests')
  await page.waitForURL(/workspace=guests/)
  await page.getByRole('row', { name: 'Mails 0 5,000 every workspace' }).waitFor()
  await button(page, 'Change').click()
  await page.getByLabel('Only the hosts of a list').check()
  await button(page, 'Save').click()
  await page.getByText('none at all').waitFor()
  assert.deepEqual((await api.outgoing.read({ workspace_id: 'guests' })).hosts, [])
  await page.getByLabel('Workspace').selectOption('default')
  await page.getByText('templates may not ask it').waitFor()

  await button(page, 'Stop all that leaves').click()
  await page.getByLabel('Why, for your colleagues').fill('a leak')
  await assertAccessible(page, 'the question before all is stopped')
  await button(page, 'Stop it').click()
  await page.getByText('Nothing leaves this workspace').waitFor()
  await page.getByText(': a leak.').waitFor()
  assert.equal((await api.outgoing.read()).stopped?.reason, 'a leak')
  await assertAccessible(page, 'stopped')
  await button(page, 'Open it again').click()
  await button(page, 'Stop all that leaves').waitFor()
  assert.equal((await api.outgoing.read()).stopped, null)
  stood.assertSilent([refusal(422)])
})

test('an admin changes what a user may do, and signs the user out everywhere', async () => {
  const { page } = stood.watched
  const api = apiOf(stood.service.url)
  const password = 'a long enough password'
  const { user_id } = await api.users.create({ username: 'bob', password, scopes: ['viewer'] })
  const signIn = () =>
    fetch(`${stood.service.url}/v1alpha/auth/sign-ins`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin: stood.service.url },
      body: JSON.stringify({ username: 'bob', password }),
    })
  assert.deepEqual([(await signIn()).status, (await signIn()).status], [201, 201])
  await page.goto('/system/users')
  await button(page, 'Sign out bob').click()
  await assertAccessible(page, 'the question before a user is signed out')
  await button(page, 'Sign out everywhere').click()
  await page.getByText('2 browsers were signed out').waitFor()
  await button(page, 'Change scope bob').click()
  await page.getByRole('dialog').getByLabel('Scope').selectOption('analyst')
  await button(page, 'Change the scope').click()
  await page.getByRole('row', { name: 'bob analyst' }).waitFor()
  const actions = (await api.audit({ object_id: user_id })).items.map(({ action }) => action)
  assert.deepEqual(actions.toSorted(), ['user.change', 'user.create', 'user.sign_out'])
  stood.assertSilent()
})

test('an admin renames a token, takes scopes away, sets its end by a day of the own time zone, and revokes it', async () => {
  const api = apiOf(stood.service.url)
  const { token, token_id } = await api.tokens.create({ name: 'nightly', scopes: ['analyst'] })
  const made = async () => (await api.tokens.list()).items.find((one) => one.token_id === token_id)
  const queued = async () => {
    const body = JSON.stringify({ payload: { type: 'template', template_id: 'penguins' } })
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    return (await fetch(`${stood.service.url}/v1alpha/jobs/`, { method: 'POST', headers, body })).status
  }
  const west = await openPage(stood.browser, stood.service.url, { timeZone: 'America/Los_Angeles' })
  const { page } = west
  await signIn(page, TOKEN)
  await page.goto('/system/tokens')
  const dialog = page.getByRole('dialog')
  const [name, scope, day] = [/^New name/, /^Scope left/, /^Last day/].map((label) =>
    dialog.getByLabel(label),
  )
  const change = async (of: string) => {
    await button(page, `Change ${of}`).click()
    await dialog.waitFor()
  }
  const done = async () => {
    await button(page, 'Change the token').click()
    await dialog.waitFor({ state: 'detached' })
  }
  await change('nightly')
  await assertAccessible(page, 'the change of a token')
  assert.deepEqual(await scope!.locator('option').evaluateAll((all) => all.map((one) => one.textContent)), [
    'viewer: reads',
    'analyst: also runs jobs and webhooks',
  ])
  await name!.fill('')
  await button(page, 'Change the token').click()
  await dialog.getByRole('alert').waitFor()
  await scope!.selectOption('viewer')
  await button(page, 'Keep it').click()
  assert.deepEqual([(await made())?.name, await queued()], ['nightly', 200])

  await change('nightly')
  assert.deepEqual([await name!.inputValue(), await scope!.inputValue()], ['nightly', 'analyst'])
  assert.equal(await dialog.getByRole('alert').count(), 0)
  await name!.fill('weekly')
  await done()
  await page.getByRole('row', { name: /^weekly of .* analyst/ }).waitFor()
  await change('weekly')
  await scope!.selectOption('viewer')
  await day!.fill('2091-05-20')
  await done()
  await page.getByRole('row', { name: /^weekly of .* viewer/ }).waitFor()
  assert.deepEqual([(await made())?.expires_at, await queued()], ['2091-05-21T06:59:59.000Z', 403])
  await change('weekly')
  assert.equal(await day!.inputValue(), '2091-05-20')
  assert.equal(await scope!.locator('option').count(), 1)
  await day!.fill('')
  await done()
  await page.getByRole('row', { name: /^weekly of .* viewer .* never Change/ }).waitFor()
  assert.equal((await made())?.expires_at, null)

  await button(page, 'Revoke weekly').click()
  await button(page, 'Revoke the token').click()
  // The page behind an open question is hidden.
  await dialog.waitFor({ state: 'detached' })
  await button(page, 'Revoke weekly').waitFor({ state: 'detached' })
  assert.equal(await queued(), 401)
  const fields = (await api.audit({ object_id: token_id, action: 'token.change' })).items.map(
    (one) => one.fields,
  )
  assert.deepEqual(fields, [['expires_at'], ['expires_at', 'scopes'], ['name']])
  assertSilent(west, [refusal(422)])
  await west.context.close()
})

test('an admin adds, changes and deletes readers, and imports a list whose faults are told by line', async () => {
  const { page } = stood.watched
  const api = apiOf(stood.service.url)
  await page.goto('/system/readers')
  await page.getByText('No reader yet').waitFor()
  await assertAccessible(page, 'no reader')
  const save = button(page, 'Save')
  await button(page, 'Add a reader').click()
  await save.click()
  await page.getByText('is missing: such as a number of the staff').waitFor()
  await page.getByLabel('Id required').fill('ada')
  await page.getByLabel('Mail address').fill('nowhere')
  await page.getByLabel('Attributes').fill('region: North\nlevel')
  await save.click()
  await page.getByText('“level” is not an attribute').waitFor()
  await page.getByLabel('Attributes').fill('region: North\nlevel: 3\nTeam: sales')
  await save.click()
  await page.getByText('must be a plain address such as').waitFor()
  await page.getByText('“Team” is not a name of an attribute').waitFor()
  await assertAccessible(page, 'a reader with faults')
  await page.getByLabel('Mail address').fill('ada@example.com')
  await page.getByLabel('Attributes').fill('region: North\nlevel: 3\nteams: ["sales", "press"]\ncode: "7"')
  await save.click()
  const first = 'ada ada ada@example.com region: North level: 3 teams: sales, press code: 7'
  await page.getByRole('row', { name: first }).waitFor()
  const { attributes } = await api.readers.get('ada')
  assert.deepEqual(attributes, { region: 'North', level: 3, teams: ['sales', 'press'], code: '7' })
  await button(page, 'Add a reader').click()
  await page.getByLabel('Id required').fill('ada')
  await save.click()
  await page.getByText('is the id of a reader already').waitFor()
  await button(page, 'Cancel').click()
  await button(page, 'Change ada').click()
  assert.match(await page.getByLabel('Attributes').inputValue(), /^code: "7"$/m)
  await page.getByLabel('Name', { exact: true }).fill('Ada')
  await page.getByLabel('Attributes').fill('region: West')
  await assertAccessible(page, 'a reader who is changed')
  await save.click()
  await page.getByRole('row', { name: 'ada Ada ada@example.com region: West –' }).waitFor()

  const choose = (text: string) =>
    page
      .getByLabel('Import a CSV')
      .setInputFiles({ name: 'readers.csv', mimeType: 'text/csv', buffer: Buffer.from(text) })
  await choose('reader_id,name,level:number\nbob,Bob,three\n,Cleo,3\n')
  await page.getByText('Line 2: level is not a number: three.').waitFor()
  await page.getByText('Line 3: reader_id is empty.').waitFor()
  await assertAccessible(page, 'a list with faults')
  await choose('reader_id,email\nbob,bob@example.com\ncleo,nowhere\n')
  await page.getByText('Line 3: email must be a plain address').waitFor()
  await page.getByText('Nothing was written.').waitFor()
  const many = Array.from({ length: 51 }, (_, index) => `r${index + 10},east`)
  await choose(['reader_id,region', 'ada,north', ...many].join('\n'))
  await page.getByText('Written: 51 readers made, 1 replaced.').waitFor()
  await page.getByRole('row', { name: 'ada ada – region: north' }).waitFor()
  await button(page, 'Show more').click()
  await page.getByRole('row', { name: 'r60 r60 – region: east' }).waitFor()
  await button(page, 'Delete ada').click()
  await assertAccessible(page, 'the question before a reader is deleted')
  await button(page, 'Delete the reader').click()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await button(page, 'Change ada').waitFor({ state: 'detached' })
  assert.deepEqual((await api.readers.list({ limit: 1 })).items[0]?.reader_id, 'r10')
  await assertPages(stood.browser, stood.service.url, ['/system/readers'])
  stood.assertSilent([refusal(404), refusal(422)])
})

test('shows what each workspace takes of its caps, and changes them', async () => {
  const { page } = stood.watched
  const api = apiOf(stood.service.url)
  await page.goto('/system/workspaces')
  await page.getByRole('row', { name: /^guests 0 0 0 usual 0 bytes usual one: usual all: usual/ }).waitFor()
  await button(page, 'Change guests').click()
  await page.getByLabel('Jobs waiting at a time').fill('many')
  await page.getByLabel('Disk of its analyses').fill('2 GB')
  await button(page, 'Save').click()
  await page.getByText('must be a whole number such as 200, or empty').waitFor()
  await page.getByLabel('Jobs waiting at a time').fill('200')
  await page.getByLabel('Requests a second').fill('0')
  await button(page, 'Save').click()
  await page.locator('.field-fault').waitFor()
  assert.equal(await page.getByLabel('Requests a second').getAttribute('aria-invalid'), 'true')
  await assertAccessible(page, 'a cap with a fault')
  await page.getByLabel('Requests a second').fill('')
  await button(page, 'Save').click()
  await page
    .getByRole('row', { name: /^guests 0 of 200 0 0 2 GB 0 bytes usual one: usual all: usual/ })
    .waitFor()
  const guests = (await api.workspaces.list()).items.find((one) => one.workspace_id === 'guests')
  assert.deepEqual([guests?.max_queued, guests?.max_spill_bytes, guests?.rate_limit], [200, 2e9, null])
  const [changed] = (await api.audit({ action: 'workspace.change' })).items
  assert.deepEqual(changed?.fields, ['max_queued', 'max_spill_bytes'])
  stood.assertSilent([refusal(422)])
})

test('tells which commit of the repository is served and why one was refused, and pushes a change as a branch', async () => {
  const { page } = stood.watched
  const api = apiOf(stood.service.url)
  const looked = async () => {
    for (;;) {
      const { repository } = await api.repository.get()
      if (repository?.taken && !repository.looking) return repository.taken.commit_id.slice(0, 12)
      await page.waitForTimeout(20)
    }
  }
  const served = await looked()
  await page.goto('/templates')
  await page.getByText(`commit ${served} (Add a greeting), since`).waitFor()
  await page.goto('/templates/greeting/edit')
  await page.locator('.cm-content').click()
  await page.keyboard.press('Control+End')
  await page.keyboard.type('Good night.')
  await page.getByText('No faults found').waitFor()
  await button(page, 'Push as a branch').click()
  await page.getByText('The change is pushed as the branch').waitFor()
  await assertAccessible(page, 'a change that is pushed')
  const branch = await page.locator('.notice code').innerText()
  assert.equal((await git.read(branch))['greeting.md'], `${GREETING}Good night.`)
  await page.goto('/system/audit?action=repository.propose')
  await page.getByRole('cell', { name: 'pushed a change of a template as a branch' }).waitFor()

  const refused = await git.commit({ 'greeting.md': `${GREETING}{{ nothing.here }}\n` }, 'Greet nobody')
  await api.repository.pull()
  assert.equal(await looked(), served)
  await page.goto('/templates')
  await page.getByText(`The newest commit ${refused.slice(0, 12)} (Greet nobody, Ada) was refused`).waitFor()
  await page.getByText('greeting.md:6', { exact: true }).waitFor()
  await assertAccessible(page, 'a commit that was refused')
  stood.assertSilent()
})
