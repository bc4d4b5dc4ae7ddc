import assert from 'node:assert/strict'
import path from 'node:path'
import { test } from 'node:test'
import { METHODS } from './catalog.ts'
import { outcomeOf, relation } from './relation-fixture.ts'

const months = (value: string, n = 24) =>
  relation(
    `select date '2020-01-01' + interval (k) month as t, cast(${value} as double) as v from range(${n}) r(k)`,
  )
const compared = async (value: string) =>
  outcomeOf(METHODS.compare!, await months(value), { time: 't', value: 'v' })

test('a change is reported as a share only of a base that can bear it', async () => {
  const usual = await compared('100 + k')
  assert.equal(usual.relative, 1 / 122)
  assert.match(usual.summary, /^V came to 123 in December 2021, up 0\.82 % from 122 in November 2021\./)
  for (const [value, reason] of [
    ['case when k = 22 then 0.001 else 100 + k end', /too near zero/],
    ['case when k = 22 then 0 else 100 + k end', /too near zero/],
    ['case when k = 22 then -50 else 100 + k end', /has the other sign/],
  ] as const) {
    const { relative, summary, notes } = await compared(value)
    assert.equal(relative, null, value)
    assert.doesNotMatch(summary, /%/)
    assert.ok(notes.some((note) => reason.test(note)))
  }
})

test('a rise is reported beside a cycle in yearly data and beside a year in monthly data', async () => {
  const cycle = 'sin(k * 2 * pi() / 11) * 10 + 0.3 * k'
  const asked = { time: 't', value: 'v' }
  const years = await relation(`select 1900 + k as t, ${cycle} as v from range(110) r(k)`)
  const dates = await relation(
    `select make_date(1900 + k::int, 1, 1) as t, ${cycle} as v from range(110) r(k)`,
  )
  for (const table of [years, dates]) {
    const outcome = await outcomeOf(METHODS.trend!, table, asked)
    assert.equal(outcome.direction, 'increasing')
    assert.ok(Math.abs((outcome.slope as number) - 0.3) < 0.05, String(outcome.slope))
  }
  const ranked = await outcomeOf(METHODS.trend!, years, { ...asked, test: 'seasonal', period: 11 })
  assert.match(ranked.method, /^seasonal/)
  const monthly = await outcomeOf(METHODS.trend!, await months('sin(k * pi() / 6) * 10 + k', 96), asked)
  assert.deepEqual([monthly.direction, monthly.period], ['increasing', 12])
  assert.ok(Math.abs((monthly.slope as number) - 1) < 0.01, String(monthly.slope))
})

test('anomalies below the floors are not told, and that is not called chance', async () => {
  const table = await relation(
    `select date '2025-01-01' + i::int as day, 100 + (hash(i) % 1000) / 1000.0 + case i when 50 then 8 when 80 then 60 else 0 end as v from range(120) t(i)`,
  )
  const asked = { time: 'day', value: 'v' }
  const told = async (at_least?: Record<string, number>) => {
    const outcome = await outcomeOf(METHODS.anomalies!, table, at_least ? { ...asked, at_least } : asked)
    return {
      headline: outcome.headline,
      times: (outcome.points as { time: string }[]).map(({ time }) => time),
    }
  }
  assert.deepEqual((await told()).times, ['2025-02-20', '2025-03-22'])
  assert.deepEqual((await told({ relative: 0.2 })).times, ['2025-03-22'])
  assert.deepEqual((await told({ absolute: 20 })).times, ['2025-03-22'])
  assert.deepEqual((await told({ relative: 0.05, absolute: 7 })).times, ['2025-02-20', '2025-03-22'])
  const none = await told({ absolute: 100 })
  assert.deepEqual(none.times, [])
  assert.equal(
    none.headline,
    'No value of v lies as far from the usual as asked for; 2 values stand out by less.',
  )
  const latest = await outcomeOf(METHODS.anomalies!, table, { ...asked, latest: 1 })
  assert.match(latest.headline, /^The latest value of v does not stand out/)
  const scanned = { ...asked, by: ['part'], at_least: { absolute: 100 } }
  const parts = await relation(`select *, 'a' as part from ${table.relation}`)
  const few = await outcomeOf(METHODS.anomalies!, parts, scanned)
  assert.match(few.headline, /^No value of v lies as far from the usual as asked for/)
})

test('anomalies take seasons out, and refuse a season of which there are not two', async () => {
  const season =
    'case when k % 12 = 5 then 10 when k % 12 = 9 then -6 else 0 end + (k * k % 7) / 10 + case when k = 20 then 8 else 0 end'
  const asked = { time: 't', value: 'v' }
  const found = await outcomeOf(METHODS.anomalies!, await months(season, 46), asked)
  assert.equal(found.period, 12)
  assert.deepEqual(
    (found.points as { time: string }[]).map(({ time }) => time),
    ['2021-09-01T00:00:00'],
  )
  const few = await outcomeOf(METHODS.anomalies!, await months(season, 46), { ...asked, period: 24 })
  assert.equal(few.grade, 'withheld')
  assert.match(few.headline, /a season of 24 needs at least 48/)
})

