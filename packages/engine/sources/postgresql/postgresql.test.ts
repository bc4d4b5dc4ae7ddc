import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { CONNECTION_LIMITS } from '@assay/model/connection-kinds'
import { Client } from 'pg'
import { missingPostgres, type Postgres, startPostgres } from '../../../../test/servers/postgres.ts'
import { findingsOf, type TestPool, templateOf } from '../../run/test-pool.ts'
import {
  accessOf,
  addingOf,
  gone,
  kindConformance,
  queryTemplate,
  type Server,
  sharedBench,
  type TypeCase,
  until,
} from '../conformance/conformance.ts'
import { metricsKeepTheirZone } from '../conformance/metrics.ts'

const missing = await missingPostgres()

let running: Promise<Postgres> | undefined
let started = 0

after(async () => {
  await (await running)?.stop()
})

/** Starts a database on the one server of this file. */
async function start(): Promise<Server> {
  running ??= startPostgres()
  const postgres = await running
  started += 1
  const name = `assay_source_${process.pid}_${started}`
  const url = await postgres.createDatabase(name)
  const client = new Client({ connectionString: url })
  await client.connect()
  await client.query(`create type mood as enum ('sad', 'happy')`)
  const { hostname, port, pathname, username, password } = new URL(url)
  return {
    connection: {
      name: 'remote',
      kind: 'postgresql',
      options: {
        host: hostname,
        port: Number(port || 5432),
        database: pathname.slice(1),
        user: decodeURIComponent(username),
        tls: 'off',
        // The tests read what the superuser makes.
        privileged: 'accepted',
      },
      secrets: { password: decodeURIComponent(password) || 'not-needed' },
      limits: { ...CONNECTION_LIMITS, timeout_seconds: 60 },
      targets: ['loopback'],
    },
    async execute(sql) {
      await client.query(sql)
    },
    /** Statements that begin a session are not counted. */
    async running() {
      const { rows } = await client.query<{ n: number }>(
        `select count(*)::int as n from pg_stat_activity where application_name = 'assay' and state = 'active'
           and datname = current_database() and query like '%pg_sleep%'`,
      )
      return rows[0]!.n
    },
    async close() {
      await client.end()
      await postgres.dropDatabase(name)
    },
  }
}

