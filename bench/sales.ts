/**
 * Makes a table of sales of 31 days and the present day, which the database generates itself: in ClickHouse, and in
 * PostgreSQL as foreign partitions on three servers. For each database it has the queries that a person would write.
 */
import { Client } from 'pg'
import { clickhouseServer, missingClickhouse } from '../test/servers/clickhouse.ts'
import { missingPostgres, type Postgres, startOwnPostgres } from '../test/servers/postgres.ts'
import type { ClientAsk } from './peers/source-client.ts'

/** The name of the table. */
export const SALES = 'assay_bench_sales'
const DAYS = 32
const REGIONS = 20

/** Queries as a person would write them for the fields that our outcomes have. */
export interface HandWritten {
  /** The sums of each day. */
  days: string
  /** Of `trend`: the mean of each day, its rows and its largest value. */
  means: string
  /** Of `pareto`: the sum of each region, its rows and its largest value. */
  regions: string
  /** Of `describe`: counts, location, exact quartiles of type 7, spread and shape, by the functions of the database. */
  shape: string
  /** The same with compensated sums of powers about the mean, which keep their digits. */
  digits: string
  /** The sums of each region of the present day. */
  today: string
}

/** A database that has the table. */
export interface Sales {
  connection: { kind: string; options: Record<string, unknown> }
  hand: HandWritten
  /** Returns the message by which the database's own client sends a statement. */
  ask(sql: string): ClientAsk
  close(): Promise<void>
}

export interface SalesDatabase {
  name: string
  /** The number of rows in the long and in the short form. */
  rows: { long: number; short: number }
  missing(): Promise<string | null> | string | null
  start(rows: number): Promise<Sales>
}

/** The rows that ClickHouse makes at once, and the bytes of the largest part that it merges. */
const PIECE = 50_000_000
const MOST_IN_MEMORY = 200_000_000
const MOST_MERGED = 1_000_000_000

const today = (): string => new Date().toISOString().slice(0, 10)

const clickhouse: SalesDatabase = {
  name: 'ClickHouse',
  rows: { long: 1_000_000_000, short: 20_000_000 },
  missing: missingClickhouse,
  async start(rows) {
    const { url, user, password, database } = clickhouseServer()
    const address = new URL(url)
    for (const [name, value] of Object.entries({ database, user, password }))
      address.searchParams.set(name, value)
    const send = async (sql: string): Promise<void> => {
      const answer = await fetch(address, { method: 'POST', body: sql })
      const text = await answer.text()
      if (!answer.ok) throw new Error(text)
    }
    const places = Array.from({ length: REGIONS }, (_, at) => `'region ${at}' = ${at}`).join(', ')
    await send(`drop table if exists ${SALES} sync`)
    await send(`create table ${SALES} (day Date, region Enum8(${places}), person UInt32,
      arm Enum8('control' = 0, 'new' = 1), event Enum8('visit' = 0, 'cart' = 1, 'order' = 2),
      amount Decimal(9, 2) codec(ZSTD(1)), price Float64 codec(ZSTD(1)), won UInt8) engine MergeTree order by day
      settings max_bytes_to_merge_at_max_space_in_pool = ${MOST_MERGED}`)
    // Pieces keep the memory of the engine and the room of its merges small.
    for (let from = 0; from < rows; from += PIECE)
      await send(`insert into ${SALES} select toDate('${today()}') - ${DAYS - 1} + intDiv(number * ${DAYS}, ${rows}),
      toInt8(h % ${REGIONS}), bitShiftRight(h, 8) % 100000 as person, toInt8(person % 2), toInt8(bitShiftRight(h, 30) % 3),
      toDecimal32(bitShiftRight(h, 32) % 20000, 2) / 100 + toDecimal32(h % ${REGIONS}, 2),
      (bitShiftRight(h, 44) % 4000) / 4, bitShiftRight(h, 50) % 10 < 3
      from (select number, intHash64(number) as h from numbers_mt(${from}, ${Math.min(PIECE, rows - from)}))
      settings min_insert_block_size_rows = 4000000, min_insert_block_size_bytes = 0, max_insert_threads = 1`)
    // The values of more rows do not fit in memory. The price has 4,000 different ones, which do.
    const quartiles =
      rows > MOST_IN_MEMORY
        ? 'quantilesExactWeighted(0.25, 0.5, 0.75)(price, 1)'
        : 'quantilesExactInclusive(0.25, 0.5, 0.75)(price)'
    return {
      connection: { kind: 'clickhouse', options: { url, user, database } },
      hand: {
        days: `select day, sum(amount) from ${SALES} group by day order by day`,
        means: `select day, avg(toFloat64(amount)), count(), count(amount), max(abs(amount)) from ${SALES} group by day order by day`,
        regions: `select region, sum(amount), count(), count(amount), max(amount) from ${SALES} group by region`,
        shape: `select count(), count(price), countIf(isFinite(price)), min(price), max(price), avg(price), stddevSamp(price), skewSamp(price),
          kurtSamp(price), ${quartiles} from ${SALES}`,
        digits: `with (select avg(price) from ${SALES}) as m, price - m as d
          select count(), count(price), countIf(isFinite(price)), min(price), max(price), m, sumKahan(d), sumKahan(d * d),
          sumKahan(d * d * d), sumKahan(d * d * d * d), ${quartiles} from ${SALES}`,
        today: `select region, sum(amount), count() from ${SALES} where day >= toDate('${today()}') group by region`,
      },
      ask: (sql) => ({ kind: 'clickhouse', address: address.href, sql }),
      close: () => send(`drop table ${SALES} sync`),
    }
  },
}

