import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { CONFIRM_CONTEXT, type Target, targetContext, UNSUBSCRIBE_CONTEXT } from '@assay/model/subscription'
import { DEFAULT_WORKSPACE as workspace_id } from '@assay/model/token'
import { fingerprint } from '../../runtime/secrets.ts'
import { type Json, openTestServer, TEST_CONFIG, type TestServer } from '../test-server.ts'

const SERVER = { host: 'mail.example', port: 587, secure: false, tls: true, user: null, password: '' }
const SLACK = 'http://127.0.0.1:9/services/T01234567/B01234567/s3cr3ts3cr3t'

async function opened(
  t: Parameters<typeof openTestServer>[0],
  publicUrl: string | null = null,
): Promise<TestServer> {
  const config = { ...TEST_CONFIG, publicUrl, smtpUrl: SERVER }
  return openTestServer(t, { parts: { config } })
}

const post = (api: TestServer, body: Json) => api.ask('POST', '/v1alpha/subscriptions', { body })

async function made(api: TestServer, body: Json): Promise<Json> {
  const answer = await post(api, body)
  assert.equal(answer.status, 201, answer.text)
  return answer.json()
}

test('makes, lists, reads, changes and deletes subscriptions, apart from the webhooks', async (t) => {
  const api = await opened(t)
  const { ask } = api
  const mail = await made(api, { kind: 'email', to: ['ada@example.com', 'bob@example.com'] })
  const chat = await made(api, {
    kind: 'slack',
    url: SLACK,
    include_skipped: true,
    link_expires_in: null,
  })
  assert.deepEqual([mail.presence_name, mail.user_id, mail.link_expires_in], ['default', 'ada', 604_800])
  assert.deepEqual([mail.subject, mail.attach], ['title', null])
  assert.deepEqual(mail.events, ['job.completed', 'job.failed', 'job.canceled'])
  assert.deepEqual(
    [chat.url, chat.to, chat.include_skipped, chat.link_expires_in],
    [`http://127.0.0.1:9/•••• ${fingerprint(SLACK)}`, [], true, null],
  )
  const list = async (query = '') => (await ask('GET', `/v1alpha/subscriptions${query}`)).json().items
  assert.deepEqual(await list(), [chat, mail])
  assert.deepEqual(await list('?kind=email'), [mail])
  assert.deepEqual((await ask('GET', '/v1alpha/webhooks')).json().items, [])
  const path = `/v1alpha/subscriptions/${mail.subscription_id}`
  assert.deepEqual((await ask('GET', path)).json(), mail)
  const changed = await ask('PATCH', path, { body: { to: ['cy@example.com'], status: 'disabled' } })
  assert.deepEqual(
    [
      changed.json().to,
      changed.json().status,
      changed.json().disabled_reason,
      changed.json().link_expires_in,
    ],
    [['cy@example.com'], 'disabled', 'Turned off by ada.', 604_800],
  )
  const asWebhook = `/v1alpha/webhooks/${mail.subscription_id}`
  for (const [method, url] of [
    ['GET', asWebhook],
    ['PATCH', asWebhook],
    ['DELETE', asWebhook],
    ['GET', `${asWebhook}/deliveries`],
    ['GET', `${asWebhook}/stats`],
    ['POST', `${asWebhook}/rotate-secret`],
    ['POST', `${asWebhook}/cancel-pending`],
  ] as const)
    assert.equal(
      (await ask(method, url, method === 'PATCH' ? { body: {} } : {})).status,
      404,
      `${method} ${url}`,
    )
  assert.equal((await ask('DELETE', path)).status, 204)
  assert.equal((await ask('GET', path)).status, 404)
})

test('a webhook is no subscription', async (t) => {
  const { ask } = await opened(t)
  const body = { url: 'http://127.0.0.1:9/', user_id: 'ada', presence_name: 'ops' }
  const { webhook_id } = (await ask('POST', '/v1alpha/webhooks', { body })).json()
  const path = `/v1alpha/subscriptions/${webhook_id}`
  for (const url of [path, `${path}/deliveries`, `${path}/stats`])
    assert.equal((await ask('GET', url)).status, 404)
  assert.equal((await ask('DELETE', path)).status, 404)
  assert.deepEqual((await ask('GET', '/v1alpha/subscriptions')).json().items, [])
})

