/**
 * Tests OpenLineage through the whole service: each run of a workspace arrives at a real receiver, and every event
 * fits the official schemas.
 */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { after, test } from 'node:test'
import { ClientError, createClient } from '@assay/client'
import { verify } from '@assay/model/signature'
import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { modes, startReceiver } from '../servers/receiver.ts'
import { startService, temporaryFolder } from '../servers/service.ts'

const TOKEN = 'lineage-test-token-0123456789'
const SPEC = path.join(import.meta.dirname, '../../packages/service/webhooks/lineage/spec')
const schemas = readdirSync(SPEC)
  .filter((name) => name.endsWith('.json'))
  .map((name) => JSON.parse(readFileSync(path.join(SPEC, name), 'utf8')) as { $id: string })
// The schemas have the word `examples`, which strict mode does not know.
const ajv = new Ajv2020({ schemas, strict: false, allErrors: true })
formats.default(ajv)

interface Facet {
  _schemaURL: string
}
interface Dataset {
  namespace: string
  name: string
  facets?: Record<string, Facet>
  inputFacets?: Record<string, Facet & { rowCount?: number; size?: number }>
}
interface RunEvent {
  eventType: string
  eventTime: string
  schemaURL: string
  run: { runId: string; facets: Record<string, Facet & { message?: string }> }
  job: { namespace: string; name: string; facets: Record<string, Facet> }
  inputs: Dataset[]
  outputs: Dataset[]
}

/** Validates an event by the schema that it names, and each facet by its own. */
function assertValid(event: RunEvent): void {
  const validate = ajv.getSchema(event.schemaURL)
  assert.ok(validate, event.schemaURL)
  assert.ok(validate(event), JSON.stringify(validate.errors))
  const datasets = [...event.inputs, ...event.outputs]
  const holders = [
    event.run.facets,
    event.job.facets,
    ...datasets.flatMap((one) => [one.facets, one.inputFacets]),
  ]
  for (const [name, facet] of holders.flatMap((holder) => Object.entries(holder ?? {}))) {
    const own = ajv.getSchema(facet._schemaURL)
    assert.ok(own, facet._schemaURL)
    assert.ok(own(facet), `${name}: ${JSON.stringify(own.errors)}`)
  }
}

const home = temporaryFolder()
const receiver = await startReceiver()
const service = await startService({
  home: path.join(home.folder, 'home'),
  wrapped: false,
  env: { ASSAY_TOKEN: TOKEN, ASSAY_WEBHOOK_TARGETS: 'public,loopback' },
})
after(async () => {
  service.signal('SIGTERM')
  await service.exited
  await receiver.close()
  home.remove()
})
const client = createClient({ url: service.url, token: TOKEN })
const someone = { user_id: 'catalog', presence_name: 'lineage' }

/** Resolves with the events of a run once it has ended. Others may arrive between them. */
async function eventsOf(assignment_id: string): Promise<RunEvent[]> {
  const mine = (): RunEvent[] =>
    receiver.arrivals
      .map(({ body }) => JSON.parse(body.toString()) as RunEvent)
      .filter(({ run }) => run.runId === assignment_id)
  const has = (...names: string[]) => mine().some(({ eventType }) => names.includes(eventType))
  while (!has('COMPLETE', 'FAIL', 'ABORT') || (has('COMPLETE', 'FAIL') && !has('START')))
    await receiver.next()
  return mine().toSorted((a, b) => (a.eventTime < b.eventTime ? -1 : 1))
}

