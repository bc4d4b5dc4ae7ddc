import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { METHODS } from './catalog.ts'
import { columnsOf, outcomeOf, relation } from './relation-fixture.ts'
import { MethodError } from './shared/method.ts'

type Row = Record<string, number | string | null>

const close = (a: unknown, b: number, scale = 1) =>
  assert.ok(Math.abs((a as number) - b) <= 1e-9 * Math.max(scale, Math.abs(b)), `${String(a)} is not ${b}`)

test('the catalog has the methods by their names', () => {
  const names =
    'describe profile compare trend changepoints seasonality anomalies drivers ab_test experiment plan cohorts funnel forecast correlation regression anova compare_groups association normality outliers pareto'
  assert.deepEqual(Object.keys(METHODS), names.split(' '))
  for (const [name, method] of Object.entries(METHODS)) {
    assert.equal(method.name, name)
    assert.equal((method.options as { additionalProperties?: boolean }).additionalProperties, false)
  }
})

test('names the columns that there are where one is missing, and says what to do about text', async () => {
  const table = await columnsOf({ day: ['monday'], v: [1] })
  await assert.rejects(
    outcomeOf(METHODS.describe!, table, { value: 'w' }),
    (error: Error) => error instanceof MethodError && /no column "w".*day, v/.test(error.message),
  )
  await assert.rejects(outcomeOf(METHODS.describe!, table, { value: 'day' }), /cast\("day" as double\)/)
  await assert.rejects(
    outcomeOf(METHODS.trend!, table, { time: 'day', value: 'v' }),
    /date, a timestamp or a number/,
  )
  await assert.rejects(outcomeOf(METHODS.describe!, table, {}), /either `value`/)
  await assert.rejects(outcomeOf(METHODS.drivers!, table, { value: 'v', by: ['day'] }), /either `time`/)
  await assert.rejects(
    outcomeOf(METHODS.ab_test!, table, { group: 'day', success: 'v', test: 'welch' }),
    /does not go with/,
  )
})

test('takes names of columns that SQL would choke on', async () => {
  const table = await relation(
    `select i as "select", i * 2 as "a ""b"" -- c", 'x' as "'g'" from range(20) t(i)`,
  )
  const outcome = await outcomeOf(METHODS.regression!, table, { y: 'a "b" -- c', x: ['select'] })
  close((outcome.coefficients as { estimate: number }[])[1]!.estimate, 2)
  const grouped = await outcomeOf(METHODS.pareto!, table, { value: 'select', by: "'g'" })
  assert.equal((grouped.rows as Row[])[0]!.segment, 'x')
})

test("the drivers' parts add up to the change, and mix plus rate to each part", async () => {
  const row = fc.record({
    g: fc.constantFrom('a', 'b', 'c', 'd', null),
    h: fc.constantFrom('x', 'y'),
    side: fc.constantFrom('before', 'after'),
    top: fc.double({ min: -50, max: 100, noNaN: true }),
    bottom: fc.integer({ min: 1, max: 20 }),
  })
  const some = fc
    .array(row, { minLength: 2, maxLength: 40 })
    .filter((rows) => new Set(rows.map(({ side }) => side)).size === 2)
  await fc.assert(
    fc.asyncProperty(some, fc.boolean(), async (rows, ratio) => {
      const column = <K extends keyof (typeof rows)[0]>(key: K) => rows.map((one) => one[key])
      const table = await columnsOf(
        {
          g: column('g'),
          h: column('h'),
          side: column('side'),
          top: column('top'),
          bottom: column('bottom'),
        },
        { g: 'VARCHAR' },
      )
      const what = ratio ? { numerator: 'top', denominator: 'bottom' } : { value: 'top' }
      const split = { column: 'side', before: 'before', after: 'after' }
      const outcome = await outcomeOf(METHODS.drivers!, table, { ...what, by: ['g', 'h'], split })
      for (const by of ['g', 'h']) {
        const segments = (outcome.segments as Row[]).filter((segment) => segment.by === by)
        const sum = (key: string) => segments.reduce((total, segment) => total + (segment[key] as number), 0)
        close(sum('change'), outcome.change as number, 1000)
        if (outcome.change !== 0 && Math.abs(outcome.change as number) > 1e-6)
          assert.ok(Math.abs(sum('share') - 1) < 1e-6)
        if (ratio)
          for (const segment of segments)
            close((segment.mix as number) + (segment.rate as number), segment.change as number, 1000)
      }
      if (ratio) close((outcome.mix as number) + (outcome.rate as number), outcome.change as number, 1000)
    }),
    { numRuns: 40 },
  )
})