test('its deliveries are counted, canceled and recovered as those of a webhook', async (t) => {
  const api = await opened(t)
  const { ask, store } = api
  const { subscription_id } = await made(api, { kind: 'email', to: ['ada@example.com'] })
  const path = `/v1alpha/subscriptions/${subscription_id}`
  const data = { webhook_id: subscription_id, message: 'hello' }
  const ids = { event_id: crypto.randomUUID(), delivery_id: crypto.randomUUID() }
  await store.sendEvent({ workspace_id, webhook_id: subscription_id, ...ids, type: 'webhook.test', data })
  const [delivery] = (await ask('GET', `${path}/deliveries`)).json().items
  await ask('GET', `/v1alpha/webhooks/deliveries/${ids.delivery_id}`)
  const trail = (await ask('GET', '/v1alpha/audit?action=delivery.read')).json().items
  assert.deepEqual(
    trail.map(({ object_id }: Json) => object_id),
    [ids.delivery_id],
    'whoever reads what was sent is recorded',
  )
  assert.equal(delivery.webhook_id, subscription_id)
  assert.deepEqual((await ask('POST', `${path}/cancel-pending`)).json(), { count: 1 })
  const since = '2020-01-01T00:00:00.000Z'
  const recovery = await ask('POST', `${path}/recover`, { body: { since, include_unsent: true } })
  assert.equal(recovery.status, 202, recovery.text)
  assert.ok(String(recovery.headers.location).startsWith(`${path}/recoveries/`))
  assert.equal((await ask('GET', String(recovery.headers.location))).status, 200)
  assert.equal((await ask('GET', `${path}/stats`)).json().sent, 0)
})

test('refuses what is no plain address, what another kind takes, and what may not be reached', async (t) => {
  const api = await opened(t)
  const fault = async (body: Json) => (await post(api, body)).json().errors?.[0]?.path
  for (const to of [
    'ada',
    'ada@',
    '@example.com',
    'Ada <ada@example.com>',
    'ada@example.com\r\nBcc: eve@example.com',
    'ada@example.com,eve@example.com',
    'a b@example.com',
    `${'a'.repeat(65)}@example.com`,
    'ada@-example.com',
    'ädä@example.com',
  ])
    assert.equal(await fault({ kind: 'email', to: [to] }), 'to.0', to)
  assert.equal(await fault({ kind: 'email' }), 'to')
  assert.equal(await fault({ kind: 'email', to: [] }), 'to')
  assert.equal(await fault({ kind: 'slack' }), 'url')
  assert.equal(await fault({ kind: 'slack', url: 'http://169.254.169.254/' }), 'url')
  assert.equal(await fault({ kind: 'slack', url: SLACK, to: ['ada@example.com'] }), 'to')
  assert.equal(await fault({ kind: 'email', to: ['ada@example.com'], url: SLACK }), 'url')
  assert.equal(await fault({ kind: 'pigeon', to: ['ada@example.com'] }), 'kind')
  assert.equal(await fault({ kind: 'email', to: ['ada@example.com'], link_expires_in: 1 }), 'link_expires_in')
  const chat = { kind: 'slack', url: 'https://hooks.example/x' }
  assert.equal(await fault({ ...chat, subject: 'figure' }), 'subject')
  assert.equal(await fault({ ...chat, attach: 'pdf' }), 'attach')
  assert.equal(await fault({ kind: 'email', to: ['ada@example.com'], attach: 'docx' }), 'attach')
})

test('says that there is no mail server where the operator has set none', async (t) => {
  const api = await openTestServer(t)
  const answer = await post(api, { kind: 'email', to: ['ada@example.com'] })
  assert.equal(answer.status, 409)
  assert.match(answer.json().detail, /ASSAY_SMTP_URL/)
})

