/**
 * Tests ClickHouse in two ways. A server of these tests answers what a real one was seen to answer, also answers that
 * a real one does not give at will. The conformance tests of every kind run against a real one if there is one.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { readFile, rm } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { suite, type TestContext, test } from 'node:test'
import type { OpenConnection } from '@assay/model/connection'
import { CONNECTION_LIMITS } from '@assay/model/connection-kinds'
import { clickhouseServer, missingClickhouse } from '../../../../test/servers/clickhouse.ts'
import { openEngine, readRows } from '../../duckdb/duckdb.ts'
import { findingsOf, templateOf } from '../../run/test-pool.ts'
import { Answers } from '../answers.ts'
import {
  accessOf,
  guideHas,
  kindConformance,
  queryTemplate,
  type Server,
  sharedBench,
  type TypeCase,
} from '../conformance/conformance.ts'
import { clickhouse } from './clickhouse.ts'

const bench = await sharedBench()
const PASSWORD = 'correct-horse-battery-staple'

interface Asked {
  sql: string
  query: URLSearchParams
  headers: IncomingMessage['headers']
}

/**
 * Starts the server. `grants`: its answer to SHOW GRANTS, which is not counted among the questions. `roles`: the same
 * for each role that may be read.
 */
async function serve(
  t: TestContext,
  answer: (asked: Asked, response: ServerResponse) => void,
  grants = 'GRANT SHOW, SELECT ON shop.* TO reader\n',
  roles: Record<string, string> = {},
) {
  const asked: Asked[] = []
  const server = createServer((request, response) => {
    let sql = ''
    request.setEncoding('utf8').on('data', (chunk: string) => {
      sql += chunk
    })
    request.on('end', () => {
      const { searchParams: query } = new URL(request.url!, 'http://here')
      const one = { sql, query, headers: request.headers }
      const [, role] = /^SHOW GRANTS FOR (.+)$/.exec(sql) ?? []
      if (sql === 'SHOW GRANTS') response.end(grants)
      else if (role !== undefined && role in roles) response.end(roles[role])
      else if (role !== undefined)
        response.writeHead(403).end('Code: 497. DB::Exception: Not enough privileges')
      else {
        asked.push(one)
        answer(one, response)
      }
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
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
  return { asked, connection }
}

/**
 * Returns the answer about a query: its columns, or which of the asked settings the server knows. Returns null if the
 * request asks for rows.
 */
function aside(
  { sql, query }: Asked,
  columns: readonly (readonly [name: string, type: string])[],
): string | null {
  if (sql.startsWith('DESCRIBE')) return columns.map((one) => `${JSON.stringify(one)}\n`).join('')
  if (!sql.includes('system.settings')) return null
  assert.equal(query.get('default_format'), 'TabSeparatedRaw')
  return 'output_format_parquet_compression_method\n'
}

/** Returns rows as a Parquet file, from SQL of the engine here. */
async function parquet(select: string): Promise<Buffer> {
  const file = path.join(bench.data, `${randomUUID()}.parquet`)
  const engine = await openEngine()
  try {
    await engine.connection.run(`copy (${select}) to '${file}' (format parquet, compression lz4)`)
    return await readFile(file)
  } finally {
    engine.close()
    await rm(file, { force: true })
  }
}

/** Answers as ClickHouse does, with the rows of this SQL. */
function rows(select: string, ...columns: (readonly [name: string, type: string])[]) {
  return (asked: Asked, response: ServerResponse): void => {
    const said = aside(asked, columns)
    if (said !== null) response.end(said)
    else void parquet(select).then((bytes) => response.end(bytes))
  }
}

/** Returns a small answer: names, types and rows. */
const lines = (...all: unknown[][]): string => all.map((line) => `${JSON.stringify(line)}\n`).join('')

/** Answers with one column `n`, whose rows are these bytes. */
function oneColumn(type: string, answer: (response: ServerResponse) => void) {
  return (asked: Asked, response: ServerResponse): void => {
    const said = aside(asked, [['n', type]])
    if (said === null) answer(response)
    else response.end(said)
  }
}

/** Returns a value as SQL here, in the type in which the query asks for it. */
function sent({ type, comes, given }: (typeof TYPES)[number]): string {
  const text = `'${(typeof given === 'string' ? given : JSON.stringify(given)).replaceAll("'", "''")}'`
  if (comes.endsWith('[]')) return `cast(${text}::json as ${comes})`
  const written = /^(HUGEINT|UUID|JSON|VARCHAR)$/.test(comes) || type.startsWith('Decimal(76')
  return `cast(${text} as ${written ? 'varchar' : comes})`
}

/** The types. `given`: the value as text, or as JSON holds it. */
const TYPES: (TypeCase & { given: unknown })[] = [
  { type: 'Bool', sql: 'true::Bool', given: true, comes: 'BOOLEAN', cell: true },
  { type: 'Int8', sql: 'toInt8(-128)', given: -128, comes: 'TINYINT', cell: -128 },
  { type: 'UInt32', sql: 'toUInt32(4294967295)', given: 4294967295, comes: 'UINTEGER', cell: 4294967295 },
  {
    type: 'Int64',
    sql: "toInt64('-9223372036854775808')",
    given: '-9223372036854775808',
    comes: 'BIGINT',
    cell: '-9223372036854775808',
  },
  {
    type: 'UInt64',
    sql: "toUInt64('18446744073709551615')",
    given: '18446744073709551615',
    comes: 'UBIGINT',
    cell: '18446744073709551615',
  },
  {
    type: 'Int128',
    sql: "toInt128('170141183460469231731687303715884105727')",
    given: '170141183460469231731687303715884105727',
    comes: 'HUGEINT',
    cell: '170141183460469231731687303715884105727',
  },
  { type: 'Int256', sql: "toInt256('-5')", given: '-5', comes: 'VARCHAR', cell: '-5' },
  { type: 'BFloat16', sql: '1.5::BFloat16', given: 1.5, comes: 'FLOAT', cell: 1.5 },
  { type: 'Float32', sql: 'toFloat32(0.1)', given: 0.1, comes: 'FLOAT', cell: 0.1 },
  { type: 'Float64', sql: '-inf', given: '-inf', comes: 'DOUBLE', cell: '-Infinity' },
  { type: 'Float64', sql: 'nan', given: 'nan', comes: 'DOUBLE', cell: 'NaN' },
  {
    type: 'Decimal(38, 10)',
    sql: "toDecimal128('1234567890123456789012345678.0123456789', 10)",
    given: '1234567890123456789012345678.0123456789',
    comes: 'DECIMAL(38,10)',
    cell: '1234567890123456789012345678.0123456789',
  },
  {
    type: 'Decimal(9, 2)',
    sql: "toDecimal32('-0.05', 2)",
    given: '-0.05',
    comes: 'DECIMAL(9,2)',
    cell: '-0.05',
  },
  {
    type: 'Decimal(76, 4)',
    sql: "toDecimal256('12345678901234567890.1234', 4)",
    given: '12345678901234567890.1234',
    comes: 'DECIMAL(38,4)',
    cell: '12345678901234567890.1234',
  },
  { type: 'String', sql: "'é\"\\n'", given: 'é"\n', comes: 'VARCHAR', cell: 'é"\n' },
  {
    type: 'LowCardinality(Nullable(String))',
    sql: "'a'::LowCardinality(Nullable(String))",
    given: 'a',
    comes: 'VARCHAR',
    cell: 'a',
  },
  { type: 'FixedString(2)', sql: "toFixedString('ab', 2)", given: 'ab', comes: 'VARCHAR', cell: 'ab' },
  { type: 'Date', sql: "toDate('2024-02-29')", given: '2024-02-29', comes: 'DATE', cell: '2024-02-29' },
  { type: 'Date32', sql: "toDate32('1925-01-01')", given: '1925-01-01', comes: 'DATE', cell: '1925-01-01' },
  {
    type: 'DateTime',
    sql: "toDateTime('2024-02-29 10:00:00')",
    given: '2024-02-29T10:00:00Z',
    comes: 'TIMESTAMP WITH TIME ZONE',
    cell: '2024-02-29T10:00:00Z',
  },
  {
    type: "DateTime('Europe/Berlin')",
    sql: "toDateTime('2024-02-29 11:00:00', 'Europe/Berlin')",
    given: '2024-02-29T10:00:00Z',
    comes: 'TIMESTAMP WITH TIME ZONE',
    cell: '2024-02-29T10:00:00Z',
  },
  {
    type: 'DateTime64(6)',
    sql: "toDateTime64('2024-02-29 10:00:00.000001', 6)",
    given: '2024-02-29T10:00:00.000001Z',
    comes: 'TIMESTAMP WITH TIME ZONE',
    cell: '2024-02-29T10:00:00.000001Z',
  },
  {
    type: 'DateTime64(9)',
    sql: "toDateTime64('2024-02-29 10:00:00.123456789', 9)",
    given: '2024-02-29T10:00:00.123456Z',
    comes: 'TIMESTAMP WITH TIME ZONE',
    cell: '2024-02-29T10:00:00.123456Z',
  },
  {
    type: 'UUID',
    sql: "toUUID('f81d4fae-7dec-11d0-a765-00a0c91e6bf6')",
    given: 'f81d4fae-7dec-11d0-a765-00a0c91e6bf6',
    comes: 'UUID',
    cell: 'f81d4fae-7dec-11d0-a765-00a0c91e6bf6',
  },
  { type: "Enum8('a' = 1)", sql: "'a'::Enum8('a' = 1)", given: 'a', comes: 'VARCHAR', cell: 'a' },
  { type: 'IPv4', sql: "toIPv4('10.0.0.1')", given: '10.0.0.1', comes: 'VARCHAR', cell: '10.0.0.1' },
  {
    type: 'Array(Nullable(Int64))',
    sql: '[toNullable(toInt64(1)), null]',
    given: ['1', null],
    comes: 'BIGINT[]',
    cell: [1, null],
  },
  { type: 'Array(Array(String))', sql: "[['a']]", given: [['a']], comes: 'VARCHAR[][]', cell: [['a']] },
  {
    type: 'Array(Decimal(9, 2))',
    sql: "[toDecimal32('1.50', 2)]",
    given: ['1.5'],
    comes: 'DECIMAL(9,2)[]',
    cell: ['1.50'],
  },
  {
    type: 'Map(String, UInt8)',
    sql: "map('a', toUInt8(1))",
    given: { a: 1 },
    comes: 'JSON',
    cell: '{"a":1}',
  },
  { type: 'Tuple(UInt8, String)', sql: "tuple(1, 'a')", given: [1, 'a'], comes: 'JSON', cell: '[1,"a"]' },
  {
    type: 'Nested(x Int8, y String)',
    sql: "[(1, 'a')]::Nested(x Int8, y String)",
    given: [{ x: 1, y: 'a' }],
    comes: 'JSON',
    cell: '[{"x":1,"y":"a"}]',
  },
  {
    type: 'JSON',
    sql: '\'{"a":[1,2.5]}\'::JSON',
    given: { a: [1, 2.5] },
    comes: 'JSON',
    cell: '{"a":[1,2.5]}',
  },
  {
    type: 'Variant(String, UInt64)',
    sql: '7::Variant(String, UInt64)',
    given: '"7"',
    comes: 'JSON',
    cell: '"7"',
  },
  { type: 'Point', sql: '(1.5, 2)::Point', given: [1.5, 2], comes: 'JSON', cell: '[1.5,2]' },
  {
    type: 'SimpleAggregateFunction(sum, UInt64)',
    sql: '7::SimpleAggregateFunction(sum, UInt64)',
    given: '7',
    comes: 'UBIGINT',
    cell: 7,
  },
]

test('a user who can reach other systems is refused, or reported if that is accepted', async (t) => {
  const { connection, asked } = await serve(
    t,
    (_one, response) => response.end('["25.8.1","2"]\n'),
    'GRANT SHOW, SELECT(a, b), S3 ON *.* TO reader\nGRANT READ ON URL TO reader\nGRANT analyst TO reader\n',
    { analyst: 'GRANT SELECT ON shop.* TO analyst\n' },
  )
  const accepted = { ...connection, options: { ...connection.options, privileged: 'accepted' } }
  const result = await bench.run(queryTemplate('select 1'), {}, { connections: accessOf(connection) })
  assert.ok(result.status === 'failed')
  assert.match(
    result.error.detail,
    /The user "reader" of the connection "remote" can do more than read: it can reach other systems \(S3\), can reach other systems \(URL\)\. Use a user who can only read, or set the option privileged to accepted/,
  )
  assert.deepEqual(asked, [], 'the query was not sent')
  const probe = (one: OpenConnection) =>
    bench.pool.probe({ kind: 'probe', connection: one, roots: bench.roots }, { workspace_id: 'test' })
  assert.equal((await probe(connection)).ok, false)
  const told = await probe(accepted)
  assert.ok(told.ok)
  assert.match(told.read_only, /which is accepted: it can reach other systems \(S3\)/)
})

/** Sends bytes until the client leaves. */
function endless(response: ServerResponse): void {
  const piece = Buffer.alloc(65_536, 'a')
  const more = (): void => {
    while (!response.destroyed && response.write(piece));
  }
  response.on('drain', more)
  more()
}

test('a server whose answer does not end is left once it is too long, whatever was asked', async (t) => {
  const described = (one: Asked): boolean => one.sql.startsWith('DESCRIBE')
  const detailOf = async (connection: OpenConnection): Promise<string> => {
    const result = await bench.run(queryTemplate('select 1'), {}, { connections: accessOf(connection) })
    assert.ok(result.status === 'failed', result.status)
    return result.error.detail
  }
  const columns = await serve(t, (one, response) =>
    described(one) ? endless(response) : response.end('["25.8.1","2"]\n'),
  )
  assert.match(
    await detailOf(columns.connection),
    /answers a question about itself with more than 4000000 bytes/,
  )
  const fault = await serve(t, (one, response) => {
    if (described(one)) endless(response.writeHead(500))
    else response.end('["25.8.1","2"]\n')
  })
  assert.match(await detailOf(fault.connection), /was refused: a{4000}$/)
  const rights = await serve(t, () => undefined, '')
  const server = createServer((_request, response) => endless(response)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const all = { ...rights.connection, options: { ...rights.connection.options, url } }
  assert.match(await detailOf(all), /answers a question about itself with more than 4000000 bytes/)
  const probe = { kind: 'probe' as const, connection: all, roots: bench.roots }
  const told = await bench.pool.probe(probe, { workspace_id: 'test' })
  assert.ok(!told.ok)
  assert.match(told.detail, /answers a question about itself with more than 4000000 bytes/)
})

test('what a user can do by its roles, and by theirs, counts as what it can do itself', async (t) => {
  const rightsBy = async (grants: string, roles: Record<string, string>) => {
    const { connection } = await serve(t, (_one, response) => response.end('["25.8.1","2"]\n'), grants, roles)
    const one = { kind: 'probe' as const, connection, roots: bench.roots }
    const result = await bench.pool.probe(one, { workspace_id: 'test' })
    return result.ok ? '' : result.detail
  }
  const own = 'GRANT SELECT ON shop.* TO reader\nGRANT analyst, `night shift` TO reader\n'
  const reads = 'GRANT SELECT ON shop.* TO analyst\n'
  assert.equal(await rightsBy(own, { analyst: reads, '`night shift`': reads }), '')
  assert.match(
    await rightsBy(own, {
      analyst: reads,
      '`night shift`': 'GRANT fetcher, analyst TO `night shift` WITH ADMIN OPTION\n',
      fetcher: 'GRANT READ ON URL TO fetcher\nGRANT `night shift` TO fetcher\n',
    }),
    /can do more than read: it can reach other systems \(URL\)\./,
  )
  assert.match(
    await rightsBy(own, { '`night shift`': reads }),
    /has a role whose rights it may not read \(analyst\)/,
  )
})

test('the types of ClickHouse arrive as the table says', async (t) => {
  const list = TYPES.map((one, index) => `${sent(one)} as c${index}`)
  const { connection, asked } = await serve(
    t,
    rows(
      `select ${list.join(', ')} union all select ${TYPES.map(() => 'null').join(', ')}`,
      ...TYPES.map(({ type }, index) => [`c${index}`, type] as const),
    ),
  )
  const result = await bench.run(
    queryTemplate('select * from kinds'),
    {},
    { connections: accessOf(connection) },
  )
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

test('a wide decimal under a name with a backslash is asked for there, also after a semicolon and a comment', async (t) => {
  const empty = lines(
    ['rows', 'given', 'n', 'low', 'high', 'middle'],
    ['UInt64', 'UInt64', 'UInt64', 'Nullable(Float64)', 'Nullable(Float64)', 'Nullable(Float64)'],
    ['2', '0', '0', null, null, null],
  )
  const { asked, connection } = await serve(t, (one, response) => {
    if (one.sql.includes('isFinite')) response.end(empty)
    else response.end(aside(one, [['a\\`b', 'Decimal(76, 10)']]))
  })
  const text = 'select * from t; -- as its author wrote it'
  const template = templateOf(
    `\`\`\`sql few at: remote\n${text}\n\`\`\`\n\n\`\`\`analysis x\nmethod: describe\nof: few\nvalue: 'a\\\`b'\n\`\`\`\n\n# A\n\n{{ x.n }}\n`,
  )
  const { analyses } = findingsOf(await bench.run(template, {}, { connections: accessOf(connection) }))
  assert.deepEqual([analyses.x!.n, analyses.x!.nulls], [0, 2])
  const of = 'toFloat64(`a\\\\\\`b`) as `v`\nfrom (\nselect * from t  -- as its author wrote it\n)'
  assert.ok(asked.at(-1)!.sql.includes(of), asked.at(-1)!.sql)
})

test('variables are parameters with their types, escaped as ClickHouse reads them', async (t) => {
  const { connection, asked } = await serve(t, rows('select 1::utinyint as n', ['n', 'UInt8']))
  const front =
    'variables:\n  text: { type: string }\n  day: { type: date }\n  ids: { type: list, items: integer }\n  names: { type: list }\n  none: { type: number }\n'
  const query = `select 1 where a = $text and d >= $day and i in $ids and n in $names and x = 'it\\'s $text' and y = $none`
  const variables = { text: "a\tb\\'", day: '2024-02-29', ids: [1, 2], names: ["o'clock"], none: null }
  findingsOf(
    await bench.run(queryTemplate(query, { front }), variables, { connections: accessOf(connection) }),
  )
  const one = asked.at(-1)!
  assert.equal(
    one.sql.trim(),
    `SELECT \`n\` AS \`n\` FROM (\nselect 1 where a = {p1:String} and d >= {p2:Date32} and i in {p3:Array(Int64)} and n in {p4:Array(String)} and x = 'it\\'s $text' and y = {p5:Nullable(Float64)}\n)`,
  )
  assert.deepEqual(
    [1, 2, 3, 4, 5].map((index) => one.query.get(`param_p${index}`)),
    ["a\\tb\\\\'", '2024-02-29', '[1,2]', "['o\\'clock']", '\\N'],
  )
})

test('a refusal is reported, before the rows or in any form among them, and where the connection is broken after it', async (t) => {
  const fault =
    "Code: 60. DB::Exception: Table shop.nothing doesn't exist. (UNKNOWN_TABLE) (version 24.8.4.13)\n"
  const forms = {
    before: null,
    line: fault,
    marked: `__exception__\r\n${fault}`,
    tagged: `__exception__\r\nPU1FNUFH98\r\n${fault}78 PU1FNUFH98\r\n__exception__\r\n`,
    broken: `__exception__\r\n${fault}`,
  }
  let form: keyof typeof forms = 'before'
  const answer = oneColumn('UInt8', (response) => {
    response.write('PAR1 and some rows')
    if (form === 'broken') response.write(forms[form], () => response.destroy())
    else response.end(forms[form])
  })
  const { connection } = await serve(t, (asked, response) => {
    if (form === 'before') response.writeHead(404).end(fault)
    else answer(asked, response)
  })
  for (form of Object.keys(forms) as (keyof typeof forms)[]) {
    const result = await bench.run(
      queryTemplate('select * from nothing'),
      {},
      { connections: accessOf(connection) },
    )
    assert.ok(result.status === 'failed', form)
    assert.equal(result.error.code, 'source_unavailable')
    assert.match(
      result.error.detail,
      /was refused: Table shop\.nothing doesn't exist\. \(UNKNOWN_TABLE\)$/,
      form,
    )
  }
})

test('bytes that are no text, and an answer that is no file or ends early, end the job with what to do', async (t) => {
  const whole = await parquet("select 'abcd' as n")
  const cases: [Buffer, RegExp][] = [
    [
      Buffer.from(whole.toString('latin1').replaceAll('abcd', '\xff\xff\xff\xff'), 'latin1'),
      /bytes that are not UTF-8: give them as hex/,
    ],
    [whole.subarray(0, -8), /The connection "remote" broke off: the last rows did not come/],
    [Buffer.from('PAR1 is no file PAR1'), /gives a value that the engine cannot hold/],
    [Buffer.alloc(0), /broke off/],
  ]
  let bytes = Buffer.alloc(0)
  const { connection } = await serve(
    t,
    oneColumn('String', (response) => response.end(bytes)),
  )
  for (const [given, message] of cases) {
    bytes = Buffer.from(given)
    const result = await bench.run(queryTemplate('select 1'), {}, { connections: accessOf(connection) })
    assert.ok(result.status === 'failed')
    assert.equal(result.error.code, 'source_unavailable')
    assert.match(result.error.detail, message)
    assert.doesNotMatch(result.error.detail, /\.parquet|\/tmp/)
  }
})

test('an answer of figures that ends early, is refused among its lines or is no text ends the job', async (t) => {
  const whole = lines(['rows', 'given', 'n'], ['UInt64', 'UInt64', 'UInt64'], ['2', '0', '0'])
  const fault =
    'Code: 241. DB::Exception: Memory limit exceeded. (MEMORY_LIMIT_EXCEEDED) (version 24.8.4.13)\n'
  const cases: [Buffer, RegExp][] = [
    [Buffer.from(whole.slice(0, -3)), /The connection "remote" broke off: the last rows did not come/],
    [Buffer.from(`${whole}${fault}`), /was refused: Memory limit exceeded\. \(MEMORY_LIMIT_EXCEEDED\)$/],
    [Buffer.from(whole.replace('given', '\xff'), 'latin1'), /bytes that are not UTF-8: give them as hex/],
  ]
  let bytes: Buffer = Buffer.alloc(0)
  const { connection } = await serve(t, (one, response) => {
    response.end(one.sql.includes('isFinite') ? bytes : aside(one, [['v', 'Float64']]))
  })
  const template = templateOf(
    '```analysis x\nmethod: describe\nof: remote.t\nvalue: v\n```\n\n# A\n\n{{ x.n }}\n',
  )
  for (const [given, message] of cases) {
    bytes = given
    const result = await bench.run(template, {}, { connections: accessOf(connection) })
    assert.ok(result.status === 'failed')
    assert.equal(result.error.code, 'source_unavailable')
    assert.match(result.error.detail, message)
  }
})

test('a server that lacks a setting is asked for those that it knows', async (t) => {
  const answer = rows('select 7::utinyint as n', ['n', 'UInt8'])
  const { asked, connection } = await serve(t, (one, response) => {
    if (!one.query.has('output_format_parquet_write_bloom_filter')) return answer(one, response)
    response
      .writeHead(404)
      .end(
        "Code: 115. DB::Exception: Unknown setting 'output_format_parquet_write_bloom_filter'. (UNKNOWN_SETTING)\n",
      )
  })
  const result = await bench.run(queryTemplate('select 7'), {}, { connections: accessOf(connection) })
  assert.deepEqual(findingsOf(result).tables.b!.rows, [[7]])
  assert.equal(asked.at(-1)!.query.get('output_format_parquet_compression_method'), 'lz4')
})

test('rows that come in many pieces come whole', async (t) => {
  const select = "select range::uinteger as n, repeat('é', 1000) as t from range(20000)"
  const { connection } = await serve(t, rows(select, ['n', 'UInt32'], ['t', 'String']))
  const sql = `select count(*)::int, sum(n)::int, min(length(t))::int, max(length(t))::int from a`
  const result = await bench.run(
    queryTemplate('select 1', { sql }),
    {},
    { connections: accessOf(connection) },
  )
  assert.deepEqual(findingsOf(result).tables.b!.rows, [[20_000, 199_990_000, 1000, 1000]])
})

test('a cancel ends the request and asks for the end of the query', async (t) => {
  const stop = new AbortController()
  let gone: Promise<unknown> = Promise.resolve()
  const killed = Promise.withResolvers<string>()
  const answer = oneColumn('UInt8', (response) => {
    response.write('PAR1 and some rows')
    gone = once(response, 'close')
    setImmediate(() => stop.abort())
  })
  const { connection, asked } = await serve(t, (one, response) => {
    if (!one.sql.startsWith('KILL')) return answer(one, response)
    killed.resolve(one.sql)
    response.end()
  })
  const result = await bench.run(
    queryTemplate('select sleep(3)'),
    {},
    { connections: accessOf(connection), signal: stop.signal },
  )
  assert.equal(result.status, 'stopped')
  await gone
  assert.equal(await killed.promise, `KILL QUERY WHERE query_id = '${asked[0]!.query.get('query_id')}' ASYNC`)
})

test('an address that is not allowed is never asked', async (t) => {
  const { connection, asked } = await serve(t, rows('select 1::utinyint as n', ['n', 'UInt8']))
  const connections = accessOf({ ...connection, targets: ['public'] })
  const result = await bench.run(queryTemplate('select 1'), {}, { connections })
  assert.ok(result.status === 'failed')
  assert.match(result.error.detail, /cannot be made: The host is not one that this service may reach/)
  assert.deepEqual(asked, [])
})

async function start(): Promise<Server> {
  const { url, user, password, database } = clickhouseServer()
  const ask = async (sql: string): Promise<string> => {
    const address = new URL(url)
    for (const [name, value] of Object.entries({ database, default_table_engine: 'Memory' }))
      address.searchParams.set(name, value)
    const answer = await fetch(address, {
      method: 'POST',
      body: sql,
      headers: { 'x-clickhouse-user': user, 'x-clickhouse-key': password },
    })
    const text = await answer.text()
    assert.ok(answer.ok, text)
    return text
  }
  return {
    connection: {
      name: 'remote',
      kind: 'clickhouse',
      options: { url, database, user },
      secrets: password === '' ? {} : { password },
      limits: { ...CONNECTION_LIMITS, timeout_seconds: 60 },
      targets: ['loopback', 'private', 'public'],
    },
    execute: async (sql) => void (await ask(sql)),
    running: async () =>
      Number(await ask("select count() from system.processes where query not like '%system.processes%'")),
    close: async () => void (await ask('drop table if exists items')),
  }
}

/** Types whose values the server makes at random, each with the type as which its text is read here. */
const MADE: Record<string, string> = {
  Int8: 'tinyint',
  Int64: 'bigint',
  UInt64: 'ubigint',
  Int128: 'hugeint',
  Bool: 'boolean',
  UInt16: 'usmallint',
  UInt128: 'uhugeint',
  Float32: 'float',
  IPv4: 'varchar',
  "Enum8(\\'one\\' = 1, \\'two\\' = 2)": 'varchar',
  'Array(Nullable(Int64))': 'bigint[]',
  'Array(Array(Decimal(9, 2)))': 'decimal(9, 2)[][]',
  Float64: 'double',
  'Decimal(9, 2)': 'decimal(9, 2)',
  'Decimal(15, 2)': 'decimal(15, 2)',
  'Decimal(38, 10)': 'decimal(38, 10)',
  String: 'varchar',
  'LowCardinality(String)': 'varchar',
  Date: 'date',
  Date32: 'date',
  "DateTime64(6, \\'UTC\\')": 'timestamptz',
  UUID: 'uuid',
  'Nullable(Int64)': 'bigint',
  'Nullable(String)': 'varchar',
  'Nullable(Decimal(18, 4))': 'decimal(18, 4)',
}

suite('ClickHouse as a source', { skip: missingClickhouse() ?? false }, () => {
  test('every value is the one that the server prints', async () => {
    const server = await start()
    const types = Object.keys(MADE)
    const columns = types.map((type, index) => `c${index} ${type}`)
    const texts = types.map((_, index) => `toString(c${index}) as t${index}`)
    const query = `select *, ${texts.join(', ')} from generateRandom('${columns.join(', ')}', 7, 60) limit 5000`
    const differ = Object.values(MADE).map(
      (type, index) => `count(*) filter (where c${index} is distinct from cast(t${index} as ${type}))::int`,
    )
    const sql = `select ${differ.join(', ')}, count(c0)::int from a`
    const connections = accessOf(server.connection)
    const result = await bench.run(queryTemplate(query, { sql }), {}, { connections })
    assert.deepEqual(findingsOf(result).tables.b!.rows[0], [...types.map(() => 0), 5000])
  })

  test('figures come without a file with the cells that a file gives', async () => {
    const { connection } = await start()
    const types = [
      ...Object.keys(MADE).filter((type) => !/UUID|Array|IPv4/.test(type)),
      'DateTime',
      'Nullable(Nothing)',
    ]
    const columns = types.map((type, index) => `c${index} ${type}`)
    const made = columns.slice(0, -1).join(', ')
    const sql = `select *, null as c${types.length - 1} from generateRandom('${made}', 7, 60) limit 500`
    const engine = await openEngine()
    const temp_folder = path.join(bench.data, randomUUID())
    const { signal } = new AbortController()
    const open = {
      connection,
      signal,
      timeout_ms: 60_000,
      time_zone: 'Europe/Berlin',
      temp_folder,
      cut: null,
      peek: false,
    }
    const readerOf = (query: string) =>
      clickhouse.open({ ...open, roots: bench.roots, query: { sql: query, parameters: [] } })
    try {
      const answers = new Answers(engine, { name: 'a', room: { temp_folder, spill_bytes: 1e9 } })
      const direct = await answers.of(await readerOf(sql), open)
      const { name } = await answers.kept(await readerOf(sql), open)
      assert.equal(direct.length, 500)
      const filed = await readRows(engine, `select * from "${name}"`)
      for (const [index, row] of filed.entries()) assert.deepEqual(direct[index], row)
      const listed = await answers.of(await readerOf('select [1, 2] as l'), open)
      assert.deepEqual(listed, [{ l: [1, 2] }])
    } finally {
      engine.close()
    }
  })

  kindConformance({
    title: 'ClickHouse',
    start,
    types: TYPES,
    series: (count, length) =>
      `select number + 1 as n, repeat('x', ${length}) as t from numbers(${count}) order by n`,
    slow: 'select sleepEachRow(1) as s from numbers(60) settings max_block_size = 1',
    writes: [
      'insert into items values (2)',
      'insert into items select 2',
      'alter table items delete where 1',
      'truncate table items',
      'drop table items',
      'create table more (a integer)',
      'set readonly = 0',
      'select 1 settings readonly = 0',
      "select * from (select 1 settings max_threads = 1, /* ' */ `readonly` = 0)",
      'select 1; drop table items',
      "insert into function file('more.csv', 'CSV', 'a Int32') select 1",
      "kill query where query_id = 'none'",
    ],
    parameters: 'select $number as n, $text as t, $day as d, $flag as f, has($numbers, 2) as x',
  })
})
