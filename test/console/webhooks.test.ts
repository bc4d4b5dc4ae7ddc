/** A webhook's headers and health in the console: its page shows values that are not secret, and why it fails. */
import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import { stand } from './stand.ts'
import { apiOf, assertAccessible, button, link, refusal } from './steps.ts'

const stood = stand()
let receiver: Server
let address: string

before(async () => {
  receiver = createServer((_request, response) => response.writeHead(503).end('not today'))
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
  address = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`
})
after(() => receiver.close())

test('registers headers with and without a secret, and changes each without typing the other', async () => {
  const { page } = stood.watched
  await page.goto('/webhooks/new')
  await page.getByLabel('Address').fill(address)
  await page.getByLabel('Presence name').fill('reports')
  for (const row of [1, 2, 3]) {
    await button(page, 'Add a header').click()
    if (row === 1) continue
    await page.getByLabel(`Name ${row}`).fill(row === 2 ? 'X-Team' : 'host')
    await page.getByLabel(`Value ${row}`, { exact: true }).fill(row === 2 ? 'reports' : 's3cret')
  }
  await page.getByLabel('Row 2 is no secret').check()
  await assertAccessible(page, 'headers of a new webhook')
  await button(page, 'Create').click()
  await page.getByText('host is set by the service').waitFor()
  assert.equal(await page.getByLabel('Name 3').getAttribute('aria-invalid'), 'true', 'the row that it is of')
  await page.getByLabel('Name 3').fill('Authorization')
  await button(page, 'Create').click()
  await link(page, 'Go to the webhook').click()
  await page.getByText(/X-Team: reports; Authorization: •••• [0-9a-f]{8}/).waitFor()

  await button(page, 'Change').click()
  assert.equal(await page.getByLabel('Value 1', { exact: true }).inputValue(), 'reports')
  assert.equal(await page.getByLabel('Value 2', { exact: true }).inputValue(), '')
  assert.ok(await page.getByLabel('Row 2 is no secret').isDisabled(), 'nobody here knows the value')
  await assertAccessible(page, 'headers of a webhook that is changed')
  await page.getByLabel('Value 1', { exact: true }).fill('sales')
  await button(page, 'Save').click()
  await page.getByText(/X-Team: sales; Authorization: ••••/).waitFor()
  await button(page, 'Change').click()
  await page.getByLabel('Value 2', { exact: true }).fill('told')
  await page.getByLabel('Row 2 is no secret').check()
  await button(page, 'Remove row 1').click()
  await button(page, 'Save').click()
  await page.getByText('Authorization: told', { exact: true }).waitFor()
  const [webhook] = (await apiOf(stood.service.url).webhooks.list()).items
  assert.deepEqual(webhook?.headers, [{ name: 'Authorization', value: 'told', public: true }])
  stood.assertSilent([refusal(422)])
})

test('says on its page since when a webhook fails, and by what', async () => {
  const { page } = stood.watched
  await button(page, 'Send a test').click()
  await page.getByText('Attempt 1: answered 503').waitFor()
  await page.reload()
  await page.getByText(/^Every attempt has failed since/).waitFor()
  const notice = await page.locator('p.notice').first().innerText()
  assert.match(notice, /Last: http_status, .*503.* Sending stops after five days of failures/s)
  await assertAccessible(page, 'a webhook that fails')
  await button(page, 'Disable').click()
  await page
    .locator('p.notice')
    .getByText(/^Disabled/)
    .waitFor()
  assert.match(await page.locator('p.notice').first().innerText(), /Last: http_status/)
  stood.assertSilent()
})