test('keeps the address of a chat and those of readers sealed', async (t) => {
  const api = await opened(t)
  const chat = await post(api, { kind: 'slack', url: SLACK })
  await made(api, { kind: 'email', to: ['someone.private@example.com'] })
  assert.doesNotMatch(chat.text, /s3cr3t/)
  for (const name of await readdir(api.folder))
    if (name.startsWith('assay.db')) {
      const bytes = await readFile(`${api.folder}/${name}`)
      assert.ok(!bytes.includes('s3cr3t') && !bytes.includes('someone.private'), name)
    }
})

const OWN = { kind: 'email', to: ['ada@example.com'], personal: true }
const jobOf = (notify?: unknown) => ({ payload: { type: 'template', template_id: 'hello', notify } })

test('a job tells whom its notify names: nobody unless given, me for the own subscriptions of its maker', async (t) => {
  const api = await opened(t)
  const { ask } = api
  const own = await made(api, OWN)
  assert.deepEqual([own.personal, own.user_id], [true, 'ada'])
  const board = await made(api, { kind: 'email', to: ['bob@example.com', 'cy@example.com'] })
  assert.equal(board.personal, false)
  const notified = async (notify?: unknown) => {
    const id = (await ask('POST', '/v1alpha/jobs', { body: jobOf(notify) })).json()
    const job = (await ask('GET', `/v1alpha/jobs/status?assignment_id=${id}`)).json()
    await ask('POST', '/v1alpha/jobs/run', { body: { payload: { type: 'assignment', assignment_id: id } } })
    const told = async ({ subscription_id }: Json) => {
      const path = `/v1alpha/subscriptions/${subscription_id}/deliveries`
      const { items } = (await ask('GET', path)).json()
      return items.filter((delivery: Json) => delivery.assignment_id === id).length
    }
    await ask('POST', '/v1alpha/jobs/cancel', {
      body: { payload: { type: 'assignment', assignment_id: id } },
    })
    return [job.notify, [await told(own), await told(board)]]
  }
  for (const nobody of [undefined, null, []]) assert.deepEqual(await notified(nobody), [[], [0, 0]])
  assert.deepEqual(await notified(['me']), [[own.subscription_id], [1, 0]])
  const both = [own.subscription_id, board.subscription_id]
  assert.deepEqual(await notified(['me', board.subscription_id, own.subscription_id]), [both, [1, 1]])
  const batch = { template_id: 'hello', notify: ['me'], items: [{}, {}] }
  const { items } = (await ask('POST', '/v1alpha/jobs/bulk', { body: batch })).json()
  const second = await ask('GET', `/v1alpha/jobs/status?assignment_id=${items[1].assignment_id}`)
  assert.deepEqual(second.json().notify, [own.subscription_id])
})

test('refuses a notify that names nobody, each with what to write instead', async (t) => {
  const api = await opened(t)
  const { ask, store } = api
  const faults = async (notify: unknown) => {
    const answer = await ask('POST', '/v1alpha/jobs', { body: jobOf(notify) })
    assert.equal(answer.status, 422, answer.text)
    return answer.json().errors.map(({ path, message }: Json) => `${path} ${message}`)
  }
  const [none] = await faults(['me'])
  assert.match(none, /^payload\.notify\.0 .*the user ada has none: make one with "personal": true/)
  const webhook = { url: 'http://127.0.0.1:9/', user_id: 'ada', presence_name: 'ops' }
  const { webhook_id } = (await ask('POST', '/v1alpha/webhooks', { body: webhook })).json()
  await store.createWorkspace({ workspace_id: 'other', name: 'Other', data_folder: null })
  const token = await api.token('other', ['analyst'])
  const theirs = await ask('POST', '/v1alpha/subscriptions', { token, body: OWN })
  const foreign = theirs.json().subscription_id
  const off = (await made(api, { kind: 'slack', url: SLACK })).subscription_id
  await ask('PATCH', `/v1alpha/subscriptions/${off}`, { body: { status: 'disabled' } })
  const told = await faults(['ada@example.com', webhook_id, foreign, off])
  assert.match(
    told[0],
    /^payload\.notify\.0 must be the id of a subscription, "me" or "followers", not "ada@example.com"/,
  )
  assert.ok(told[1].startsWith(`payload.notify.1 names no subscription of this workspace: ${webhook_id}`))
  assert.ok(told[2].startsWith(`payload.notify.2 names no subscription of this workspace: ${foreign}`))
  assert.match(told[3], /^payload\.notify\.3 .*disabled: enable it/)
  const own = await made(api, OWN)
  await ask('PATCH', `/v1alpha/subscriptions/${own.subscription_id}`, { body: { status: 'disabled' } })
  assert.match((await faults(['me']))[0], /is disabled: enable it/)
})

