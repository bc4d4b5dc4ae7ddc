import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { test } from 'node:test'
import { sourceOf } from '@assay/engine/reading/lookup'
import type { PreviewOptions } from '@assay/engine/run/pool'
import { iso, systemClock } from '@assay/model/clock'
import type { Findings } from '@assay/model/insight'
import { hourOf } from '@assay/store/caps'
import { openTestServer } from '../test-server.ts'

const MARKDOWN = 'text/markdown'
const SALES = `---
title: Sales of {{ vars.region }}
tags: [sales]
variables:
  region: { type: string, default: north }
  measure: { type: column, of: sales, default: amount }
  table: { type: file, default: sales.csv }
  open: { type: boolean, default: true }
  kind: { type: string, enum: [a, b] }
  top: { type: integer, default: 1 }
sources:
  sales: { file: sales.csv }
---

\`\`\`sql total
select sum($measure) as amount from sales where region = $region
\`\`\`

# Sales

{{ total | first: "amount" }}
`

test('lists templates by id, and those that are asked for', async (t) => {
  const { ask } = await openTestServer(t)
  await ask('PUT', '/v1alpha/jobs/templates/sales', { body: SALES, type: MARKDOWN })
  const ids = async (query: string): Promise<string[]> =>
    (await ask('GET', `/v1alpha/jobs/templates${query}`))
      .json()
      .map((view: { template_id: string }) => view.template_id)
  assert.deepEqual(await ids(''), ['hello', 'sales'])
  assert.deepEqual(await ids('?tag=sales'), ['sales'])
  assert.deepEqual(await ids('?q=GREETS%20somebody'), ['hello'])
  assert.deepEqual(await ids('?q=greets&tag=sales'), [])
  assert.equal((await ask('GET', '/v1alpha/jobs/templates?page=2')).status, 422)
})

test('tells over which connections the sources of a template read, each once', async (t) => {
  const { ask } = await openTestServer(t)
  const sources = `  a: { connection: warehouse, query: "select 1 as n" }
  b: { connection: exports, file: "*.csv" }
  c: { connection: warehouse, query: "select 2 as n" }
  d: { file: sales.csv }`
  const body = `---\nsources:\n${sources}\n---\n# Many\n`
  await ask('PUT', '/v1alpha/jobs/templates/many', { body, type: MARKDOWN })
  const [, many] = (await ask('GET', '/v1alpha/jobs/templates')).json()
  assert.deepEqual([many.template_id, many.connections], ['many', ['exports', 'warehouse']])
})

test('creates, reads, replaces and deletes a template of the workspace', async (t) => {
  const { ask, tokens, store, token } = await openTestServer(t)
  const url = '/v1alpha/jobs/templates/sales'
  const made = await ask('PUT', url, { body: SALES, type: MARKDOWN })
  assert.equal(made.status, 201)
  assert.equal(made.headers.location, url)
  assert.equal(made.json().origin, 'workspace')
  const read = (await ask('GET', url)).json()
  assert.equal(read.source, SALES)
  assert.equal(read.version, made.json().version)
  const again = await ask('PUT', `${url}/`, {
    body: SALES.replace('# Sales', '# All sales'),
    type: 'text/markdown; charset=utf-8',
  })
  assert.equal(again.status, 200)
  assert.notEqual(again.json().version, read.version)
  assert.equal((await ask('PUT', url, { body: SALES, type: MARKDOWN, token: tokens.analyst })).status, 403)
  await store.createWorkspace({ workspace_id: 'second', name: 'Second', data_folder: null })
  assert.equal((await ask('GET', url, { token: await token('second', ['admin']) })).status, 404)
  assert.equal((await ask('DELETE', url)).status, 204)
  const actions = (await ask('GET', '/v1alpha/audit?object_id=sales')).json().items
  assert.deepEqual(
    actions.map(({ action }: { action: string }) => action),
    ['template.delete', 'template.put', 'template.put'],
  )
  assert.equal((await ask('DELETE', url)).status, 404)
})