const TYPES: TypeCase[] = [
  { type: 'boolean', sql: 'true', comes: 'BOOLEAN', cell: true },
  { type: 'smallint', sql: '(-32768)::int2', comes: 'SMALLINT', cell: -32768 },
  { type: 'integer', sql: '2147483647::int4', comes: 'INTEGER', cell: 2147483647 },
  { type: 'bigint', sql: '9223372036854775807::int8', comes: 'BIGINT', cell: '9223372036854775807' },
  { type: 'oid', sql: '4294967295::oid', comes: 'UINTEGER', cell: 4294967295 },
  { type: 'real', sql: '0.1::float4', comes: 'FLOAT', cell: 0.1 },
  { type: 'double precision', sql: "'-Infinity'::float8", comes: 'DOUBLE', cell: '-Infinity' },
  {
    type: 'numeric(38,10)',
    sql: "'1234567890123456789012345678.0123456789'::numeric(38,10)",
    comes: 'DECIMAL(38,10)',
    cell: '1234567890123456789012345678.0123456789',
  },
  { type: 'numeric(5,2)', sql: "'-0.05'::numeric(5,2)", comes: 'DECIMAL(5,2)', cell: '-0.05' },
  {
    type: 'numeric',
    sql: "'12345678901234567890.123456789'::numeric",
    comes: 'DECIMAL(38,9)',
    cell: '12345678901234567890.123456789',
  },
  { type: 'text', sql: `E'é"\\n'::text`, comes: 'VARCHAR', cell: 'é"\n' },
  { type: 'varchar', sql: "'a'::varchar(3)", comes: 'VARCHAR', cell: 'a' },
  { type: 'char', sql: "'a'::char(3)", comes: 'VARCHAR', cell: 'a  ' },
  { type: 'bytea', sql: String.raw`'\x00ff41'::bytea`, comes: 'BLOB', cell: String.raw`\x00\xFFA` },
  { type: 'date', sql: "'0044-03-15 BC'::date", comes: 'DATE', cell: '0044-03-15 (BC)' },
  { type: 'date', sql: "'infinity'::date", comes: 'DATE', cell: 'infinity' },
  { type: 'time', sql: "'23:59:59.123456'::time", comes: 'TIME', cell: '23:59:59.123456' },
  { type: 'timetz', sql: "'12:30:00+05:30'::timetz", comes: 'TIME WITH TIME ZONE', cell: '12:30:00+05:30' },
  {
    type: 'timestamp',
    sql: "'2024-02-29 10:00:00.000001'::timestamp",
    comes: 'TIMESTAMP',
    cell: '2024-02-29T10:00:00.000001',
  },
  { type: 'timestamp', sql: "'-infinity'::timestamp", comes: 'TIMESTAMP', cell: '-infinity' },
  {
    type: 'timestamptz',
    sql: "'1900-01-01 00:00:00+05:53:28'::timestamptz",
    comes: 'TIMESTAMP WITH TIME ZONE',
    cell: '1899-12-31T18:06:32Z',
  },
  {
    type: 'interval',
    sql: "'1 year 2 months -3 days 04:05:06.789'::interval",
    comes: 'INTERVAL',
    cell: '1 year 2 months -3 days 04:05:06.789',
  },
  {
    type: 'uuid',
    sql: "'f81d4fae-7dec-11d0-a765-00a0c91e6bf6'::uuid",
    comes: 'UUID',
    cell: 'f81d4fae-7dec-11d0-a765-00a0c91e6bf6',
  },
  { type: 'json', sql: `'{"a": [1, null]}'::json`, comes: 'JSON', cell: '{"a": [1, null]}' },
  { type: 'jsonb', sql: `'{"b":1.50}'::jsonb`, comes: 'JSON', cell: '{"b": 1.50}' },
  { type: 'integer[]', sql: "'{1,NULL,3}'::int4[]", comes: 'INTEGER[]', cell: [1, null, 3] },
  {
    type: 'text[]',
    sql: `array['a b', 'c"d\\e', 'NULL', '']`,
    comes: 'VARCHAR[]',
    cell: ['a b', 'c"d\\e', 'NULL', ''],
  },
  { type: 'numeric(5,2)[]', sql: "'{1.50}'::numeric(5,2)[]", comes: 'DECIMAL(5,2)[]', cell: ['1.50'] },
  {
    type: 'timestamptz[]',
    sql: "'{2024-01-01 00:00:00+00}'::timestamptz[]",
    comes: 'TIMESTAMP WITH TIME ZONE[]',
    cell: ['2024-01-01T00:00:00Z'],
  },
  { type: 'an enum', sql: "'happy'::mood", comes: 'VARCHAR', cell: 'happy' },
  { type: 'an array of an enum', sql: "array['sad'::mood]", comes: 'VARCHAR[]', cell: ['sad'] },
  { type: 'inet', sql: "'10.0.0.1/8'::inet", comes: 'VARCHAR', cell: '10.0.0.1/8' },
  { type: 'int4range', sql: "'[1,5)'::int4range", comes: 'VARCHAR', cell: '[1,5)' },
  { type: 'bit', sql: "B'101'", comes: 'VARCHAR', cell: '101' },
  { type: 'point', sql: "'(1,2)'::point", comes: 'VARCHAR', cell: '(1,2)' },
  { type: 'a composite type', sql: "row(1, 'a')", comes: 'VARCHAR', cell: '(1,a)' },
  { type: 'null', sql: 'null::int8', comes: 'BIGINT', cell: null },
]