test('a schedule keeps whom its runs tell, and is changed though one of them is disabled by now', async (t) => {
  const api = await opened(t)
  const { ask } = api
  const { subscription_id } = await made(api, OWN)
  const input = { name: 'Hello', template_id: 'hello', cron: '@daily', notify: ['me'] }
  const answer = await ask('POST', '/v1alpha/schedules', { body: input })
  assert.equal(answer.status, 201, answer.text)
  const schedule = answer.json()
  assert.deepEqual(schedule.notify, [subscription_id])
  const path = `/v1alpha/schedules/${schedule.schedule_id}`
  assert.deepEqual((await ask('POST', `${path}/run-now`)).json().notify, [subscription_id])
  await ask('PATCH', `/v1alpha/subscriptions/${subscription_id}`, { body: { status: 'disabled' } })
  const notifyAfter = async (body: Json) => (await ask('PATCH', path, { body })).json().notify
  assert.deepEqual(await notifyAfter({ name: 'Hi', notify: [subscription_id] }), [subscription_id])
  assert.deepEqual(await notifyAfter({ name: 'Hello' }), [subscription_id])
  assert.deepEqual(await notifyAfter({ notify: null }), [])
  const refused = await ask('PATCH', path, { body: { notify: [subscription_id] } })
  assert.deepEqual([refused.status, refused.json().errors[0].path], [422, 'notify.0'])
})

test('a follower gets the runs of its schedule, and of its template those sent to followers', async (t) => {
  const api = await opened(t)
  const { ask } = api
  const cron = { name: 'Hello', template_id: 'hello', cron: '@daily' }
  const { schedule_id } = (await ask('POST', '/v1alpha/schedules', { body: cron })).json()
  const bySchedule = await made(api, { kind: 'slack', url: SLACK, follows: [`schedule:${schedule_id}`] })
  const byTemplate = await made(api, { kind: 'slack', url: SLACK, follows: ['template:hello'] })
  assert.deepEqual(byTemplate.follows, ['template:hello'])
  const notified = async (notify?: unknown) => {
    const id = (await ask('POST', '/v1alpha/jobs', { body: jobOf(notify) })).json()
    return (await ask('GET', `/v1alpha/jobs/status?assignment_id=${id}`)).json().notify
  }
  assert.deepEqual(await notified(), [])
  assert.deepEqual(await notified(['followers']), [byTemplate.subscription_id])
  const path = `/v1alpha/schedules/${schedule_id}`
  const run = async () => new Set((await ask('POST', `${path}/run-now`)).json().notify)
  assert.deepEqual(await run(), new Set([bySchedule.subscription_id]))
  const changed = await ask('PATCH', path, { body: { notify: ['followers'] } })
  assert.deepEqual(changed.json().notify, ['followers'])
  assert.deepEqual(await run(), new Set([bySchedule.subscription_id, byTemplate.subscription_id]))
  const fault = async (one: string) =>
    (await post(api, { kind: 'slack', url: SLACK, follows: [one] })).json().errors[0]
  assert.match(
    (await fault('hello')).message,
    /must be "template:ID", "schedule:ID", "collection:ID" or "metric:ID"/,
  )
  assert.equal((await fault('template:nothing')).message, 'names no template of this workspace: nothing')
  assert.equal((await fault(`schedule:${crypto.randomUUID()}`)).path, 'follows.0')
  await ask('DELETE', path)
  const kept = { body: { follows: bySchedule.follows, description: 'old' } }
  const patched = await ask('PATCH', `/v1alpha/subscriptions/${bySchedule.subscription_id}`, kept)
  assert.equal(patched.status, 200, patched.text)
})