test('keeps jobs on the version that they were created with', async (t) => {
  const { ask, store } = await openTestServer(t)
  const url = '/v1alpha/jobs/templates/sales'
  const { version } = (await ask('PUT', url, { body: SALES, type: MARKDOWN })).json()
  const id = (
    await ask('POST', '/v1alpha/jobs', { body: { payload: { type: 'template', template_id: 'sales' } } })
  ).json()
  await ask('DELETE', url)
  assert.equal(
    (await ask('GET', `/v1alpha/jobs/status?assignment_id=${id}`)).json().template_version,
    version,
  )
  assert.equal((await store.getTemplateVersion({ template_id: 'sales', version }))?.source, SALES)
})

test('leaves templates of folders as they are', async (t) => {
  const { ask } = await openTestServer(t)
  for (const [method, asked] of [
    ['PUT', { body: SALES, type: MARKDOWN }],
    ['DELETE', {}],
  ] as const) {
    const answer = await ask(method, '/v1alpha/jobs/templates/hello', asked)
    assert.equal(answer.status, 409)
    assert.equal(answer.json().code, 'template_read_only')
  }
})

test('refuses a template with faults, each with line, column and what to do', async (t) => {
  const { ask } = await openTestServer(t)
  const answer = await ask('PUT', '/v1alpha/jobs/templates/bad', {
    body: '---\ntitel: x\n---\n{% if %}\n',
    type: MARKDOWN,
  })
  assert.equal(answer.status, 422)
  const [fault] = answer.json().errors
  assert.equal(fault.line, 2)
  assert.ok(fault.column >= 1)
  assert.match(fault.message, /titel.*title/s)
  const elsewhere = await ask('PUT', '/v1alpha/jobs/templates/one', {
    body: '---\nid: two\n---\n# x\n',
    type: MARKDOWN,
  })
  assert.equal(elsewhere.status, 422)
  for (const id of ['A', '-a', 'a%20b', 'a'.repeat(129)])
    assert.equal(
      (await ask('PUT', `/v1alpha/jobs/templates/${id}`, { body: '# x', type: MARKDOWN })).status,
      422,
      id,
    )
  assert.equal((await ask('PUT', '/v1alpha/jobs/templates/x', { body: { source: '# x' } })).status, 415)
  assert.equal((await ask('PUT', '/v1alpha/jobs/templates/x', { type: MARKDOWN })).status, 422)
})

