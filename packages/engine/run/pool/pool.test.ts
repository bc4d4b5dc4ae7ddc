import assert from 'node:assert/strict'
import { type ChildProcess, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { getPriority, tmpdir } from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { after, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { FakeClock, systemClock } from '@assay/model/clock'
import type { TemplateSource } from '@assay/model/template'
import { eventually } from '../../../../test/servers/service.ts'
import { makeChart } from '../../charts/spec.ts'
import { NICENESS } from '../jail/jail.ts'
import { COLD } from '../protocol.ts'
import {
  findingsOf,
  HELD,
  NEVER,
  openTestPool,
  STARTED_AT,
  sqlTemplate,
  type TestPool,
  templateOf,
} from '../test-pool.ts'
import { wantsProcessor } from './meter.ts'
import { SPARE_AFTER_MS } from './processes.ts'
import { MOST_QUEUED, processesOf } from './scheduler.ts'

// The variable is set before any process starts.
process.env.ASSAY_TEST_SECRET = 'do not tell'
const bench = await openTestPool({ size: 2 })
after(() => bench.close())
const narrow = await openTestPool({ size: 1 })
after(() => narrow.close())
const linux = { skip: process.platform !== 'linux' }

/** Queries that do not notice an interrupt for many seconds. */
const STUCK = {
  list_reduce: 'select list_reduce(range(300000000), lambda x, y: x + y) as a',
  levenshtein: "select levenshtein(repeat('a', 100000), repeat('b', 100000)) as a",
  unnest: 'select sum(x) as a from (select unnest(range(60000000)) as x)',
}

/** Returns the task that a job or a preview gives to the pool. */
const taskOf = ({ roots }: TestPool, template: TemplateSource) => ({
  kind: 'run' as const,
  template,
  variables: {},
  started_at: STARTED_AT,
  roots,
})

/** Resolves when the pool has `count` busy children: the task is under way. */
async function busy(count: number): Promise<void> {
  while (bench.pool.stats().states.busy < count) await systemClock.sleep(5)
}

test('runs a template from text to Markdown', async () => {
  const { markdown, tables, facts } = findingsOf(
    await bench.run(
      templateOf(
        '---\nvariables:\n  top: { type: integer, default: 2 }\n---\n\n```sql a\nselect i, i * 1.5 as x from range($top + 1) t(i)\n```\n\n# Up to {{ vars.top }}\n\n{% table a %}\n\n{% fact last, a[2].x %}\n',
      ),
      { top: 2 },
    ),
  )
  assert.match(markdown, /^# Up to 2\n/)
  assert.deepEqual(tables.a?.rows, [
    [0, '0.0'],
    [1, '1.5'],
    [2, '3.0'],
  ])
  assert.equal(facts[0]?.name, 'last')
})

test('every thread of an analysis yields to the service if both want the processor', linux, async () => {
  findingsOf(await bench.run(sqlTemplate('select sum(range) as a from range(1000000)')))
  const { pid } = bench.pool.stats().children.find(({ tasks }) => tasks > 0)!
  /** Returns nothing for a thread that has ended since it was listed. */
  const niceOf = (thread: string): number[] => {
    const file = `/proc/${pid}/task/${thread}/stat`
    let stat: string
    try {
      stat = readFileSync(file, 'latin1')
    } catch (error) {
      assert.ok(!existsSync(file), String(error))
      return []
    }
    return [Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[16])]
  }
  const threads = await readdir(`/proc/${pid}/task`)
  assert.deepEqual([...new Set(threads.flatMap(niceOf))], [Math.min(19, getPriority() + NICENESS)])
})

test('draws a chart as SVG, or as a PNG with its letters, within the memory of a child', async () => {
  const { spec } = makeChart(
    'c1',
    [
      { day: 'Mon', delay: 1 },
      { day: 'Tue', delay: 3 },
    ],
    { type: 'bar', x: 'day', y: ['delay'], series: null, title: 'Mean delay' },
  )
  const drawn = await bench.pool.draw(
    { kind: 'draw', form: 'pages', specs: [spec] },
    { workspace_id: 'test' },
  )
  for (const svg of drawn) assert.match(svg, /^<svg/)
  // The pictures are of the narrow drawing, because mail is read on phones.
  const pngs = await bench.pool.draw(
    { kind: 'draw', form: 'png', specs: Array(2).fill(spec) },
    { workspace_id: 'test' },
  )
  const [png] = pngs.map((text) => Buffer.from(text, 'base64'))
  const [, width, height] = /width="(\d+)" height="(\d+)"/.exec(drawn[1]!)!.map(Number)
  assert.equal(png!.subarray(0, 8).toString('latin1'), '\x89PNG\r\n\x1a\n')
  assert.deepEqual([png!.readUInt32BE(16), png!.readUInt32BE(20)], [3 * width!, 3 * height!])
  assert.equal(new Set(pngs).size, 1, 'the same bytes each time')
})

test('a stuck query is stopped within half a second of its cancel', async (t) => {
  const clock = new FakeClock()
  const own = await openTestPool({ clock })
  t.after(() => own.close())
  for (const [name, sql] of Object.entries(STUCK))
    await t.test(name, async () => {
      const control = new AbortController()
      const front = 'limits: { memory: 4GB, timeout: 5m }'
      const started = Promise.withResolvers<void>()
      const options = { signal: control.signal, onProgress: () => started.resolve() }
      const running = own.run(sqlTemplate(sql, front), {}, options)
      await started.promise
      control.abort()
      clock.advance(500)
      assert.deepEqual(await running, { status: 'stopped' })
    })
  await t.test('one that hears of it keeps its process, whenever the cancel comes', async () => {
    // The clock stands still, so no task is killed for being late.
    const stopped = 'select sum(sqrt(a.range * b.range)) as a from range(100000) a, range(100000) b'
    findingsOf(await own.run(sqlTemplate('select 1 as a')))
    for (let moment = 0; moment < 20; moment += 1) {
      const control = new AbortController()
      const running = own.run(sqlTemplate(stopped), {}, { signal: control.signal })
      while (own.pool.stats().states.busy === 0) await systemClock.sleep(1)
      await systemClock.sleep(moment)
      const pid = own.pool.stats().children.find(({ state }) => state === 'busy')?.pid
      control.abort()
      assert.deepEqual(await running, { status: 'stopped' })
      const left = own.pool.stats().children.map((child) => child.pid)
      assert.ok(left.includes(pid), `after ${moment} ms`)
    }
  })
})

test('a job that takes longer than its limit ends as timed_out, stuck or not', async () => {
  for (const sql of [
    STUCK.levenshtein,
    'select count(*) as a from range(100000) a, range(100000) b where a.range < b.range',
  ]) {
    const result = await bench.run(sqlTemplate(sql, 'limits: { timeout: 200ms }'))
    assert.equal(result.status === 'failed' && result.error.code, 'timed_out')
  }
})

test(
  'a check whose process does not get the processor goes on for a minute, and no longer',
  linux,
  async () => {
    const clock = new FakeClock()
    const own = await openTestPool({ size: 1, clock })
    try {
      const template = sqlTemplate('select 1 as a')
      findingsOf(await own.run(template))
      process.kill(own.pool.stats().children[0]!.pid!, 'SIGSTOP')
      const ended = own.pool
        .check({ kind: 'check', template, roots: own.roots }, { workspace_id: 'test' })
        .then(String, String)
      const pass = async (seconds: number): Promise<void> => {
        for (let second = 0; second < seconds; second += 1) {
          clock.advance(1000)
          await setImmediate()
        }
      }
      await pass(59)
      assert.equal(own.pool.stats().states.busy, 1)
      await pass(5)
      assert.equal(own.pool.stats().states.busy, 0)
      assert.match(await ended, /took longer than 15 s/)
    } finally {
      await own.close()
    }
  },
)

test('a check that waits for a connection ends after its time by the clock', linux, async () => {
  const clock = new FakeClock()
  const own = await openTestPool({ size: 1, clock })
  try {
    findingsOf(await own.run(sqlTemplate('select 1 as a')))
    const asked = Promise.withResolvers<void>()
    const connections = {
      acquire: () => {
        asked.resolve()
        return new Promise<never>(() => {})
      },
      release: () => undefined,
      end: () => undefined,
    }
    const template = sqlTemplate('select a from s', 'sources:\n  s: { connection: db, query: select 1 as a }')
    const ended = own.pool
      .check({ kind: 'check', template, roots: own.roots }, { workspace_id: 'test', connections })
      .then(String, String)
    await asked.promise
    const { pid } = own.pool.stats().children.find(({ state }) => state === 'busy')!
    await eventually(() => !wantsProcessor([pid]), 'it waits')
    clock.advance(15_000)
    assert.match(await ended, /took longer than 15 s/)
  } finally {
    await own.close()
  }
})

test(
  'what one call would build beyond the memory of the job is refused, and the process stays small',
  linux,
  async () => {
    for (const sql of ['select len(range(500000000)) as a', "select length(repeat('x', 4000000000)) as a"]) {
      const result = await bench.run(sqlTemplate(sql, 'limits: { memory: 300MB }'))
      assert.equal(result.status === 'failed' && result.error.code, 'memory_exceeded', JSON.stringify(result))
      for (const { pid } of bench.pool.stats().children) {
        const peak = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))
        assert.ok(Number(peak?.[1]) < 1_100_000, peak?.[0])
      }
    }
    findingsOf(await bench.run(sqlTemplate('select 1 as a')))
  },
)

