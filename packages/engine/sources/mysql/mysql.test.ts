import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { CONNECTION_LIMITS } from '@assay/model/connection-kinds'
import mysql from 'mysql2'
import { missingMysql, mysqlUrl } from '../../../../test/servers/mariadb.ts'
import { findingsOf, openTestPool, type TestPool } from '../../run/test-pool.ts'
import {
  accessOf,
  addingOf,
  kindConformance,
  queryTemplate,
  type Server,
  type TypeCase,
} from '../conformance/conformance.ts'
import { metricsKeepTheirZone } from '../conformance/metrics.ts'

const missing = missingMysql()

/** The password of a user who may write there, so that the session alone refuses to write. */
const PASSWORD = 'correct-horse-battery-staple'

async function start(): Promise<Server> {
  const url = mysqlUrl()
  const connection = mysql
    .createConnection({
      host: url.hostname,
      port: Number(url.port || 3306),
      user: decodeURIComponent(url.username),
      password: decodeURIComponent(url.password),
      database: url.pathname.slice(1),
    })
    .promise()
  await connection.query('drop table if exists kinds')
  // The user exists for localhost too, where a nameless user would otherwise match first.
  for (const host of ['%', 'localhost']) {
    await connection.query(`create or replace user assay_source@'${host}' identified by '${PASSWORD}'`)
    await connection.query(`grant all on ${url.pathname.slice(1)}.* to assay_source@'${host}'`)
  }
  const columns = TYPES.map(({ type }, index) => `c${index} ${type}`)
  await connection.query(`create table kinds (${columns.join(', ')})`)
  await connection.query("set time_zone = '+00:00'")
  await connection.query(`insert into kinds values (${TYPES.map(({ sql }) => sql).join(', ')})`)
  return {
    connection: {
      name: 'remote',
      kind: 'mysql',
      options: {
        host: url.hostname,
        port: Number(url.port || 3306),
        database: url.pathname.slice(1),
        user: 'assay_source',
        tls: 'off',
      },
      secrets: { password: PASSWORD },
      limits: { ...CONNECTION_LIMITS, timeout_seconds: 60 },
      targets: ['loopback'],
    },
    async execute(sql) {
      await connection.query(sql)
    },
    async running() {
      const [rows] = await connection.query(
        "select count(*) as n from information_schema.processlist where command = 'Execute' and db = database()",
      )
      return (rows as { n: number }[])[0]!.n
    },
    async close() {
      await connection.query('drop table if exists kinds')
      await connection.query('drop table if exists items')
      await connection.query("drop user if exists assay_source@'%', assay_source@'localhost'")
      await connection.end()
    },
  }
}

const TYPES: TypeCase[] = [
  { type: 'tinyint', sql: '-128', comes: 'TINYINT', cell: -128 },
  { type: 'boolean', sql: 'true', comes: 'TINYINT', cell: 1 },
  { type: 'smallint unsigned', sql: '65535', comes: 'USMALLINT', cell: 65535 },
  { type: 'mediumint', sql: '-8388608', comes: 'INTEGER', cell: -8388608 },
  { type: 'int', sql: '2147483647', comes: 'INTEGER', cell: 2147483647 },
  { type: 'bigint', sql: '-9223372036854775808', comes: 'BIGINT', cell: '-9223372036854775808' },
  { type: 'bigint unsigned', sql: '18446744073709551615', comes: 'UBIGINT', cell: '18446744073709551615' },
  { type: 'float', sql: '0.1', comes: 'FLOAT', cell: 0.1 },
  { type: 'double', sql: '0.1', comes: 'DOUBLE', cell: 0.1 },
  {
    type: 'decimal(38,10)',
    sql: "'1234567890123456789012345678.0123456789'",
    comes: 'DECIMAL(38,10)',
    cell: '1234567890123456789012345678.0123456789',
  },
  { type: 'decimal(5,2) unsigned', sql: "'0.05'", comes: 'DECIMAL(5,2)', cell: '0.05' },
  {
    type: 'decimal(60,4)',
    sql: "'12345678901234567890.1234'",
    comes: 'DECIMAL(38,4)',
    cell: '12345678901234567890.1234',
  },
  { type: 'bit(9)', sql: "b'100000001'", comes: 'UBIGINT', cell: 257 },
  { type: 'char(3)', sql: "'a'", comes: 'VARCHAR', cell: 'a' },
  { type: 'varchar(9) character set utf8mb4', sql: "'é'", comes: 'VARCHAR', cell: 'é' },
  { type: 'longtext character set utf8mb4', sql: "'long'", comes: 'VARCHAR', cell: 'long' },
  { type: 'binary(2)', sql: "x'00ff'", comes: 'BLOB', cell: String.raw`\x00\xFF` },
  { type: 'blob', sql: "x'00ff41'", comes: 'BLOB', cell: String.raw`\x00\xFFA` },
  { type: 'date', sql: "'2024-02-29'", comes: 'DATE', cell: '2024-02-29' },
  {
    type: 'datetime(6)',
    sql: "'2024-02-29 10:00:00.000001'",
    comes: 'TIMESTAMP',
    cell: '2024-02-29T10:00:00.000001',
  },
  {
    type: 'timestamp(3) null',
    sql: "'2024-02-29 10:00:00.5'",
    comes: 'TIMESTAMP WITH TIME ZONE',
    cell: '2024-02-29T10:00:00.5Z',
  },
  { type: 'time(6)', sql: "'23:59:59.123456'", comes: 'TIME', cell: '23:59:59.123456' },
  { type: 'year', sql: '2024', comes: 'USMALLINT', cell: 2024 },
  { type: "enum('sad', 'happy')", sql: "'happy'", comes: 'VARCHAR', cell: 'happy' },
  { type: "set('a', 'b')", sql: "'a,b'", comes: 'VARCHAR', cell: 'a,b' },
]