test('a follower of a metric gets the runs that read it, chosen by a variable too, where they are sent to followers', async (t) => {
  const api = await openTestServer(t, { pool: 'real' })
  const { ask } = api
  for (const id of ['orders', 'visits']) {
    const body = `metric: ${id}\nlabel: ${id}\nsource: { file: uploads/a.csv }\ntime: { column: day }\nvalue: count(*)\n`
    const put = await ask('PUT', `/v1alpha/metrics/${id}`, { body, type: 'application/yaml' })
    assert.ok(put.status < 300, put.text)
  }
  const source = (metric: string) =>
    `---\nvariables: { which: { type: list, default: [orders] } }\n---\n~~~metric values\nmetric: ${metric}\n~~~\n\n# Review\n`
  for (const [id, metric] of Object.entries({ fixed: 'visits', chosen: '$which' })) {
    const body = source(metric)
    const put = await ask('PUT', `/v1alpha/jobs/templates/${id}`, { body, type: 'text/markdown' })
    assert.ok(put.status < 300, put.text)
  }
  const { subscription_id } = await made(api, { kind: 'slack', url: SLACK, follows: ['metric:orders'] })
  const told = async (template_id: string, more: object = { notify: ['followers'] }) => {
    const payload = { type: 'template', template_id, ...more }
    const created = await ask('POST', '/v1alpha/jobs', { body: { payload } })
    assert.equal(created.status, 200, created.text)
    return (await ask('GET', `/v1alpha/jobs/status?assignment_id=${created.json()}`)).json().notify
  }
  assert.deepEqual(await told('chosen'), [subscription_id])
  assert.deepEqual(await told('chosen', {}), [], 'nobody sent it')
  const both = { notify: ['followers'], template_vars: { which: ['visits', 'orders'] } }
  assert.deepEqual(await told('chosen', both), [subscription_id])
  assert.deepEqual(await told('chosen', { ...both, template_vars: { which: ['visits'] } }), [])
  assert.deepEqual(await told('fixed'), [])
  const unknown = await post(api, { kind: 'slack', url: SLACK, follows: ['metric:nothing'] })
  assert.match(unknown.json().errors[0].message, /names no metric of this workspace: nothing/)
  const daily = { name: 'D', template_id: 'chosen', cron: '@daily', notify: ['followers'] }
  const { schedule_id } = (await ask('POST', '/v1alpha/schedules', { body: daily })).json()
  const run = (await ask('POST', `/v1alpha/schedules/${schedule_id}/run-now`)).json()
  assert.deepEqual(run.notify, [subscription_id])
})

test('only a user makes a subscription her own, with one address', async (t) => {
  const api = await opened(t)
  const fault = async (body: Json) => (await post(api, body)).json().errors?.[0]?.path
  assert.equal(await fault({ ...OWN, user_id: 'bob' }), 'personal')
  assert.equal(await fault({ ...OWN, to: ['ada@example.com', 'bob@example.com'] }), 'to')
  const { subscription_id } = await made(api, OWN)
  const path = `/v1alpha/subscriptions/${subscription_id}`
  const changed = async (body: Json) => (await api.ask('PATCH', path, { body })).json()
  assert.equal((await changed({ user_id: 'bob' })).errors[0].path, 'personal')
  assert.equal((await changed({ to: ['a@example.com', 'b@example.com'] })).errors[0].path, 'to')
  assert.equal((await changed({ description: 'mine' })).personal, true)
  assert.equal((await changed({ personal: false })).personal, false)
})