test('a killed process loses one attempt of one job, and nothing else', async () => {
  const other = bench.run(
    sqlTemplate('select count(*) as a from range(3000) a, range(30000) b where a.range < b.range'),
  )
  const running = bench.run(sqlTemplate(STUCK.levenshtein), {}, { workspace_id: 'doomed' })
  await busy(2)
  const doomed = bench.pool.stats().children.find(({ owner }) => owner === 'doomed')
  process.kill(doomed!.pid!, 'SIGKILL')
  const result = await running
  assert.equal(result.status, 'crashed')
  findingsOf(await other)
  findingsOf(await bench.run(sqlTemplate('select 1 as a'), {}, { workspace_id: 'doomed' }))
})

test('signals that reach the whole group of processes leave a job alone', async () => {
  const running = bench.run(
    sqlTemplate('select count(*) as a from range(3000) a, range(30000) b where a.range < b.range'),
  )
  await busy(1)
  for (const { pid } of bench.pool.stats().children) {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.kill(pid!, signal)
  }
  findingsOf(await running)
})

test('JavaScript that outgrows its heap ends as memory_exceeded', async () => {
  const result = await bench.run(
    sqlTemplate(
      // The texts are few and long, so the heap fills before the collector has much to look through.
      "select list(repeat('x', 100000) || i) as a from range(5000) t(i)",
      'limits: { memory: 2GB }',
    ),
  )
  assert.equal(result.status === 'failed' && result.error.code, 'memory_exceeded', JSON.stringify(result))
})

