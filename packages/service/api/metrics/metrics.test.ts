import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { test } from 'node:test'
import { createCatalog } from '@assay/engine/reading/catalog'
import { type Json, openTestServer, type TestServer } from '../test-server.ts'
import { getMetric } from './metrics.ts'

const YAML = 'application/yaml'
const MARKDOWN = 'text/markdown'
const METRICS = '/v1alpha/metrics'
const TEMPLATES = '/v1alpha/jobs/templates'

function definition(name: string, value = 'sum(amount)'): string {
  return `metric: ${name}
label: Label of ${name}
description: All that was paid
source: { file: uploads/sales.csv }
time: { column: day }
value: ${value}
dimensions: [region]
`
}

const WEEKLY = `~~~metric weekly
metric: revenue
grain: week
~~~

# Weekly

{{ weekly.size }}
`
const REVIEW = `---
variables:
  metrics: { type: list, default: [revenue] }
---
~~~metric values
metric: $metrics
~~~

# Review

{{ values.size }}
`

async function put({ ask }: TestServer, id: string, body = definition(id)): Promise<Json> {
  const answer = await ask('PUT', `${METRICS}/${id}`, { body, type: YAML })
  assert.ok(answer.status < 300, answer.text)
  return answer.json()
}

async function ids({ ask }: TestServer, query = ''): Promise<string[]> {
  return (await ask('GET', `${METRICS}${query}`)).json().items.map((view: Json) => view.metric_id)
}

test('puts, reads, lists and deletes metrics of the workspace', async (t) => {
  const server = await openTestServer(t)
  const { ask, tokens, token } = server
  const body = definition('revenue')
  const made = await ask('PUT', `${METRICS}/revenue`, { body, type: YAML })
  assert.deepEqual([made.status, made.headers.location], [201, `${METRICS}/revenue`])
  const again = await ask('PUT', `${METRICS}/revenue`, { body: `${body}unit: EUR\n`, type: 'text/plain' })
  assert.deepEqual([again.status, again.json().unit, again.json().origin], [200, 'EUR', 'workspace'])
  assert.notEqual(again.json().version, made.json().version)
  const { source, ...view } = (await ask('GET', `${METRICS}/revenue`, { token: tokens.viewer })).json()
  assert.deepEqual([source, view], [`${body}unit: EUR\n`, again.json()])
  for (const id of ['orders', 'ab', 'a_b', 'visits']) await put(server, id)
  assert.deepEqual(await ids(server), ['a_b', 'ab', 'orders', 'revenue', 'visits'])
  const first = (await ask('GET', `${METRICS}?limit=2`)).json()
  assert.deepEqual(await ids(server, `?limit=9&cursor=${first.next_cursor}`), ['orders', 'revenue', 'visits'])
  assert.deepEqual(await ids(server, '?q=LABEL%20visits'), ['visits'])
  assert.equal((await ask('GET', `${METRICS}?cursor=a%20b`)).status, 422)
  const stranger = await token('default', ['analyst'])
  assert.equal((await ask('DELETE', `${METRICS}/revenue`, { token: stranger })).status, 403)
  assert.equal((await ask('DELETE', `${METRICS}/revenue`)).status, 204)
  assert.equal((await ask('DELETE', `${METRICS}/revenue`)).status, 404)
  const actions = (await ask('GET', '/v1alpha/audit?object_id=revenue')).json().items
  assert.deepEqual(
    actions.map(({ action }: Json) => action),
    ['metric.delete', 'metric.put', 'metric.put'],
  )
})

test('refuses a definition with faults, each at its line and column', async (t) => {
  const { ask } = await openTestServer(t)
  const body = `${definition('revenue', 'median(amount)')}unknown: 1\n`
  const refused = await ask('PUT', `${METRICS}/revenue`, { body, type: YAML })
  const [fault] = refused.json().errors
  assert.deepEqual([refused.status, fault.line, fault.column], [422, 8, 1])
  const function_ = await ask('PUT', `${METRICS}/revenue`, {
    body: definition('revenue', 'median(amount)'),
    type: YAML,
  })
  assert.deepEqual([function_.json().errors[0].line, function_.json().errors[0].column], [6, 8])
  const other = await ask('PUT', `${METRICS}/orders`, { body: definition('revenue'), type: YAML })
  assert.match(other.json().errors[0].message, /"revenue" here and "orders"/)
  assert.equal((await ask('PUT', `${METRICS}/revenue`, { body: '{}' })).status, 415)
})

