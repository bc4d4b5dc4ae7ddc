/** Tests connections in the console: a real SQLite file that templates read over, and a server that does not exist. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, test } from 'node:test'
import { temporaryFolder } from '../servers/service.ts'
import { stand } from './stand.ts'
import { apiOf, assertAccessible, assertPages, button, link, refusal, runJob } from './steps.ts'

const data = temporaryFolder()
const settings = path.join(data.folder, 'connections.yaml')
const shop = new DatabaseSync(path.join(data.folder, 'shop.db'))
shop.exec(`create table orders (day date, amount integer);
  insert into orders values ('2024-01-01', 20), ('2024-01-01', 22), ('2024-01-02', 5)`)
shop.close()
writeFileSync(settings, 'connections:\n  shop:\n    kind: sqlite\n    options: { file: shop.db }\n')

const stood = stand({ ASSAY_DATA: data.folder })
const configured = stand({ ASSAY_DATA: data.folder, ASSAY_CONNECTIONS: settings })
after(() => data.remove())

test('says how the first is added, tells each fault beside its field, and tries what was added', async () => {
  const { page } = stood.watched
  await link(page, 'System').click()
  await link(page, 'Connections').click()
  await page.getByText('No connection yet').waitFor()
  await page.getByText('/v1alpha/connections').waitFor()
  await assertAccessible(page, 'no connections')
  await link(page, 'New connection').click()
  await page.getByLabel('Name').fill('Shop!')
  await button(page, 'Add').click()
  await page.locator('.field-fault').first().waitFor()
  await assertAccessible(page, 'a connection that is refused')
  await page.getByLabel('Name').fill('shop')
  await button(page, 'Add').click()
  for (const option of ['host', 'database', 'user']) {
    const field = page.getByLabel(option, { exact: false }).and(page.locator('[aria-invalid=true]'))
    await field.waitFor()
  }
  stood.assertSilent([refusal(422)])
  await page.getByLabel('Kind').selectOption('sqlite')
  await page.getByLabel('file').fill('shop.db')
  await page.getByLabel('Description').fill('Orders of the shop')
  await button(page, 'Add').click()
  await page.getByRole('heading', { name: 'shop', level: 1 }).waitFor()
  await button(page, 'Test').click()
  await page.getByText(/^SQLite 3\S* answered in .* The file is opened for reading only\.$/).waitFor()
  await assertAccessible(page, 'a connection that was tried')
  stood.assertSilent()
})

test('gives the lines that a template reads by, and tells which templates read over it before it is deleted', async () => {
  const { page } = stood.watched
  const api = apiOf(stood.service.url)
  await page.getByText('No template uses this connection.').waitFor()
  const lines = await page.locator('.code code').first().innerText()
  assert.match(lines, /^sources:\n {2}orders:\n {4}connection: shop\n/)
  await api.templates.put(
    'shop-days',
    `---\ntitle: Days\n${lines}\n---\n\`\`\`sql days\nselect * from orders\n\`\`\`\n{% table days %}\n`,
  )
  const job = await runJob(stood.service.url, 'shop-days')
  assert.equal(job.job_status, 'completed', JSON.stringify(job.error))
  assert.match(await api.jobs.markdown(job.insight_id), /42/)
  await page.reload()
  await link(page, 'shop-days').waitFor()
  await link(page, 'Connections').click()
  await button(page, 'Test shop').click()
  await page.getByText(/^✓ SQLite/).waitFor()
  await link(page, 'shop').click()
  await button(page, 'Delete').click()
  await page.getByRole('dialog').getByRole('link', { name: 'shop-days' }).waitFor()
  await assertAccessible(page, 'a question before a deletion')
  await button(page, 'Keep it').click()
  stood.assertSilent()
})

test('makes a report of a table: its metrics are saved, then its template has no fault', async () => {
  const { page } = stood.watched
  await button(page, 'List the tables').click()
  await page.getByText('1 table.').waitFor()
  await assertAccessible(page, 'the tables of a connection')
  await link(page, 'orders').click()
  await page.getByRole('columnheader', { name: /^amount whole number, / }).waitFor()
  await page.getByRole('group', { name: 'First rows' }).getByText('22').waitFor()
  await assertAccessible(page, 'the rows of a table')
  await page.goBack()
  await page.getByLabel('Table', { exact: true }).fill('orders')
  await link(page, 'Make a report of orders').click()
  await page.getByRole('region', { name: 'Metrics' }).waitFor()
  await assertAccessible(page, 'a draft of a table')
  await button(page, 'Save the metrics').click()
  await page.getByText(/^Saved: orders_amount, orders_rows\.$/).waitFor()
  await page.getByText('No faults found').waitFor()
  await page.goto('/metric/orders_amount')
  await page.getByText('The newest day is 2024-01-02. Steps with values: 2.').waitFor()
  await page.getByText('The metric has no tests.').waitFor()
  await button(page, 'Delete').click()
  await button(page, 'Delete the metric').click()
  await page.getByRole('heading', { name: 'Metrics', level: 1 }).waitFor()
  await page.locator('td code', { hasText: /^orders_rows$/ }).waitFor()
  await page.locator('td code', { hasText: /^orders_amount$/ }).waitFor({ state: 'detached' })
  await page.goto('/system/connections/shop')
  await link(page, 'shop-days').waitFor()
  stood.assertSilent()
})

test('holds a secret only while it is typed, keeps it unless another is typed, and asks for it again where it would go elsewhere', async () => {
  const { page } = stood.watched
  const api = apiOf(stood.service.url)
  await page.goto('/system/connections/new')
  await page.getByLabel('Name').fill('warehouse')
  await page.getByLabel('host').fill('127.0.0.1')
  await page.getByLabel('port').fill('9')
  await page.getByLabel('database').fill('shop')
  await page.getByLabel('user').fill('reader')
  await page.getByLabel('Encryption').selectOption('off')
  await page.getByLabel('password').fill('s3cr3t-one')
  const kept = await page.evaluate(() =>
    [JSON.stringify(sessionStorage), JSON.stringify(localStorage)].join(),
  )
  assert.match(kept, /reader/)
  assert.doesNotMatch(kept, /s3cr3t/)
  await page.getByText('Limits that no template can raise').click()
  await page.getByLabel('rows').fill('0')
  await button(page, 'Add').click()
  await page.getByText('must be a whole number from 1').waitFor()
  await page.getByLabel('rows').fill('5000')
  await button(page, 'Add').click()
  await page.getByText(/^It cannot be used\. .*ECONNREFUSED/).waitFor()
  assert.deepEqual(
    (await api.connections.list()).items.map(({ name }) => name),
    ['shop'],
    'nothing is kept before it is tried',
  )
  await assertAccessible(page, 'a connection that cannot be used')
  await button(page, 'Add it anyway').click()
  await page.getByRole('heading', { name: 'warehouse', level: 1 }).waitFor()
  await page.getByText(/^set: •••• [0-9a-f]{8}$/).waitFor()
  await page.getByText('5,000', { exact: true }).waitFor()
  await button(page, 'Test').click()
  await page.getByText(/^It cannot be used\. /).waitFor()
  const secret = async () => (await api.connections.list()).items[0]!.secrets.password
  const first = await secret()

  await button(page, 'Change').click()
  await page.getByLabel('Description').fill('The warehouse')
  await button(page, 'Save').click()
  await button(page, 'Change').click()
  assert.equal(await secret(), first, 'what is not typed stays')
  await page.getByLabel('host').fill('127.0.0.2')
  await button(page, 'Save').click()
  await page.getByText('must be given again, as the address changes').waitFor()
  await assertAccessible(page, 'a change that is refused')
  await page.getByLabel('password', { exact: false }).first().fill('s3cr3t-two')
  await button(page, 'Save').click()
  await button(page, 'Save it anyway').click()
  await button(page, 'Change').click()
  assert.notEqual(await secret(), first)
  await page.getByLabel('Remove password').check()
  await page.route('**/v1alpha/connections/warehouse/test', (route) =>
    route.fulfill({
      status: 429,
      contentType: 'application/problem+json',
      headers: { 'retry-after': '3600' },
      json: { code: 'workspace_busy', title: 'Busy', status: 429, detail: 'Its hour is used up.' },
    }),
  )
  await button(page, 'Save').click()
  await page.getByText('It was not tried. Its hour is used up.').waitFor()
  await page.unroute('**/v1alpha/connections/warehouse/test')
  await button(page, 'Save it anyway').click()
  await page.getByText('not set').waitFor()
  assert.equal(await secret(), undefined)
  assert.doesNotMatch(await page.content(), /s3cr3t/)
  stood.assertSilent([refusal(422), refusal(429)])
})

