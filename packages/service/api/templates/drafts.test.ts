import assert from 'node:assert/strict'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { type Json, openTestServer, type TestServer } from '../test-server.ts'

const DRAFTS = '/v1alpha/drafts'

/** Two months of orders. Every value of `due` can be read with the day first or with the month first. */
const ORDERS = `order_id,due,amount,country\n${Array.from(
  { length: 120 },
  (_, at) => `A-${at},0${1 + (at % 9)}/0${1 + (at % 7)}/2025,${10 + at}.50,${at % 2 ? 'DE' : 'FR'}`,
).join('\n')}\n`

async function upload({ ask }: TestServer, path: string, body: string): Promise<void> {
  const put = await ask('PUT', `/v1alpha/files/${path}`, { body, type: 'text/csv' })
  assert.equal(put.status, 201, put.text)
}

test('a draft of an upload asks what has two readings, and a line of the next request settles it', async (t) => {
  const server = await openTestServer(t, { pool: 'real' })
  const { ask, tokens } = server
  await upload(server, '2025/orders.csv', ORDERS)
  const file = 'uploads/2025/orders.csv'
  const asked = await ask('POST', DRAFTS, { body: { file }, token: tokens.analyst })
  assert.equal(asked.status, 200, asked.text)
  const draft = asked.json()
  assert.equal(draft.rows, 120)
  assert.equal(draft.name, 'orders')
  assert.deepEqual(
    draft.columns.map(({ name, role }: { name: string; role: string }) => `${name}: ${role}`),
    ['order_id: identifier', 'due: unclear', 'amount: measure', 'country: dimension'],
  )
  const [question] = draft.questions
  assert.equal(question.column, 'due')
  assert.deepEqual(
    question.readings.map(({ write }: { write: string }) => write),
    ['dates: dmy', 'dates: mdy'],
  )
  assert.notEqual(question.readings[0].as, question.readings[1].as)
  assert.doesNotMatch(draft.source, /"due"/)
  assert.deepEqual(draft.metrics, [])
  for (const { write } of question.readings) {
    const settled = await ask('POST', DRAFTS, { body: { file, dialect: [write] }, token: tokens.analyst })
    const { questions, metrics, source, assumptions } = settled.json()
    assert.deepEqual(questions, [])
    assert.match(source, new RegExp(`data: \\{ file: ${file}, ${write} \\}`))
    assert.ok(source.split('\n').length <= 60)
    assert.deepEqual(
      metrics.map(({ metric_id }: { metric_id: string }) => metric_id),
      ['orders_amount', 'orders_rows'],
    )
    assert.match(metrics[0].source, /column: due[\s\S]*value: sum\("amount"\)/)
    assert.ok(assumptions.includes('amount: the value is the sum of a step.'), assumptions.join())
    const body = { source }
    const shown = await ask('POST', '/v1alpha/jobs/templates/preview', { body, token: tokens.analyst })
    assert.equal(shown.status, 200, shown.text)
    assert.match(shown.text, /^# Orders\n/)
    const checked = await ask('POST', '/v1alpha/jobs/templates/check', {
      body: source,
      type: 'text/markdown',
    })
    assert.deepEqual(checked.json().faults, [])
  }
})

test('what was said of an upload is kept with it, for drafts and uploads to come, until it is forgotten', async (t) => {
  const server = await openTestServer(t, { pool: 'real' })
  const { ask, tokens } = server
  await upload(server, 'orders.csv', ORDERS)
  const file = 'uploads/orders.csv'
  const draft = async (body: object): Promise<Json> => {
    const answer = await ask('POST', DRAFTS, { body: { file, ...body }, token: tokens.analyst })
    assert.equal(answer.status, 200, answer.text)
    return answer.json()
  }
  const dialect = ['dates: mdy']
  await draft({ dialect })
  assert.equal((await draft({})).questions.length, 1, 'lines alone are not kept')
  await draft({ dialect, keep: true })
  const later = await draft({})
  assert.deepEqual([later.questions, later.dialect], [[], dialect])
  assert.match(later.source, /dates: mdy/)
  const again = await ask('PUT', `/v1alpha/files/orders.csv`, { body: ORDERS, type: 'text/csv' })
  const due = again.json().readings.find(({ name }: { name: string }) => name === 'due')
  assert.deepEqual([due.dates, due.doubt], [{ is: 'mdy', sure: 'declared' }, undefined])

  // The kept line does not fit this file, so the file is read without it.
  const other = ORDERS.replaceAll(/0(\d)\/0(\d)\/2025/g, '1$1/0$2/2025')
  await ask('PUT', `/v1alpha/files/orders.csv`, { body: other, type: 'text/csv' })
  assert.deepEqual((await draft({})).dialect, [])

  await draft({ dialect: [], keep: true })
  await ask('PUT', '/v1alpha/files/orders.csv', { body: ORDERS, type: 'text/csv' })
  assert.equal((await draft({})).questions.length, 1)
  await draft({ dialect, keep: true })
  assert.equal((await ask('DELETE', '/v1alpha/files/orders.csv')).status, 204)
  await upload(server, 'orders.csv', ORDERS)
  assert.equal((await draft({})).questions.length, 1)
  const actions = async (): Promise<string[]> =>
    (await ask('GET', '/v1alpha/audit?action=file.declare'))
      .json()
      .items.map(({ object_id }: { object_id: string }) => object_id)
  assert.deepEqual(await actions(), ['orders.csv', 'orders.csv', 'orders.csv'])
  for (const body of [
    { file: 'sample/us-births.csv', dialect, keep: true },
    { file, keep: true },
  ]) {
    const refused = await ask('POST', DRAFTS, { body })
    assert.equal(refused.json().errors[0].path, 'keep', refused.text)
  }
})

test('the series of a draft are those of its metrics', async (t) => {
  const server = await openTestServer(t, { pool: 'real' })
  const rows = Array.from({ length: 90 }, (_, at) => {
    const day = new Date(Date.UTC(2025, 0, 1 + Math.floor(at / 3))).toISOString().slice(0, 10)
    return `${day},${(at * 7) % 11},${at % 3 === 0 ? 'a' : 'b'}`
  })
  await upload(server, 'visits.csv', `day,price,kind\n${rows.join('\n')}\n`)
  const draft = (await server.ask('POST', DRAFTS, { body: { file: 'uploads/visits.csv' } })).json()
  const shown = await server.ask('POST', '/v1alpha/jobs/templates/preview', {
    body: { source: draft.source },
    headers: { accept: 'application/json' },
  })
  const { main, parts } = shown.json().tables
  const [[, value, beside]] = main.rows
  // The expected values are 0, 7 and 3. They are means, because a sum of prices says nothing.
  assert.equal(main.rows.length, 30)
  assert.equal(value, 10 / 3)
  assert.equal(beside, 3)
  assert.deepEqual(
    parts.rows.slice(0, 2).map(([, ...row]: unknown[]) => row),
    [
      ['a', 0, 1],
      ['b', 10, 2],
    ],
  )
  assert.match(draft.metrics[0].source, /value: avg\("price"\)/)
})

test('what cannot be drafted is refused with what to write instead', async (t) => {
  const server = await openTestServer(t, { pool: 'real' })
  const { ask, tokens } = server
  await upload(server, 'orders.csv', ORDERS)
  const file = 'uploads/orders.csv'
  const refused = async (body: object): Promise<{ path: string; message: string }> => {
    const answer = await ask('POST', DRAFTS, { body })
    assert.equal(answer.status, 422, answer.text)
    return answer.json().errors[0]
  }
  for (const line of ['file: other.csv', 'connection: shop', 'dates', '}'])
    assert.deepEqual((await refused({ file, dialect: ['dates: dmy', line] })).path, 'dialect.1', line)
  const long = Array.from({ length: 16 }, () => `missing: [${'a, '.repeat(125)}a]`)
  assert.deepEqual(await refused({ file, dialect: long }), {
    path: 'dialect',
    message: 'holds more than 6000 characters in all',
  })
  const wrong = await refused({ file, dialect: ['dates: soon'] })
  assert.equal(wrong.path, 'dialect')
  assert.match(wrong.message, /dates/)
  assert.equal((await refused({ file: 'uploads/{{ vars.x }}.csv' })).path, 'file')
  const none = await ask('POST', DRAFTS, { body: { file: 'uploads/none.csv' } })
  assert.deepEqual([none.status, none.json().code], [422, 'preview_failed'])
  assert.match(none.json().detail, /^source_unavailable: .*none\.csv/)
  assert.equal((await ask('POST', DRAFTS, { body: { file }, token: tokens.viewer })).status, 403)
})

test('an admin drafts from a table of a connection, and the database adds up its metrics', async (t) => {
  const { ask, parts, folder, tokens } = await openTestServer(t, { pool: 'real' })
  parts.config.data = folder
  const database = new DatabaseSync(path.join(folder, 'shop.db'))
  database.exec('create table orders (order_id integer, paid_at timestamp, amount real, country text)')
  const insert = database.prepare('insert into orders values (?, ?, ?, ?)')
  for (let at = 0; at < 400; at += 1) {
    const day = new Date(Date.UTC(2026, 0, 1 + Math.floor(at / 4))).toISOString().slice(0, 10)
    insert.run(at, `${day} 10:00:00`, 10 + ((at * 7) % 31), at % 3 === 0 ? 'DE' : 'FR')
  }
  database.close()
  const shop = { name: 'shop', kind: 'sqlite', options: { file: 'shop.db' } }
  assert.equal((await ask('POST', '/v1alpha/connections', { body: shop })).status, 201)
  const body = { connection: 'shop', table: 'orders' }
  const answer = await ask('POST', DRAFTS, { body })
  assert.equal(answer.status, 200, answer.text)
  const draft = answer.json()
  assert.deepEqual(
    draft.columns.map(({ name, role }: { name: string; role: string }) => `${name}: ${role}`),
    ['order_id: identifier', 'paid_at: time', 'amount: measure', 'country: dimension'],
  )
  for (const { metric_id, source } of draft.metrics) {
    const put = { body: source, type: 'application/yaml' }
    assert.equal((await ask('PUT', `/v1alpha/metrics/${metric_id}`, put)).status, 201)
  }
  const preview = { body: { source: draft.source } }
  const shown = await ask('POST', '/v1alpha/jobs/templates/preview', preview)
  assert.equal(shown.status, 200, shown.text)
  assert.match(shown.text, /sum\("amount"\) as "value" from "orders"/)
  const faults = async (given: object): Promise<string> =>
    (await ask('POST', DRAFTS, { body: given })).json().errors[0].path
  assert.equal(await faults({ connection: 'shop' }), 'file')
  assert.equal(await faults({ ...body, file: 'sample/us-births.csv' }), 'file')
  assert.equal(await faults({ ...body, dialect: ['dates: dmy'] }), 'dialect')
  assert.equal(await faults({ ...body, table: 'a b' }), 'table')
  assert.equal((await ask('POST', DRAFTS, { body, token: tokens.analyst })).status, 403)
  const unknown = { body: { connection: 'nowhere', table: 'orders' } }
  assert.equal((await ask('POST', DRAFTS, unknown)).status, 404)
  const none = await ask('POST', DRAFTS, { body: { ...body, table: 'none' } })
  assert.match(none.json().detail, /no such table: none/)
})

test('a draft counts among the previews of its workspace', async (t) => {
  const server = await openTestServer(t, { pool: 'real' })
  await upload(server, 'orders.csv', ORDERS)
  const workspace_id = 'default'
  await server.ask('PATCH', `/v1alpha/workspaces/${workspace_id}`, { body: { max_running: 0 } })
  const answer = await server.ask('POST', DRAFTS, { body: { file: 'uploads/orders.csv' } })
  assert.deepEqual([answer.status, answer.json().code], [429, 'workspace_busy'])
})

test('names that a template cannot hold are left out', async (t) => {
  const server = await openTestServer(t, { pool: 'real' })
  const rows = Array.from(
    { length: 60 },
    (_, at) => `2025-01-${String(1 + (at % 28)).padStart(2, '0')},${at},x${at % 3},${at * 2}`,
  )
  await upload(server, 'odd.csv', `day,"{{ vars.x }}","a ""quoted"" $kind",Share %\n${rows.join('\n')}\n`)
  const draft = (await server.ask('POST', DRAFTS, { body: { file: 'uploads/odd.csv' } })).json()
  assert.equal(draft.columns[1].role, 'other')
  const shown = await server.ask('POST', '/v1alpha/jobs/templates/preview', {
    body: { source: draft.source },
  })
  assert.equal(shown.status, 200, shown.text)
})