test('an address outside the domains waits for its owner, who is asked once and agrees on a page', async (t) => {
  const bare = await opened(t)
  const outside = { kind: 'email', to: ['ada@example.com', 'eve@elsewhere.example'] }
  const refused = (await post(bare, outside)).json().errors[0]
  assert.equal(refused.path, 'to.1')
  assert.match(
    refused.message,
    /outside the domains that get mail at once \(example\.com\).*ASSAY_MAIL_DOMAINS/,
  )
  const api = await opened(t, 'https://assay.example')
  const { ask, secrets, store } = api
  const made_ = await made(api, outside)
  const waiting = [{ to: 'eve@elsewhere.example', reason: 'unconfirmed' }]
  assert.deepEqual([made_.to, made_.waiting], [outside.to, waiting])
  const path = `/v1alpha/subscriptions/${made_.subscription_id}`
  const events = async () =>
    (await ask('GET', `${path}/deliveries`)).json().items.map(({ event_type }: Json) => event_type)
  assert.deepEqual(await events(), ['subscription.confirm'])
  await ask('PATCH', path, { body: { description: 'x', to: [...outside.to, 'bob@example.com'] } })
  assert.deepEqual(await events(), ['subscription.confirm'], 'asked once')
  const sealed = (context: string, to = 'eve@elsewhere.example'): string =>
    secrets.seal(JSON.stringify([workspace_id, made_.subscription_id, to]), context)
  const agreeing = `/confirm/${sealed(CONFIRM_CONTEXT)}`
  const page = await ask('GET', agreeing, { token: null })
  assert.match(page.text, /mail at eve@elsewhere\.example.*<form method="post">/s)
  const shown = async () => (await ask('GET', '/v1alpha/subscriptions')).json().items[0].waiting
  assert.deepEqual(await shown(), waiting, 'looking changes nothing')
  const click = (url: string) => ask('POST', url, { token: null, ...ONE_CLICK[0] })
  assert.equal((await click(`/confirm/${sealed(UNSUBSCRIBE_CONTEXT)}`)).status, 404)
  assert.equal((await click(agreeing)).status, 200)
  assert.deepEqual(await shown(), [])
  assert.deepEqual((await made(api, outside)).waiting, [], 'once agreed, on every list of the workspace')
  const { items } = (await ask('GET', '/v1alpha/audit?action=subscription.confirm')).json()
  assert.deepEqual(
    items.map(({ object_id }: Json) => object_id),
    [made_.subscription_id],
  )
  await store.changeOutgoing({ workspace_id, patch: { mail_domains: ['*.org'] } })
  const narrowed = await made(api, { kind: 'email', to: ['new@example.com', 'x@a.org'] })
  assert.deepEqual(narrowed.waiting, [{ to: 'new@example.com', reason: 'unconfirmed' }])
  const kept = await readFile(`${api.folder}/assay.db`)
  assert.ok(!kept.includes('eve@elsewhere'), 'no address in clear')
})

test('only the owner of an address brings it back to a list that it has left', async (t) => {
  const api = await opened(t, 'https://assay.example')
  const { ask, secrets } = api
  const ADA = 'ada@example.com'
  const { subscription_id } = await made(api, { kind: 'email', to: [ADA] })
  const other = await made(api, { kind: 'email', to: [ADA] })
  const token = secrets.seal(JSON.stringify([workspace_id, subscription_id, ADA]), UNSUBSCRIBE_CONTEXT)
  const leave = () => ask('POST', `/unsubscribe/${token}`, { token: null, ...ONE_CLICK[0] })
  const read = async (id: string) => (await ask('GET', `/v1alpha/subscriptions/${id}`)).json()
  const left = await leave()
  assert.deepEqual((await read(other.subscription_id)).waiting, [], 'her other subscriptions stay')
  const again = await made(api, { kind: 'email', to: [ADA] })
  assert.deepEqual(again.waiting, [{ to: ADA, reason: 'left' }], 'a new list does not reach her')
  assert.deepEqual(
    (await ask('GET', `/v1alpha/subscriptions/${again.subscription_id}/deliveries`)).json().items,
    [],
  )
  const back = /action="(\/confirm\/[^"]+)"/.exec(left.text)![1]!
  const page = await ask('GET', `/unsubscribe/${token}`, { token: null })
  assert.match(page.text, /Get this mail again/)
  assert.equal((await ask('POST', back, { token: null, ...ONE_CLICK[0] })).status, 200)
  const returned = await read(subscription_id)
  assert.deepEqual([returned.to, returned.waiting, returned.status], [[ADA], [], 'enabled'])
  assert.deepEqual((await read(again.subscription_id)).waiting, [])
})

