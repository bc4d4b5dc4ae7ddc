import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Outcome } from '@assay/model/insight'
import { METHODS } from '../catalog.ts'
import { columnsOf, outcomeOf, relation } from '../relation-fixture.ts'

interface Coded {
  code: string
}

interface Point {
  time: string
  value: number
  low_95: number
  high_95: number
}

const asked = { time: 't', value: 'v' }
const pointsOf = (outcome: Outcome): Point[] => outcome.points as Point[]

test('known days to come stand in rows without a value, by name, as true or as a number', async () => {
  const days = (event: string) =>
    relation(
      `select date '2025-01-01' + k::int as t, case when k < 120 then 50 + (k * 7919 % 11) / 10 + case when k % 19 = 3 then 20 else 0 end end as v, ${event} as e from range(150) r(k)`,
    )
  for (const event of [
    "case when k % 19 = 3 then 'sale' end",
    'k % 19 = 3',
    'case when k % 19 = 3 then 2 else 0 end',
  ]) {
    const outcome = await outcomeOf(METHODS.forecast!, await days(event), {
      ...asked,
      horizon: 30,
      events: 'e',
    })
    const told = pointsOf(outcome).filter(({ value }) => value > 60)
    // The 120th day is 2025-05-01. Days 136 and 155 have sales, and the first of them is within the horizon.
    assert.deepEqual(
      told.map(({ time }) => time),
      ['2025-05-17'],
    )
    assert.ok(Math.abs(told[0]!.value - 70.5) < 1.5, String(told[0]!.value))
    assert.deepEqual(
      (outcome.events as { days: number; coming: number }[]).map((one) => [one.days, one.coming]),
      [[7, 1]],
    )
    assert.doesNotMatch(outcome.summary, /left out/, 'days to come are no rows that lack a value')
  }
})

test('a forecast that is worse than repeating the last value on its own past is withheld, with the numbers', async () => {
  // The series is a part of a slow wave. Its rise turns into a fall.
  const wave = Array.from({ length: 40 }, (_, row) => 20 * Math.sin((2 * Math.PI * row) / 40))
  const noisy = wave.map((value, row) => value + ((row * 7919) % 13) / 6)
  const outcome = await outcomeOf(
    METHODS.forecast!,
    await columnsOf({ t: noisy.map((_, row) => row), v: noisy }),
    asked,
  )
  assert.ok((outcome.mase as number) > (outcome.naive_mase as number))
  assert.equal(outcome.grade, 'withheld')
  assert.deepEqual(
    (outcome.blockers as Coded[]).map(({ code }) => code),
    ['not_forecastable'],
  )
  assert.equal(pointsOf(outcome).length, 12)
})

test('each period given is modelled or refused: one, several, none and one that is no whole number', async () => {
  const days = await relation(
    "select date '2022-01-01' + k::int as t, 100 + 20 * sin(2 * pi() * k / 365.25) + case when k % 7 = 0 then 5 else 0 end + (k * 7919 % 13) / 6 as v from range(1100) r(k)",
  )
  const ask = (period: unknown) => outcomeOf(METHODS.forecast!, days, { ...asked, horizon: 7, period })
  assert.deepEqual((await ask([365.25, 7])).periods, [7, 365.25])
  assert.deepEqual((await ask(365.25)).periods, [365.25])
  assert.deepEqual((await ask('none')).periods, [])
  const refused = await ask(600)
  assert.equal(refused.grade, 'withheld')
  assert.match(refused.headline, /a season of 600 needs at least 1200/)
  const auto = await ask('auto')
  assert.equal((auto.periods as number[]).length, 2)
})

