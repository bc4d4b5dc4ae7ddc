/**
 * Tests how many clicks the tasks of readers and analysts take, from the first page of the console on. Typing is free,
 * and a choice in a list is a click. The counts may not grow.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Locator, Page } from 'playwright-core'
import { startMailServer } from '../servers/mail-server.ts'
import { stand } from './stand.ts'
import { apiOf, assertAccessible, button, link, runJob, settle } from './steps.ts'

const mail = await startMailServer({ security: 'none' })
const stood = stand({
  ASSAY_SMTP_URL: `smtp://127.0.0.1:${mail.server.port}/?tls=off`,
  ASSAY_MAIL_FROM: 'Assay <assay@example.com>',
})
after(() => mail.close())

/** Counts the clicks of a person. */
function counted() {
  const count = { clicks: 0 }
  return {
    count,
    async click(place: Locator): Promise<void> {
      count.clicks += 1
      await place.click()
    },
    async choose(place: Locator, value: string): Promise<void> {
      count.clicks += 1
      await place.selectOption(value)
    },
  }
}

async function home(page: Page): Promise<void> {
  await page.goto('/')
  await page.getByRole('heading', { name: 'Insights', level: 1 }).waitFor()
  await settle(page)
}

test('to find a report, run it, read it and share it takes five clicks', async () => {
  const { page } = stood.watched
  const { count, click } = counted()
  await home(page)
  await click(page.getByRole('navigation', { name: 'Sections' }).getByRole('link', { name: 'Templates' }))
  // The heading is awaited, because the page before has a search too.
  await page.getByRole('heading', { name: 'Templates', level: 1 }).waitFor()
  await page.getByLabel('Search').fill('flow of the nile')
  await click(link(page, /Nile/).first())
  await click(button(page, 'Run'))
  await page.locator('article.insight .lead').waitFor()
  await click(button(page, 'Share'))
  await click(button(page, 'Make a link'))
  await page.locator('.secret code').waitFor()
  assert.ok(count.clicks <= 5, `${count.clicks} clicks`)
  stood.assertSilent()
})

test('to compare an insight with last week takes two clicks, and shows both runs in one chart', async () => {
  const { page } = stood.watched
  const run = (period: string) => runJob(stood.service.url, 'flight-delays', { period, origin: 'ORD' })
  await run('2001-06-11..2001-06-17')
  const { insight_id } = await run('2001-06-18..2001-06-24')
  const { count, click } = counted()
  await page.goto(`/insights/${insight_id}`)
  await click(button(page, 'Compare'))
  await click(page.getByRole('menuitem', { name: /^A week before/ }))
  await page.getByRole('heading', { name: 'What changed', level: 1 }).waitFor()
  assert.ok(count.clicks <= 2)
  const chart = page.locator('.differences figure.chart').first()
  await chart.locator('.drawing:visible svg').waitFor()
  await chart.locator('.drawing:visible').focus()
  const tips: string[] = []
  for (const key of ['Home', 'ArrowRight', 'ArrowRight', 'End', 'ArrowLeft']) {
    await page.keyboard.press(key)
    tips.push(await page.locator('.chart-tip:not([hidden])').innerText())
  }
  for (const name of ['This run', 'Before'])
    assert.ok(
      tips.some((tip) => tip.includes(name)),
      tips.join(),
    )
  await page.keyboard.press('Escape')
  await assertAccessible(page, 'two runs in one chart')
  stood.assertSilent()
})

const SALES = Array.from(
  { length: 60 },
  (_, nth) =>
    `${new Date(Date.UTC(2024, 0, 1 + nth)).toISOString().slice(0, 10)},${nth % 2 ? 'north' : 'south'},${100 + nth}`,
)

