import assert from 'node:assert/strict'
import { test } from 'node:test'
import { outcomeOf, relation } from '../relation-fixture.ts'
import { compare } from './compare.ts'

const codes = (outcome: { caveats: { code: string }[]; blockers: { code: string }[] }): string[] =>
  [...outcome.blockers, ...outcome.caveats].map(({ code }) => code)
const daily = (value: string, where = 'true', days = 140) =>
  relation(
    `select date '2024-01-01' + k::int as t, cast(${value} as double) as v from range(${days}) r(k) where ${where}`,
  )
const asked = { time: 't', value: 'v' }

test('three missing days are no fall: weeks are compared on the weekdays that both have', async () => {
  const table = await daily('1000 + (k % 7) * 100', 'k not in (128, 129, 130)')
  const outcome = await outcomeOf(compare, table, { ...asked, period: 'week' })
  assert.equal(outcome.current_period, 'the week of 2024-05-13')
  const earlier = await outcomeOf(
    compare,
    await daily('1000 + (k % 7) * 100', 'k not in (128, 129, 130) and k < 133'),
    { ...asked, period: 'week' },
  )
  assert.equal(earlier.direction, 'none')
  assert.ok(codes(earlier).includes('days_missing'))
  assert.equal(
    earlier.summary,
    'V stayed level: 1,300 a day in the week of 6 May 2024 and as much in the week of 29 April 2024. 3 of 7 days of the week of 6 May 2024 have no data. The comparison is over the 4 weekdays that both weeks have; if no row means zero, write missing: zero.',
  )
  const zero = await outcomeOf(compare, await daily('1000', 'k not in (128, 129, 130) and k < 133'), {
    ...asked,
    period: 'week',
    missing: 'zero',
  })
  assert.equal(zero.direction, 'decreasing')
  assert.ok(Math.abs((zero.relative as number) + 3 / 7) < 1e-12)
})

test('a longer month with the same amount a day is level, and says that it is longer', async () => {
  const outcome = await outcomeOf(compare, await daily('300', 'true', 60), asked)
  assert.deepEqual([outcome.current, outcome.previous, outcome.direction], [8700, 9300, 'none'])
  assert.ok(codes(outcome).includes('periods_unequal'))
  assert.match(
    outcome.summary,
    /^V stayed level: 300 a day in February 2024 and as much in January 2024\. January 2024 has 2 days more\./,
  )
})

test('a last period without all its days is left out, and keep counts it', async () => {
  const table = await daily('100', 'true', 86)
  const left = await outcomeOf(compare, table, asked)
  assert.equal(left.current_period, 'February 2024')
  assert.ok(codes(left).includes('period_partial'))
  assert.match(left.summary, /March 2024 has data only until 26 March 2024\. It is left out\./)
  const kept = await outcomeOf(compare, table, { ...asked, partial: 'keep' })
  assert.equal(kept.current_period, 'March 2024')
  assert.equal(kept.direction, 'none')
})

test('a usual swing is called usual, and one far beyond the earlier ones is not', async () => {
  const noise = `100 + ((k * 7919 + 13) % 101) / 10.0`
  const months = (last: string) =>
    relation(
      `select date '2020-01-01' + interval (k) month as t, case when k = 35 then ${last} else ${noise} end as v from range(36) r(k)`,
    )
  const usual = await outcomeOf(compare, await months('103'), asked)
  assert.equal(usual.grade, 'unclear')
  assert.match(usual.headline, /A swing this large is not unusual here\.$/)
  const fallen = await outcomeOf(compare, await months('20'), asked)
  assert.equal(fallen.grade, 'firm')
  assert.match(
    fallen.headline,
    /^V fell to 20 in December 2022 from 1\d\d in November 2022, down \d\d %: more than usual\.$/,
  )
})

test('the sign of a headline is a word, and no headline holds a statistic', async () => {
  for (const value of ['k * -3.0 - 50', '100 - k * k', 'case when k < 100 then 5 else -200 end', '0']) {
    for (const period of ['week', 'month']) {
      const { headline } = await outcomeOf(compare, await daily(value), { ...asked, period })
      assert.doesNotMatch(headline, /[-+−]\d|z =|p =|n =/, headline)
    }
  }
})

test("a day in the template's zone belongs to the local month", async () => {
  const table = await relation(
    `select timezone('America/Chicago', (date '2024-01-01' + k::int)::timestamp + interval 20 hour) as t, 10.0 as v from range(121) r(k)`,
  )
  const outcome = await outcomeOf(compare, table, asked, undefined, { time_zone: 'America/Chicago' })
  assert.deepEqual([outcome.current_period, outcome.current, outcome.previous], ['April 2024', 300, 310])
  assert.equal(outcome.direction, 'none')
})