test('four years of a yearly wave without noise are forecast as a wave, not at their last value', async () => {
  const wave = (k: number): number => 100 + 20 * Math.sin((2 * Math.PI * k) / 365)
  const days = await relation(
    "select date '2020-01-01' + k::int as t, 100 + 20 * sin(2 * pi() * k / 365) as v from range(1461) r(k)",
  )
  const outcome = await outcomeOf(METHODS.forecast!, days, { ...asked, period: 365, horizon: 180 })
  assert.deepEqual([outcome.period, outcome.grade], [365, 'likely'])
  for (const [step, { value }] of pointsOf(outcome).entries())
    assert.ok(Math.abs(value - wave(1461 + step)) < 0.2, `${step}: ${value}`)
})

test('a season that repeats itself almost to the last digit comes once more, where no model errs less', async () => {
  const wave = (k: number): number => 100 + 20 * Math.sin((2 * Math.PI * k) / 365.25)
  const days = await relation(
    "select date '2020-01-01' + k::int as t, 100 + 20 * sin(2 * pi() * k / 365.25) as v from range(1461) r(k)",
  )
  // The years are a quarter of a day longer than the requested season.
  const outcome = await outcomeOf(METHODS.forecast!, days, { ...asked, period: 365, horizon: 180 })
  assert.deepEqual([outcome.period, outcome.grade, outcome.blockers], [365, 'likely', []])
  assert.match(outcome.evidence, /last season once more .* errs by less than a hundredth of the range/)
  for (const [step, { value, low_95, high_95 }] of pointsOf(outcome).entries()) {
    const truth = wave(1461 + step)
    assert.ok(Math.abs(value - truth) < 0.2 && low_95 < truth && truth < high_95, `${step}: ${value}`)
  }
})

test('the round of a day shapes the forecast of a day and a half of hours, and is no season yet', async () => {
  const hours = await relation(
    "select timestamp '2025-03-03' + interval (k) hour as t, 100 + 20 * sin(2 * pi() * k / 24) + (hash(k) % 100) / 20 as v from range(38) r(k)",
  )
  const outcome = await outcomeOf(METHODS.forecast!, hours, { ...asked, horizon: 12 })
  assert.deepEqual([outcome.periods, (outcome.diagnosis as { seasons: unknown[] }).seasons], [[], []])
  for (const [step, { value }] of pointsOf(outcome).entries()) {
    const truth = 102.5 + 20 * Math.sin((2 * Math.PI * (38 + step)) / 24)
    assert.ok(Math.abs(value - truth) < 6, `${step}: ${value}, not ${truth}`)
  }
})

test('an unfinished last week is left out of a forecast of weeks', async () => {
  const weeks = await relation(
    "select date '2025-01-06' + 7 * k::int as t, case when k = 53 then 300 else 1350 + (k * 7919 % 13) end as v from range(54) r(k)",
  )
  const outcome = await outcomeOf(METHODS.forecast!, weeks, { ...asked, horizon: 2 })
  assert.ok(Math.abs(pointsOf(outcome)[0]!.value - 1356) < 20, JSON.stringify(outcome.points))
  assert.ok((outcome.caveats as Coded[]).some(({ code }) => code === 'period_partial'))
})

test('sales on selling days only are forecast at their rate a day where no row means zero', async () => {
  const sales = await relation(
    "select date '2025-01-01' + k::int as t, 4.0 as v from range(200) r(k) where k * 7919 % 10 < 3",
  )
  const outcome = await outcomeOf(METHODS.forecast!, sales, { ...asked, missing: 'zero' })
  assert.ok(Math.abs(pointsOf(outcome)[0]!.value - 1.2) < 0.4, JSON.stringify(pointsOf(outcome)[0]))
  assert.ok((outcome.caveats as Coded[]).some(({ code }) => code === 'sparse'))
})

test('where most days have no row a forecast is of a day that has one, and no claim of the day it names', async () => {
  const sales = await relation(
    "select date '2025-01-01' + k::int as t, 4.0 + sin(k) as v from range(300) r(k) where k * 7919 % 10 < 3",
  )
  const { grade, headline, caveats } = await outcomeOf(METHODS.forecast!, sales, { ...asked, horizon: 3 })
  assert.equal(grade, 'unclear')
  assert.match(headline, /^V may be .*, but most days have no row, and it holds for one that has a row\.$/)
  assert.ok((caveats as Coded[]).some(({ code }) => code === 'days_missing'))
})

