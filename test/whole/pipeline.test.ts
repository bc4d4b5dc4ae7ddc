/** Tests the way of a job from its POST to the verified webhook, through the public client against the whole service. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Client, ClientError, createClient, verify } from '@assay/client'
import type { JobView } from '@assay/model/job'
import { type App, startApp } from '@assay/service/app'
import { resolveConfig } from '@assay/service/config/config'
import { type Postgres, startPostgres } from '../servers/postgres.ts'
import { modes, type Receiver, startReceiver } from '../servers/receiver.ts'
import { eventually, temporaryFolder } from '../servers/service.ts'

const TOKEN = 'assay-pipeline-test-token'
const { folder, remove } = temporaryFolder()
let app: App
let client: Client
const receivers: Receiver[] = []

async function newReceiver(): Promise<Receiver> {
  const receiver = await startReceiver({ mode: modes.ok() })
  receivers.push(receiver)
  return receiver
}

/** The server on which pipeline-postgres.test.ts runs all of this again; else null. */
const postgres: Postgres | null = process.env.ASSAY_TEST_STORE === 'postgres' ? await startPostgres() : null

async function storeSettings(): Promise<Record<string, string>> {
  if (!postgres) return {}
  const store = await postgres.createDatabase(`assay_pipeline_${process.pid}`)
  return { store, secretKey: 'a1'.repeat(32), webhookTargets: 'loopback' }
}

before(async () => {
  const own = await storeSettings()
  const { config } = resolveConfig({}, { home: folder, port: '0', token: TOKEN, workers: '1', ...own })
  app = await startApp({ config })
  client = createClient({ url: app.url, token: TOKEN })
})
after(async () => {
  await app.stop()
  for (const receiver of receivers) await receiver.close()
  await postgres?.dropDatabase(`assay_pipeline_${process.pid}`)
  await postgres?.stop()
  remove()
})

interface Message {
  type: string
  data: { assignment_id: string; insight_id: string | null; error: { code: string } | null; metadata: object }
}

const messageOf = (body: Buffer): Message => JSON.parse(body.toString('utf8')) as Message

const LONG = `---
title: Long
---
\`\`\`sql pairs
select count(*) as n from range(3000000) a, range(3000000) b where (a.range * b.range) % 7 = 3
\`\`\`
# {{ pairs | first: "n" }}
`