test('who unsubscribes is off the list by every spelling of the address, and stays off where somebody removed her before', async (t) => {
  const api = await opened(t)
  const { ask, secrets } = api
  const ADA = 'ada@example.com'
  const BOB = 'bob@example.com'
  const { subscription_id } = await made(api, { kind: 'email', to: [ADA, 'Ada+news@example.com', BOB] })
  const path = `/v1alpha/subscriptions/${subscription_id}`
  const press = (to: string) => {
    const token = secrets.seal(JSON.stringify([workspace_id, subscription_id, to]), UNSUBSCRIBE_CONTEXT)
    return ask('POST', `/unsubscribe/${token}`, { token: null, ...ONE_CLICK[0] })
  }
  assert.match((await press(ADA)).text, /You are unsubscribed/)
  assert.deepEqual((await ask('GET', path)).json().to, [BOB])
  // Somebody takes Bob off the list, Bob unsubscribes, and somebody puts him back.
  await ask('PATCH', path, { body: { to: ['eve@example.com'] } })
  assert.match((await press(BOB)).text, /You are unsubscribed/)
  const back = await ask('PATCH', path, { body: { to: ['eve@example.com', BOB] } })
  assert.deepEqual(back.json().waiting, [{ to: BOB, reason: 'left' }])
  const elsewhere = await made(api, { kind: 'email', to: [BOB, 'ADA@example.com'] })
  assert.deepEqual(
    elsewhere.waiting.map(({ reason }: { reason: string }) => reason),
    ['left', 'left'],
  )
})

test('a reader whom somebody has removed cannot put himself back by the address in an old mail', async (t) => {
  const api = await opened(t)
  const { ask, secrets } = api
  const [ADA, BOB] = ['ada@example.com', 'bob@example.com']
  const { subscription_id } = await made(api, { kind: 'email', to: [ADA, BOB] })
  const path = `/v1alpha/subscriptions/${subscription_id}`
  const sealed = (context: string) =>
    secrets.seal(JSON.stringify([workspace_id, subscription_id, BOB]), context)
  const press = (url: string) => ask('POST', url, { token: null, ...ONE_CLICK[0] })
  const leave = () => press(`/unsubscribe/${sealed(UNSUBSCRIBE_CONTEXT)}`)
  const comeBack = () => press(`/confirm/${sealed(CONFIRM_CONTEXT)}`)
  const listed = async () => (await ask('GET', path)).json().to
  await leave()
  await comeBack()
  assert.deepEqual(await listed(), [ADA, BOB], 'who left without being removed returns')
  await ask('PATCH', path, { body: { to: [ADA] } })
  assert.match((await comeBack()).text, /You are not on the list of this mail/)
  assert.deepEqual(await listed(), [ADA], 'an address that he used before')
  const page = await leave()
  assert.match(page.text, /You are unsubscribed/)
  assert.doesNotMatch(page.text, /Get this mail again/)
  await comeBack()
  assert.deepEqual(await listed(), [ADA], 'also once he has unsubscribed')
  await ask('PATCH', path, { body: { to: [ADA, BOB] } })
  await leave()
  await ask('PATCH', path, { body: { to: [ADA] } })
  await comeBack()
  assert.deepEqual(await listed(), [ADA], 'also where he left and the list was written since')
})

/** The two forms of RFC 8058 (sections 3.1 and 8.2): a mail program may post either. */
const ONE_CLICK = [
  { type: 'application/x-www-form-urlencoded', body: 'List-Unsubscribe=One-Click' },
  {
    type: 'multipart/form-data; boundary=---FormBoundaryjWmhtjORrn',
    body: [
      '-----FormBoundaryjWmhtjORrn',
      'Content-Disposition: form-data; name="List-Unsubscribe"',
      '',
      'One-Click',
      '-----FormBoundaryjWmhtjORrn--',
      '',
    ].join('\r\n'),
  },
] as const