test('swapping the sides of drivers turns every sign', async () => {
  const table = await columnsOf({
    g: ['a', 'b', 'c', 'a', 'b', 'd'],
    side: ['x', 'x', 'x', 'y', 'y', 'y'],
    top: [3, 5, 2, 7, 1, 4],
    bottom: [10, 8, 5, 9, 4, 6],
  })
  const ask = (before: string, after: string) =>
    outcomeOf(METHODS.drivers!, table, {
      numerator: 'top',
      denominator: 'bottom',
      by: ['g'],
      split: { column: 'side', before, after },
    })
  const there = await ask('x', 'y')
  const back = await ask('y', 'x')
  for (const segment of there.segments as Row[]) {
    const mirrored = (back.segments as Row[]).find((other) => other.segment === segment.segment)!
    for (const part of ['change', 'mix', 'rate']) close(mirrored[part], -(segment[part] as number))
  }
})

/**
 * Counts who passes each step by the definition, without SQL: it walks through each id's rows from each of its entries.
 */
function walked(rows: { id: number; t: number; e: string }[], steps: string[], window: number): number[] {
  const counts = steps.map(() => 0)
  const end = Math.max(...rows.map(({ t }) => t))
  for (const own of Map.groupBy(rows, ({ id }) => id).values()) {
    const entries = own.filter(({ e, t }) => e === steps[0] && t + window <= end).map(({ t }) => t)
    const reached = entries.map((entry) => {
      let at = entry
      for (const [place, step] of steps.slice(1).entries()) {
        const again = step === steps[place]
        const next = own
          .filter(({ e, t }) => e === step && (again ? t > at : t >= at) && t <= entry + window)
          .map(({ t }) => t)
        if (next.length === 0) return place + 1
        at = Math.min(...next)
      }
      return steps.length
    })
    for (let place = 0; place < Math.max(0, ...reached); place++) counts[place]! += 1
  }
  return counts
}

test('a funnel counts as its definition walks, and never widens', async () => {
  const row = fc.record({
    id: fc.integer({ min: 0, max: 5 }),
    t: fc.integer({ min: 0, max: 12 }),
    e: fc.constantFrom('a', 'b', 'c'),
  })
  const steps = fc.array(fc.constantFrom('a', 'b', 'c'), { minLength: 2, maxLength: 4 })
  await fc.assert(
    fc.asyncProperty(
      fc.array(row, { minLength: 1, maxLength: 40 }),
      steps,
      fc.integer({ min: 1, max: 12 }),
      async (rows, steps, window) => {
        const table = await columnsOf({
          id: rows.map(({ id }) => id),
          t: rows.map(({ t }) => t),
          e: rows.map(({ e }) => e),
        })
        const outcome = await outcomeOf(METHODS.funnel!, table, {
          id: 'id',
          time: 't',
          event: 'e',
          steps,
          window,
        })
        const counts = (outcome.steps as { n: number }[]).map(({ n }) => n)
        assert.deepEqual(counts, walked(rows, steps, window))
        for (const [index, n] of counts.slice(1).entries()) assert.ok(n <= counts[index]!)
      },
    ),
    { numRuns: 60 },
  )
})

test('cohorts count as sets do: sizes fixed, no more retained than there were, each id in one cohort', async () => {
  const row = fc.record({ id: fc.integer({ min: 0, max: 15 }), t: fc.integer({ min: 0, max: 7 }) })
  await fc.assert(
    fc.asyncProperty(fc.array(row, { minLength: 1, maxLength: 60 }), async (rows) => {
      const table = await columnsOf({ id: rows.map(({ id }) => id), t: rows.map(({ t }) => t) })
      const outcome = await outcomeOf(METHODS.cohorts!, table, { id: 'id', time: 't', every: 1 })
      const found = outcome.rows as {
        cohort: string
        size: number
        period: number
        retained: number | null
        rate: number | null
      }[]
      const first = Map.groupBy(rows, ({ id }) => id)
        .entries()
        .map(([id, own]) => [id, Math.min(...own.map(({ t }) => t))] as const)
      const cohortOf = new Map(first)
      for (const { cohort, size, period, retained, rate } of found) {
        const members = [...cohortOf].filter(([, start]) => start === Number(cohort)).map(([id]) => id)
        assert.equal(size, members.length)
        if (retained === null) continue
        const seen = members.filter((id) =>
          rows.some((one) => one.id === id && one.t === Number(cohort) + period),
        )
        assert.equal(retained, seen.length)
        assert.ok(rate! <= 1 && (period > 0 || rate === 1))
      }
    }),
    { numRuns: 40 },
  )
})

