/**
 * Tests webhooks through the whole service: no request reaches an internal address, and a receiver works from
 * registration to recovery.
 */
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { type Client, ClientError, createClient } from '@assay/client'
import { verify } from '@assay/model/signature'
import { FORBIDDEN_TEXTS, FORBIDDEN_URLS } from '../hostile/ssrf-vectors.ts'
import { modes, type Receiver, startReceiver, startTrap } from '../servers/receiver.ts'
import { eventually, type Service, startService, temporaryFolder } from '../servers/service.ts'

const TOKEN = 'webhooks-test-token-0123456789'
const open: (() => Promise<unknown> | void)[] = []
after(async () => {
  for (const close of open.toReversed()) await close()
})

function home(): string {
  const { folder, remove } = temporaryFolder()
  open.push(remove)
  return folder
}

async function serve(folder: string, targets?: string): Promise<{ service: Service; client: Client }> {
  const env = { ASSAY_TOKEN: TOKEN, ...(targets === undefined ? {} : { ASSAY_WEBHOOK_TARGETS: targets }) }
  const service = await startService({ home: folder, env })
  open.push(async () => {
    service.signal('SIGTERM')
    await service.exited
  })
  return { service, client: createClient({ url: service.url, token: TOKEN }) }
}

async function receive(...args: Parameters<typeof startReceiver>): Promise<Receiver> {
  const receiver = await startReceiver(...args)
  open.push(() => receiver.close())
  return receiver
}

const someone = { user_id: 'ada', presence_name: 'ops' }

async function refusal(work: Promise<unknown>): Promise<ClientError> {
  const error: unknown = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  assert.ok(error instanceof ClientError, 'it was not refused')
  return error
}

describe('nobody is led to the inside', async () => {
  const trap = await startTrap()
  open.push(() => trap.close())

  test('every spelling of an address of the inside is refused, on creation and on change', async () => {
    const { client } = await serve(home(), 'public')
    const { webhook_id } = await client.webhooks.create({ ...someone, url: 'https://receiver.example/hook' })
    for (const text of [...FORBIDDEN_URLS, ...FORBIDDEN_TEXTS]) {
      for (const ask of [
        () => client.webhooks.create({ ...someone, url: text }),
        () => client.webhooks.update(webhook_id, { url: text }),
      ]) {
        const { status, code, problem } = await refusal(ask())
        assert.deepEqual([status, code], [422, 'invalid'], text)
        assert.ok(
          problem?.errors?.every(({ path }) => path === 'url'),
          text,
        )
      }
    }
    assert.equal((await client.webhooks.get(webhook_id)).url, 'https://receiver.example/hook')
    assert.equal(trap.connections(), 0)
  })

  test('a webhook to a target that is no longer allowed is blocked', async () => {
    const folder = home()
    const before = await serve(folder, 'public,loopback')
    const receiver = await receive()
    const made = []
    for (const host of ['127.0.0.1', 'localhost', '[::1]', '[::ffff:127.0.0.1]'])
      made.push(await before.client.webhooks.create({ ...someone, url: `http://${host}:${receiver.port}/` }))
    assert.equal((await before.client.webhooks.test(made[0]!.webhook_id)).status_code, 200)
    before.service.signal('SIGTERM')
    await before.service.exited
    const { client } = await serve(folder, 'public')
    const connections = receiver.connections()
    for (const { webhook_id } of made) {
      const attempt = await client.webhooks.test(webhook_id)
      assert.equal(attempt.error?.class, 'ssrf_blocked')
      assert.equal(attempt.response, null)
      assert.doesNotMatch(JSON.stringify([attempt.error, attempt.phases]), /127|::1|localhost|refused/)
    }
    assert.equal(receiver.connections(), connections)
  })

  test('a redirect of a receiver is not followed, and only the allowed port is reached', async () => {
    const receiver = await receive({ mode: modes.redirect(`http://127.0.0.1:${trap.port}/`, 307) })
    const { client } = await serve(home(), `127.0.0.1:${receiver.port}`)
    const { webhook_id } = await client.webhooks.create({ ...someone, url: receiver.url })
    const attempt = await client.webhooks.test(webhook_id)
    assert.deepEqual([attempt.status_code, attempt.error?.class], [307, 'http_status'])
    await refusal(client.webhooks.create({ ...someone, url: `http://127.0.0.1:${trap.port}/` }))
    assert.equal(trap.connections(), 0)
  })
})

test('a webhook works from registration through failure, rotation and recovery to its deletion', async () => {
  const { client, service } = await serve(home())
  const receiver = await receive({ mode: modes.status(500) })
  const hook = await client.webhooks.create({
    ...someone,
    url: `${receiver.url}/hook`,
    headers: [{ name: 'X-Key', value: 'k3y-of-the-receiver' }],
    retry_schedule: [],
  })
  const run = async (): Promise<string> => {
    const id = await client.jobs.create({
      template_id: 'flight-delays',
      presence_name: 'ops',
      metadata: { a: 'b' },
    })
    await client.jobs.cancel(id)
    return id
  }
  const lost = await run()
  const arrival = await receiver.next()
  assert.equal(arrival.headers['x-key'], 'k3y-of-the-receiver')
  assert.equal(
    verify({ headers: arrival.headers, body: arrival.body, secret: hook.signing_secret! }).id.length,
    36,
  )
  const event = JSON.parse(arrival.body.toString()) as { type: string; data: Record<string, unknown> }
  assert.deepEqual(
    [event.type, event.data.assignment_id, event.data.metadata],
    ['job.canceled', lost, { a: 'b' }],
  )
  const failed = async () => (await client.webhooks.deliveries(hook.webhook_id, { status: 'failed' })).items
  await eventually(async () => (await failed()).length === 1, 'the delivery fails')

  receiver.answer(modes.verified({ secret: hook.signing_secret! }))
  const since = new Date(Date.now() - 60_000).toISOString()
  assert.deepEqual(await client.webhooks.recover(hook.webhook_id, { since, dry_run: true }), { count: 1 })
  await client.webhooks.recover(hook.webhook_id, { since })
  const again = await receiver.next()
  assert.equal(again.headers['webhook-id'], arrival.headers['webhook-id'])

  const { signing_secret } = await client.webhooks.rotateSecret(hook.webhook_id, { overlap_seconds: 3600 })
  await run()
  const signed = await receiver.next()
  for (const secret of [hook.signing_secret!, signing_secret!])
    verify({ headers: signed.headers, body: signed.body, secret })

  const delivered = async () =>
    (await client.webhooks.deliveries(hook.webhook_id, { status: 'delivered' })).items
  await eventually(async () => (await delivered()).length === 2, 'both are delivered')
  const { sent, failed: lostOnes } = await client.webhooks.stats(hook.webhook_id)
  assert.deepEqual([sent, lostOnes], [2, 1])
  for (const { delivery_id } of [...(await delivered()), ...(await failed())]) {
    const text = JSON.stringify(await client.webhooks.delivery(delivery_id))
    for (const secret of ['k3y-of', hook.signing_secret!, signing_secret!]) assert.ok(!text.includes(secret))
  }
  for (const secret of ['k3y-of', hook.signing_secret!, signing_secret!])
    assert.ok(!service.log().includes(secret))
  await client.webhooks.delete(hook.webhook_id)
  assert.equal((await refusal(client.webhooks.get(hook.webhook_id))).status, 404)
})