suite('PostgreSQL as a source', { skip: missing ?? false }, () => {
  kindConformance({
    title: 'PostgreSQL',
    start,
    types: TYPES,
    series: (count, length) =>
      `select n, repeat('x', ${length}) as t from generate_series(1, ${count}) as n order by n`,
    slow: 'select pg_sleep(60)',
    writes: [
      'insert into items values (2)',
      'insert into items values (2) returning a',
      'delete from items returning a',
      'with gone as (delete from items returning a) select * from gone',
      'create table more (a integer)',
      'set transaction read write',
      "select nextval('nothing')",
      'commit',
      'select 1; delete from items',
    ],
    parameters: 'select $number as n, $text::text as t, $day as d, $flag as f, 2 = any($numbers) as x',
  })

  test('a large answer is read by a role that may have one session, though nothing counts it beside', async () => {
    const server = await start()
    const bench = await sharedBench()
    try {
      await server.execute("create role one_session login connection limit 1 password 'a-password'")
      const options = { ...server.connection.options, user: 'one_session', privileged: 'refused' }
      const connection = { ...server.connection, options, secrets: { password: 'a-password' } }
      const large = 'select n, repeat(chr(97), 100) as t from generate_series(1, 50000) as n'
      const result = await bench.run(queryTemplate(large), {}, { connections: accessOf(connection) })
      assert.equal(findingsOf(result).tables.b!.total, 50_000)
    } finally {
      await server.execute('drop role if exists one_session')
      await server.close()
    }
  })

  test('a role that can do more than read is refused with what it can do, and one that only reads is not', async () => {
    const server = await start()
    const bench = await sharedBench()
    const rights: Record<string, RegExp | null> = {
      '': null,
      superuser: /: it is a superuser\./,
      replication: /: it can replicate\./,
      createrole: /: it can create and grant roles\./,
      'in role pg_read_server_files': /: it can read the server's files\./,
      'in role pg_execute_server_program': /: it can run programs on the server\./,
      'noinherit in role rights_superuser': /: it can become a superuser/,
    }
    const names = ['rights_', ...Object.keys(rights).slice(1)].map((_, index) =>
      index === 1 ? 'rights_superuser' : `rights_${index}`,
    )
    try {
      for (const [index, [right, refusal]] of Object.entries(rights).entries()) {
        const user = names[index]!
        await server.execute(`create role ${user} login ${right} password 'a-password'`)
        const options = { ...server.connection.options, user, privileged: 'refused' }
        const connection = { ...server.connection, options, secrets: { password: 'a-password' } }
        const result = await bench.run(
          queryTemplate('select 1 as v'),
          {},
          { connections: accessOf(connection) },
        )
        const probed = await bench.pool.probe(
          { kind: 'probe', connection, roots: bench.roots },
          { workspace_id: 'test' },
        )
        if (refusal === null) {
          assert.deepEqual(findingsOf(result).tables.b!.rows, [[1]])
          assert.ok(probed.ok && !probed.read_only.includes('more than read'))
          continue
        }
        assert.ok(result.status === 'failed' && !probed.ok, right)
        assert.match(result.error.detail, refusal)
        assert.match(probed.detail, refusal)
      }
      await server.execute("create role rights_function login password 'a-password'")
      await server.execute('grant execute on function pg_read_file(text, bigint, bigint) to rights_function')
      await server.execute(
        `create function read_any(name text) returns text language sql security definer as 'select pg_read_file(name)'`,
      )
      const connection = {
        ...server.connection,
        options: { ...server.connection.options, user: 'rights_function' },
        secrets: { password: 'a-password' },
      }
      const probed = await bench.pool.probe(
        { kind: 'probe', connection, roots: bench.roots },
        { workspace_id: 'test' },
      )
      assert.ok(probed.ok)
      assert.match(
        probed.read_only,
        /: it can call functions of the server that are kept from others, can call functions that run as a superuser\.$/,
      )
    } finally {
      await server.execute('drop owned by rights_function').catch(() => undefined)
      for (const name of [...names.toReversed(), 'rights_function'])
        await server.execute(`drop role if exists ${name}`)
      await server.close()
    }
  })

  /** The types. Each is selected as `v`, and as `t`, the text that PostgreSQL prints, with nulls among them. */
  const FORMS: Record<string, string> = {
    'numeric(4,1)': '(random() * 1998 - 999)::numeric(4,1)',
    'numeric(9,4)': '((random() - 0.5) * 10 ^ (i % 6))::numeric(9,4)',
    'numeric(15,2)': '((random() - 0.5) * 10 ^ (i % 14))::numeric(15,2)',
    'numeric(18,6)': '((random() - 0.5)::numeric * 10::numeric ^ (i % 13))::numeric(18,6)',
    'numeric(38,10)': '((random() - 0.5)::numeric * 10::numeric ^ (i % 29))::numeric(38,10)',
    bigint: '((random() - 0.5) * 10 ^ (i % 20))::bigint',
    smallint: '((random() - 0.5) * 65535)::smallint',
    'double precision': '(random() - 0.5) * 10 ^ (i % 300)',
    date: `date '0001-01-01' + (random() * 3000000)::int`,
    timestamp: `timestamp '0001-01-01' + random() * interval '9000 years'`,
    time: `time '00:00' + random() * interval '1 day'`,
    uuid: 'gen_random_uuid()',
    boolean: 'i % 3 = 0',
  }

  suite('the binary forms', () => {
    let server: Server
    let bench: TestPool
    before(async () => {
      bench = await sharedBench()
      server = await start()
    })
    after(async () => {
      await server?.close()
    })

    test('what an analysis asks ends there with the job that asked, and at the limit of time', async () => {
      const asking = templateOf(
        '```sql rows at: remote\nselect 1::float8 as v from pg_sleep(60)\n```\n\n```analysis a\nof: rows\nmethod: describe\nvalue: v\n```\n\n# A\n\n{{ a.summary }}\n',
      )
      const stop = new AbortController()
      const canceled = accessOf(server.connection)
      const running = bench.run(asking, {}, { connections: canceled, signal: stop.signal })
      await until(async () => (await server.running()) === 1)
      stop.abort()
      assert.equal((await running).status, 'stopped')
      assert.equal(canceled.open.size, 0)
      await gone(server)
      const limits = { ...server.connection.limits, timeout_seconds: 1 }
      const limited = accessOf({ ...server.connection, limits })
      const result = await bench.run(asking, {}, { connections: limited })
      assert.ok(result.status === 'failed', result.status)
      assert.match(result.error.detail, /longer than (1 s|the limits\.timeout_seconds)/)
      assert.equal(limited.open.size, 0)
      await gone(server)
    })

    test('segments that are asked for have the names that those of rows have, of every type', async () => {
      const columns = {
        flag: 'i % 2 = 0',
        day: "date '2024-02-27' + i",
        stamp: "timestamp '2024-02-27 23:59:59.5' + i * interval '1 second'",
        zoned: "timestamptz '2024-02-27 23:59:59+02' + i * interval '1 second'",
        price: '(i * 1.5)::numeric(10,2)',
        double: 'i * 1e-7::float8',
        large: '9007199254740993 + i::int8',
        mood: "(array['sad', 'happy'])[1 + i % 2]::mood",
        word: "case when i > 0 then repeat('x', i) end",
        padded: "'x'::char(3)",
        id: "('00000000-0000-0000-0000-00000000000' || i)::uuid",
        document: `('{"a": ' || i || '}')::json`,
      }
      const listed = Object.entries(columns).map(([name, sql]) => `${sql} as ${name}`)
      const blocks = Object.keys(columns).flatMap((name) =>
        ['asked', 'here'].map(
          (of) => `\`\`\`analysis ${of}_${name}\nof: ${of}\nmethod: pareto\nvalue: v\nby: ${name}\n\`\`\`\n`,
        ),
      )
      const template = templateOf(
        `\`\`\`sql asked at: remote\nselect i + 1 as v, ${listed.join(', ')} from generate_series(0, 5) as i\n\`\`\`\n\n\`\`\`sql here\nselect * from asked\n\`\`\`\n\n${blocks.join('\n')}\n# A\n\n{{ asked_flag.summary }}\n`,
      )
      const ran = await bench.run(template, {}, { connections: accessOf(server.connection) })
      const { analyses, lineage } = findingsOf(ran)
      for (const name of Object.keys(columns)) {
        assert.deepEqual(analyses[`asked_${name}`], analyses[`here_${name}`], name)
        assert.ok(lineage.blocks.find((block) => block.name === `asked_${name}`)!.asked, name)
      }
    })

    test('moments of a metric are cut into steps in its zone, also where clocks change', () =>
      metricsKeepTheirZone(addingOf(server), bench))

    test('every value is the one that PostgreSQL prints', async () => {
      const columns = Object.entries(FORMS).map(
        ([type, sql], index) => `case when i % 7 > 0 then ${sql} end::${type} as v${index}`,
      )
      const texts = Object.keys(FORMS).map((_, index) => `v${index}::text as t${index}`)
      const query = `select *, ${texts.join(', ')} from (select ${columns.join(', ')} from generate_series(1, 3000) as i) as made`
      const differ = Object.keys(FORMS).map(
        (_, index) => `count(*) filter (where v${index} is distinct from cast(t${index} as typeof_${index}))`,
      )
      const types = Object.keys(FORMS).map((type) =>
        type.replace('numeric', 'decimal').replace('double precision', 'double'),
      )
      const sql = `select ${differ.map((one, index) => one.replace(`typeof_${index}`, types[index]!)).join(', ')}, count(v0) from a`
      const result = await bench.run(
        queryTemplate(query, { sql }),
        {},
        { connections: accessOf(server.connection) },
      )
      const [counts] = findingsOf(result).tables.b!.rows as [number[]]
      assert.deepEqual(counts, [...Object.keys(FORMS).map(() => 0), 2572])
    })

    test('what has no place here is reported with its column', async () => {
      const cases = {
        "'NaN'::numeric(5,2)": /"v" holds "NaN", which DECIMAL\(5,2\) cannot hold/,
        "'294276-12-31'::timestamp": /"v" holds "a time after the year 294246", which TIMESTAMP cannot hold/,
        "'1e1000'::numeric": /"v" holds "10{59}…", which/,
        'unnest(array[1e308, 9e308])': /"v" holds "90{59}…", which/,
        "array['1e1000'::numeric]": /"v" holds "\{10+…", which/,
      }
      for (const [value, message] of Object.entries(cases)) {
        const connections = accessOf(server.connection)
        const result = await bench.run(queryTemplate(`select ${value} as v`), {}, { connections })
        assert.ok(result.status === 'failed')
        assert.match(result.error.detail, message)
      }
    })

    test('a query without columns is the fault of its source', async () => {
      const connections = accessOf(server.connection)
      const result = await bench.run(queryTemplate('select from pg_class'), {}, { connections })
      assert.ok(result.status === 'failed')
      assert.equal(result.error.code, 'source_unavailable')
      assert.match(result.error.detail, /gives no columns/)
    })

    test('a field that comes in many pieces comes whole', async () => {
      const query = `select repeat('é', 3000000) as t, 7::int8 as n union all select 'x', null`
      const sql = 'select length(t), n from a order by 1'
      const connections = accessOf(server.connection)
      const result = await bench.run(queryTemplate(query, { sql }), {}, { connections })
      assert.deepEqual(findingsOf(result).tables.b!.rows, [
        [1, null],
        [3_000_000, 7],
      ])
    })
  })
})