test('compare leaves out the period under way and the one that began before the data', async () => {
  const table = await relation(`select date '2024-01-10' + k::int as t, 1 as v from range(100) r(k)`)
  const outcome = await outcomeOf(METHODS.compare!, table, { time: 't', value: 'v' })
  assert.equal(outcome.current_period, 'March 2024')
  assert.equal(outcome.current, 31)
  assert.equal(outcome.previous, 29)
  assert.deepEqual(
    [outcome.direction, outcome.current_per_day, outcome.previous_per_day, outcome.relative],
    ['none', 1, 1, 0],
  )
  assert.match(
    outcome.summary,
    /^V stayed level: 1 a day in March 2024 and as much in February 2024\. .*March 2024 has 2 days more\./,
  )
})

test('compare knows that no row is due on a weekend', async () => {
  const table = await relation(
    `select t, 1 as v from (select date '2024-01-01' + k::int as t from range(89) r(k)) where isodow(t) < 6`,
  )
  const outcome = await outcomeOf(METHODS.compare!, table, { time: 't', value: 'v' })
  // The last row is of Friday, 29 March 2024. The 30th and 31st are a weekend.
  assert.equal(outcome.current_period, 'March 2024')
})

test('anova, ab_test and describe do not lose digits to a common offset', async () => {
  const v = [1, 2, 3, 2, 3, 4, 6, 5, 7]
  const g = ['a', 'a', 'a', 'b', 'b', 'b', 'c', 'c', 'c']
  const near = await outcomeOf(METHODS.anova!, await columnsOf({ v, g }), { value: 'v', by: 'g' })
  const far = await outcomeOf(METHODS.anova!, await columnsOf({ v: v.map((one) => one + 2 ** 50), g }), {
    value: 'v',
    by: 'g',
  })
  assert.equal(far.f, near.f)
  assert.equal(far.ss_within, near.ss_within)
})

test('a forecast of monthly data is labelled with the months to come', async () => {
  const table = await relation(
    `select date '2019-01-31' + interval (k) month as t, 100 + k + 10 * sin(k * pi() / 6) as v from range(60) r(k)`,
  )
  const ends = await relation(
    `select last_day(date '2019-01-01' + interval (k) month) as t, 100.0 + k as v from range(60) r(k)`,
  )
  const months = await outcomeOf(
    METHODS.forecast!,
    await relation(
      `select date '2019-01-15' + interval (k) month as t, 100.0 + k * 2 + (k * k) % 7 as v from range(40) r(k)`,
    ),
    { time: 't', value: 'v', horizon: 2 },
  )
  assert.deepEqual(
    (months.points as { time: string }[]).map(({ time }) => time.slice(0, 10)),
    ['2022-05-15', '2022-06-15'],
  )
  const last = await outcomeOf(METHODS.forecast!, ends, { time: 't', value: 'v', horizon: 3 })
  assert.deepEqual(
    (last.points as { time: string }[]).map(({ time }) => time),
    ['2024-01-31', '2024-02-29', '2024-03-31'],
  )
  const seasonal = await outcomeOf(METHODS.forecast!, table, { time: 't', value: 'v', horizon: 1 })
  assert.equal(
    (seasonal.points as { low_95: number; value: number; high_95: number }[]).every(
      (point) => point.low_95 <= point.value && point.value <= point.high_95,
    ),
    true,
  )
})