test('leaves metrics of folders as they are, and uses them before one of the same name', async (t) => {
  const folder = path.join((await openTestServer(t)).folder, 'reports')
  await mkdir(path.join(folder, 'metrics'), { recursive: true })
  await writeFile(path.join(folder, 'metrics', 'revenue.yaml'), definition('revenue', 'count(*)'))
  const catalog = createCatalog({ shipped: folder, folders: [] })
  const server = await openTestServer(t, { pool: 'real', parts: { catalog } })
  const { ask, store } = server
  const refused = await ask('PUT', `${METRICS}/revenue`, { body: definition('revenue'), type: YAML })
  assert.deepEqual([refused.status, refused.json().code], [409, 'metric_read_only'])
  assert.equal((await ask('DELETE', `${METRICS}/revenue`)).json().code, 'metric_read_only')
  // The metric is written to the store directly, as if the folder had got its own one later.
  const mine = {
    workspace_id: 'default',
    metric_id: 'revenue',
    source: definition('revenue'),
    user_id: 'ada',
  }
  await store.putMetric(mine)
  await put(server, 'orders')
  assert.deepEqual(await ids(server), ['orders', 'revenue'])
  assert.equal((await ask('GET', `${METRICS}/revenue`)).json().source, definition('revenue', 'count(*)'))
  assert.equal((await ask('PUT', `${TEMPLATES}/weekly`, { body: WEEKLY, type: MARKDOWN })).status, 201)
  const { version } = (await ask('GET', `${TEMPLATES}/weekly`)).json()
  await store.deleteMetric(mine)
  assert.equal((await ask('GET', `${TEMPLATES}/weekly`)).json().version, version)
})

test('keeps jobs on the definitions that they were created with', async (t) => {
  const server = await openTestServer(t, { pool: 'real' })
  const { ask, store, tokens } = server
  const early = await ask('PUT', `${TEMPLATES}/weekly`, { body: WEEKLY, type: MARKDOWN })
  assert.deepEqual([early.status, early.json().errors[0].line], [422, 2])
  await put(server, 'revenues')
  const near = await ask('PUT', `${TEMPLATES}/weekly`, { body: WEEKLY, type: MARKDOWN })
  assert.match(near.text, /Did you mean \\"revenues\\"/)
  await put(server, 'revenue')
  for (const [id, body] of [
    ['weekly', WEEKLY],
    ['review', REVIEW],
  ]) {
    const answer = await ask('PUT', `${TEMPLATES}/${id}`, { body, type: MARKDOWN })
    assert.equal(answer.status, 201, answer.text)
  }
  const choices = await ask('GET', `${TEMPLATES}/review/choices?variable=metrics`)
  assert.deepEqual(choices.json().choices, ['revenue', 'revenues'])
  const create = async (template_id: string): Promise<[string, Record<string, string>]> => {
    const made = await ask('POST', '/v1alpha/jobs', { body: { payload: { type: 'template', template_id } } })
    assert.equal(made.status, 200, made.text)
    const [job] = (await store.listJobs({ workspace_id: 'default', limit: 1 })).items
    const { template_version: version } = job!
    return [version, (await store.getTemplateVersion({ template_id, version }))!.partials]
  }
  const name = 'metrics/revenue.yaml'
  const [before, partials] = await create('weekly')
  assert.deepEqual(partials, { [name]: definition('revenue') })
  const [all, several] = await create('review')
  assert.deepEqual(Object.keys(several), [name, 'metrics/revenues.yaml'])
  await put(server, 'revenue', definition('revenue', 'count(*)'))
  const [after, changed] = await create('weekly')
  assert.notEqual(after, before)
  assert.equal(changed[name], definition('revenue', 'count(*)'))
  assert.notEqual((await create('review'))[0], all)
  const { items } = await store.listJobs({ workspace_id: 'default', limit: 4 })
  const templateOf = async (version: string): Promise<Json> => {
    const { assignment_id } = items.find(({ template_version }) => template_version === version)!
    return (await ask('GET', `/v1alpha/jobs/${assignment_id}/template`, { token: tokens.viewer })).json()
  }
  const then = { metric_id: 'revenue', source: definition('revenue') }
  assert.deepEqual(await templateOf(before), {
    template_id: 'weekly',
    version: before,
    commit_id: null,
    source: WEEKLY,
    partials: {},
    metrics: [then],
  })
  assert.deepEqual((await templateOf(all)).metrics, [then], 'of several the one that it reads')
  assert.deepEqual((await templateOf(after)).metrics[0].source, definition('revenue', 'count(*)'))
  await ask('DELETE', `${METRICS}/revenue`)
  const gone = await ask('POST', '/v1alpha/jobs', {
    body: { payload: { type: 'template', template_id: 'weekly' } },
  })
  assert.deepEqual([gone.status, gone.json().errors[0].line], [422, 2])
  const listed = (await ask('GET', TEMPLATES)).json().map((view: Json) => view.template_id)
  assert.deepEqual(listed, ['hello', 'review', 'weekly'], 'it is there for whoever mends it')
  assert.equal((await ask('GET', `${TEMPLATES}/weekly`)).json().source, WEEKLY)
})

