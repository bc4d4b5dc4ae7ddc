/**
 * Tests what every kind of connection promises, against the real server of each (postgresql.test.ts, ...): its types,
 * its parameters, that it cannot write, its limits, and that a cancel here ends the query there.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { after, before, test } from 'node:test'
import type { OpenConnection } from '@assay/model/connection'
import type { Cell } from '@assay/model/insight'
import { startProxy, type Target } from '../../../../test/servers/proxy.ts'
import type { ConnectionAccess } from '../../run/connection-requests.ts'
import { findingsOf, openTestPool, type TestPool, templateOf } from '../../run/test-pool.ts'
import { analysesAskAlike } from './analyses.ts'
import { digitsAreKept } from './digits.ts'
import { keptDaysOutlive } from './kept-days.ts'
import { type Adding, metricsAreAddedUpAlike, metricsKeepTheirRows, rulesKnowEachType } from './metrics.ts'
import { manyRowsAreFitted, methodsPrintAlike } from './printed.ts'

/** A type of the database: how a value is written, the type of the column here, and its cell. */
export interface TypeCase {
  type: string
  sql: string
  comes: string
  cell: Cell
}

export interface Server {
  connection: OpenConnection
  /** Runs statements as a user who may write. */
  execute(sql: string): Promise<void>
  /** Returns the number of our queries that run there now, by its own list; null if it has no list. */
  running(): Promise<number> | null
  close(): Promise<void>
}

export interface Promises {
  /** The heading of its table of types in docs/sources.md. */
  title: string
  start(files: string): Promise<Server>
  types: readonly TypeCase[]
  /** The table from which the types' SQL is read, if that is no expression. */
  from?: string
  /** Returns a query of rows with `n`, the numbers from 1 to `count`, and `t`, a text of `length` characters. */
  series(count: number, length: number): string
  /** A query that runs for a minute unless it is stopped; null if there is none. */
  slow: string | null
  /** Statements that write, each of which is refused. The table `items (a integer)` exists. */
  writes: readonly string[]
  /**
   * A query that takes `$number`, `$text`, `$day`, `$flag`, `$numbers` and returns them as `n`, `t`, `d`, `f`, and `x`
   * if 2 is in the list.
   */
  parameters: string
}

/** Gives these connections to any task, and records which were acquired and released. */
export function accessOf(
  ...connections: OpenConnection[]
): ConnectionAccess & { acquired: string[]; open: Set<string> } {
  const acquired: string[] = []
  const open = new Set<string>()
  return {
    acquired,
    open,
    async acquire(name) {
      const connection = connections.find((one) => one.name === name)
      if (!connection) return { refused: `There is no connection "${name}".` }
      acquired.push(name)
      open.add(name)
      return { connection }
    },
    release: (name) => void open.delete(name),
    end: () => open.clear(),
  }
}

export function addingOf({ connection, execute }: Server): Adding {
  const connections = (limits = {}) =>
    accessOf({ ...connection, limits: { ...connection.limits, ...limits } })
  return { kind: connection.kind, execute, connections }
}

export function queryTemplate(query: string, { front = '', sql = 'select * from a' } = {}) {
  const indented = query.replaceAll('\n', '\n      ')
  return templateOf(
    `---\n${front}sources:\n  a:\n    connection: remote\n    query: |\n      ${indented}\n---\n\n\`\`\`sql b\n${sql}\n\`\`\`\n\n# A\n\n{{ b.size }}\n`,
  )
}

const VARIABLES = `variables:
  number: { type: integer }
  text: { type: string }
  day: { type: date }
  flag: { type: boolean }
  numbers: { type: list, items: integer }
`

/** Asserts that the table of types in docs/sources.md equals that of the tests. */
export function guideHas(title: string, types: readonly TypeCase[]): void {
  const guide = readFileSync(path.join(import.meta.dirname, '../../../../docs/sources.md'), 'utf8')
  const section = guide.split(`### Types of ${title}\n`)[1]?.split('\n#')[0] ?? ''
  const listed = [...section.matchAll(/^\| `(.+?)` \| `(.+?)` \|/gm)].map((row) => `${row[1]}: ${row[2]}`)
  assert.deepEqual(listed, [...new Set(types.map(({ type, comes }) => `${type}: ${comes}`))])
}

let shared: Promise<TestPool> | undefined

/** Returns one pool for all suites of a file, which is closed after them. */
export function sharedBench(): Promise<TestPool> {
  shared ??= openTestPool()
  return shared
}

after(async () => {
  await (await shared)?.close()
})

