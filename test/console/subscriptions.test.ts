/**
 * Tests subscriptions in the console, with a real mail server and a chat that does not exist. Also tests a webhook's
 * headers and health: its page shows values that are not secret, and why it fails.
 */
import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import { startMailServer } from '../servers/mail-server.ts'
import { stand } from './stand.ts'
import { apiOf, assertAccessible, assertPages, button, link, refusal, runJob } from './steps.ts'

/** The messages that wait for their acknowledgement; undefined if messages do not wait. */
let held: (() => void)[] | undefined
const mail = await startMailServer({
  security: 'none',
  acknowledge: (done) => (held ? held.push(done) : done()),
  refuse: (to) => (to.startsWith('gone@') ? { status: 550, text: 'no such user' } : undefined),
})
const stood = stand({
  ASSAY_WEBHOOK_TARGETS: 'public,loopback',
  ASSAY_SMTP_URL: `smtp://127.0.0.1:${mail.server.port}/?tls=off`,
  ASSAY_MAIL_FROM: 'Assay <assay@example.com>',
})
after(() => mail.close())

/** The address of a chat, whose path is the secret. */
const CHAT = 'http://127.0.0.1:9/services/T0000/B0000/s3cr3ts3cr3t'

test('says how the first is made, refuses a bad address beside its field, and mails a test', async () => {
  const { page } = stood.watched
  await link(page, 'Subscriptions').click()
  await page.getByText('No subscription yet').waitFor()
  await page.getByText('/v1alpha/subscriptions').waitFor()
  await assertAccessible(page, 'no subscriptions')
  await link(page, 'New subscription').first().click()
  await page.getByLabel('Readers').fill('ada@example.com\nBob <bob@example.com>\ngone@example.com')
  await button(page, 'Create').click()
  await page.getByText('“Bob <bob@example.com>” must be a plain address').waitFor()
  assert.equal(await page.getByLabel('Readers').getAttribute('aria-invalid'), 'true')
  await assertAccessible(page, 'a subscription that is refused')
  stood.assertSilent([refusal(422)])
  await page.reload()
  assert.match(await page.getByLabel('Readers').inputValue(), /gone@example\.com$/, 'what was typed is kept')
  await page.getByLabel('Readers').fill('ada@example.com\ngone@example.com')
  await page.getByLabel('Description').fill('The daily numbers')
  await button(page, 'Create').click()
  await page.getByRole('heading', { name: 'ada@example.com and 1 more' }).waitFor()
  await button(page, 'Send a test').click()
  await page.getByText('Attempt 1: answered 250').waitFor()
  assert.deepEqual((await mail.next()).to, ['ada@example.com'])
  await link(page, 'a test').click()
  await page.getByText('The delivery arrived: the receiver answered 250').waitFor()
  await page.getByText('What came back').click()
  await page.getByText('no such user').waitFor()
  await assertAccessible(page, 'a mail that one reader was refused')
  stood.assertSilent()
})

test('mails the end of a job, and says in a sentence why a job was not told', async () => {
  const { page } = stood.watched
  const api = apiOf(stood.service.url)
  const subscription = (await api.subscriptions.list()).items[0]!
  held = []
  const job = await runJob(stood.service.url, 'penguins', {}, [subscription.subscription_id])
  assert.match((await mail.next()).mail.subject ?? '', /penguins/)
  const address = `/subscriptions/${subscription.subscription_id}`
  await page.goto(`${address}?job=${job.assignment_id}`)
  await page.getByText('The delivery is about to be sent for the first time').waitFor()
  for (const acknowledge of held) acknowledge()
  held = undefined
  await page.getByText('The delivery arrived: the receiver answered 250').waitFor()
  await link(page, 'Its delivery').click()
  await page.getByText('Attempt 1').waitFor()
  await link(page, 'How penguins differ').waitFor()
  await page.goto(address)
  await link(page, 'How penguins differ').first().waitFor()
  const draft = await api.jobs.create({ template_id: 'penguins', presence_name: 'others' })
  await page.goto(`${address}?job=${draft}`)
  await page.getByText('The job was not sent to this subscription').waitFor()
  await page.getByLabel('State').selectOption('failed')
  await page.waitForURL(/status=failed/)
  await page.getByText('No delivery yet').waitFor()
  await button(page, 'Disable').click()
  await page.getByText(/^Disabled/).waitFor()
  await button(page, 'Enable').click()
  await button(page, 'Disable').waitFor()
  stood.assertSilent()
})

