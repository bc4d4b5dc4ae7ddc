/**
 * Measures each kind of source: many rows come over a connection into the engine and are grouped there, beside the
 * database's own client, which reads the same rows and discards them. Files come over HTTP and from a bucket, beside a
 * fetch and DuckDB alone.
 */
import { once } from 'node:events'
import { createReadStream } from 'node:fs'
import { rm, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { createGuard } from '@assay/net/guard'
import { createBucket } from '@assay/net/s3'
import { parseTargets } from '@assay/net/target'
import mysql from 'mysql2/promise'
import { Client } from 'pg'
import { PARQUET_SETTINGS } from '../../packages/engine/sources/clickhouse/parquet.ts'
import { startBucket } from '../../packages/net/bucket-fixture.ts'
import { clickhouseServer, missingClickhouse } from '../../test/servers/clickhouse.ts'
import { missingMysql, mysqlUrl } from '../../test/servers/mariadb.ts'
import { missingPostgres, startPostgres } from '../../test/servers/postgres.ts'
import type { Figure, Missing } from '../figure.ts'
import { type Form, milliseconds, type Running, startPeer, withFolder, withService } from '../measure.ts'
import type { DuckDbAnswer } from '../peers/duckdb.ts'
import type { ClientAnswer, ClientAsk } from '../peers/source-client.ts'

const LONG = 10_000_000
const SHORT = 500_000
const MEMORY = '1GB'
const TABLE = 'assay_bench_facts'
const ROWS = `select * from ${TABLE}`
const GROUPED =
  'select region, count(*) as n, sum(amount) as amount, avg(value) as mean from facts group by region'

interface Connection {
  kind: string
  options: Record<string, unknown>
  secrets: Record<string, string>
}

/** A source that has the rows. */
interface Ready {
  name: string
  /** The name of the database's own client. */
  beside: string
  connection: Connection
  /** The keys of the source in the template, beside `connection`. */
  source: string
  theirs: ClientAsk
  close(): Promise<void>
}

interface Kind {
  name: string
  missing(): Promise<string | null> | string | null
  start(rows: number, folder: string): Promise<Ready>
}

const postgresql: Kind = {
  name: 'PostgreSQL',
  missing: missingPostgres,
  async start(rows) {
    const postgres = await startPostgres()
    const name = `bench_sources_${process.pid}`
    const address = await postgres.createDatabase(name)
    const client = new Client({ connectionString: address })
    await client.connect()
    await client.query(`create table ${TABLE} as select i as id, 'region ' || (i % 20) as region,
      date '2020-01-01' + (i % 1500)::int as day, timestamptz '2020-01-01 00:00+00' + i * interval '1 second' as at,
      ((i * 7919 % 1000000)::numeric / 100)::numeric(12, 2) as amount, i * 0.5::float8 as value
      from generate_series(1::int8, ${rows}) i`)
    await client.query(`vacuum analyze ${TABLE}`)
    await client.end()
    const { hostname, port, username, password } = new URL(address)
    return {
      name: 'PostgreSQL',
      beside: 'COPY ... TO STDOUT by pg, thrown away',
      connection: {
        kind: 'postgresql',
        options: {
          host: hostname,
          port: Number(port),
          database: name,
          user: username,
          tls: 'off',
          privileged: 'accepted',
        },
        secrets: { password: decodeURIComponent(password) || 'not-needed' },
      },
      source: `query: ${ROWS}`,
      theirs: { kind: 'postgresql', address, sql: ROWS },
      async close() {
        await postgres.dropDatabase(name)
        await postgres.stop()
      },
    }
  },
}

const mariadb: Kind = {
  name: 'MariaDB',
  missing: missingMysql,
  async start(rows) {
    const url = mysqlUrl()
    const connection = await mysql.createConnection(url.href)
    const drop = (): Promise<unknown> => connection.query(`drop table if exists ${TABLE}`)
    await drop()
    await connection.query(`create table ${TABLE} (id bigint, region varchar(20), day date, at timestamp(6) null,
      amount decimal(12, 2), value double)`)
    await connection.query("set time_zone = '+00:00'")
    await connection.query(`insert into ${TABLE} select seq, concat('region ', seq % 20),
      date_add('2020-01-01', interval (seq % 1500) day), timestampadd(second, seq, '2020-01-01'),
      seq * 7919 % 1000000 / 100, seq * 0.5 from seq_1_to_${rows}`)
    return {
      name: 'MariaDB',
      beside: 'mysql2, rows as a stream, thrown away',
      connection: {
        kind: 'mysql',
        options: {
          host: url.hostname,
          port: Number(url.port || 3306),
          database: url.pathname.slice(1),
          user: decodeURIComponent(url.username),
          tls: 'off',
          privileged: 'accepted',
        },
        secrets: { password: decodeURIComponent(url.password) },
      },
      source: `query: ${ROWS}`,
      theirs: { kind: 'mysql', address: url.href, sql: ROWS },
      async close() {
        await drop()
        await connection.end()
      },
    }
  },
}

const clickhouse: Kind = {
  name: 'ClickHouse',
  missing: missingClickhouse,
  start(rows) {
    const { url, user, password, database } = clickhouseServer()
    const sql = `select toInt64(number + 1) as id, concat('region ', toString(id % 20)) as region,
      toDate('2020-01-01') + id % 1500 as day, toDateTime('2020-01-01 00:00:00', 'UTC') + id as at,
      toDecimal64(id * 7919 % 1000000 / 100, 2) as amount, id * 0.5 as value from numbers(${rows})`
    const address = new URL(url)
    const asked = { database, user, password, default_format: 'Parquet', ...PARQUET_SETTINGS }
    for (const [name, value] of Object.entries(asked)) address.searchParams.set(name, value)
    return Promise.resolve({
      name: 'ClickHouse',
      beside: 'its HTTP interface, the same Parquet, thrown away',
      connection: {
        kind: 'clickhouse',
        options: { url, user, database },
        secrets: password ? { password } : {},
      },
      source: `query: "${sql.replaceAll('\n', ' ')}"`,
      theirs: { kind: 'clickhouse' as const, address: address.href, sql },
      close: () => Promise.resolve(),
    })
  },
}

const sqlite: Kind = {
  name: 'SQLite',
  missing: () => null,
  start(rows, folder) {
    const address = path.join(folder, 'facts.db')
    const database = new DatabaseSync(address)
    database.exec(
      `create table ${TABLE} (id integer, region text, day date, at datetime, amount decimal(12, 2), value real)`,
    )
    database.exec(`with recursive series(i) as (select 1 union all select i + 1 from series where i < ${rows})
      insert into ${TABLE} select i, 'region ' || (i % 20), date('2020-01-01', (i % 1500) || ' days'),
      datetime('2020-01-01', i || ' seconds'), (i * 7919 % 1000000) / 100.0, i * 0.5 from series`)
    database.close()
    return Promise.resolve({
      name: 'SQLite',
      beside: 'node:sqlite, row by row, thrown away',
      connection: { kind: 'sqlite', options: { file: 'facts.db' }, secrets: {} },
      source: `query: ${ROWS}`,
      theirs: { kind: 'sqlite' as const, address, sql: ROWS },
      close: () => Promise.resolve(),
    })
  },
}

async function makeFile(file: string, rows: number): Promise<void> {
  const peer = await startPeer('duckdb.ts')
  const sql = [
    `copy (select i as id, 'region ' || (i % 20) as region, date '2020-01-01' + (i % 1500)::int as day,
      timestamp '2020-01-01' + to_seconds(i) as at, ((i * 7919 % 1000000) / 100)::decimal(12, 2) as amount,
      i * 0.5 as value from range(1, ${rows + 1}) r(i)) to '${file}'`,
  ]
  await peer.ask<DuckDbAnswer>({ sql, threads: 2, memory: '2GB', times: 1 })
  await peer.stop()
}

/** Serves a file without an ETag, so that nothing is kept and each turn fetches it again. */
function webFile(format: string): Kind {
  return {
    name: `${format} by HTTP`,
    missing: () => null,
    async start(rows, folder) {
      const file = path.join(folder, `facts.${format}`)
      await makeFile(file, rows)
      const server = createServer((_, response) => createReadStream(file).pipe(response))
      server.listen(0, '127.0.0.1')
      await once(server, 'listening')
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
      return {
        name: `${format} by HTTP`,
        beside: 'fetched to the disk, then DuckDB alone, same statement',
        connection: { kind: 'http', options: { url }, secrets: {} },
        source: `file: facts.${format}`,
        theirs: { kind: 'file', address: `${url}facts.${format}`, sql: GROUPED },
        async close() {
          server.closeAllConnections()
          server.close()
          await rm(file)
        },
      }
    },
  }
}

function bucketFile(format: string): Kind {
  return {
    name: `${format} in a bucket`,
    missing: () => null,
    async start(rows, folder) {
      const file = path.join(folder, `facts.${format}`)
      await makeFile(file, rows)
      const server = await startBucket()
      const guard = createGuard({ targets: parseTargets(['loopback']) })
      const bucket = createBucket(server.config, guard)
      const { size } = await stat(file)
      await bucket.write(`facts.${format}`, file, size, {})
      const address = await bucket.presign(`facts.${format}`, 3600)
      const { endpoint, region, bucket: name, access_key, secret_key } = server.config
      return {
        name: `${format} in a bucket (s3rver)`,
        beside: 'fetched to the disk, then DuckDB alone, same statement',
        connection: {
          kind: 's3',
          options: { endpoint, region, bucket: name },
          secrets: { access_key: access_key!, secret_key: secret_key! },
        },
        source: `file: facts.${format}`,
        theirs: { kind: 'file', address, sql: GROUPED },
        async close() {
          await guard.close()
          await server.close()
        },
      }
    },
  }
}

const KINDS: Kind[] = [
  postgresql,
  mariadb,
  clickhouse,
  sqlite,
  webFile('parquet'),
  webFile('csv'),
  bucketFile('parquet'),
  bucketFile('csv'),
]

export const sourcesRow = {
  name: 'sources',
  async run(form: Form): Promise<(Figure | Missing)[]> {
    const found: (Figure | Missing)[] = []
    for (const kind of KINDS.filter(({ name }) => name.includes(form.of)))
      found.push(...(await figuresOf(kind, form)))
    return found
  },
}

async function figuresOf(kind: Kind, form: Form): Promise<(Figure | Missing)[]> {
  const rows = form.short ? SHORT : LONG
  const reason = await kind.missing()
  if (reason !== null)
    return [
      { work: `${rows / 1e6} million rows from ${kind.name}`, beside: 'its own client', aim: '', reason },
    ]
  return withFolder(async (folder) => {
    const ready = await kind.start(rows, folder)
    const file = path.join(folder, 'connections.json')
    await writeFile(
      file,
      JSON.stringify({
        connections: {
          facts: {
            kind: ready.connection.kind,
            options: ready.connection.options,
            secrets: await secretFiles(ready, folder),
          },
        },
      }),
    )
    const settings = { ASSAY_DATA: folder, ASSAY_CONNECTIONS: file, ASSAY_SOURCE_CACHE: '1kB' }
    try {
      return await withService(settings, (service) => measure(ready, rows, form, service))
    } finally {
      await ready.close()
    }
  })
}

/** Writes each secret into a file, because the settings hold only references to secrets. */
async function secretFiles({ connection }: Ready, folder: string): Promise<Record<string, string>> {
  const references: Record<string, string> = {}
  for (const [name, value] of Object.entries(connection.secrets)) {
    const file = path.join(folder, `${name}.secret`)
    await writeFile(file, value)
    references[name] = `file:${file}`
  }
  return references
}

function templateOf({ source }: Ready): string {
  return `---
sources:
  facts: { connection: facts, ${source} }
limits: { timeout: 900s, memory: ${MEMORY}, threads: 1, output: 1MB }
---

\`\`\`sql by_region
${GROUPED}
\`\`\`

# Many rows

{% table by_region %}
`
}

async function runJob({ client }: Running): Promise<{ ms: number; peak: number }> {
  const id = await client.jobs.create({ template_id: 'many-rows' })
  let insight_id = ''
  const ms = await milliseconds(async () => {
    await client.jobs.run(id)
    const job = await client.jobs.wait(id)
    if (job.insight_id === null) throw new Error(`The analysis failed: ${job.error?.detail}`)
    insight_id = job.insight_id
  })
  const { lineage } = await client.jobs.json(insight_id)
  return { ms, peak: lineage.peak_memory_bytes as number }
}

async function measure(ready: Ready, rows: number, { turns }: Form, service: Running): Promise<Figure[]> {
  await service.client.templates.put('many-rows', templateOf(ready))
  const times: Figure['turns'] = []
  const peaks: Figure['turns'] = []
  for (let turn = -1; turn < turns; turn += 1) {
    const ours = await runJob(service)
    const peer = await startPeer('source-client.ts')
    const theirs = await peer.ask<ClientAnswer>({ ...ready.theirs })
    await peer.stop()
    if (turn < 0) continue
    times.push({ ours: ours.ms, theirs: theirs.ms })
    peaks.push({ ours: ours.peak / 1e6, theirs: theirs.peak_bytes / 1e6 })
  }
  const figure = { beside: ready.beside, aim: null, compare: 'ratio' as const }
  const work = `${rows / 1e6} million rows of 6 columns from ${ready.name}`
  return [
    {
      ...figure,
      work: `${work}: time`,
      unit: 'ms',
      turns: times,
      note: 'ours into the engine and grouped there, from the request until it is known to be completed',
    },
    {
      ...figure,
      work: `${work}: peak memory`,
      unit: 'MB',
      turns: peaks,
      note: `of the analysis process, with the engine's table, within limits.memory: ${MEMORY}`,
    },
  ]
}