export function kindConformance(promises: Promises): void {
  let server: Server
  let bench: TestPool
  const run = (
    query: string,
    more: Parameters<typeof queryTemplate>[1] = {},
    over: Partial<OpenConnection> = {},
    variables = {},
  ) =>
    bench.run(queryTemplate(query, more), variables, {
      connections: accessOf({ ...server.connection, ...over }),
    })
  const detailOf = async (...given: Parameters<typeof run>): Promise<string> => {
    const result = await run(...given)
    assert.equal(result.status, 'failed', JSON.stringify(result))
    assert.ok(result.status === 'failed')
    assert.equal(result.error.code, 'source_unavailable')
    return result.error.detail
  }

  before(async () => {
    bench = await sharedBench()
    server = await promises.start(bench.data)
  })
  after(async () => {
    await server?.close()
  })

  test('every type comes as the table says, null as null', async () => {
    const columns = promises.types.map(({ sql }, index) => `${sql} as c${index}`)
    const findings = findingsOf(
      await run(`select ${columns.join(', ')}${promises.from ? ` from ${promises.from}` : ''}`, {
        sql: 'select * from a',
      }),
    )
    const { rows, columns: came } = findings.tables.b!
    const found = promises.types.map(({ type }, index) => ({
      type,
      comes: came[index]!.database_type,
      cell: rows[0]![index],
    }))
    assert.deepEqual(
      found,
      promises.types.map(({ type, comes, cell }) => ({ type, comes, cell })),
    )
  })

  test('the guide has exactly these types', () => guideHas(promises.title, promises.types))

  test('each column has a name of its own', async () => {
    assert.match(await detailOf('select 1 as a, 2 as a'), /two columns named "a": name each with "as"/)
  })

  test('many rows come whole and in order, however wide', async () => {
    const sql = `select count(*) as n, sum(n)::bigint as s, min(length(t)) as l,
      count(*) filter (where n = r) as ordered from (select *, row_number() over () as r from a)`
    const findings = findingsOf(await run(promises.series(50_000, 40), { sql }))
    assert.deepEqual(findings.tables.b!.rows, [[50_000, 1_250_025_000, 40, 50_000]])
    const wide = findingsOf(await run(promises.series(300, 20_000), { sql }))
    assert.deepEqual(wide.tables.b!.rows, [[300, 45_150, 20_000, 300]])
    const { remote, rows } = findings.lineage.sources[0]!
    assert.equal(rows, 50_000)
    assert.equal(remote?.connection, 'remote')
    assert.match(findings.markdown, /50,000 rows/)
  })

  test('variables are parameters of the database, whatever is in them', async () => {
    const text = `'; drop table items; -- \\ " $text é`
    const variables = { number: 9_007_199_254_740_991, text, day: '2024-02-29', flag: true, numbers: [1, 2] }
    const more = { front: VARIABLES, sql: 'select n::bigint, t, d::date, f::boolean, x from a' }
    const findings = findingsOf(await run(promises.parameters, more, {}, variables))
    assert.deepEqual(findings.tables.b!.rows[0]!.slice(0, 4), [
      9_007_199_254_740_991,
      text,
      '2024-02-29',
      true,
    ])
    assert.ok([1, true].some((one) => one === findings.tables.b!.rows[0]![4]))
  })

  test('nothing can be written', async () => {
    await server.execute('drop table if exists items')
    await server.execute('create table items (a integer)')
    await server.execute('insert into items values (1)')
    for (const statement of promises.writes) assert.ok(await detailOf(statement), statement)
    const findings = findingsOf(await run('select * from items'))
    assert.deepEqual(findings.tables.b!.rows, [[1]])
  })

  test('a refusal is a sentence with the reason and without a secret', async () => {
    const detail = await detailOf('select nothing_like_this from nowhere_at_all')
    assert.match(detail, /nowhere_at_all|nothing_like_this/)
    assert.match(detail, /^Source "a", line \d+: The query over the connection "remote"/)
    for (const secret of Object.values(server.connection.secrets)) assert.ok(!detail.includes(secret))
  })

  test('metrics are added up there as those of a file are here, by every step', () =>
    metricsAreAddedUpAlike(addingOf(server), bench))

  test('a rule of a metric lets the rows of its reader count, byte by byte', () =>
    metricsKeepTheirRows(addingOf(server), bench))

  test('a rule of a metric finds a value in a column of each type, and no other value', () =>
    rulesKnowEachType(addingOf(server), bench))

  test('analyses ask there for what they answer over a file of the same rows, or count them before they come', () =>
    analysesAskAlike(addingOf(server), bench))

  test('the SQL of methods is printed there, and answers as over a file of the same rows', () =>
    methodsPrintAlike(addingOf(server), bench))

  test('a regression of more rows than are fetched is fitted there as it is over a file', () =>
    manyRowsAreFitted(addingOf(server), bench, promises.series(200_001, 1)))

  test('over published tables analyses keep the digits there that the guide says', async () => {
    const task = { kind: 'probe' as const, connection: server.connection, roots: bench.roots }
    const told = await bench.pool.probe(task, { workspace_id: 'test' })
    await digitsAreKept(addingOf(server), bench, told.ok ? told.server : promises.title)
  })

  test('limits of rows, bytes and time end the query with a sentence', async () => {
    const { limits } = server.connection
    const many = promises.series(5000, 10)
    assert.match(
      await detailOf(many, {}, { limits: { ...limits, rows: 4999 } }),
      /5000 rows, which is more than 4999 rows.*limits\.rows/,
    )
    const large = promises.series(200_000, 10)
    assert.match(
      await detailOf(large, {}, { limits: { ...limits, rows: 199_999 } }),
      /200000 rows, which is more than 199999 rows/,
    )
    if (server.connection.kind !== 'clickhouse')
      assert.match(
        await detailOf(promises.series(2000, 20_000), {}, { limits: { ...limits, bytes: 15_000_000 } }),
        /about \d+ bytes \(2000 rows, as large as the first \d+\), which is more than 15000000 bytes/,
      )
    assert.match(await detailOf(many, {}, { limits: { ...limits, bytes: 10_000 } }), /more than 10000 bytes/)
    if (promises.slow === null) return
    const detail = await detailOf(promises.slow, {}, { limits: { ...limits, timeout_seconds: 1 } })
    assert.match(detail, /longer than (1 s|the limits\.timeout_seconds)/)
    await gone(server)
  })

  test('what is canceled here is canceled there, and so is what a killed process asked for', async () => {
    if (promises.slow === null || server.running() === null) return
    for (const end of ['cancel', 'kill'] as const) {
      const stop = new AbortController()
      const connections = accessOf(server.connection)
      const running = bench.run(queryTemplate(promises.slow), {}, { connections, signal: stop.signal })
      await until(async () => (await server.running()) === 1)
      if (end === 'cancel') stop.abort()
      else {
        const busy = bench.pool.stats().children.find(({ state }) => state === 'busy')
        process.kill(busy!.pid!, 'SIGKILL')
      }
      const result = await running
      assert.equal(result.status, end === 'cancel' ? 'stopped' : 'crashed')
      assert.equal(connections.open.size, 0)
      await gone(server)
    }
  })

  test('a database that goes away in the middle ends the job with a sentence, and the query ends there', async () => {
    if (promises.slow === null || server.running() === null) return
    const proxy = await startProxy(addressOf(server.connection))
    try {
      const running = detailOf(promises.slow, {}, throughProxy(server.connection, proxy.port))
      await until(async () => (await server.running()) === 1)
      proxy.cut()
      // The request that ends the query reaches the database again.
      proxy.mend()
      assert.match(await running, /^Source "a", line \d+: The connection "remote" broke off/)
      await gone(server)
    } finally {
      await proxy.close()
    }
  })

  test('kept days that were read stay where the database goes away, the job is canceled or a limit ends it', () =>
    endingOf(server, bench))
}