test('from a dropped CSV to a report takes six clicks', async () => {
  const { page } = stood.watched
  const { count, click } = counted()
  await home(page)
  await click(page.getByRole('navigation', { name: 'Sections' }).getByRole('link', { name: 'Files' }))
  const dropped = await page.evaluateHandle(
    (text) => {
      const data = new DataTransfer()
      data.items.add(new File([text], 'sold.csv'))
      return data
    },
    `day,region,amount\n${SALES.join('\n')}\n`,
  )
  await page.locator('.drop').dispatchEvent('drop', { dataTransfer: dropped })
  await click(link(page, 'Make a report from sold.csv'))
  // The page shows without SQL and without a click the rows, the role of each column, and what the report says.
  const rows = page.getByRole('group', { name: 'First rows' })
  await rows.getByRole('columnheader', { name: /^amount whole number, / }).waitFor()
  assert.equal(await rows.getByRole('row').count(), 9)
  await page.locator('.preview .insight-title').waitFor()
  await click(button(page, 'Save'))
  await click(button(page, 'Run'))
  await page.locator('article.insight .lead').waitFor()
  assert.ok(count.clicks <= 6, `${count.clicks} clicks`)
  stood.assertSilent()
})

test('"every Monday at 8 in Berlin by mail to these two" takes six clicks', async () => {
  const { page } = stood.watched
  const { count, click, choose } = counted()
  await home(page)
  await click(page.getByRole('navigation', { name: 'Sections' }).getByRole('link', { name: 'Schedules' }))
  await click(link(page, 'New schedule').first())
  await page.getByPlaceholder('Delays, every working morning').fill('The Nile on Mondays')
  await choose(page.getByLabel('Template'), 'nile-flow')
  await page.getByLabel('At', { exact: true }).fill('08:00')
  await click(button(page, 'Mondays'))
  assert.equal(await page.getByLabel('Cron expression').inputValue(), '0 8 * * MON')
  await page.getByLabel('Time zone').fill('Europe/Berlin')
  await page.getByLabel('Mail it to').fill('ada@example.com, bob@')
  await click(button(page, 'Add'))
  await page.getByText(/must be a plain address/).waitFor()
  await page.getByLabel('Mail it to').fill('ada@example.com, bob@example.com')
  // The refused click was not necessary.
  count.clicks -= 1
  await click(button(page, 'Add'))
  await page
    .getByLabel(/^ada@example.com and 1 more/)
    .and(page.locator(':checked'))
    .waitFor()
  await click(button(page, 'Create'))
  await page.getByText('Told of each run').waitFor()
  assert.ok(count.clicks <= 6, `${count.clicks} clicks`)
  const api = apiOf(stood.service.url)
  const [schedule] = (await api.schedules.list()).items
  assert.deepEqual([schedule!.cron, schedule!.time_zone], ['0 8 * * MON', 'Europe/Berlin'])
  const { to } = await api.subscriptions.get(schedule!.notify[0]!)
  assert.deepEqual(to, ['ada@example.com', 'bob@example.com'])
  stood.assertSilent([/status of 422/])
})

test('why a schedule fails takes two clicks, and why I was not told of a run two', async () => {
  const { page } = stood.watched
  const api = apiOf(stood.service.url)
  const source = "---\ntitle: Broken\n---\n```sql b\nselect cast('x' as integer) as y\n```\n# {{ b[0].y }}\n"
  await api.templates.put('broken', source)
  const { schedule_id } = await api.schedules.create({
    name: 'Broken',
    template_id: 'broken',
    cron: '@yearly',
  })
  const failed = await api.schedules.runNow(schedule_id, {})
  await api.jobs.wait(failed.assignment_id).catch(() => undefined)
  await home(page)
  const why = counted()
  await why.click(page.locator('.health-mark'))
  await why.click(link(page, /^See why the last one failed/).first())
  await page.getByText('A step of the report failed.').first().waitFor()
  assert.ok(why.count.clicks <= 2)
  await page.getByRole('list', { name: 'Steps of the run' }).getByText('b (failed)').waitFor()
  await link(page, 'Open the template at line 5').click()
  const editor = page.getByRole('textbox', { name: 'Source of the template' })
  await page.waitForFunction(() => document.activeElement?.shadowRoot?.activeElement)
  await page.keyboard.type('-- ')
  await editor.getByText('-- select cast').waitFor()

  await api.subscriptions.create({ kind: 'email', to: ['me@example.com'], personal: true })
  const { insight_id } = await runJob(stood.service.url, 'nile-flow')
  await page.goto(`/insights/${insight_id}`)
  const told = counted()
  await told.click(link(page, 'the job'))
  await told.click(link(page, 'Why was I not told?'))
  await page.getByText('The job was not sent to this subscription').waitFor()
  assert.ok(told.count.clicks <= 2)
  stood.assertSilent()
})