test('each run of a workspace is sent as OpenLineage: its start, its end, its inputs and its output', async () => {
  const webhook = await client.webhooks.create({
    ...someone,
    url: `${receiver.url}/api/v1/lineage`,
    format: 'openlineage',
  })
  assert.deepEqual(
    [webhook.format, webhook.events],
    ['openlineage', ['job.started', 'job.completed', 'job.failed', 'job.canceled']],
  )
  for (const [template_id, presence_name] of [
    ['penguins', undefined],
    ['penguins', 'of another name'],
  ] as const) {
    const id = await client.jobs.create({ template_id, ...(presence_name ? { presence_name } : {}) })
    await client.jobs.run(id)
    const { insight_id } = await client.jobs.wait(id)
    const events = await eventsOf(id)
    assert.deepEqual(
      events.map(({ eventType }) => eventType),
      ['START', 'COMPLETE'],
    )
    const [start, end] = events
    for (const event of events) {
      assertValid(event)
      assert.deepEqual([event.job.namespace, event.job.name], ['assay://localhost/default', template_id])
    }
    assert.deepEqual([start!.inputs, start!.outputs], [[], []])
    assert.match(end!.inputs[0]!.name, /^files\/sample\/.*penguins/)
    assert.ok(end!.inputs[0]!.inputFacets!.inputStatistics!.rowCount! > 300)
    assert.deepEqual(
      end!.outputs.map(({ name, facets }) => [
        name,
        (facets!.version as Facet & { datasetVersion: string }).datasetVersion,
      ]),
      [['insights/penguins', insight_id]],
    )
  }
})

test('a failed run, a canceled run and a test of the webhook are sent, too, signed as any request', async () => {
  await client.templates.put(
    'broken',
    "---\ntitle: Broken\n---\n```sql a\nselect error('no such region') as x\n```\n# {{ a.size }}\n",
  )
  const broken = await client.jobs.create({ template_id: 'broken' })
  await client.jobs.run(broken)
  await client.jobs.wait(broken)
  const failed = (await eventsOf(broken)).at(-1)!
  assertValid(failed)
  assert.equal(failed.eventType, 'FAIL')
  assert.match(failed.run.facets.errorMessage!.message!, /^analysis_failed: .*no such region/)
  const draft = await client.jobs.create({ template_id: 'penguins' })
  await client.jobs.cancel(draft)
  const [aborted] = await eventsOf(draft)
  assertValid(aborted!)
  assert.deepEqual([aborted!.eventType, aborted!.outputs], ['ABORT', []])
  const webhook = (await client.webhooks.list()).items[0]!
  const { signing_secret } = await client.webhooks.rotateSecret(webhook.webhook_id)
  await client.webhooks.test(webhook.webhook_id)
  const tested = receiver.arrivals.at(-1)!
  assertValid(JSON.parse(tested.body.toString()) as RunEvent)
  assert.equal((JSON.parse(tested.body.toString()) as RunEvent).eventType, 'OTHER')
  verify({ body: tested.body, headers: tested.headers, secret: signing_secret! })
})

test('a catalog that is down gets each event once it is back, under the same id and with the same bytes', async () => {
  const { webhook_id } = (await client.webhooks.list()).items[0]!
  await client.webhooks.update(webhook_id, { retry_schedule: [0.2, 0.2, 0.2, 0.2, 0.2, 600] })
  const tries = new Map<string, number>()
  // The first two tries of each event find no catalog.
  receiver.answer((response, arrival, nth) => {
    const id = String(arrival.headers['webhook-id'])
    tries.set(id, (tries.get(id) ?? 0) + 1)
    modes[tries.get(id)! <= 2 ? 'reset' : 'ok']()(response, arrival, nth)
  })
  const id = await client.jobs.create({ template_id: 'penguins' })
  await client.jobs.run(id)
  await client.jobs.wait(id)
  const mine = () => receiver.arrivals.filter(({ body }) => body.includes(id))
  while (mine().length < 6) await receiver.next()
  receiver.answer(modes.ok())
  const byId = Map.groupBy(mine(), ({ headers }) => String(headers['webhook-id']))
  assert.deepEqual(
    [...byId.values()].map((arrivals) => arrivals.length),
    [3, 3],
  )
  for (const arrivals of byId.values()) {
    assert.equal(new Set(arrivals.map(({ body }) => body.toString())).size, 1)
    assertValid(JSON.parse(arrivals[0]!.body.toString()) as RunEvent)
  }
})

test('a webhook of OpenLineage refuses events that are no runs', async () => {
  const wrong = client.webhooks.create({
    ...someone,
    url: receiver.url,
    format: 'openlineage',
    events: ['job.queued'],
  })
  await assert.rejects(
    wrong,
    (error) => error instanceof ClientError && /must be among job\.started/.test(error.message),
  )
  const { webhook_id } = (await client.webhooks.list()).items[0]!
  await assert.rejects(client.webhooks.update(webhook_id, { events: null }), /must be among/)
})