test('a pattern that takes no bounded time is refused where it is put, and where it is stored already', async (t) => {
  const { ask, store } = await openTestServer(t, { pool: 'real' })
  const url = '/v1alpha/jobs/templates/ahead'
  const body = '---\nvariables:\n  v: { type: string, pattern: "^(?=a)a+$" }\n---\n# x\n'
  const put = await ask('PUT', url, { body, type: MARKDOWN })
  assert.equal(put.status, 422)
  await store.putTemplate({ workspace_id: 'default', template_id: 'ahead', source: body, user_id: 'u' })
  const payload = { type: 'template', template_id: 'ahead', template_vars: { v: 'aaa' } }
  const created = await ask('POST', '/v1alpha/jobs', { body: { payload } })
  assert.equal(created.status, 422)
  for (const answer of [put, created]) {
    const [fault] = answer.json().errors
    assert.equal(fault.line, 3)
    assert.match(fault.message, /v: \(\?= at character 2 looks ahead or behind.*Describe the text itself/)
  }
})

test('all items of a batch share one bound on the work of patterns', async (t) => {
  const { ask } = await openTestServer(t, { pool: 'real' })
  const body = '---\nvariables:\n  v: { type: string, pattern: "^[ab]{500}" }\n---\n# x\n'
  await ask('PUT', '/v1alpha/jobs/templates/long', { body, type: MARKDOWN })
  const items = Array.from({ length: 100 }, () => ({ template_vars: { v: 'ab'.repeat(1000) } }))
  const answer = await ask('POST', '/v1alpha/jobs/bulk/check', { body: { template_id: 'long', items } })
  const { accepted, items: checked } = answer.json()
  assert.ok(accepted > 0 && accepted < 100, `${accepted}`)
  assert.match(checked.at(-1).errors[0].message, /cannot be tested/)
})

test('checks, previews and offers choices on the data of the workspace', async (t) => {
  const { ask, folder, store, token } = await openTestServer(t, { pool: 'real' })
  const data = path.join(folder, 'data')
  await mkdir(data)
  await writeFile(path.join(data, 'sales.csv'), 'region,amount\nnorth,2\nnorth,3\nsouth,10\n')
  await store.createWorkspace({ workspace_id: 'second', name: 'Second', data_folder: data })
  const admin = await token('second', ['admin'])

  const good = await ask('POST', '/v1alpha/jobs/templates/check', {
    token: admin,
    body: SALES,
    type: MARKDOWN,
  })
  assert.deepEqual(
    good.json().faults.filter((fault: { severity: string }) => fault.severity === 'error'),
    [],
  )
  assert.deepEqual(
    good.json().variables.map(({ name }: { name: string }) => name),
    ['region', 'measure', 'table', 'open', 'kind', 'top'],
  )
  const bad = SALES.replace('where region', 'where regoin')
  const found = await ask('POST', '/v1alpha/jobs/templates/check', {
    token: admin,
    body: bad,
    type: MARKDOWN,
  })
  assert.ok(found.json().faults.some((fault: { message: string }) => fault.message.includes('regoin')))

  const preview = (template_vars: Record<string, unknown>, source = SALES) =>
    ask('POST', '/v1alpha/jobs/templates/preview', { token: admin, body: { source, template_vars } })
  const south = await preview({ region: 'south' })
  assert.equal(south.status, 200)
  assert.match(south.text, /# Sales\n\n10\n/)
  assert.equal((await ask('GET', '/v1alpha/jobs', { token: admin })).json().items.length, 0)
  const unknown = await preview({ regoin: 'south' })
  assert.equal(unknown.json().errors[0].path, 'template_vars.regoin')
  const broken = await preview({}, '---\ntitel: x\n---\n')
  assert.equal(broken.json().errors[0].line, 2)
  const failed = await preview({}, SALES.replaceAll('sales.csv', 'gone.csv'))
  assert.equal(failed.status, 422)
  assert.equal(failed.json().code, 'preview_failed')
  assert.match(failed.json().detail, /^source_unavailable: /)

  await ask('PUT', '/v1alpha/jobs/templates/sales', { token: admin, body: SALES, type: MARKDOWN })
  const choices = async (variable: string): Promise<unknown> =>
    (await ask('GET', `/v1alpha/jobs/templates/sales/choices?variable=${variable}`, { token: admin })).json()
      .choices
  assert.deepEqual(await choices('measure'), ['region', 'amount'])
  assert.ok(((await choices('table')) as string[]).includes('sales.csv'))
  assert.deepEqual(await choices('kind'), ['a', 'b'])
  assert.deepEqual(await choices('open'), [true, false])
  assert.deepEqual(await choices('top'), [])
  const none = await ask('GET', '/v1alpha/jobs/templates/sales/choices?variable=nope', { token: admin })
  assert.equal(none.status, 422)
})

test('gives a preview as the client wants it, without ids', async (t) => {
  const { ask } = await openTestServer(t, { pool: 'real' })
  const body = { source: '# Hello\n' }
  const as = (accept: string) => ask('POST', '/v1alpha/jobs/templates/preview', { body, headers: { accept } })
  const json = (await as('application/json')).json()
  assert.equal(json.title, 'Hello')
  assert.equal('insight_id' in json || 'skipped' in json, false)
  assert.match((await as('text/html')).text, /^<!doctype html>/)
})

const ENDLESS = `\`\`\`sql a
select count(*) as a from range(1000000) a, range(1000000) b where a.range < b.range
\`\`\`

# Endless
`

test("a workspace's previews wait for each other, hold up no job of another, and too many are refused", async (t) => {
  const { ask, parts, store, token } = await openTestServer(t, { pool: 'real' })
  const pool = parts.pool!
  const begun: string[] = []
  const first = Promise.withResolvers<void>()
  const preview = pool.preview.bind(pool)
  const gone = new AbortController()
  t.mock.method(pool, 'preview', (task: Parameters<typeof preview>[0], options: PreviewOptions) =>
    preview(task, {
      ...options,
      signal: gone.signal,
      onBegin: () => {
        begun.push(`preview of ${options.workspace_id}`)
        first.resolve()
      },
    }),
  )
  await store.createWorkspace({ workspace_id: 'guests', name: 'Guests', data_folder: null })
  await store.updateWorkspace({ workspace_id: 'guests', patch: { max_running: 1, max_queued: 5 } })
  const guest = await token('guests', ['analyst'])
  const asked = Array.from({ length: 6 }, () =>
    ask('POST', '/v1alpha/jobs/templates/preview', { token: guest, body: { source: ENDLESS } }),
  )
  await first.promise
  while (pool.stats().waiting < 5) await systemClock.sleep(5)
  const refused = await ask('POST', '/v1alpha/jobs/templates/preview', {
    token: guest,
    body: { source: ENDLESS },
  })
  assert.deepEqual([refused.status, refused.json().code], [429, 'workspace_busy'])
  assert.equal(refused.headers['retry-after'], '10')
  assert.match(refused.json().detail, /\(max_queued: 5\)/)
  const template = sourceOf('short', '# Short\n')
  const job = pool.run(
    {
      kind: 'run',
      template,
      variables: {},
      started_at: iso(systemClock.now()),
      roots: { sample: {}, data: null },
    },
    { workspace_id: 'mine', onBegin: () => begun.push('job of mine') },
  )
  assert.equal((await job).status, 'done')
  assert.deepEqual(begun, ['preview of guests', 'job of mine'])
  gone.abort()
  for (const answer of await Promise.all(asked)) assert.equal(answer.json().code, 'stopping')
  assert.deepEqual(begun, ['preview of guests', 'job of mine'])
  t.mock.restoreAll()
  await store.updateWorkspace({ workspace_id: 'guests', patch: { max_running: 0 } })
  const still = await ask('POST', '/v1alpha/jobs/templates/preview', {
    token: guest,
    body: { source: '# x' },
  })
  assert.match(still.json().detail, /\(max_running: 0\)/)
})

test('a workspace that has used up its processor time begins nothing new, whatever it asks for, and reads what it has', async (t) => {
  const server = await openTestServer(t, { pool: 'real' })
  const { ask, store, token, complete } = server
  const workspace_id = 'guests'
  await ask('POST', '/v1alpha/workspaces', { body: { workspace_id, max_processor_seconds: 60 } })
  const guest = await token(workspace_id, ['admin'])
  const as = (method: string, url: string, given: object = {}) =>
    ask(method, `/v1alpha${url}`, { token: guest, ...given })
  const made = async (): Promise<string> =>
    (await as('POST', '/jobs', { body: { payload: { type: 'template', template_id: 'hello' } } })).json()
  const run = (assignment_id: string) =>
    as('POST', '/jobs/run', { body: { payload: { type: 'assignment', assignment_id } } })
  const first = await made()
  await run(first)
  const spec = { title: 'A', mark: 'bar' }
  const charts = [{ id: 'c1', title: 'A', spec, mermaid: null, text: 'A' }] as unknown as Findings['charts']
  const insight_id = await complete(first, { charts })
  const draft = await made()
  const schedule = { name: 'Daily', template_id: 'hello', cron: '0 8 * * *', time_zone: 'UTC' }
  const { schedule_id } = (await as('POST', '/schedules', { body: schedule })).json()
  const shop = {
    name: 'shop',
    kind: 'postgresql',
    options: { host: 'db.example.com', database: 'd', user: 'u' },
  }
  assert.equal((await as('POST', '/connections', { body: shop })).status, 201)
  await as('PUT', '/jobs/templates/sales', { body: SALES, type: MARKDOWN })
  // The use may count in this hour or in the next, because the test may cross the hour.
  const hours = [0, 3_600_000].map((later) => hourOf(iso(systemClock.now() + later)))
  await store.countProcessorUse(hours.map((hour) => ({ workspace_id, hour, ms: 60_000 })))

  const result = (accept: string) =>
    as('GET', `/jobs/result?insight_id=${insight_id}`, { headers: { accept } })
  const metric =
    'metric: revenue\nlabel: Revenue\nsource: { file: sample/us-births.csv }\ntime: { column: date }\nvalue: sum(births)\n'
  const answers = {
    run: await run(draft),
    batch: await as('POST', '/jobs/bulk', { body: { template_id: 'hello', items: [{}], run: true } }),
    schedule: await as('POST', `/schedules/${schedule_id}/run-now`),
    preview: await as('POST', '/jobs/templates/preview', { body: { source: '# A' } }),
    check: await as('POST', '/jobs/templates/check', { body: '# A', type: MARKDOWN }),
    choices: await as('GET', '/jobs/templates/sales/choices?variable=measure'),
    draft: await as('POST', '/drafts', { body: { file: 'sample/us-births.csv' } }),
    upload: await as('PUT', '/files/a.csv', { body: 'a,b\n1,2\n', type: 'text/csv' }),
    page: await result('text/html'),
    picture: await as('GET', `/jobs/result?insight_id=${insight_id}&charts=image`),
    pdf: await result('application/pdf'),
    csv: await result('text/csv'),
    connection: await as('POST', '/connections/shop/test'),
    metric: await as('POST', '/metrics/check', { body: metric, type: 'application/yaml' }),
  }
  const others = Object.entries(answers).filter(([, { status }]) => status !== 429)
  assert.deepEqual(
    others.map(([what, { status, text }]) => `${what}: ${status} ${text.slice(0, 300)}`),
    [],
  )
  for (const [what, { text, headers }] of Object.entries(answers)) {
    assert.match(text, /60 processor seconds of this hour \(max_processor_seconds\)/, what)
    assert.ok(Number(headers['retry-after']) <= 3600, what)
  }
  for (const url of ['/jobs/templates', `/jobs/result?insight_id=${insight_id}`, '/insights'])
    assert.equal((await as('GET', url)).status, 200, url)
  const [own] = (await as('GET', '/workspaces')).json().items
  assert.ok(own.max_processor_seconds === 60 && own.processor_seconds >= 60, JSON.stringify(own))
  await ask('PATCH', `/v1alpha/workspaces/${workspace_id}`, { body: { max_processor_seconds: null } })
  assert.equal((await run(draft)).status, 200)
  const after = await as('POST', '/jobs/templates/check', { body: '# A', type: MARKDOWN })
  assert.deepEqual(after.json().faults, [])
})

test('refuses a template of more blocks than are read', async (t) => {
  const { ask } = await openTestServer(t, { pool: 'real' })
  const body = Array.from({ length: 5_000 }, (_, index) => `\`\`\`sql b${index}\nselect 1\n\`\`\`\n`).join('')
  const checked = await ask('POST', '/v1alpha/jobs/templates/check', { body, type: MARKDOWN })
  assert.deepEqual(
    checked.json().faults.map(({ code, line }: { code: string; line: number }) => [code, line]),
    [['too_many_blocks', 3_001]],
  )
  const put = await ask('PUT', '/v1alpha/jobs/templates/many', { body, type: MARKDOWN })
  assert.deepEqual([put.status, put.json().errors[0].line], [422, 3_001])
})