test('what repeats itself exactly is forecast exactly: two values in turn, a season with a step, steady growth', async () => {
  const next: [sql: string, coming: (i: number) => number, n: number][] = [
    ['10 + 2 * (i % 2)', (i) => 10 + 2 * (i % 2), 31],
    ['100 + 3 * i + 7 * (i % 12)', (i) => 100 + 3 * i + 7 * (i % 12), 48],
    ['50 * pow(1.02, i) * (1 + i % 4)', (i) => 50 * 1.02 ** i * (1 + (i % 4)), 40],
    ['5 * i', (i) => 5 * i, 12],
  ]
  for (const [sql, coming, n] of next) {
    const table = await relation(
      `select date '2020-01-01' + interval (i) month as t, cast(${sql} as double) as v from range(${n}) r(i)`,
    )
    const points = pointsOf(await outcomeOf(METHODS.forecast!, table, { ...asked, horizon: 6 }))
    for (const [step, { value, low_95, high_95 }] of points.entries()) {
      assert.ok(Math.abs(value / coming(n + step) - 1) < 1e-9, `${sql}: ${value}`)
      assert.deepEqual([low_95, high_95], [value, value])
    }
  }
})

test('two values in turn with noise are told apart, and a share lies between 0 and 100 %', async () => {
  const noise = '(((i * i * 7919 + i * 104729 + 13) % 10007) / 10007.0 - 0.5)'
  const swing = await relation(
    `select date '2020-01-01' + interval (i) month as t, 100 + 40 * (i % 2) + 6 * ${noise} as v from range(60) r(i)`,
  )
  const [low, high] = pointsOf(await outcomeOf(METHODS.forecast!, swing, asked))
  assert.ok(Math.abs(low!.value - 100) < 5 && Math.abs(high!.value - 140) < 5)
  const share = await relation(
    `select date '2020-01-01' + interval (i) month as t, 0.98 + 0.04 * ${noise} as v from range(60) r(i)`,
  )
  const meaning = { label: 'trains on time', unit: null, fmt: 'pct1', good: 'up', target: null } as const
  const meanings = new Map([['v', meaning]])
  const bounded = await outcomeOf(METHODS.forecast!, share, asked, undefined, { meanings })
  assert.ok(pointsOf(bounded).every(({ low_95, high_95 }) => low_95 > 0.9 && high_95 === 1))
  assert.match(
    bounded.headline,
    /^Trains on time are expected to be 97\.\d % \(very likely 95\.\d to 100 %\)/u,
  )
  const plain = pointsOf(await outcomeOf(METHODS.forecast!, share, asked))
  assert.ok(plain.every(({ high_95 }) => high_95 > 1))
})

test('ranges of whole numbers from 0 on do not reach below zero, also of thousands, but those of a balance do', async () => {
  const visits = Array.from({ length: 48 }, (_, row) =>
    Math.max(0, 9000 - 180 * row + ((row * row * 7919) % 4001)),
  )
  const times = visits.map((_, row) => new Date(Date.UTC(2021, row, 1)).toISOString().slice(0, 10))
  const lowest = async (name: string, values: readonly number[]): Promise<number> => {
    const table = await columnsOf({ t: times, [name]: values }, { t: 'DATE' })
    const options = { time: 't', value: name, horizon: 24 }
    const outcome = await outcomeOf(METHODS.forecast!, table, options)
    return Math.min(...pointsOf(outcome).flatMap(({ value, low_95 }) => [value, low_95]))
  }
  assert.equal(await lowest('visits', visits), 0)
  assert.ok((await lowest('balance', visits)) < 0)
  assert.ok(
    (await lowest(
      'visits',
      visits.map((value) => value + 0.5),
    )) < 0,
  )
  const table = await columnsOf(
    { t: times, visits: visits.map((value, row) => (row === 20 ? 90_000 : value)) },
    { t: 'DATE' },
  )
  const spikes = await outcomeOf(METHODS.anomalies!, table, { time: 't', value: 'visits' })
  const [spike] = spikes.points as { low: number; value: number }[]
  assert.equal(spike!.value, 90_000)
  assert.ok(spike!.low >= 0)
})

