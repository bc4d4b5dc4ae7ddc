/**
 * Tests Parquet in a bucket. Parts that conditions exclude are not requested, and the rows are those of the whole
 * files.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { statSync, writeFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Server } from 'node:net'
import path from 'node:path'
import { after, before, test } from 'node:test'
import type { OpenConnection } from '@assay/model/connection'
import { CONNECTION_LIMITS } from '@assay/model/connection-kinds'
import type { Findings } from '@assay/model/insight'
import { createGuard } from '@assay/net/guard'
import { createBucket } from '@assay/net/s3'
import { parseTargets } from '@assay/net/target'
import { startBucket, type TestBucket } from '../../../../net/bucket-fixture.ts'
import { openEngine } from '../../../duckdb/duckdb.ts'
import type { RunResult } from '../../../run/protocol.ts'
import { findingsOf, openTestPool, type TestPool, templateOf } from '../../../run/test-pool.ts'

const DAYS = ['2026-01-01', '2026-01-02', '2026-01-03', '2026-01-04']
const REGIONS = ['north', 'S%C3%BCd %2F west']
const ROWS = 20_000
/** The bytes of the list of keys and of the heads of answers. */
const HEADS = 20_000

let bench: TestPool
let server: TestBucket
let counter: Server
let connection: OpenConnection
/** The bytes that the bucket has sent. */
let sent = 0
const sizes = new Map<string, number>()

before(async () => {
  bench = await openTestPool()
  server = await startBucket()
  const guard = createGuard({ targets: parseTargets(['loopback']) })
  const bucket = createBucket(server.config, guard)
  const engine = await openEngine()
  const file = path.join(bench.data, 'part.parquet')
  for (const [at, day] of DAYS.entries())
    for (const region of REGIONS) {
      await engine.connection.run(`copy (select ${at} * ${ROWS} + i as id, timestamptz '${day} 00:00:00+00' + to_seconds(4 * i) as moment,
        'n' || (i // 2500) as word, case when i % 10 = 0 then null else (i / 3)::decimal(12, 2) end as amount, i * 0.5::double as value,
        case when i // 5000 = 1 then 'NaN'::double else i end as odd, hash(i) as noise
        from range(${ROWS}) r(i)) to '${file}' (row_group_size 2048)`)
      const key = `lake/day=${day}/region=${region}/part.parquet`
      sizes.set(key, statSync(file).size)
      await bucket.write(key, file, statSync(file).size, {})
    }
  engine.close()
  await guard.close()
  counter = createServer((near) => {
    const far = connect(Number(new URL(server.config.endpoint!).port), '127.0.0.1')
    far.on('data', (piece) => {
      sent += piece.length
    })
    for (const socket of [near, far]) socket.on('error', () => undefined)
    near.pipe(far).pipe(near)
  })
  counter.listen(0, '127.0.0.1')
  await once(counter, 'listening')
  const endpoint = `http://127.0.0.1:${(counter.address() as AddressInfo).port}`
  connection = {
    name: 'there',
    kind: 's3',
    options: { bucket: 'assay', endpoint, prefix: 'lake' },
    secrets: { access_key: 'S3RVER', secret_key: 'S3RVER' },
    limits: CONNECTION_LIMITS,
    targets: ['loopback'],
  }
})
after(async () => {
  counter.close()
  await server.close()
  await bench.close()
})

const SUMS =
  'select count(*) as n, sum(id)::bigint as ids, count(amount) as amounts, sum(hash(id, moment, word, amount, value, noise, day, region))::varchar as all_values from s'

function run(where: string | null, { sql = SUMS, front = '', variables = {} } = {}): Promise<RunResult> {
  const condition = where === null ? '' : `, where: ${JSON.stringify(where)}`
  const template = templateOf(
    `---\n${front}sources:\n  s: { connection: there, file: "**/*.parquet"${condition} }\n---\n\`\`\`sql a\n${sql}\n\`\`\`\n\n{{ a.size }}\n`,
  )
  return bench.run(template, variables, {
    connections: {
      acquire: () => Promise.resolve({ connection }),
      release: () => undefined,
      end: () => undefined,
    },
  })
}

async function measured(...given: Parameters<typeof run>): Promise<{ found: Findings; moved: number }> {
  const already = sent
  return { found: findingsOf(await run(...given)), moved: sent - already }
}