test('a run tells nobody by default, and me or a list where they are chosen', async () => {
  const { page } = stood.watched
  const api = apiOf(stood.service.url)
  const own = await api.subscriptions.create({ kind: 'email', to: ['me@example.com'], personal: true })
  await page.goto('/templates/penguins')
  await page.getByRole('group', { name: 'Tell' }).waitFor()
  assert.equal(
    await page.getByRole('group', { name: 'Tell' }).getByRole('checkbox', { checked: true }).count(),
    0,
  )
  await assertAccessible(page, 'a run that asks whom to tell')
  await page.getByLabel('me: me@example.com').check()
  await button(page, 'Run').click()
  await page.waitForURL(/\/jobs\/[0-9a-f-]{36}/)
  const { mail: message, to } = await mail.next()
  assert.deepEqual(to, ['me@example.com'])
  assert.match(message.subject ?? '', /penguins/)
  await page.getByText('Variables and settings').click()
  await link(page, 'me: me@example.com').waitFor()
  const [job] = (await api.jobs.list({ limit: 1 })).items
  assert.deepEqual(job?.notify, [own.subscription_id])
  await page.goto('/schedules/new?template=penguins')
  await page.getByPlaceholder('Delays, every working morning').fill('Penguins on Mondays')
  await page.getByLabel('Cron expression').fill('0 8 * * MON')
  await page.getByLabel('ada@example.com and 1 more').check()
  await button(page, 'Create').click()
  await page.getByText('Told of each run').waitFor()
  await link(page, /^ada@example.com and 1 more/).waitFor()
  assert.equal((await api.schedules.list()).items[0]!.notify.length, 1)
  await api.subscriptions.delete(own.subscription_id)
  stood.assertSilent()
})

test('follows a template and the schedule of an insight in one click, and says where the messages go', async () => {
  const { page } = stood.watched
  const api = apiOf(stood.service.url)
  await page.goto('/templates/penguins')
  await link(page, 'Follow').click()
  await page.getByText('You have no subscription of your own yet.').waitFor()
  assert.ok(await page.getByLabel('This is my own').isChecked())
  await page.getByLabel('Readers').fill('own@example.com')
  await button(page, 'Create').click()
  await page.getByRole('heading', { name: 'own@example.com' }).waitFor()
  const [own] = (await api.subscriptions.list({ limit: 1 })).items
  const follows = async () => (await api.subscriptions.get(own!.subscription_id)).follows
  assert.deepEqual([own!.personal, own!.follows], [true, ['template:penguins']])
  await page.goto('/templates/penguins')
  await page
    .getByText(
      'Each run of “How penguins differ” that somebody sends to its followers comes to own@example.com.',
    )
    .waitFor()
  await assertAccessible(page, 'a template that is followed')
  await button(page, 'Unfollow').click()
  await button(page, 'Follow').waitFor()
  assert.deepEqual(await follows(), [])

  const zone = { cron: '0 8 * * MON', time_zone: 'Europe/Berlin' }
  const { schedule_id } = await api.schedules.create({ name: 'Weekly', template_id: 'penguins', ...zone })
  const run = async () => api.jobs.wait((await api.schedules.runNow(schedule_id)).assignment_id)
  await page.goto(`/insights/${(await run()).insight_id}`)
  await button(page, 'Follow').click()
  await page.getByText('Each run of the schedule “Weekly” comes to own@example.com.').waitFor()
  await assertAccessible(page, 'an insight whose schedule is followed')
  assert.deepEqual(await follows(), [`schedule:${schedule_id}`])
  await run()
  assert.deepEqual((await mail.next()).to, ['own@example.com'])
  await api.subscriptions.update(own!.subscription_id, { status: 'disabled' })
  await page.reload()
  await page.getByText('It is disabled: nothing comes before you enable it.').waitFor()
  await api.schedules.delete(schedule_id)
  await page.reload()
  await button(page, 'Follow').waitFor()
  await api.subscriptions.delete(own!.subscription_id)
  stood.assertSilent([refusal(404)])
})

test('keeps the address of a chat out of sight, and replaces it only where another is typed', async () => {
  const { page } = stood.watched
  const api = apiOf(stood.service.url)
  await page.goto('/subscriptions/new')
  await page.getByLabel('Send').selectOption('slack')
  await button(page, 'Create').click()
  await page.getByText('is missing').waitFor()
  await page.getByLabel('Address of the incoming webhook').fill(CHAT)
  const kept = await page.evaluate(() =>
    [JSON.stringify(sessionStorage), JSON.stringify(localStorage)].join(),
  )
  assert.doesNotMatch(kept, /s3cr3t/)
  await page.getByLabel('a run was canceled').uncheck()
  await button(page, 'Create').click()
  await page.getByRole('heading', { name: /^http:\/\/127\.0\.0\.1:9\/••••/ }).waitFor()
  await button(page, 'Send a test').click()
  await page.getByText('Nothing listens at that address').waitFor()
  const chat = (await api.subscriptions.list({ kind: 'slack' })).items[0]!
  await button(page, 'Change').click()
  await page.getByText(/^Set: http/).waitFor()
  await assertAccessible(page, 'a subscription that is changed')
  await page.getByLabel('A link to the page').selectOption('no link')
  for (const name of ['Template: How penguins differ', 'Metric: births']) {
    await page.getByLabel('Follows').selectOption(name)
    await button(page, `Remove ${name}`).waitFor()
  }
  await button(page, 'Remove Metric: births').click()
  await button(page, 'Save').click()
  await page.getByText('Template: How penguins differ', { exact: true }).waitFor()
  await page.getByText('a run has its insight, a run failed', { exact: true }).waitFor()
  const changed = await api.subscriptions.get(chat.subscription_id)
  assert.deepEqual(
    [changed.url, changed.link_expires_in, changed.follows],
    [chat.url, null, ['template:penguins']],
  )
  await button(page, 'Change').click()
  await page.getByLabel('Address of the incoming webhook').fill(`${CHAT}-other`)
  await button(page, 'Save').click()
  await button(page, 'Change').waitFor()
  assert.notEqual((await api.subscriptions.get(chat.subscription_id)).url, chat.url)
  assert.doesNotMatch(await page.content(), /s3cr3t/)
  assert.equal((await api.subscriptions.get(chat.subscription_id)).failing_since, null, 'it begins anew')
  await button(page, 'Send a test').click()
  await page.getByText('Attempt 1: no answer').waitFor()
  await page.getByText(/^Every attempt has failed since .* The last error: /s).waitFor()
  await link(page, 'Subscriptions').first().click()
  await page.getByText(/failing since/).waitFor()
  stood.assertSilent([refusal(422)])
})

