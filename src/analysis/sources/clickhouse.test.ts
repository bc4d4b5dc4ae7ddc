/**
 * ClickHouse by its protocol: a server that answers as its documentation of the HTTP interface and formats says, since no
 * real one is to be had where these tests run. What a real one does is not shown by them.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { CONNECTION_LIMITS, type OpenConnection } from '../../connection.ts'
import { findingsOf, openBench } from '../harness.ts'
import { guideHas, lenderOf, queryTemplate, type TypeCase } from './conformance.ts'

const PASSWORD = 'correct-horse-battery-staple'

interface Asked {
  sql: string
  query: URLSearchParams
  headers: IncomingMessage['headers']
}

async function serve(t: TestContext, answer: (asked: Asked, response: ServerResponse) => void) {
  const asked: Asked[] = []
  const server = createServer((request, response) => {
    let sql = ''
    request.setEncoding('utf8').on('data', (chunk: string) => {
      sql += chunk
    })
    request.on('end', () => {
      const { searchParams: query } = new URL(request.url!, 'http://here')
      const one = { sql, query, headers: request.headers }
      asked.push(one)
      answer(one, response)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const bench = await openBench()
  t.after(async () => {
    server.closeAllConnections()
    server.close()
    await bench.close()
  })
  const connection: OpenConnection = {
    name: 'remote',
    kind: 'clickhouse',
    options: {
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
      database: 'shop',
      user: 'reader',
    },
    secrets: { password: PASSWORD },
    limits: { ...CONNECTION_LIMITS, timeout_seconds: 30 },
    targets: ['loopback'],
  }
  return { asked, bench, connection }
}

function rows(response: ServerResponse, ...lines: unknown[][]): void {
  response.end(lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
}

const TYPES: (TypeCase & { given: unknown })[] = [
  { type: 'Bool', sql: '', given: true, comes: 'BOOLEAN', cell: true },
  { type: 'Int8', sql: '', given: -128, comes: 'TINYINT', cell: -128 },
  { type: 'UInt32', sql: '', given: 4294967295, comes: 'UINTEGER', cell: 4294967295 },
  { type: 'Int64', sql: '', given: '-9223372036854775808', comes: 'BIGINT', cell: '-9223372036854775808' },
  { type: 'UInt64', sql: '', given: '18446744073709551615', comes: 'UBIGINT', cell: '18446744073709551615' },
  {
    type: 'Int128',
    sql: '',
    given: '170141183460469231731687303715884105727',
    comes: 'HUGEINT',
    cell: '170141183460469231731687303715884105727',
  },
  { type: 'Float32', sql: '', given: 0.1, comes: 'FLOAT', cell: 0.1 },
  { type: 'Float64', sql: '', given: '-inf', comes: 'DOUBLE', cell: '-Infinity' },
  {
    type: 'Decimal(38, 10)',
    sql: '',
    given: '1234567890123456789012345678.0123456789',
    comes: 'DECIMAL(38,10)',
    cell: '1234567890123456789012345678.0123456789',
  },
  {
    type: 'Decimal(76, 4)',
    sql: '',
    given: '12345678901234567890.1234',
    comes: 'DECIMAL(38,4)',
    cell: '12345678901234567890.1234',
  },
  { type: 'String', sql: '', given: 'é"\n', comes: 'VARCHAR', cell: 'é"\n' },
  { type: 'LowCardinality(Nullable(String))', sql: '', given: 'a', comes: 'VARCHAR', cell: 'a' },
  { type: 'FixedString(2)', sql: '', given: 'ab', comes: 'VARCHAR', cell: 'ab' },
  { type: 'Date', sql: '', given: '2024-02-29', comes: 'DATE', cell: '2024-02-29' },
  { type: 'Date32', sql: '', given: '1925-01-01', comes: 'DATE', cell: '1925-01-01' },
  {
    type: "DateTime('Europe/Berlin')",
    sql: '',
    given: '2024-02-29T10:00:00Z',
    comes: 'TIMESTAMP WITH TIME ZONE',
    cell: '2024-02-29T10:00:00Z',
  },
  {
    type: 'DateTime64(6)',
    sql: '',
    given: '2024-02-29T10:00:00.000001Z',
    comes: 'TIMESTAMP WITH TIME ZONE',
    cell: '2024-02-29T10:00:00.000001Z',
  },
  {
    type: 'UUID',
    sql: '',
    given: 'f81d4fae-7dec-11d0-a765-00a0c91e6bf6',
    comes: 'UUID',
    cell: 'f81d4fae-7dec-11d0-a765-00a0c91e6bf6',
  },
  { type: "Enum8('a' = 1)", sql: '', given: 'a', comes: 'VARCHAR', cell: 'a' },
  { type: 'IPv4', sql: '', given: '10.0.0.1', comes: 'VARCHAR', cell: '10.0.0.1' },
  { type: 'Array(Nullable(Int64))', sql: '', given: ['1', null], comes: 'BIGINT[]', cell: [1, null] },
  { type: 'Array(Array(String))', sql: '', given: [['a']], comes: 'VARCHAR[][]', cell: [['a']] },
  { type: 'Map(String, UInt8)', sql: '', given: { a: 1 }, comes: 'JSON', cell: '{"a":1}' },
  { type: 'Tuple(UInt8, String)', sql: '', given: [1, 'a'], comes: 'JSON', cell: '[1,"a"]' },
]

test('the types of ClickHouse come as the table says', async (t) => {
  const { bench, connection, asked } = await serve(t, (_, response) =>
    rows(
      response,
      TYPES.map((_one, index) => `c${index}`),
      TYPES.map(({ type }) => type),
      TYPES.map(({ given }) => given),
      TYPES.map(() => null),
    ),
  )
  const result = await bench.run(queryTemplate('select * from kinds'), {}, { lender: lenderOf(connection) })
  const { columns, rows: found } = findingsOf(result).tables.b!
  assert.deepEqual(
    TYPES.map(({ type }, index) => ({ type, comes: columns[index]!.database_type, cell: found[0]![index] })),
    TYPES.map(({ type, comes, cell }) => ({ type, comes, cell })),
  )
  assert.ok(found[1]!.every((cell) => cell === null))
  const [{ query, headers }] = asked as [Asked]
  assert.equal(headers['x-clickhouse-key'], PASSWORD)
  assert.equal(query.get('readonly'), '2')
  assert.equal(query.get('database'), 'shop')
  assert.ok(![...query.values()].includes(PASSWORD))
})

test('the guide has exactly the types of ClickHouse', () => guideHas('ClickHouse', TYPES))

test('variables are parameters with their types, escaped as ClickHouse reads them', async (t) => {
  const { bench, connection, asked } = await serve(t, (_, response) => rows(response, ['n'], ['UInt8'], [1]))
  const front =
    'variables:\n  text: { type: string }\n  day: { type: date }\n  ids: { type: list, items: integer }\n  names: { type: list }\n  none: { type: number }\n'
  const query = `select 1 where a = $text and d >= $day and i in $ids and n in $names and x = 'it\\'s $text' and y = $none`
  const variables = { text: "a\tb\\'", day: '2024-02-29', ids: [1, 2], names: ["o'clock"], none: null }
  findingsOf(await bench.run(queryTemplate(query, { front }), variables, { lender: lenderOf(connection) }))
  const [one] = asked as [Asked]
  assert.equal(
    one.sql.trim(),
    `select 1 where a = {p1:String} and d >= {p2:Date32} and i in {p3:Array(Int64)} and n in {p4:Array(String)} and x = 'it\\'s $text' and y = {p5:Nullable(Float64)}`,
  )
  assert.deepEqual(
    [1, 2, 3, 4, 5].map((index) => one.query.get(`param_p${index}`)),
    ["a\\tb\\\\'", '2024-02-29', '[1,2]', "['o\\'clock']", '\\N'],
  )
})

test('a refusal is told, before the rows or among them', async (t) => {
  const fault =
    "Code: 60. DB::Exception: Table shop.nothing doesn't exist. (UNKNOWN_TABLE) (version 24.8.4.13)\n"
  let among = false
  const { bench, connection } = await serve(t, (_, response) => {
    if (among) {
      response.write('["n"]\n["UInt8"]\n[1]\n')
      response.end(fault)
    } else response.writeHead(404).end(fault)
  })
  for (const late of [false, true]) {
    among = late
    const result = await bench.run(
      queryTemplate('select * from nothing'),
      {},
      { lender: lenderOf(connection) },
    )
    assert.ok(result.status === 'failed', JSON.stringify(result))
    assert.equal(result.error.code, 'source_unavailable')
    assert.match(result.error.detail, /was refused: Table shop\.nothing doesn't exist\. \(UNKNOWN_TABLE\)$/)
  }
})

test('a cancel ends the request and asks for the end of the query', async (t) => {
  const stop = new AbortController()
  let gone: Promise<unknown> = Promise.resolve()
  const killed = Promise.withResolvers<string>()
  const { bench, connection, asked } = await serve(t, ({ sql }, response) => {
    if (sql.startsWith('KILL')) {
      killed.resolve(sql)
      response.end()
      return
    }
    response.write('["n"]\n["UInt8"]\n[1]\n')
    gone = once(response, 'close')
    setImmediate(() => stop.abort())
  })
  const result = await bench.run(
    queryTemplate('select sleep(3)'),
    {},
    { lender: lenderOf(connection), signal: stop.signal },
  )
  assert.equal(result.status, 'stopped')
  await gone
  assert.equal(await killed.promise, `KILL QUERY WHERE query_id = '${asked[0]!.query.get('query_id')}' ASYNC`)
})

test('an address that is not allowed is never asked', async (t) => {
  const { bench, connection, asked } = await serve(t, (_, response) => rows(response, ['n'], ['UInt8'], [1]))
  const lender = lenderOf({ ...connection, targets: ['public'] })
  const result = await bench.run(queryTemplate('select 1'), {}, { lender })
  assert.ok(result.status === 'failed')
  assert.match(result.error.detail, /cannot be made: The host is not one that this service may reach/)
  assert.deepEqual(asked, [])
})