test('a process serves one workspace only', async () => {
  for (const workspace_id of ['a', 'b', 'a']) {
    findingsOf(await bench.run(sqlTemplate('select 1 as a'), {}, { workspace_id }))
    const { children } = bench.pool.stats()
    assert.ok(children.length <= processesOf(2))
  }
  // Each child names one owner from its first task on. The sum of tasks shows that none was handed to another owner.
  const { children } = bench.pool.stats()
  const owners = children.flatMap(({ owner }) => owner ?? [])
  assert.equal(new Set(owners).size, owners.length)
})

test('small tasks are done while every place for jobs is taken', async () => {
  const control = new AbortController()
  const held = { signal: control.signal, connections: NEVER }
  const stuck = [1, 2].map(() => bench.run(HELD, {}, held))
  await busy(2)
  const source =
    '---\nsources:\n  air: { file: sample/airports.csv }\n---\n\n```sql a\nselect iata, nowhere from air\n```\n\n# A\n\n{{ a.size }}\n'
  const template = templateOf(source)
  const described = await bench.pool.describe(
    { kind: 'describe', template, roots: bench.roots },
    { workspace_id: 'test' },
  )
  const air = described.sources.air
  assert.ok(air && 'columns' in air && air.columns.some(({ name }) => name === 'iata'))
  assert.ok(described.files.includes('sample/airports.csv'))
  const faults = await bench.pool.check(
    { kind: 'check', template, roots: bench.roots },
    { workspace_id: 'test' },
  )
  assert.ok(
    faults.some(({ message, line }) => message.includes('nowhere') && line === 7),
    JSON.stringify(faults),
  )
  control.abort()
  assert.deepEqual(await Promise.all(stuck), [{ status: 'stopped' }, { status: 'stopped' }])
})