test('a funnel takes its window in years', async () => {
  const table = await relation(
    "select * from (values (1, date '2000-01-01', 'a'), (1, date '2001-06-01', 'b'), (2, date '2000-01-01', 'a'), (2, date '2003-01-01', 'b'), (3, date '2010-01-01', 'c')) r(i, t, e)",
  )
  const asked = { id: 'i', time: 't', event: 'e', steps: ['a', 'b'] }
  const steps = async (window: string) =>
    ((await outcomeOf(METHODS.funnel!, table, { ...asked, window })).steps as { n: number }[]).map(
      ({ n }) => n,
    )
  assert.deepEqual(await steps('2 years'), [2, 1])
  assert.deepEqual(await steps('40 months'), [2, 2])
  assert.deepEqual(await steps('1 year'), [2, 0])
})

test('days are on, months are in', async () => {
  const days = await relation(
    "select date '2024-01-01' + k::int as t, (k % 7) * 5 + (k * k % 5) / 10 as v from range(140) r(k)",
  )
  const { summary } = await outcomeOf(METHODS.seasonality!, days, { time: 't', value: 'v' })
  assert.match(summary, /highest on Sunday, .* lowest on Monday/)
})

test('two years of weeks show a year', async () => {
  const weeks = await relation(
    "select date '2022-01-03' + 7 * k::int as t, 100 + 20 * sin(k * 2 * pi() / 52.18) as v from range(104) r(k)",
  )
  const { grade, summary } = await outcomeOf(METHODS.seasonality!, weeks, { time: 't', value: 'v' })
  assert.equal(grade, 'firm')
  assert.match(summary, /clearly a yearly season/)
})

test('several periods to come are left out in one sentence', async () => {
  const table = await relation(
    "select date '2025-01-01' + interval (k) month as t, 10 + k % 3 as v from range(24) r(k)",
  )
  const { caveats } = await outcomeOf(METHODS.compare!, table, { time: 't', value: 'v' })
  const said = caveats.filter(({ code }) => code === 'period_partial').map(({ says }) => says)
  assert.deepEqual(said, [
    '12 months from January 2026 to December 2026 are not over yet. They are left out.',
  ])
})

test('no value of a series without noise is called the farthest', async () => {
  const { headline } = await outcomeOf(METHODS.anomalies!, await months('1e9 + k % 2'), {
    time: 't',
    value: 'v',
  })
  assert.equal(headline, 'No value of v stands out.')
})

test('two sides that are the same are no question of drivers', async () => {
  const table = await relation("select * from (values ('b', 'x', 10), ('a', 'x', 5)) r(s, g, v)")
  const same = { column: 's', before: 'a', after: 'a' }
  const told = await outcomeOf(METHODS.drivers!, table, { value: 'v', by: ['g'], split: same })
  assert.equal(told.grade, 'withheld')
  assert.equal(
    told.headline,
    'There is not enough data to say what moved v: both sides of the split are the same.',
  )
})

test('drivers tell no share of a base of the other sign', async () => {
  const table = await relation(
    "select * from (values ('b', 'x', -10), ('b', 'y', 2), ('a', 'x', 5), ('a', 'y', 3)) r(s, g, v)",
  )
  const { change, relative, summary } = await outcomeOf(METHODS.drivers!, table, {
    value: 'v',
    by: ['g'],
    split: { column: 's', before: 'b', after: 'a' },
  })
  assert.deepEqual([change, relative], [16, null])
  assert.match(summary, /^V came to 8 in s "a", up 16 from minus 8 in s "b"/)
})

test('a coefficient that rounds to nothing has no sign', async () => {
  const table = await relation(
    'select k % 2 as v, k // 2 % 2 as w from range(4000) r(k) union all select 1, 0',
  )
  const { evidence } = await outcomeOf(METHODS.correlation!, table, { values: ['v', 'w'] })
  assert.match(evidence, /^Strongest pair v and w: r = 0\.000, 95 % interval -0\.031 to 0\.031/)
})