test('files that their names exclude are not fetched, and their names are columns', async () => {
  const { found, moved } = await measured("day = '2026-01-03' and region = 'north'", {
    sql: 'select count(*) as n, min(id) as low, any_value(day) as day, any_value(region) as region from s',
  })
  assert.deepEqual(found.tables.a!.rows, [[ROWS, 2 * ROWS, '2026-01-03', 'north']])
  const size = sizes.get('lake/day=2026-01-03/region=north/part.parquet')!
  assert.ok(moved < size + 65_536 + HEADS, `${moved} bytes for a file of ${size}`)
  const [source] = found.lineage.sources
  assert.equal(source!.rows, ROWS)
  assert.deepEqual(
    source!.files.map((file) => file.path),
    ['s3://there/day=2026-01-03/region=north/part.parquet'],
  )
  assert.equal(source!.where!.left_out!.files, 7)
})

test('row groups that their statistics exclude are not fetched, and limits count what comes', async () => {
  const { found, moved } = await measured('id >= $from and id <= 61000', {
    front: 'variables: { from: { type: integer } }\n',
    variables: { from: 60_500 },
    sql: 'select count(*) as n, min(id) as low, max(id) as high from s',
  })
  assert.deepEqual(found.tables.a!.rows, [[2 * 501, 60_500, 61_000]])
  const all = [...sizes.values()].reduce((sum, size) => sum + size, 0)
  const { left_out } = found.lineage.sources[0]!.where!
  assert.equal(left_out!.row_groups, 8 * 10 - 2)
  assert.ok(moved < 8 * 65_536 + 2 * (all / 80) + HEADS, `${moved} bytes of ${all}`)
  assert.ok(all - left_out!.bytes <= moved, 'what is told as left out did not come')
  connection = { ...connection, limits: { ...CONNECTION_LIMITS, bytes: Math.round(all / 2) } }
  try {
    const result = await run('id >= 0')
    assert.ok(result.status === 'failed')
    assert.match(result.error.detail, /larger than \d+ bytes/)
    assert.equal(findingsOf(await run("day = '2026-01-01'")).tables.a!.rows[0]![0], 2 * ROWS)
  } finally {
    connection = { ...connection, limits: CONNECTION_LIMITS }
  }
})

test('under any condition the rows are those of the whole files', async () => {
  const conditions = [
    "moment >= '2026-01-02 12:00:00+00' and moment < '2026-01-03 01:00:00+00'",
    "word = 'n3' or day = '2026-01-04'",
    "word in ('n0', 'n7') and not id < 45000",
    'amount > 6000',
    'amount is null and id < 3000',
    'odd > 19000',
    "-5 < id and '2026-01-02' > day and region <> 'north'",
    "region = 'Süd / west' and 2500.5 >= amount",
    "day = '2030-01-01'",
    'id in (1, 25000) or amount * 2 < 10',
  ]
  for (const condition of conditions) {
    const { found } = await measured(condition)
    const whole = findingsOf(await run(null, { sql: `${SUMS} where ${condition}` }))
    assert.deepEqual(found.tables.a!.rows, whole.tables.a!.rows, condition)
  }
})

test('a condition is checked at its place, and only Parquet has one', async () => {
  const check = async (text: string): Promise<string[]> => {
    const connections = {
      acquire: () => Promise.resolve({ connection }),
      release: () => undefined,
      end: () => undefined,
    }
    const task = { kind: 'check' as const, template: templateOf(text), roots: bench.roots }
    const faults = await bench.pool.check(task, { workspace_id: 'test', connections })
    return faults.map(({ line, column, message }) => `${line}:${column} ${message}`)
  }
  const of = (where: string): string =>
    `---\nvariables: { p: { type: period } }\nsources:\n  s: { connection: there, file: "**/*.parquet", where: "${where}" }\n---\n\`\`\`sql a\nselect day from s\n\`\`\`\n\n{{ a.size }}\n`
  const before_ = sent
  assert.deepEqual(await check(of('day >= $p.start and id > 5')), [])
  assert.ok(sent - before_ < 65_536 + HEADS, 'a check fetches the end of one file')
  assert.deepEqual(await check(of('dya >= $p.start')), ['4:57 s has no column "dya".'])
  assert.deepEqual(await check(of('day >= $p')), ['4:64 s: $p is not a value.'])
  assert.equal((await check(of('day >= $q'))).at(-1), '4:64 s: There is no variable $q.')
  assert.match((await check(of('day like 5'))).join(), /4:\d+ where: /)
  writeFileSync(path.join(bench.data, 'plain.csv'), 'id\n1\n')
  const plain = templateOf(
    '---\nsources:\n  s: { file: plain.csv, where: id > 1 }\n---\n```sql a\nselect id from s\n```\n\n{{ a.size }}\n',
  )
  const refused = await bench.run(plain)
  assert.ok(refused.status === 'failed')
  assert.match(refused.error.detail, /"where" is for Parquet, and the file is \.csv/)
})