test('a job in line is stopped without having begun', async () => {
  const control = new AbortController()
  const held = { signal: control.signal, connections: NEVER }
  const first = [1, 2].map(() => bench.run(HELD, {}, held))
  await busy(2)
  const mine = new AbortController()
  const waiting = bench.run(sqlTemplate('select 1 as a'), {}, { signal: mine.signal })
  assert.equal(bench.pool.stats().waiting, 1)
  mine.abort()
  assert.deepEqual(await waiting, { status: 'stopped' })
  control.abort()
  await Promise.all(first)
})

const SHORT = sqlTemplate('select 1 as a')

test("a workspace's previews run as many at a time as its max_running, and another's job does not wait for them", async () => {
  const order: string[] = []
  const controls: AbortController[] = []
  const begun = Promise.withResolvers<void>()
  const previews = Array.from({ length: 6 }, (_, index) => {
    const control = new AbortController()
    controls.push(control)
    const options = {
      workspace_id: 'guest',
      max_running: 1,
      max_queued: null,
      signal: control.signal,
      connections: NEVER,
      onBegin: () => {
        order.push(`preview ${index}`)
        begun.resolve()
      },
    }
    return bench.pool.preview(taskOf(bench, HELD), options)
  })
  await begun.promise
  const options = { workspace_id: 'mine', onBegin: () => order.push('job') }
  findingsOf(await bench.pool.run(taskOf(bench, SHORT), options))
  assert.deepEqual(order, ['preview 0', 'job'])
  for (const control of controls) control.abort()
  for (const result of await Promise.all(previews)) assert.deepEqual(result, { status: 'stopped' })
  assert.deepEqual(order, ['preview 0', 'job'])
})

test('on a pool of one a job does not wait for previews, which run one at a time beside it', async () => {
  const order: string[] = []
  const control = new AbortController()
  const preview = (name: string, signal?: AbortSignal): Promise<unknown> =>
    narrow.pool.preview(taskOf(narrow, signal ? HELD : SHORT), {
      workspace_id: 'guest',
      max_running: null,
      max_queued: null,
      ...(signal ? { signal, connections: NEVER } : {}),
      onBegin: () => order.push(name),
    })
  const previews = [preview('held', control.signal), preview('second'), preview('third')]
  const onBegin = () => order.push('job')
  findingsOf(await narrow.pool.run(taskOf(narrow, SHORT), { workspace_id: 'mine', onBegin }))
  assert.deepEqual(order, ['held', 'job'])
  control.abort()
  await Promise.all(previews)
  assert.deepEqual(order, ['held', 'job', 'second', 'third'])
})