test('days that break the rhythm every year are reported as such, though so many of them make heavy tails', async () => {
  const file = path.join(import.meta.dirname, '../../../templates/data/us-births.csv')
  const births = await relation(
    `select date as day, births from read_csv('${file}') where date >= date '2001-01-01'`,
  )
  const outcome = await outcomeOf(METHODS.anomalies!, births, { time: 'day', value: 'births' })
  const days = (outcome.points as { time: string }[]).map(({ time }) => time)
  // The list holds Christmas, New Year, Independence Day, Thanksgiving, Labor Day and Memorial Day of three years.
  for (const day of [
    ...['2001', '2002', '2003'].flatMap((year) => [`${year}-12-25`, `${year}-01-01`, `${year}-07-04`]),
    '2001-11-22',
    '2002-11-28',
    '2003-11-27',
    '2001-09-03',
    '2002-09-02',
    '2003-09-01',
    '2001-05-28',
    '2002-05-27',
    '2003-05-26',
  ])
    assert.ok(days.includes(day), day)
  assert.match(
    outcome.headline,
    /^2\d values of births stand out, all of them on the same days each year; on 25 December 2001 births stood at 6,440, below the usual 12,\d00 to 14,\d00\.$/,
  )
})

test('hours are told by the clocks of the zone, also where summer time begins', async () => {
  const hours = await relation(
    `select timezone('UTC', timestamp '2024-03-01' + to_hours(i::int)) as at,
      10 + 5 * cos(2 * pi() * (i + 1 + (i >= 721)::int - 6) / 24) + (hash(i) % 100) / 200.0 + case when i = 800 then 30 else 0 end as kwh from range(1440) r(i)`,
  )
  const asked = { time: 'at', value: 'kwh' }
  const zone = { time_zone: 'Europe/Berlin' }
  const season = await outcomeOf(METHODS.seasonality!, hours, asked, undefined, zone)
  assert.match(season.headline, /daily season in kwh: highest at 06:00,/)
  const spike = await outcomeOf(METHODS.anomalies!, hours, asked, undefined, zone)
  // The row is at 08:00 UTC.
  assert.match(spike.headline, /^On 3 April 2024, 10:00 kwh stood at/)
})

test('one row of a short series of alike neighbours does not decide by its own', async () => {
  const trending = await relation(
    `select date '2020-01-01' + interval (i) month as t, 1 + 0.02 * i + (hash(i) % 100) / 10000.0 as x, 3 + 0.06 * i + (hash(i + 99) % 100) / 10000.0 as y from range(48) r(i)`,
  )
  const outcome = await outcomeOf(METHODS.correlation!, trending, { values: ['x', 'y'] })
  assert.ok(outcome.caveats.every(({ code }) => code !== 'one_row_decides'))
})

test('a change that a single row makes is reported as that of the row, and one of many rows is not', async () => {
  const orders = (giant: string) =>
    relation(
      `select date '2025-03-01' + (i % 92)::int as day, ['DE', 'US', 'FR'][1 + i % 3] as country, 90 + (hash(i) % 2000) / 100.0 as sales
        from range(2000) r(i) union all select date '2025-05-12', 'DE', ${giant}`,
    )
  const asked = { value: 'sales', time: 'day', period: 'month', by: ['country'] }
  const doubtOf = async (giant: string): Promise<string | undefined> => {
    const { caveats } = await outcomeOf(
      METHODS.drivers!,
      await orders(giant),
      asked,
      '2025-07-01T00:00:00.000Z',
    )
    return caveats.find(({ code }) => code === 'one_row_decides')?.says
  }
  assert.match(
    (await doubtOf('40000'))!,
    /^Without one single row, of 40,000 in May 2025, (?:the rise would be|there would be a \w+ of) [\d.,]+ a day in place of (?:a rise of )?1,\d+ a day\.$/,
  )
  assert.equal(await doubtOf('100'), undefined)
})

test('a value far smaller than the change beside it is reported, and not as nothing', async () => {
  const { summary } = await compared('case when k = 23 then 1e7 else 100 + k end')
  assert.match(summary, /^V rose to 10 million in December 2021 from 100 in November 2021, up by 10 million/)
})

test('values far from zero, or of any size, keep how they spread', async () => {
  const away = await relation(
    "select k as u, if(k % 2 = 0, 'a', 'b') as g, cast(9007199254740992 + 2 * k as double) as v from range(60) r(k)",
  )
  const asked = { unit: 'u', arm: 'g', control: 'a', metrics: [{ name: 'm', value: 'v' }] }
  assert.equal((await outcomeOf(METHODS.experiment!, away, asked)).grade, 'unclear')
  const slope = async (size: string) =>
    outcomeOf(
      METHODS.regression!,
      await relation(`select ${size} * sin(k * k) as v, cos(k * k * k) as w from range(60) r(k)`),
      { y: 'v', x: ['w'] },
    )
  const [plain, ...others] = await Promise.all(['1', '1e300', '1e-290'].map(slope))
  for (const { p, r_squared } of others)
    assert.ok(
      Math.abs((p as number) - (plain!.p as number)) < 1e-9 &&
        Math.abs((r_squared as number) - (plain!.r_squared as number)) < 1e-9,
    )
})