test('profile asks few queries of a wide table, and says how many columns it read of a wider one', async () => {
  const column = (index: number): string =>
    index % 3 === 2 ? `'t' || (k % ${index + 2}) as c${index}` : `k % ${index + 2} as c${index}`
  const wide = await relation(
    `select ${Array.from({ length: 320 }, (_, index) => column(index)).join(', ')} from range(60) r(k)`,
  )
  let asked = 0
  const counted = {
    ...wide,
    query: (...given: Parameters<typeof wide.query>) => {
      asked += 1
      return wide.query(...given)
    },
  }
  const { columns } = await outcomeOf(METHODS.profile!, counted, {})
  // One query counts the rows. Each of the two types has one for the ranges and one for the most frequent values.
  assert.equal(asked, 5)
  const [first, , third] = columns as { name: string; distinct: number; top: object[] }[]
  assert.deepEqual([first!.name, first!.distinct, first!.top[0]], ['c0', 2, { value: 0, n: 30 }])
  assert.deepEqual([third!.name, third!.distinct, third!.top[0]], ['c2', 4, { value: 't0', n: 15 }])

  const narrow = await columnsOf({ v: [1, 2, 2] })
  const answers = new Map<string, ReturnType<typeof narrow.query>>()
  const wider = {
    ...narrow,
    columns: Array.from({ length: 5_500 }, () => narrow.columns[0]!),
    // All columns are the same one, so most of the queries are equal.
    query: (sql: string) => {
      const answer = answers.get(sql) ?? narrow.query(sql)
      answers.set(sql, answer)
      return answer
    },
  }
  const outcome = await outcomeOf(METHODS.profile!, wider, {})
  assert.equal((outcome.columns as object[]).length, 5_000)
  assert.match(outcome.summary, /^3 rows in 5,500 columns, of which the first 5,000 columns are profiled/)
})

test('the text of the queries of a profile grows as its columns do, and a wide table needs few of them', async () => {
  const cost = async (columns: number): Promise<{ queries: number; characters: number }> => {
    const wide = await relation(
      `select ${Array.from({ length: columns }, (_, index) => `k + ${index} as c${1_000_000 + index}`).join(', ')} from range(7) r(k)`,
    )
    const asked: string[] = []
    const query: typeof wide.query = (sql, values) => {
      asked.push(sql)
      return wide.query(sql, values)
    }
    const { columns: profiled } = await outcomeOf(METHODS.profile!, { ...wide, query }, {})
    const last = (profiled as { min: number; mean: number; max: number; distinct: number }[]).at(-1)!
    assert.deepEqual(
      [last.min, last.mean, last.max, last.distinct],
      [columns - 1, columns + 2, columns + 5, 7],
    )
    return { queries: asked.length, characters: asked.join('').length }
  }
  const [narrow, wide] = [await cost(300), await cost(3_000)]
  assert.deepEqual([narrow.queries, wide.queries], [3, 7])
  assert.ok(wide.characters < 10 * narrow.characters, `${narrow.characters}, then ${wide.characters}`)
})

test('a profile of a short table and of a long one gives the same numbers', async () => {
  const one = (n: number): string =>
    `select case when k % 7 = 0 then null else (k % 50) / 8.0::double end as x, k % 3 as g, 't' || (k % 4) as t,
       date '2024-01-01' + (k % 50)::int as d, k % 2 = 0 as b, [k % 2] as l, case when k % 50 = 0 then 'nan'::double else k % 5 end as v
     from range(${n}) r(k)`
  const [short, long] = [await relation(one(10_000)), await relation(one(10_500))]
  const fields = async (table: typeof short) =>
    (
      (await outcomeOf(METHODS.profile!, table, {})).columns as {
        min: unknown
        max: unknown
        distinct: number
        flags: string[]
      }[]
    ).map(({ min, max, distinct, flags }) => ({ min, max, distinct, flags }))
  assert.deepEqual(await fields(short), await fields(long))
  const empty = (await outcomeOf(METHODS.profile!, await relation(`${one(10_000)} where k < 0`), {})).columns
  assert.deepEqual(
    (empty as { nulls: number; distinct: number; min: null }[]).map(({ nulls, distinct, min }) => [
      nulls,
      distinct,
      min,
    ]),
    Array.from({ length: 7 }, () => [0, 0, null]),
  )
})

test('describe tells a median and quartiles to four digits, however wide the data spread', async () => {
  const table = await columnsOf({
    v: [1, 2, 20, 22.75, 30, 60, 90.5],
    w: [1, 2, 2000, 2275.75, 3000, 6000, 9050],
  })
  const median = async (value: string): Promise<string | undefined> =>
    /median ([\d,.]+\d),/.exec((await outcomeOf(METHODS.describe!, table, { value })).evidence)?.[1]
  assert.equal(await median('v'), '22.75')
  assert.equal(await median('w'), '2,276')
})