test("another's small task is done before most of the many that a workspace has in line", async () => {
  const { pool, roots } = narrow
  const describe = (workspace_id = 'mine') =>
    pool.describe({ kind: 'describe', template: SHORT, roots }, { workspace_id })
  // Both workspaces have a process then, so the start of one is not measured.
  await describe('guest')
  await describe()
  const blocks = Array.from({ length: 40 }, (_, index) => `\`\`\`sql b${index}\nselect 1 as a\n\`\`\`\n`)
  const template = templateOf(`# Many\n\n${blocks.join('\n')}`)
  const ended: string[] = []
  const checks = Array.from({ length: 8 }, () =>
    pool.check({ kind: 'check', template, roots }, { workspace_id: 'guest' }).then(() => ended.push('check')),
  )
  await Promise.all([...checks, describe().then(() => ended.push('describe'))])
  assert.equal(ended[0], 'check')
  assert.ok(ended.indexOf('describe') <= 3, ended.join(', '))
})

test('what a workspace may not have in line is refused with the cap, and what the service asks for itself is not', async () => {
  const { pool } = narrow
  const ask = (workspace_id: string, patient = false) =>
    pool.readMetrics({ kind: 'read-metrics', metrics: [] }, { workspace_id, patient })
  const many = Array.from({ length: MOST_QUEUED.small + 1 }, () => ask('guest'))
  const patient = ask('guest', true)
  await assert.rejects(ask('guest'), { code: 'workspace_busy' })
  assert.deepEqual(await ask('mine'), [])
  for (const read of await Promise.all([...many, patient])) assert.deepEqual(read, [])
})

test('a child has no secrets in its environment, and a bounded data segment', linux, async () => {
  findingsOf(await bench.run(sqlTemplate('select 1 as a')))
  for (const { pid } of bench.pool.stats().children) {
    const names = readFileSync(`/proc/${pid}/environ`, 'utf8')
      .split('\0')
      .map((pair) => pair.split('=')[0])
      .filter((name) => name !== '')
    const expected = ['NODE_CHANNEL_FD', 'NODE_CHANNEL_SERIALIZATION_MODE', 'NODE_COMPILE_CACHE', 'TZ']
    const allocation = ['MALLOC_ARENA_MAX', 'UV_THREADPOOL_SIZE']
    assert.deepEqual(new Set(names), new Set([...expected, ...allocation]))
  }
  const { pid } = bench.pool.stats().children.find(({ tasks }) => tasks > 0)!
  const limit = /Max data size\s+(\d+)/.exec(readFileSync(`/proc/${pid}/limits`, 'utf8'))
  assert.ok(Number(limit?.[1]) < 2_500_000_000, limit?.[0])
})

/** A query that sorts 112 MB. */
const WIDE = 'select i, repeat(md5(i::varchar), 10) as m from range(350000) t(i) order by m'
const NARROW = 'limits: { memory: 80MB, rows: 1 }'