test('fewer rows than a result needs are told by that code, not as values that are mostly zero', async () => {
  const few = await relation(
    "select k as t, cast(k * k % 7 as double) as v, sin(k) as w, if(k = 4, 'b', 'a') as g from range(5) r(k)",
  )
  for (const [method, given] of [
    ['regression', { y: 'v', x: ['w'] }],
    ['anova', { value: 'v', by: 'g' }],
  ] as const) {
    const { caveats, blockers } = await outcomeOf(METHODS[method]!, few, given)
    assert.deepEqual([caveats.some(({ code }) => code === 'too_few'), blockers], [true, []], method)
  }
})

test('of one group alone its own sentence is reported, of two both, and a rise of two days as one', async () => {
  const rising = (groups: number) =>
    relation(
      `select date '2024-01-01' + cast(k as int) as t, 'g' || (k % ${groups}) as g, cast(k as double) as v from range(60) r(k)`,
    )
  const asked = { time: 't', value: 'v', by: 'g' }
  const one = await outcomeOf(METHODS.trend!, await rising(1), asked)
  assert.match(one.headline, /^G "g0": V clearly rose .*, by about 1 a day\.$/)
  const two = await outcomeOf(METHODS.trend!, await rising(2), asked)
  assert.match(two.headline, /^Both values of g give a clear answer; "g0": .* by about 2 every 2 days\.$/)
})

test('the largest row of monthly sums is there each month, and is no single row that makes the change', async () => {
  const cities = await relation(
    `select make_date(2025, m, 1) as day, 'city ' || c as city, 1500 // c * (1 - 0.3 * (c = 1 and m = 6)::int) + hash(c, m) % 9 as sales
      from range(1, 7) r(m), range(1, 101) s(c)`,
  )
  const asked = { value: 'sales', time: 'day', period: 'month', by: ['city'] }
  const { caveats, change } = await outcomeOf(METHODS.drivers!, cities, asked, '2025-07-01T00:00:00.000Z')
  assert.ok(Math.abs(change as number) < 750)
  assert.ok(caveats.every(({ code }) => code !== 'one_row_decides'))
})

test('a season of sums of months that is that of their lengths is reported as such, and another one is not', async () => {
  const days = 'day(last_day(t))'
  const seasonOf = async (value: string) =>
    outcomeOf(
      METHODS.seasonality!,
      await relation(
        `select t, cast(${value} as double) as v from (select date '2020-01-01' + interval (k) month as t, k from range(48) r(k))`,
      ),
      { time: 't', value: 'v' },
    )
  const lengths = await seasonOf(`100 * ${days} + sin(k * k)`)
  assert.deepEqual(
    [lengths.grade, lengths.caveats.some(({ code }) => code === 'periods_unequal')],
    ['firm', true],
  )
  const warm = await seasonOf('20 + 10 * sin(k * pi() / 6) + sin(k * k)')
  assert.deepEqual([warm.grade, warm.caveats.map(({ code }) => code)], ['firm', []])
})

test('steps of minutes and of several hours are named by them, and counted as times', async () => {
  const every = async (minutes: number, gap = '') =>
    outcomeOf(
      METHODS.trend!,
      await relation(
        `select timestamp '2024-01-01' + interval (${minutes} * k) minute as t, k + sin(k * k) as v from range(100) r(k) ${gap}`,
      ),
      { time: 't', value: 'v' },
    )
  assert.match((await every(15)).headline, /, by about 1 every 15 minutes\.$/)
  assert.match(
    (await every(120, 'where k <> 50')).summary,
    /, by about 1 every 2 hours\. 1 of 100 times has no row\./,
  )
})

test('values around zero name the part that left it, and where none did none', async () => {
  const profit = (rise: number) =>
    relation(
      `select d::date as day, country, channel, 20 * (list_sum(list_transform(range(12), k -> (hash(d, country, channel, k) % 10000) / 10000.0)) - 6)
          + if(country = 'US' and d >= date '2025-06-01', ${rise}, 0) as profit
        from generate_series(date '2025-05-01', date '2025-06-30', interval 1 day) t(d), unnest(['DE', 'US', 'FR', 'UK']) c(country),
          unnest(['paid', 'organic', 'email']) h(channel)`,
    )
  const asked = { value: 'profit', time: 'day', period: 'month', by: ['country', 'channel'] }
  const causes = async (rise: number) => {
    const outcome = await outcomeOf(METHODS.drivers!, await profit(rise), asked, '2025-07-01T00:00:00.000Z')
    return (outcome.causes as { where: unknown }[]).map(({ where }) => where)
  }
  assert.deepEqual(await causes(40), [{ country: 'US' }])
  assert.deepEqual(await causes(0), [])
})