test('rows without a number, and the periods before a gap, are told as left out', async () => {
  const table = await daily('case when k % 20 = 7 then null else 100 end')
  const outcome = await outcomeOf(compare, table, asked)
  assert.match(outcome.summary, /7 rows without a time or a number are left out\./)
  assert.ok(codes(outcome).includes('rows_left_out'))
  const none = await outcomeOf(compare, await daily('null'), asked)
  assert.deepEqual(codes(none), ['too_few', 'rows_left_out'])
  const gap = await outcomeOf(compare, await daily('100', 'k not between 60 and 90'), {
    ...asked,
    period: 'week',
  })
  assert.match(
    gap.summary,
    /Between the week of 26 February 2024 and the week of 1 April 2024 there are no data; only the changes since then are looked at\./,
  )
})

test('a Monday is compared with the Friday before where weekends have no rows, and an empty week counts as zero where asked', async () => {
  const open = await outcomeOf(compare, await daily('100 + k % 7', 'k % 7 < 5 and k < 78'), {
    ...asked,
    period: 'day',
  })
  assert.deepEqual([open.current_period, open.previous_period], ['2024-03-18', '2024-03-15'])
  assert.match(
    open.headline,
    /^V came to 100 on 18 March 2024, down 3\.8 % from 104 on 15 March 2024\. A swing this large is not unusual here\.$/,
  )
  const empty = await outcomeOf(compare, await daily('100', 'k < 126 or k >= 133'), {
    ...asked,
    period: 'week',
    missing: 'zero',
  })
  assert.deepEqual([empty.current, empty.previous], [700, 0])
})

test('a year before is told per day where a leap day or missing days lie between', async () => {
  const table = await relation(
    "select date '2023-02-01' + k::int as t, 100.0 as v from range(394) r(k) where k not between 3 and 5",
  )
  const { against } = await outcomeOf(compare, table, asked)
  const [year] = against as { says: string; relative: number }[]
  assert.equal(year!.says, 'A year before, in February 2023: 100 a day; as much now.')
  assert.equal(year!.relative, 0)
})

test('a year before is told per day where the headline is, so that the two can be compared', async () => {
  const table = await relation(
    "select date '2022-12-01' + k::int as t, 100.0 + k // 365 as v from range(396) r(k)",
  )
  const { headline, against } = await outcomeOf(compare, table, asked)
  assert.match(headline, /^V came to 101 a day in December 2023,/)
  const [year] = against as { says: string; value: number }[]
  assert.equal(year!.says, 'A year before, in December 2022: 100 a day; now 1 % more.')
  assert.equal(year!.value, 3100)
})

test('what repeats every week is no change, and a change from one value throughout is', async () => {
  const weekly = await outcomeOf(compare, await daily('100 + 50 * (k % 7)'), { ...asked, period: 'day' })
  assert.deepEqual([weekly.grade, weekly.p], ['unclear', 1])
  const flat = await outcomeOf(compare, await daily('case when k = 139 then 50 else 100 end'), {
    ...asked,
    period: 'day',
  })
  const few = await outcomeOf(compare, await daily('case when k = 11 then 50 else 100 end', 'true', 12), {
    ...asked,
    period: 'day',
  })
  assert.deepEqual([few.grade, few.p], ['unclear', null])
  assert.match(few.headline, /down 50 % from 100 on 11 January 2024\.$/)
  assert.match(few.summary, /All 10 earlier changes were alike: .* \(19 are needed\)\.$/u)
  assert.deepEqual([flat.grade, flat.direction], ['firm', 'decreasing'])
})

test('a last day of two hours on the clocks of the zone is no fall', async () => {
  const table = await relation(
    `select timezone('UTC', timestamp '2024-03-01' + to_hours(k::int)) as t, 10.0 as v from range(1440) r(k)`,
  )
  const hourly = { ...asked, period: 'day' }
  const outcome = await outcomeOf(compare, table, hourly, undefined, { time_zone: 'Europe/Berlin' })
  assert.deepEqual([outcome.current_period, outcome.current, outcome.direction], ['2024-04-29', 240, 'none'])
  assert.match(outcome.summary, /30 April 2024 has data only until 01:00\. It is left out\./)
  const utc = await outcomeOf(compare, table, hourly)
  assert.equal(utc.current_period, '2024-04-29')
  assert.doesNotMatch(utc.summary, /left out/)
})

test('a week of daily percentages is their mean and not their sum, unless the sum is asked for', async () => {
  const table = await daily('0.9 + 0.05 * (k // 7 % 2)')
  const meanings = new Map([
    ['v', { label: 'the share on time', unit: null, fmt: 'pct1', good: 'none', target: null } as const],
  ])
  const ask = (more: object) =>
    outcomeOf(compare, table, { ...asked, period: 'week', ...more }, undefined, { meanings })
  assert.ok(Math.abs(((await ask({})).current as number) - 0.95) < 1e-12)
  assert.ok(((await ask({ aggregate: 'sum' })).current as number) > 6)
})