test('data larger than the memory of the job spill to its own folder, which is removed', async () => {
  const { tables } = findingsOf(await bench.run(sqlTemplate(WIDE, NARROW)))
  assert.equal(tables.a?.total, 350_000)
  assert.match(JSON.stringify(tables.a?.rows[0]), /"0000/)
  while ((await bench.leftovers()).length > 0) await systemClock.sleep(5)
})

test('an analysis that fills its room on disk ends alone, with limit_exceeded', async () => {
  const small = await openTestPool({ spillBytes: 20_000_000 })
  try {
    const full = await small.run(sqlTemplate(WIDE, NARROW))
    assert.ok(full.status === 'failed', JSON.stringify(full))
    assert.equal(full.error.code, 'limit_exceeded', full.error.detail)
    assert.equal((await small.run(sqlTemplate('select 1 as a'))).status, 'done')
    while ((await small.leftovers()).length > 0) await systemClock.sleep(5)
  } finally {
    await small.close()
  }
})

/** Forks a single analysis process as child-process.ts does. Resolves once it is ready. */
async function loneChild(env: Record<string, string>, execArgv: string[] = []): Promise<ChildProcess> {
  const entry = path.join(import.meta.dirname, '../child/child.ts')
  const child = fork(entry, [COLD], { env, execArgv: ['--no-warnings', ...execArgv] })
  await once(child, 'message')
  return child
}

test('what a child has compiled is kept for the next, although it is killed; it loads what its task needs only', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'assay-compiled-'))
  const [cache, list] = [path.join(folder, 'cache'), path.join(folder, 'modules')]
  const hook = `import { registerHooks } from 'node:module'; import { appendFileSync } from 'node:fs'
    registerHooks({ load(url, context, next) { appendFileSync(process.env.LIST, url + '\\n'); return next(url, context) } })`
  const child = await loneChild({ NODE_COMPILE_CACHE: cache, LIST: list }, [
    '--import',
    `data:text/javascript,${encodeURIComponent(hook)}`,
  ])
  const kept = async (): Promise<number> => (await readdir(cache, { recursive: true }).catch(() => [])).length
  while ((await kept()) < 50) await systemClock.sleep(5)
  child.kill('SIGKILL')
  await once(child, 'exit')
  // The process loads no HTTP client, no database, no drawing and no builder of schemas.
  const loaded = readFileSync(list, 'utf8').split('\n')
  assert.ok(loaded.some((url) => url.includes('/language/interpreter.ts')))
  const packages = [
    'undici',
    'pg',
    'mysql2',
    'vega',
    'vega-lite',
    '@resvg',
    'fastify',
    'nodemailer',
    'typebox',
  ]
  for (const one of packages) assert.ok(!loaded.some((url) => url.includes(`/node_modules/${one}/`)), one)
  assert.ok(
    !loaded.some((url) => url.includes('/methods/catalog.ts')),
    'methods come with the first analysis',
  )
  await rm(folder, { recursive: true })
})

test('a pool for a single job has one process, and starts none ahead', async () => {
  const own = await openTestPool({ single: true })
  try {
    assert.equal(own.pool.stats().children.length, 1)
    findingsOf(await own.run(sqlTemplate('select 1 as a')))
    await own.pool.readMetrics({ kind: 'read-metrics', metrics: [] }, { workspace_id: 'test' })
    assert.deepEqual(
      own.pool.stats().children.map(({ tasks }) => tasks),
      [2],
    )
  } finally {
    await own.close()
  }
})

test('an unused process is started once the pool has been without one for a while, not with the pool and not with each task', async () => {
  const clock = new FakeClock()
  const own = await openTestPool({ size: 1, clock })
  const owners = () => own.pool.stats().children.map(({ owner }) => owner)
  const pass = async (ms: number): Promise<void> => {
    clock.advance(ms)
    await setImmediate()
  }
  try {
    await pass(SPARE_AFTER_MS - 1)
    assert.deepEqual(owners(), [])
    findingsOf(await own.run(sqlTemplate('select 1 as a')))
    assert.deepEqual(owners(), ['test'])
    await pass(1)
    assert.deepEqual(owners(), [null, 'test'])
    findingsOf(await own.run(sqlTemplate('select 1 as a'), {}, { workspace_id: 'other' }))
    assert.deepEqual(owners(), ['test', 'other'])
    await pass(SPARE_AFTER_MS)
    assert.deepEqual(owners(), [null, 'test', 'other'])
    await pass(10 * SPARE_AFTER_MS)
    assert.equal(owners().length, 3, 'one is enough')
  } finally {
    await own.close()
  }
})