test('every page of subscriptions is accessible and fits a phone, and a viewer may only look', async () => {
  const { service, browser, watched } = stood
  const api = apiOf(service.url)
  const chat = (await api.subscriptions.list({ kind: 'slack' })).items[0]!
  const { subscription_id } = chat
  const delivery = (await api.subscriptions.deliveries(subscription_id)).items[0]!
  const address = `/subscriptions/${subscription_id}`
  await assertPages(browser, service.url, [
    '/subscriptions',
    '/subscriptions/new',
    address,
    `${address}/deliveries/${delivery.delivery_id}`,
  ])
  const viewer = await stood.openAs('viewer')
  await viewer.page.goto('/subscriptions')
  await viewer.page.getByText(/failing since/).waitFor()
  assert.equal(await link(viewer.page, 'New subscription').count(), 0)
  await viewer.page.goto('/subscriptions/new')
  await viewer.page.getByText('This needs a token with the scope analyst.').waitFor()
  assert.ok(await button(viewer.page, 'Create').isDisabled())
  await viewer.page.goto(address)
  await viewer.page.getByRole('heading', { name: 'Settings' }).waitFor()
  for (const name of ['Send a test', 'Change', 'Disable', 'Recover'])
    assert.equal(await button(viewer.page, name).count(), 0, name)
  await viewer.page.goto('/templates/penguins')
  await button(viewer.page, 'Run').or(viewer.page.getByText('needs a token')).first().waitFor()
  assert.equal(await viewer.page.getByText('Follow', { exact: true }).count(), 0)
  assert.deepEqual(viewer.complaints, [])
  await viewer.context.close()

  await watched.page.goto(address)
  await button(watched.page, /^More/).click()
  await watched.page.getByRole('menuitem', { name: 'Delete' }).click()
  await button(watched.page, 'Delete the subscription').click()
  await watched.page.getByRole('heading', { name: 'Subscriptions', level: 1 }).waitFor()
  assert.deepEqual((await api.subscriptions.list({ kind: 'slack' })).items, [])
})

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
  await page.getByLabel('Receiver name').fill('reports')
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

test('registers a webhook that tells a data catalog of every run, without a name and with the events that it can take', async () => {
  const { page } = stood.watched
  await page.goto('/webhooks/new')
  await page.getByLabel('Address').fill(address)
  await page.getByLabel('What it gets').selectOption('openlineage')
  assert.equal(await page.getByLabel('Receiver name').count(), 0)
  assert.equal(await page.getByRole('checkbox', { name: 'job.started' }).isChecked(), true)
  assert.equal(await page.getByRole('checkbox', { name: 'job.queued' }).count(), 0)
  await page.getByRole('checkbox', { name: 'job.canceled' }).uncheck()
  await assertAccessible(page, 'a webhook for a data catalog')
  await button(page, 'Create').click()
  await link(page, 'Go to the webhook').click()
  await page.getByText('the lineage of every run, as OpenLineage has it').waitFor()
  const [made] = (await apiOf(stood.service.url).webhooks.list()).items
  assert.deepEqual(
    [made?.format, made?.events],
    ['openlineage', ['job.started', 'job.completed', 'job.failed']],
  )
  await button(page, 'Change').click()
  assert.equal(await page.getByLabel('Receiver name').count(), 0)
  assert.equal(await page.getByRole('checkbox', { name: 'webhook.failing' }).count(), 0)
  stood.assertSilent()
})

test('says on its page since when a webhook fails, and by what', async () => {
  const { page } = stood.watched
  await page.goto('/webhooks')
  await link(page, address).last().click()
  await button(page, 'Send a test').click()
  await page.getByText('Attempt 1: answered 503').waitFor()
  await page.reload()
  await page.getByText(/^Every attempt has failed since/).waitFor()
  const notice = await page.locator('p.notice').first().innerText()
  assert.match(notice, /The last error: .*503.* Sending stops after five days of failures/s)
  await assertAccessible(page, 'a webhook that fails')
  await button(page, 'Disable').click()
  await page
    .locator('p.notice')
    .getByText(/^Disabled/)
    .waitFor()
  assert.match(await page.locator('p.notice').first().innerText(), /The last error: /)
  stood.assertSilent()
})