const SERVERS = 3
const COLUMNS =
  'day date, region text, person integer, arm text, event text, amount numeric(9, 2), price double precision, won smallint'
const MEMORY = { shared_buffers: '256MB', work_mem: '64MB', jit: 'off' }

/** The regions of one server, as SQL texts. */
const regionsOf = (server: number): string =>
  Array.from({ length: REGIONS }, (_, at) => at)
    .filter((at) => at % SERVERS === server)
    .map((at) => `'region ${at}'`)
    .join(', ')

async function fillServer(server: number, rows: number, client: Client): Promise<void> {
  await client.query(`create table ${SALES} (${COLUMNS})`)
  await client.query(`insert into ${SALES}
    select date '${today()}' - ${DAYS - 1} + (i * ${DAYS} / ${rows})::int, 'region ' || i % ${REGIONS},
      h & 65535, case when h % 2 = 0 then 'control' else 'new' end, (array['visit', 'cart', 'order'])[1 + (h >> 3) % 3],
      ((h >> 5) % 20000) / 100.0 + i % ${REGIONS}, ((h >> 7) % 4000) / 4.0, case when (h >> 9) % 10 < 3 then 1 else 0 end
    from (select i, hashint8(i)::bigint + 2147483648 as h from generate_series(0::bigint, ${rows - 1}) i
      where i % ${REGIONS} % ${SERVERS} = ${server}) r`)
  await client.query(`create index on ${SALES} using brin (day)`)
  await client.query(`vacuum analyze ${SALES}`)
}

async function withClient(address: string, work: (client: Client) => Promise<void>): Promise<void> {
  const client = new Client({ connectionString: address })
  await client.connect()
  try {
    await work(client)
  } finally {
    await client.end()
  }
}

const postgresql: SalesDatabase = {
  name: 'PostgreSQL, three servers as foreign partitions',
  rows: { long: 10_000_000, short: 1_000_000 },
  missing: missingPostgres,
  async start(rows) {
    const servers: Postgres[] = []
    for (let at = 0; at <= SERVERS; at += 1) servers.push(await startOwnPostgres(MEMORY))
    const addressOf = ({ port }: Postgres): string => `postgres://postgres@127.0.0.1:${port}/postgres`
    const [head, ...parts] = servers as [Postgres, ...Postgres[]]
    for (const [at, part] of parts.entries())
      await withClient(addressOf(part), (client) => fillServer(at, rows, client))
    const address = addressOf(head)
    await withClient(address, async (client) => {
      await client.query('create extension postgres_fdw')
      await client.query('alter database postgres set enable_partitionwise_aggregate = on')
      await client.query(`create table ${SALES} (${COLUMNS}) partition by list (region)`)
      for (const [at, { port }] of parts.entries()) {
        await client.query(`create server part_${at} foreign data wrapper postgres_fdw
          options (host '127.0.0.1', port '${port}', dbname 'postgres', fetch_size '10000', async_capable 'true', use_remote_estimate 'true')`)
        await client.query(`create user mapping for postgres server part_${at} options (user 'postgres')`)
        await client.query(`create foreign table sales_${at} partition of ${SALES} for values in (${regionsOf(at)})
          server part_${at} options (table_name '${SALES}')`)
      }
      await client.query(`analyze ${SALES}`)
    })
    return {
      connection: {
        kind: 'postgresql',
        options: {
          host: '127.0.0.1',
          port: head.port,
          database: 'postgres',
          user: 'postgres',
          tls: 'off',
          privileged: 'accepted',
        },
      },
      hand: {
        days: `select day, sum(amount) from ${SALES} group by day order by day`,
        means: `select day, avg(amount), count(*), count(amount), max(abs(amount)) from ${SALES} group by day order by day`,
        regions: `select region, sum(amount), count(*), count(amount), max(amount) from ${SALES} group by region`,
        shape: `select count(*), count(price), min(price), max(price), avg(price), stddev_samp(price), sum((price - m) ^ 3), sum((price - m) ^ 4),
          percentile_cont(array[0.25, 0.5, 0.75]) within group (order by price) from ${SALES}, (select avg(price) as m from ${SALES}) a`,
        digits: `select count(*), count(price), min(price), max(price), avg(price), sum((price - m)::numeric), sum(((price - m) ^ 2)::numeric),
          sum(((price - m) ^ 3)::numeric), sum(((price - m) ^ 4)::numeric),
          percentile_cont(array[0.25, 0.5, 0.75]) within group (order by price) from ${SALES}, (select avg(price) as m from ${SALES}) a`,
        today: `select region, sum(amount), count(*) from ${SALES} where day >= date '${today()}' group by region`,
      },
      ask: (sql) => ({ kind: 'postgresql', address, sql }),
      async close() {
        for (const server of servers) await server.stop()
      },
    }
  },
}

export const SALES_DATABASES: readonly SalesDatabase[] = [clickhouse, postgresql]