test('a range that has no width in the digits that are told is left out', async () => {
  const nearly = await relation(
    `select date '2024-01-01' + i::int as t, 100 + (hash(i) % 1000) / 1e5 as v from range(200) t(i)`,
  )
  const outcome = await outcomeOf(METHODS.forecast!, nearly, asked)
  const [first] = pointsOf(outcome)
  assert.ok(first!.low_95 < first!.value && first!.value < first!.high_95)
  assert.match(outcome.headline, / 100 on 19 July 2024/)
  assert.doesNotMatch(outcome.headline, /very likely/)
})

test('too few values and constants are answered', async () => {
  const few = await outcomeOf(METHODS.forecast!, await columnsOf({ t: [1, 2, 3], v: [1, 5, 2] }), asked)
  assert.equal((few.blockers as Coded[])[0]!.code, 'too_few')
  const flat = await columnsOf({ t: [1, 2, 3, 4, 5, 6, 7, 8], v: [5, 5, 5, 5, 5, 5, 5, 5] })
  const constant = await outcomeOf(METHODS.forecast!, flat, asked)
  assert.deepEqual([pointsOf(constant)[0]!.value, pointsOf(constant)[0]!.low_95], [5, 5])
  assert.deepEqual([constant.grade, (constant.caveats as Coded[])[0]!.code], ['unclear', 'constant'])
})

test('a dozen values have a forecast that says how unsure its range is', async () => {
  const values = (n: number) =>
    relation(
      `select date '2025-01-01' + k::int as t, 50 + k + (k * 7919 % 11) / 4 as v from range(${n}) r(k)`,
    )
  const told = async (n: number) => {
    const outcome = await outcomeOf(METHODS.forecast!, await values(n), asked)
    return { grade: outcome.grade, codes: (outcome.caveats as Coded[]).map(({ code }) => code) }
  }
  const few = await told(12)
  assert.equal(few.grade, 'unclear')
  assert.ok(few.codes.includes('history_short'))
  assert.ok(!(await told(48)).codes.includes('history_short'))
})

test('one value far out at the end is left out of a forecast and named', async () => {
  const table = await relation(
    `select date '2025-01-01' + k::int as t, case when k = 119 then 500000 else 100 + (k * 7919 % 11) / 4 end as v from range(120) r(k)`,
  )
  const outcome = await outcomeOf(METHODS.forecast!, table, asked)
  const [first] = pointsOf(outcome)
  assert.ok(first!.low_95 > 90 && first!.high_95 < 110, JSON.stringify(first))
  const told = (outcome.caveats as { code: string; says: string }[]).find(
    ({ code }) => code === 'tails_heavy',
  )
  assert.match(told!.says, /30 April 2025, 500,000, stands far out and is left out/)
})