test('a reader takes herself off the list by the button or the one click of a mail program', async (t) => {
  const api = await opened(t)
  const { ask, secrets, store } = api
  const { subscription_id } = await made(api, {
    kind: 'email',
    to: ['ada@example.com', 'bob@example.com'],
  })
  const pathOf = (to: string): string =>
    `/unsubscribe/${secrets.seal(JSON.stringify([workspace_id, subscription_id, to]), UNSUBSCRIBE_CONTEXT)}`
  const readers = async () => (await ask('GET', `/v1alpha/subscriptions/${subscription_id}`)).json()
  const page = await ask('GET', pathOf('ada@example.com'), { token: null })
  assert.equal(page.status, 200)
  assert.match(page.text, /<form method="post">/)
  assert.match(String(page.headers['content-security-policy']), /form-action 'self'/)
  assert.deepEqual((await readers()).to, ['ada@example.com', 'bob@example.com'], 'looking changes nothing')
  const click = (path: string, form: (typeof ONE_CLICK)[number] = ONE_CLICK[0]) =>
    ask('POST', path, { token: null, ...form })
  for (const form of ONE_CLICK) {
    assert.equal((await click(pathOf('ada@example.com'), form)).status, 200)
    assert.equal((await click(pathOf('ada@example.com'), form)).status, 200, 'a second click changes nothing')
    assert.deepEqual((await readers()).to, ['bob@example.com'], form.type)
    const body = { to: ['ada@example.com', 'bob@example.com'] }
    const patched = await ask('PATCH', `/v1alpha/subscriptions/${subscription_id}`, { body })
    assert.deepEqual(
      patched.json().waiting,
      [{ to: 'ada@example.com', reason: 'left' }],
      'nobody puts her back',
    )
  }
  const json = { type: 'application/json', body: '{"List-Unsubscribe": "One-Click"}' }
  assert.equal((await ask('POST', pathOf('ada@example.com'), { token: null, ...json })).status, 415)
  assert.equal((await click(pathOf('ada@example.com'))).status, 200)
  assert.equal((await click('/unsubscribe/v1.forged.forged.forged')).status, 404)
  const sealed = secrets.seal(
    JSON.stringify([workspace_id, subscription_id, 'bob@example.com']),
    'another use',
  )
  assert.equal((await click(`/unsubscribe/${sealed}`)).status, 404)
  assert.equal((await click(pathOf('bob@example.com'))).status, 200)
  const { to, status, disabled_reason } = await readers()
  assert.deepEqual([to, status, disabled_reason], [[], 'disabled', 'The last reader unsubscribed.'])
  const kept = await store.getWebhook({ workspace_id, webhook_id: subscription_id })
  const target = JSON.parse(secrets.open(kept!.target!, targetContext(subscription_id))) as Target
  assert.deepEqual(target.to, [])
  const { items } = (await ask('GET', '/v1alpha/audit?action=subscription.unsubscribe')).json()
  assert.deepEqual(
    items.map(({ object_id, fields }: Json) => [object_id, fields]),
    items.map(() => [subscription_id, ['to']]),
  )
  assert.equal(items.length, 4, 'one for each reader who was on the list')
})

test('two readers who go at the same time are both off the list', async (t) => {
  const api = await opened(t)
  const { ask, secrets } = api
  const to = Array.from({ length: 4 }, (_, index) => `reader${index}@example.com`)
  const { subscription_id } = await made(api, { kind: 'email', to })
  await Promise.all(
    to.slice(1).map((one) => {
      const token = secrets.seal(JSON.stringify([workspace_id, subscription_id, one]), UNSUBSCRIBE_CONTEXT)
      return ask('POST', `/unsubscribe/${token}`, { token: null })
    }),
  )
  assert.deepEqual((await ask('GET', `/v1alpha/subscriptions/${subscription_id}`)).json().to, to.slice(0, 1))
})

test('a form that anyone may send is refused by its size, before it is read', async (t) => {
  const { ask } = await opened(t)
  const type = 'application/x-www-form-urlencoded'
  for (const path of ['/confirm/v1.forged', '/unsubscribe/v1.forged']) {
    const send = (body: string) => ask('POST', path, { token: null, type, body })
    assert.equal((await send('a=b&'.repeat(4_000))).status, 404)
    const refused = await send('a=b&'.repeat(5_000))
    assert.deepEqual([refused.status, refused.json().code], [413, 'payload_too_large'])
    assert.match(refused.json().detail, /16 ?K|16384|16,384/)
  }
})