test('an insight is pinned and put into a collection, which filters the library and can be followed', async () => {
  const { page } = stood.watched
  const { insight_id } = await runJob(stood.service.url, 'penguins')
  await page.goto(`/insights/${insight_id}`)
  await button(page, /^Keep/).click()
  await page.getByRole('menuitem', { name: /^Pin this insight/ }).click()
  await button(page, /^Pinned/).click()
  await page.getByRole('menuitem', { name: /^Collections/ }).click()
  await page.getByLabel('Always the newest run').check()
  await page.getByLabel('New collection').fill('Board')
  await button(page, 'Make it').click()
  await page.getByRole('dialog').getByLabel('Board').and(page.locator(':checked')).waitFor()
  await assertAccessible(page, 'the collections of an insight')
  await page.keyboard.press('Escape')
  await page.getByText('Who read it').click()
  await page.locator('.read-by tbody tr').first().waitFor()
  const again = await runJob(stood.service.url, 'penguins')
  await home(page)
  const pinned = page.getByRole('region', { name: 'Pinned' })
  await pinned.getByRole('button', { name: /^Pin /, pressed: true }).first().waitFor()
  await page.getByLabel('Collection').selectOption({ label: 'Board' })
  await page.getByRole('heading', { name: 'Board', level: 2 }).waitFor()
  await page.locator(`.found a[href="/insights/${again.insight_id}"]`).waitFor()
  assert.equal(await page.locator('.found').count(), 1)
  await link(page, 'Follow').or(button(page, 'Follow')).first().waitFor()
  await assertAccessible(page, 'a collection in the library')
  await page.getByLabel('Collection').selectOption({ label: 'Pinned by me' })
  await page.locator(`.found a[href="/insights/${insight_id}"]`).waitFor()
  await button(page, /^Pin /).first().click()
  await page.getByText('No insight fits these filters').waitFor()
  stood.assertSilent()
})

test('the command palette goes anywhere by keyboard alone', async () => {
  const { page } = stood.watched
  await home(page)
  await page.keyboard.press('/')
  assert.equal(await page.evaluate(() => document.activeElement?.getAttribute('type')), 'search')
  await page.keyboard.press('Control+k')
  const field = page.getByRole('combobox', { name: 'Go to' })
  await field.waitFor()
  await page.keyboard.type('nile')
  await page
    .getByRole('option', { name: /^Insight/ })
    .first()
    .waitFor()
  await page
    .getByRole('option', { name: /^Template/ })
    .first()
    .waitFor()
  await assertAccessible(page, 'the command palette')
  const chosen = page.getByRole('option', { selected: true })
  const first = await chosen.getAttribute('id')
  await page.keyboard.press('ArrowDown')
  assert.notEqual(await chosen.getAttribute('id'), first)
  assert.equal(await field.getAttribute('aria-activedescendant'), await chosen.getAttribute('id'))
  await page.keyboard.press('ArrowUp')
  await page.keyboard.press('Enter')
  await page.waitForURL(/\/insights\/[0-9a-f-]{36}$/)
  await page.keyboard.press('Control+k')
  await page.keyboard.type('audit')
  await page.getByRole('option', { name: /Audit trail/ }).waitFor()
  await page.keyboard.press('Enter')
  await page.waitForURL(/\/system\/audit/)
  await page.keyboard.press('Control+k')
  await field.waitFor()
  await page.keyboard.press('Escape')
  await field.waitFor({ state: 'detached' })
  await page.keyboard.press('?')
  const keys = page.getByRole('dialog', { name: 'Keys' })
  await keys.waitFor()
  await assertAccessible(page, 'the list of keys')
  await page.keyboard.press('g')
  await page.keyboard.press('t')
  await page.keyboard.press('Escape')
  await keys.waitFor({ state: 'detached' })
  assert.match(page.url(), /audit/, 'a key in a dialog is the dialog’s')
  await page.keyboard.press('g')
  await page.keyboard.press('t')
  await page.waitForURL(/\/templates$/)
  await page.getByLabel('Search').pressSequentially('g?t')
  assert.equal(await keys.count(), 0, 'a key in a field is the field’s')
  stood.assertSilent()
})