test('every page of connections is accessible and fits a phone; a user who is no admin is told so', async () => {
  const { service, browser, watched } = stood
  await assertPages(browser, service.url, [
    '/system/connections',
    '/system/connections/new',
    '/system/connections/shop',
  ])
  const analyst = await stood.openAs('analyst')
  assert.equal(await link(analyst.page, 'System').count(), 0)
  for (const address of ['/system/connections', '/system/connections/new', '/system/connections/shop']) {
    await analyst.page.goto(address)
    await analyst.page.getByText('For admins').waitFor()
    assert.equal(await link(analyst.page, 'New connection').count(), 0)
  }
  assert.deepEqual(analyst.complaints, [])
  await analyst.context.close()

  const weather =
    'metric: weather\nlabel: Weather\nsource: { file: sample/seattle-weather.csv }\ntime: { column: date }\nvalue: avg(temp_max)\ntests: [ { fresh: 2d } ]\n'
  const api = apiOf(service.url)
  await api.metrics.put('weather', weather)
  await api.templates.put(
    'warm',
    '```metric days\nmetric: weather\n```\n\n# How warm it was\n\n{{ days.size }}',
  )
  await runJob(service.url, 'warm')
  const { page } = watched
  await page.goto('/health')
  await page.getByText(/newest row is of 31 December 2015, .* “How warm it was” found this/).waitFor()
  await link(page, 'Bring newer rows: Weather').click()
  await link(page, 'Bring its file up to date').waitFor()
  await page.goBack()
  await button(page, 'Test all connections').click()
  await page.getByText('1 of 2 cannot be used.').waitFor()
  await assertAccessible(page, 'connections of which one cannot be used')
  await link(page, 'Change the connection: warehouse').click()
  await page.getByRole('heading', { name: 'warehouse', level: 1 }).waitFor()
  await button(page, 'Delete').click()
  await button(page, 'Delete the connection').click()
  await link(page, 'shop').waitFor()
  await link(page, 'warehouse').waitFor({ state: 'detached' })
  await page.goto('/system/connections/warehouse')
  await page.getByText('There is no connection of this name').waitFor()
  stood.assertSilent([refusal(404)])
})

test('shows those of a settings file, which are tried but not changed', async () => {
  const { page } = configured.watched
  await page.goto('/system/connections')
  await page.getByText('The connections come from the file that ASSAY_CONNECTIONS names').waitFor()
  assert.equal(await link(page, 'New connection').count(), 0)
  await assertAccessible(page, 'connections of a file')
  await link(page, 'shop').click()
  await button(page, 'Test').click()
  await page.getByText(/^SQLite 3/).waitFor()
  for (const name of ['Change', 'Delete']) assert.equal(await button(page, name).count(), 0, name)
  configured.assertSilent()
})