test('a job goes from POST to a webhook that is verified and an insight that can be read', async () => {
  const receiver = await newReceiver()
  const webhook = await client.webhooks.create({
    url: `${receiver.url}/hook`,
    headers: [{ name: 'x-shared-secret', value: 'between us' }],
    user_id: 'ada',
    presence_name: 'pipeline',
  })
  const templates = await client.templates.list()
  assert.ok(templates.some(({ template_id }) => template_id === 'nile-flow'))

  const assignment_id = await client.jobs.create({
    template_id: 'nile-flow',
    presence_name: 'pipeline',
    metadata: { order: '17' },
  })
  assert.equal((await client.jobs.status(assignment_id)).job_status, 'draft')
  await client.jobs.run(assignment_id)
  const states: string[] = []
  const job = await client.jobs.wait(assignment_id, { onChange: ({ job_status }) => states.push(job_status) })
  assert.equal(job.job_status, 'completed', job.error?.detail)
  assert.equal(states.at(-1), 'completed')

  const arrival = await receiver.next()
  const { headers, body } = arrival
  assert.equal(arrival.path, '/hook')
  assert.equal(headers['x-shared-secret'], 'between us')
  verify({ headers, body, secret: webhook.signing_secret! })
  const tampered = Buffer.from(body.toString('utf8').replace('completed', 'Completed'))
  assert.throws(() => verify({ headers, body: tampered, secret: webhook.signing_secret! }))
  const message = messageOf(body)
  assert.equal(message.type, 'job.completed')
  assert.deepEqual(
    [message.data.assignment_id, message.data.insight_id, message.data.metadata],
    [assignment_id, job.insight_id, { order: '17' }],
  )

  assert.match(await client.jobs.markdown(message.data.insight_id!), /^# .*Nile/)
  assert.match(await client.jobs.html(message.data.insight_id!), /^<!doctype html>/i)
  const insight = await client.jobs.json(message.data.insight_id!)
  assert.deepEqual([insight.assignment_id, insight.template_id], [assignment_id, 'nile-flow'])

  const delivered = async () => (await client.webhooks.deliveries(webhook.webhook_id)).items
  // The request arrives before its attempt is recorded. On PostgreSQL an event can be read once nothing older is
  // under way.
  await eventually(async () => (await delivered())[0]?.status === 'delivered', 'the attempt is recorded')
  assert.deepEqual(
    (await delivered()).map(({ status, event_type, attempt_count }) => [status, event_type, attempt_count]),
    [['delivered', 'job.completed', 1]],
  )
  const told = async () => (await client.events.list({ type: 'job.completed' })).items
  await eventually(async () => (await told()).length > 0, 'the event is read')
  assert.deepEqual(
    (await told()).map(({ event_id }) => event_id),
    [headers['webhook-id']],
  )
  await client.webhooks.delete(webhook.webhook_id)
})

test('a cancel stops the running analysis, names a person as the cause and frees the only worker', async () => {
  const receiver = await newReceiver()
  const webhook = await client.webhooks.create({ url: receiver.url, user_id: 'ada', presence_name: 'cancel' })
  await client.templates.put('long', LONG)
  const assignment_id = await client.jobs.create({ template_id: 'long' })
  await client.jobs.run(assignment_id)
  for await (const job of client.jobs.watch(assignment_id)) {
    assert.ok(
      job.job_status !== 'completed' && job.error?.code !== 'analysis_failed',
      JSON.stringify(job.error),
    )
    if (job.job_status !== 'executing') continue
    assert.equal((await client.jobs.cancel(assignment_id)).job_status, 'canceled')
    break
  }
  const message = messageOf((await receiver.next()).body)
  assert.deepEqual([message.type, message.data.error?.code], ['job.canceled', 'canceled_by_user'])
  assert.equal((await runToEnd('nile-flow')).job_status, 'completed')
  await client.webhooks.delete(webhook.webhook_id)
})

async function runToEnd(template_id: string): Promise<JobView> {
  const assignment_id = await client.jobs.create({ template_id })
  await client.jobs.run(assignment_id)
  return client.jobs.wait(assignment_id)
}

test('a repeated creation under one key makes one job', async () => {
  const create = () => client.jobs.create({ template_id: 'nile-flow' }, { idempotencyKey: 'order-18' })
  const ids = [await create(), await create(), await create()]
  assert.equal(new Set(ids).size, 1)
  await assert.rejects(
    client.jobs.create({ template_id: 'penguins' }, { idempotencyKey: 'order-18' }),
    (error: ClientError) => error.status === 409 && error.code === 'idempotency_mismatch',
  )
})

test('refusals arrive as errors with the problem in them', async () => {
  const stranger = createClient({ url: app.url, token: 'not-a-token-of-this-service' })
  await assert.rejects(
    stranger.templates.list(),
    (error: unknown) => error instanceof ClientError && error.code === 'unauthorized' && error.status === 401,
  )
  await assert.rejects(
    client.jobs.create({ template_id: 'nile-flow', template_vars: { nonsense: 1, from: 'soon' } }),
    (error: unknown) =>
      error instanceof ClientError && error.status === 422 && (error.problem?.errors?.length ?? 0) === 2,
  )
})

test('many jobs at once all end, and each end is delivered once', async () => {
  const receiver = await newReceiver()
  const webhook = await client.webhooks.create({ url: receiver.url, user_id: 'ada', presence_name: 'many' })
  const jobs = await Promise.all(Array.from({ length: 40 }, () => runToEnd('nile-flow')))
  assert.ok(jobs.every(({ job_status }) => job_status === 'completed'))
  assert.equal(new Set(jobs.map(({ insight_id }) => insight_id)).size, 40)
  const told = new Map<string, string>()
  while (told.size < 40) {
    const { headers, body } = await receiver.next()
    verify({ headers, body, secret: webhook.signing_secret! })
    told.set(messageOf(body).data.assignment_id, String(headers['webhook-id']))
  }
  assert.deepEqual([...told.keys()].toSorted(), jobs.map((job) => job.assignment_id).toSorted())
})