test('hours to come keep the season and the known days of the clocks across a change of these', async () => {
  const local = "timezone('Europe/Berlin', timezone('UTC', u))"
  for (const [from, change] of [
    ['2024-03-10', '2024-03-31T01:00'],
    ['2024-03-24', '2024-03-31T01:00'],
    ['2024-10-06', '2024-10-27T01:00'],
  ] as const) {
    const n = from === '2024-03-24' ? 160 : 480
    const table = await relation(
      `select timezone('UTC', u) as t, h = 9 as e,
         case when i < ${n} then 100 + 50 * sin(2 * pi() * h / 24) + if(h = 9, 80, 0) + (hash(i) % 100) / 100.0 end as v
       from (select *, extract(hour from ${local}) as h from (select i, timestamp '${from}' + interval (i) hour as u from range(${n + 72}) r(i)))`,
    )
    const given = { ...asked, horizon: 72, events: 'e' }
    const outcome = await outcomeOf(METHODS.forecast!, table, given, undefined, {
      time_zone: 'Europe/Berlin',
    })
    const points = pointsOf(outcome)
    assert.equal(points.length, 72)
    assert.ok(new Date(points[71]!.time) > new Date(`${change}Z`), from)
    const clock = new Intl.DateTimeFormat('en', {
      timeZone: 'Europe/Berlin',
      hour: 'numeric',
      hourCycle: 'h23',
    })
    for (const { time, value } of points) {
      const hour = Number(clock.format(new Date(time)))
      const truth = 100.5 + 50 * Math.sin((2 * Math.PI * hour) / 24) + (hour === 9 ? 80 : 0)
      assert.ok(Math.abs(value - truth) < 5, `${from}: ${time} is ${value}, not ${truth}`)
    }
    const steps = points.slice(1).map(({ time }, at) => Date.parse(time) - Date.parse(points[at]!.time))
    assert.deepEqual([...new Set(steps)], [3_600_000])
  }
})

test('times to come keep to the hour on the clocks of the zone: daily, on working days, weekly, monthly, every six hours', async () => {
  const zone = 'Europe/Berlin'
  const clock = new Intl.DateTimeFormat('en', { timeZone: zone, hour: '2-digit', hourCycle: 'h23' })
  const at = (step: string, n: number, from: string, rows = 'true') =>
    `select timezone('${zone}', t) as t, 50 + hash(i) % 7 as v from
       (select i, timestamp '${from}' + i * interval (${step}) as t from range(${n}) r(i)) where ${rows}`
  const cases: [string, number, string[]][] = [
    // The clocks go forward on 31 March 2024: after the end in one series, and within the other.
    [at("'1 day'", 40, '2024-02-15 09:00'), 10, ['09']],
    [at("'1 day'", 40, '2024-03-05 09:00'), 10, ['09']],
    [at("'1 day'", 60, '2024-09-20 23:00'), 10, ['23']],
    [at("'1 day'", 41, '2024-02-15 09:00', 'dayofweek(t) between 1 and 5'), 10, ['09']],
    [at("'7 days'", 30, '2023-08-28 09:00'), 10, ['09']],
    [at("'1 month'", 30, '2021-09-01 00:30'), 10, ['00']],
    [at("'6 hours'", 100, '2024-03-05 00:00'), 12, ['00', '06', '12', '18']],
    [at("'6 hours'", 180, '2024-02-20 00:00'), 12, ['00', '06', '12', '18']],
  ]
  for (const [sql, horizon, hours] of cases) {
    const outcome = await outcomeOf(
      METHODS.forecast!,
      await relation(sql),
      { ...asked, horizon },
      undefined,
      { time_zone: zone },
    )
    const times = pointsOf(outcome).map(({ time }) => time)
    assert.equal(new Set(times).size, horizon)
    assert.deepEqual([...new Set(times.map((time) => clock.format(new Date(time))))].toSorted(), hours, sql)
    const gaps = (outcome.diagnosis as { gaps: { n: number } }).gaps
    assert.equal(gaps.n, 0, sql)
  }
  // Midnights of UTC are even in time, whatever the zone is.
  const utc = await relation(
    "select timestamptz '2024-03-01 00:00:00+00' + i * interval '1 day' as t, 50 + hash(i) % 7 as v from range(40) r(i)",
  )
  const even = await outcomeOf(METHODS.forecast!, utc, { ...asked, horizon: 5 }, undefined, {
    time_zone: zone,
  })
  assert.match(pointsOf(even)[4]!.time, /T00:00:00Z/)
})