test('where more workspaces take turns than processes, the next one starts as soon as one of another is idle', async () => {
  const clock = new FakeClock()
  const own = await openTestPool({ size: 1, clock })
  const children = () => own.pool.stats().children
  const owners = () => children().map(({ owner }) => owner)
  const run = async (workspace_id: string) =>
    findingsOf(await own.run(sqlTemplate('select 1 as a'), {}, { workspace_id }))
  try {
    const first = ['a', 'b', 'c', 'd']
    assert.equal(first.length, processesOf(1))
    for (const workspace of [...first, ...first]) await run(workspace)
    assert.deepEqual(owners(), first, 'as many as there are processes keep theirs')
    await run('e')
    assert.deepEqual(owners(), [null, 'c', 'd', 'e'])
    const { pid } = children()[0]!
    await run('f')
    assert.equal(children().find(({ owner }) => owner === 'f')?.pid, pid)
    assert.deepEqual(owners(), [null, 'd', 'e', 'f'])
  } finally {
    await own.close()
  }
})

test('processes that nobody has needed for five minutes end, but for the last one used and a fresh one', async () => {
  const clock = new FakeClock()
  const own = await openTestPool({ size: 2, clock })
  const children = () => own.pool.stats().children
  const pass = async (minutes: number): Promise<void> => {
    for (let minute = 0; minute < minutes; minute += 1) {
      clock.advance(60_000)
      await setImmediate()
    }
  }
  try {
    const jobs = Array.from({ length: 2 }, () => own.run(sqlTemplate('select 1 as a')))
    for (const result of await Promise.all(jobs)) findingsOf(result)
    clock.advance(SPARE_AFTER_MS)
    while (children().length < 3 || children().some(({ state }) => state !== 'idle'))
      await systemClock.sleep(5)
    const before = children().length
    await pass(4)
    assert.equal(children().length, before)
    await pass(2)
    assert.deepEqual(
      children().map(({ owner }) => owner),
      [null, 'test'],
    )
    await pass(60)
    assert.equal(children().length, 2)
    findingsOf(await own.run(sqlTemplate('select 1 as a')))
  } finally {
    await own.close()
  }
})

test('stopping ends every process, and what was under way ends as stopped', async () => {
  const running = narrow.run(sqlTemplate(STUCK.levenshtein))
  while (narrow.pool.stats().states.busy < 1) await systemClock.sleep(5)
  const pids = narrow.pool.stats().children.map(({ pid }) => pid!)
  await narrow.pool.stop()
  assert.deepEqual(await running, { status: 'stopped' })
  for (const pid of pids) assert.throws(() => process.kill(pid, 0))
  assert.deepEqual(await narrow.run(sqlTemplate('select 1 as a')), { status: 'stopped' })
})

test(
  'the children end with a parent that is killed, even in the middle of a stuck query',
  linux,
  async () => {
    const script = `
    import { openTestPool, sqlTemplate } from ${JSON.stringify(path.join(import.meta.dirname, '../test-pool.ts'))}
    const bench = await openTestPool({ size: 1 })
    await bench.run(sqlTemplate('select 1 as a'), {}, { workspace_id: 'other' })
    void bench.run(sqlTemplate(${JSON.stringify(STUCK.levenshtein)}))
    const look = () => {
      const { states, children } = bench.pool.stats()
      if (states.busy === 1 && states.idle === 1) console.log(JSON.stringify({ pids: children.map((c) => c.pid), data: bench.data }))
      else setTimeout(look, 10)
    }
    look()
  `
    const parent = spawn(process.execPath, ['--input-type=module-typescript', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const [line] = (await once(createInterface(parent.stdout), 'line')) as [string]
    const { pids, data } = JSON.parse(line) as { pids: number[]; data: string }
    assert.equal(pids.length, 2)
    parent.kill('SIGKILL')
    await once(parent, 'exit')
    const alive = (): number[] =>
      pids.filter(
        (pid) =>
          existsSync(`/proc/${pid}`) && !/State:\s+Z/.test(readFileSync(`/proc/${pid}/status`, 'latin1')),
      )
    await eventually(() => alive().length === 0, 'the children end')
    await rm(path.dirname(data), { recursive: true, force: true })
  },
)