test('checks a definition against the columns of the data, and previews a template over it', async (t) => {
  const server = await openTestServer(t, { pool: 'real' })
  const { ask } = server
  const data = 'day,amount,region\n2026-01-05,3,n\n2026-01-06,4,s\n'
  await ask('PUT', '/v1alpha/files/sales.csv', { body: data, type: 'text/csv' })
  const check = async (body: string): Promise<Json> =>
    (await ask('POST', `${METRICS}/check`, { body, type: YAML, token: server.tokens.analyst })).json()
  const good = await check(definition('revenue'))
  assert.deepEqual([good.faults, good.metric.metric_id], [[], 'revenue'])
  const wrong = await check(definition('revenue', 'sum(amunt)'))
  assert.deepEqual([wrong.faults[0].line, wrong.metric.metric_id], [6, 'revenue'])
  assert.match(`${wrong.faults[0].message} ${wrong.faults[0].remedy}`, /"amunt".*"amount"/)
  assert.equal((await check('value: [')).metric, null)
  await put(server, 'revenue')
  const preview = await ask('POST', `${TEMPLATES}/preview`, {
    body: { source: WEEKLY },
    headers: { accept: 'text/markdown' },
  })
  assert.match(preview.text, /# Weekly\n\n1\n/)
})

test('reads long definitions in the pool, each once', async (t) => {
  const opened = await openTestServer(t, { pool: 'real' })
  const asked: number[] = []
  const pool = new Proxy(opened.parts.pool!, {
    get: (from, name) => {
      if (name === 'readMetrics')
        return (...given: Parameters<typeof from.readMetrics>) => {
          asked.push(given[0].metrics.length)
          return from.readMetrics(...given)
        }
      return Reflect.get(from, name) as unknown
    },
  })
  const server = await openTestServer(t, { parts: { pool } })
  const long = (name: string): string => `${definition(name)}# ${'x'.repeat(9000)}\n`
  for (const id of ['a', 'b']) await put(server, id, long(id))
  await put(server, 'short')
  assert.deepEqual(asked, [1, 1])
  assert.deepEqual(await ids(server), ['a', 'b', 'short'])
  assert.deepEqual(asked, [1, 1])
})

test('the examples of the OpenAPI document are what the service takes and answers', async (t) => {
  const { ask } = await openTestServer(t, { pool: 'real' })
  const { examples } = getMetric.replies[200]!.schema as unknown as { examples: Json[] }
  const { source, ...view } = examples[0]
  const put = await ask('PUT', '/v1alpha/metrics/revenue', { body: source, type: 'application/yaml' })
  assert.equal(put.status, 201, put.text)
  const { version: _version, ...answered } = put.json()
  const { version: _other, ...told } = view
  assert.deepEqual(answered, told)
})