suite('MySQL and MariaDB as sources', { skip: missing ?? false }, () => {
  kindConformance({
    title: 'MySQL and MariaDB',
    start,
    types: TYPES.map((one, index) => ({ ...one, sql: `kinds.c${index}` })),
    from: 'kinds',
    series: (count, length) => `select seq as n, repeat('x', ${length}) as t from seq_1_to_${count}`,
    slow: 'select sleep(60) as s',
    writes: [
      'insert into items values (2)',
      'insert into items values (2) returning a',
      'delete from items returning a',
      'create table more (a integer)',
      'set session transaction read write',
      'commit',
      'select 1; delete from items',
      "select 1 into outfile '/tmp/assay-should-not-be-here'",
      'analyze table items',
      '/* first */ check table items',
      'checksum table items',
      'set statement max_statement_time = 0 for select 1 as v',
      '/*!50000 set statement max_statement_time = 0 for */ select 1 as v',
      '/*M! set statement max_statement_time = 0 for */ select 1 as v',
    ],
    parameters:
      'select cast($number as signed) as n, $text as t, cast($day as date) as d, $flag as f, 2 in ($numbers) as x',
  })

  /** The types. Each is selected as `v`, and as `t`, the text that the server prints, with nulls among them. */
  const FORMS: Record<string, [sql: string, type: string]> = {
    a_tiny: ['cast(floor(rand() * 256) - 128 as signed)', 'bigint'],
    a_big: ['cast(floor((rand() - 0.5) * pow(10, seq % 19)) as signed)', 'bigint'],
    a_unsigned: ['cast(18446744073709551615 - floor(rand() * 1000) as unsigned)', 'ubigint'],
    a_double: ['(rand() - 0.5) * pow(10, seq % 300)', 'double'],
    a_small: ['cast((rand() - 0.5) * 1000 as decimal(4, 1))', 'decimal(4, 1)'],
    a_middle: ['cast((rand() - 0.5) * pow(10, seq % 14) as decimal(15, 2))', 'decimal(15, 2)'],
    a_large: ["cast(concat(seq, repeat('7', seq % 20), '.', seq) as decimal(38, 10))", 'decimal(38, 10)'],
    a_day: ["date_add('1000-01-01', interval floor(rand() * 3000000) day)", 'date'],
    a_moment: [
      "timestampadd(microsecond, floor(rand() * 1e17), timestamp '1000-01-01 00:00:00.000000')",
      'timestamp',
    ],
    a_time: ['cast(sec_to_time(rand() * 86399) as time(6))', 'time'],
    a_text: ["concat(repeat('é', seq % 60), repeat('x', seq % 13), char(0 using utf8mb4))", 'varchar'],
    a_bit: ['seq', 'bigint'],
  }

  test('a user who may use the files of the server is refused', async () => {
    const server = await start()
    const bench = await openTestPool()
    try {
      await server.execute(`grant file on *.* to assay_source@'%'`)
      await server.execute(`grant file on *.* to assay_source@'localhost'`)
      const result = await bench.run(
        queryTemplate('select 1 as v'),
        {},
        { connections: accessOf(server.connection) },
      )
      assert.ok(result.status === 'failed')
      assert.match(
        result.error.detail,
        /it can read and write the server's files \(FILE\)\. Use a user who can only/,
      )
    } finally {
      await server.close()
      await bench.close()
    }
  })

  suite('the packed rows', () => {
    let server: Server
    let bench: TestPool
    before(async () => {
      bench = await openTestPool()
      server = await start()
    })
    after(async () => {
      await server?.close()
      await bench?.close()
    })
    const run = (query: string, sql: string) =>
      bench.run(queryTemplate(query, { sql }), {}, { connections: accessOf(server.connection) })

    test('every value is the one that the server prints', async () => {
      const names = Object.keys(FORMS)
      const columns = names.map((name) => `if(seq % 7 > 0, ${FORMS[name]![0]}, null) as ${name}`)
      await server.execute('drop table if exists items')
      await server.execute(`create table items as select ${columns.join(', ')} from seq_1_to_20000`)
      const texts = names.map((name) => `cast(${name} as char character set utf8mb4) as ${name}_text`)
      const differ = names.map(
        (name) =>
          `count(*) filter (where ${name} is distinct from cast(${name}_text as ${FORMS[name]![1]}))::int`,
      )
      const result = await run(
        `select ${[...names, ...texts].join(', ')} from items`,
        `select ${differ.join(', ')}, count(a_day)::int from a`,
      )
      assert.deepEqual(findingsOf(result).tables.b!.rows[0], [...names.map(() => 0), 17_143])
    })

    test('moments of a metric are cut in its zone, whatever the zone of the server, or the zone is refused', async () => {
      const other = mysql.createConnection(mysqlUrl().href).promise()
      const [rows] = await other.query("select convert_tz('2026-01-01', 'UTC', 'Europe/Berlin') as there")
      await other.query("set global time_zone = '-07:00'")
      try {
        const cut = metricsKeepTheirZone(addingOf(server), bench)
        if ((rows as { there: unknown }[])[0]!.there !== null) await cut
        else
          await assert.rejects(cut, /does not know the time zone Europe\/Berlin, in which the metric counts/)
      } finally {
        await other.query('set global time_zone = system')
        await other.end()
      }
    })

    test('what has no place here is reported with its column', async () => {
      await server.execute("set sql_mode = ''")
      await server.execute('drop table if exists items')
      await server.execute('create table items (d date, m datetime, t time(6), p point)')
      await server.execute(
        "insert into items values ('0000-00-00', '2024-00-15 10:00:00', '-01:00:00.5', point(1, 2))",
      )
      const cases = {
        d: '"0000-00-00", which DATE',
        m: '"2024-00-15 10:00:00", which TIMESTAMP',
        t: '"-01:00:00.5", which TIME',
        p: '"a shape", which VARCHAR',
      }
      for (const [column, message] of Object.entries(cases)) {
        const result = await run(`select ${column} as v from items`, 'select * from a')
        assert.ok(result.status === 'failed', column)
        assert.ok(result.error.detail.includes(`"v" holds ${message} cannot hold`), result.error.detail)
      }
    })

    test('a row that comes in many pieces comes whole, and so do more rows than wait at once', async () => {
      const wide = "select seq as n, repeat('é', 7000000) as t from seq_1_to_2 union all select 3, null"
      const found = findingsOf(await run(wide, 'select length(t) from a order by n'))
      assert.deepEqual(found.tables.b!.rows, [[7_000_000], [7_000_000], [null]])
      const narrow = 'select cast(null as signed) as n, null as m from seq_1_to_200000'
      const empty = findingsOf(await run(narrow, 'select count(*)::int, count(n)::int from a'))
      assert.deepEqual(empty.tables.b!.rows, [[200_000, 0]])
    })

    test('a connection that is lost among the rows is reported', async () => {
      const ended = run("select seq, repeat('x', 1000) as t from seq_1_to_100000000", 'select 1')
      const other = mysql.createConnection(mysqlUrl().href).promise()
      const find = async (): Promise<number | undefined> => {
        const [rows] = await other.query(
          "select id from information_schema.processlist where user = 'assay_source'",
        )
        return (rows as { id: number }[])[0]?.id
      }
      let id = await find()
      while (id === undefined) id = await find()
      await other.query(`kill connection ${id}`)
      await other.end()
      const result = await ended
      assert.ok(result.status === 'failed')
      assert.equal(result.error.code, 'source_unavailable')
    })
  })
})