/** Tests the kept days of a metric when queries are ended in the middle. */
async function endingOf(server: Server, bench: TestPool): Promise<void> {
  if (server.running() === null) return
  const { connection } = server
  const proxy = await startProxy(addressOf(connection))
  try {
    await keptDaysOutlive(
      {
        server: addingOf(server),
        proxy,
        until,
        running: async () => (await server.running()) ?? 0,
        connections: ({ port, timeout_seconds }) =>
          accessOf({
            ...connection,
            ...(port === null ? {} : throughProxy(connection, port)),
            limits: { ...connection.limits, timeout_seconds },
          }),
      },
      bench,
    )
  } finally {
    await proxy.close()
  }
}

function addressOf({ options }: OpenConnection): Target {
  const { hostname, port } = new URL(String(options.url ?? `tcp://${options.host}:${options.port}`))
  return { host: hostname, port: Number(port) }
}

function throughProxy({ options }: OpenConnection, port: number): Partial<OpenConnection> {
  const there = options.url === undefined ? { host: '127.0.0.1', port } : { url: `http://127.0.0.1:${port}/` }
  return { options: { ...options, ...there }, targets: ['loopback'] }
}

export async function until(holds: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 60_000
  while (!(await holds())) {
    assert.ok(performance.now() < deadline, 'it came true in time')
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

export async function gone(server: Server): Promise<void> {
  if (server.running() !== null) await until(async () => (await server.running()) === 0)
}
