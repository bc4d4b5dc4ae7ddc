import assert from 'node:assert/strict'
import { test } from 'node:test'
import { dayNumber } from '@assay/model/dates'
import { relation } from '../methods/relation-fixture.ts'
import type { Extent, MethodContext, Relation } from '../methods/shared/method.ts'
import { NO_MEANINGS } from '../verdicts/measure.ts'
import { type ReadSeries, readSeries, type SeriesOptions } from './read.ts'

function read(
  table: Relation,
  options: Partial<SeriesOptions> = {},
  context: Partial<MethodContext> & { found?: Partial<Extent> } = {},
): Promise<ReadSeries> {
  const { found = {}, ...rest } = context
  return readSeries(
    table,
    { time: 't', value: 'v', partial: 'leave_out', missing: 'gap', ...options },
    {
      now: '2026-01-15T00:00:00.000Z',
      time_zone: 'UTC',
      block: 'b',
      meanings: NO_MEANINGS,
      metrics: [],
      relation: () => null,
      extent: () => Promise.resolve({ periods: [], columns: [], ...found }),
      ...rest,
    },
  )
}
const codes = ({ doubts }: ReadSeries): string[] => doubts.map(({ code }) => code)
const weeks = (): Promise<Relation> =>
  relation(`select date '2024-01-01' + i::int * 7 as t, 1350.0 + i % 3 as v from range(20) t(i)`)

test('a last week in which the data end is left out and said; keep counts it', async () => {
  const found = { columns: [{ first: dayNumber('2024-01-01'), last: dayNumber('2024-05-14'), due: 1 }] }
  const left = await read(await weeks(), {}, { found })
  assert.equal(left.series.values.length, 19)
  assert.equal(left.diagnosis.partial_last, true)
  assert.match(
    left.doubts[0]!.says,
    /week of 13 May 2024, has data only until 14 May 2024\. It is left out\./,
  )
  const kept = await read(await weeks(), { partial: 'keep' }, { found })
  assert.equal(kept.series.values.length, 20)
  assert.deepEqual(codes(kept).slice(0, 1), ['period_partial'])
  const whole = { columns: [{ first: dayNumber('2024-01-01'), last: dayNumber('2024-05-17'), due: 3 }] }
  assert.equal((await read(await weeks(), {}, { found: whole })).diagnosis.partial_last, false)
})

test('an hour in which the clock stands or the data end is left out, told on the clock of the zone', async () => {
  const hours = await relation(
    `select timestamptz '2024-05-01 00:00:00+00' + interval (i) hour as t, 50.0 + i % 7 as v from range(72) t(i)`,
  )
  const zone = { time_zone: 'Europe/Berlin' }
  const open = await read(hours, {}, { ...zone, now: '2024-05-03T23:20:00.000Z' })
  assert.equal(open.doubts[0]!.says, 'The last period, 4 May 2024, 01:00, is not over yet. It is left out.')
  assert.equal(open.series.values.length, 71)
  assert.equal((await read(hours, {}, { ...zone, now: '2024-05-04T00:00:00.000Z' })).series.values.length, 72)
  const until = (at: string, clock: string | null): Extent['columns'] => [
    {
      first: dayNumber('2024-05-01'),
      last: dayNumber('2024-05-04'),
      due: 1,
      lastStep: () => Promise.resolve({ start: Date.parse(`${at}Z`), until: clock }),
    },
  ]
  const ended = async (at: string, clock: string | null) =>
    (await read(hours, {}, { ...zone, found: { columns: until(at, clock) } })).doubts[0]?.says
  assert.match((await ended('2024-05-04T01:00', '01:25'))!, /01:00, has data only until 01:25\./)
  assert.deepEqual(
    [await ended('2024-05-04T01:00', null), await ended('2024-05-04T02:00', '02:25')],
    [undefined, undefined],
  )
})

test('where one of two columns is whole on the last day, the week is whole, in whatever order they come', async () => {
  const ends = { first: dayNumber('2024-01-01'), last: dayNumber('2024-05-19'), due: 1 }
  const open = { ...ends, hours: { from: null, until: 12 * 60 } }
  const whole = { ...ends, hours: { from: null, until: null } }
  const cut = async (...columns: Extent['columns']) =>
    (await read(await weeks(), {}, { found: { columns } })).diagnosis.partial_last
  assert.deepEqual(
    [await cut(open), await cut(open, whole), await cut(whole, open), await cut(ends, open)],
    [true, false, false, true],
  )
})

test('a column that does not cover the series, as the start of a price list, cuts no period', async () => {
  const late = { first: dayNumber('2024-03-04'), last: dayNumber('2024-05-14'), due: 1 }
  const early = { first: dayNumber('2024-01-03'), last: dayNumber('2024-03-04'), due: 1 }
  const beside = await read(await weeks(), {}, { found: { columns: [late, early] } })
  assert.equal(beside.diagnosis.partial_last, false)
  assert.equal(beside.series.values.length, 20)
})

test('a period that the clock or the report cuts is partial; one that ends with it is whole', async () => {
  const now = '2024-05-15T12:00:00.000Z'
  assert.match((await read(await weeks(), {}, { now })).doubts[0]!.says, /is not over yet/)
  const cut = { periods: [{ start: dayNumber('2024-01-03'), end: dayNumber('2024-05-16') }] }
  const both = await read(await weeks(), {}, { found: cut })
  assert.equal(both.series.values.length, 18)
  assert.deepEqual(codes(both).slice(0, 2), ['period_partial', 'period_partial'])
  const even = { periods: [{ start: dayNumber('2024-01-01'), end: dayNumber('2024-05-20') }] }
  assert.equal((await read(await weeks(), {}, { found: even })).series.values.length, 20)
})

test('missing days are open by default and zero only where the block says so', async () => {
  const table = await relation(
    `select date '2024-01-01' + i::int as t, 10.0 + i % 2 as v from range(30) t(i) where i not in (7, 8, 9)`,
  )
  const gap = await read(table)
  assert.deepEqual(gap.diagnosis.gaps, { n: 3, treated: 'missing' })
  assert.equal(gap.series.values.length, 27)
  assert.match(
    gap.doubts[0]!.says,
    /^3 of 30 days have no row\. If no row means zero, write missing: zero\.$/,
  )
  const zero = await read(table, { missing: 'zero' })
  assert.deepEqual(zero.diagnosis.gaps, { n: 3, treated: 'zero' })
  assert.equal(zero.series.values.length, 30)
  assert.equal(zero.series.values[8], 0)
  assert.equal(zero.series.times[8], '2024-01-09')
  assert.ok(codes(gap).includes('days_missing') && codes(zero).includes('days_missing'))
})

test('local midnights of a zone with daylight saving are days of that zone', async () => {
  const table = await relation(
    `select timezone('Europe/Berlin', (date '2024-03-01' + i::int)::timestamp) as t, i % 7 as v from range(60) t(i)`,
  )
  const local = await read(table, {}, { time_zone: 'Europe/Berlin' })
  assert.equal(local.diagnosis.step, 'day')
  assert.equal(local.diagnosis.gaps.n, 0)
  assert.deepEqual([local.diagnosis.first, local.diagnosis.last], ['2024-03-01', '2024-04-29'])
})

test('midnights of a clock that was not moved for summer time are days, and evenings are not', async () => {
  const at = (moment: string, n = 60) =>
    relation(
      `select timezone('UTC', (date '2024-02-12' + i::int)::timestamp) + ${moment} as t, i % 7 as v from range(${n}) t(i)`,
    )
  const zone = { time_zone: 'Europe/Berlin' }
  // 23:00 in UTC is midnight in Berlin in winter, and one hour later from 31 March on.
  const { diagnosis, series } = await read(await at("interval '-1 hour'"), {}, zone)
  assert.deepEqual([diagnosis.step, diagnosis.first, diagnosis.last], ['day', '2024-02-12', '2024-04-11'])
  assert.equal(series.times.length, 60)
  const once = await at("case when i = 40 then interval '-2 hours' else interval '-1 hour' end", 45)
  assert.equal((await read(once, {}, zone)).diagnosis.first, '2024-02-12')
  const evenings = await read(await at("interval '21 hours'", 40), {}, zone)
  assert.equal(evenings.diagnosis.first, '2024-02-12T21:00:00Z')
})

test('a shop that is closed on Sundays has business days: a weekly season, no gaps, and none forecast on a Sunday', async () => {
  const table = await relation(
    `select date '2024-01-01' + i::int as t, 100.0 + 50 * (i % 7 = 5)::int + (i * 37) % 11 as v from range(84) t(i) where i % 7 <> 6`,
  )
  const { diagnosis, grid, seasons } = await read(table)
  assert.deepEqual([diagnosis.step, diagnosis.gaps.n], ['business day', 0])
  assert.deepEqual(
    seasons.map(({ period }) => period),
    [6],
  )
  assert.deepEqual([1, 6, 7].map(grid.after), ['2024-03-25', '2024-03-30', '2024-04-01'])
  const working = await relation(
    `select date '2024-01-01' + i::int as t, i % 5 as v from range(60) t(i) where i % 7 < 5`,
  )
  assert.equal((await read(working)).diagnosis.step, 'working day')
})

test('a time whose value is missing is said to have no value, not to have no row', async () => {
  const table = await relation(
    `select date '2024-01-01' + i::int as t, case when i % 9 = 4 then null else i % 5 end as v from range(60) t(i)`,
  )
  const { doubts } = await read(table)
  const { says } = doubts.find(({ code }) => code === 'days_missing')!
  assert.equal(says, '7 of 60 days have no value. If no value means zero, write missing: zero.')
})

test('rows on a third of the days are days with gaps, called sparse, not a step of three days', async () => {
  const table = await relation(
    `select date '2024-01-01' + (i * 3 + i % 2)::int as t, 1.0 + i % 5 as v from range(60) t(i)`,
  )
  const { diagnosis } = await read(table)
  assert.equal(diagnosis.step, 'day')
  assert.equal(diagnosis.sparse, true)
})

test('the diagnosis tells counts, a log scale and heavy tails from plain noise', async () => {
  const made = async (sql: string) =>
    (await read(await relation(`select date '2024-01-01' + i::int as t, ${sql} as v from range(200) t(i)`)))
      .diagnosis
  const noise = `(((i * 7919 + 13) % 1009) / 1009.0 - 0.5)`
  const plain = await made(`100 + 10 * ${noise}`)
  assert.deepEqual(
    [plain.counts, plain.log_scale, plain.heavy_tails, plain.sparse],
    [false, false, false, false],
  )
  assert.equal((await made(`floor(3 + 4 * ${noise})`)).counts, true)
  assert.equal((await made(`exp(5 + 4 * ${noise})`)).log_scale, true)
  assert.equal(
    (await made(`case when i in (50, 120) then 400 else 100 + 10 * ${noise} end`)).heavy_tails,
    true,
  )
})

test('a level that changes or comes back makes no neighbours alike, and noise that wanders about it does', async () => {
  const noise = (row: string): string => `((hash(${row}) % 1000003) / 1000003.0 - 0.5)`
  const told = async (v: string) =>
    codes(
      await read(await relation(`select date '2024-01-01' + i::int as t, ${v} as v from range(200) t(i)`)),
    )
  const alike = 'series_autocorrelated'
  for (const level of [
    'case when i < 90 then 20 else 10 end',
    'case when i < 60 then 20 when i < 130 then 10 else 30 end',
    'case when i >= 193 then 10 else 0 end',
    'case when i between 90 and 120 then 10 else 0 end',
  ])
    assert.equal((await told(`${level} + 2 * ${noise('i')}`)).includes(alike), false, level)
  const wandering = [0, 1, 2, 3, 4].map((back) => noise(`i - ${back}`)).join(' + ')
  assert.ok((await told(`case when i < 90 then 20 else 10 end + ${wandering}`)).includes(alike))
})

test('a bend of the line makes no neighbours alike, and noise that wanders about it does', async () => {
  const noise = (row: string): string =>
    Array.from({ length: 6 }, (_, nth) => `(hash(${row}, ${nth}) % 1000003) / 1000003.0`).join(' + ')
  const told = async (v: string) =>
    read(await relation(`select date '2024-01-01' + i::int as t, ${v} as v from range(300) t(i)`))
  for (const line of ['least(i, 150)', 'i * i / 500.0', '100 * exp(0.006 * i)', '150 - abs(i - 200)']) {
    const bent = await told(`${line} + 7 * (${noise('i')})`)
    assert.equal(bent.diagnosis.autocorrelated, false, line)
    assert.ok(bent.bends.length > 0, line)
  }
  assert.deepEqual((await told(`i + 7 * (${noise('i')})`)).bends, [])
  const wandering = [0, 1, 2, 3, 4].map((back) => noise(`i - ${back}`)).join(' + ')
  const alike = await told(`least(i, 150) + ${wandering}`)
  assert.equal(alike.diagnosis.autocorrelated, true)
})

test('tails and a log scale are judged beside changes of level', async () => {
  const noise = `((hash(i) % 1000003) / 1000003.0 - 0.5)`
  const told = async (v: string) =>
    read(await relation(`select date '2024-01-01' + i::int as t, ${v} as v from range(200) t(i)`))
  const level = 'case when i < 90 then 100 else 200 end'
  const spike = await told(`${level} + case when i = 40 then 60 else 0 end + 10 * ${noise}`)
  assert.equal(spike.diagnosis.level_shifts.length, 1)
  assert.equal(spike.diagnosis.heavy_tails, true)
  assert.match(
    spike.doubts.map(({ says }) => says).join(' '),
    /One value lies much farther out than the rest\./u,
  )
  const two = await told(`${level} + case when i in (40, 150) then 60 else 0 end + 10 * ${noise}`)
  assert.match(
    two.doubts.map(({ says }) => says).join(' '),
    /A few values lie much farther out than the rest\./u,
  )
  assert.equal((await told(`${level} + 10 * ${noise}`)).diagnosis.log_scale, false)
})

test('empty, constant and one-value series have a diagnosis without claims', async () => {
  for (const sql of [
    `select date '2024-01-01' as t, 1.0 as v where false`,
    `select date '2024-01-01' as t, 1.0 as v`,
    `select date '2024-01-01' + i::int as t, 5.0 as v from range(50) t(i)`,
  ]) {
    const { diagnosis } = await read(await relation(sql))
    assert.deepEqual([diagnosis.seasons, diagnosis.level_shifts, diagnosis.autocorrelation], [[], [], null])
  }
})

/** Makes a season of 24 hours by the clocks of Berlin, from a time in UTC on. */
const berlin = (from: string, n: number, where = 'true'): Promise<Relation> =>
  relation(
    `select timezone('UTC', u) as t, 100 + 50 * sin(2 * pi() * extract(hour from timezone('Europe/Berlin', timezone('UTC', u))) / 24) + (hash(i) % 100) / 50.0 as v
     from (select i, timestamp '${from}' + interval (i) hour as u from range(${n}) r(i)) where ${where}`,
  )

test('hours follow the clocks of the zone over summer time: a season stays, and no hour is said to be missing', async () => {
  const zone = { time_zone: 'Europe/Berlin' }
  for (const from of ['2024-03-20 00:00', '2024-10-15 00:00']) {
    const table = await berlin(from, 480)
    const found = await read(table, {}, zone)
    assert.deepEqual(found.diagnosis.gaps, { n: 0, treated: 'missing' }, from)
    assert.deepEqual(codes(found), [], from)
    const [season] = found.diagnosis.seasons
    assert.ok(
      season && Math.abs(season.period - 24) < 1e-6 && season.strength > 0.99,
      JSON.stringify(found.diagnosis.seasons),
    )
    const elapsed = await read(table)
    assert.ok(elapsed.diagnosis.seasons[0]!.strength < 0.99, 'by the hours of UTC the season moves')
    const next = new Date(found.grid.times.at(-1) as string).getTime() + 3_600_000
    assert.equal(new Date(found.grid.after(1) as string).getTime(), next)
  }
  const spring = await read(await berlin('2024-03-20 00:00', 480), { missing: 'zero' }, zone)
  assert.ok(Math.min(...spring.series.values) > 0, 'the hour that no clock shows is no zero')
  const holes = await read(await berlin('2024-03-20 00:00', 480, 'i not in (100, 101)'), {}, zone)
  assert.equal(holes.diagnosis.gaps.n, 2)
})

test('hours without a row beside the one that no clock shows keep their times, and it is no value', async () => {
  // On 31 March 2024, 01:00 in UTC is the first hour of summer time.
  const gone = [268, 269, 270].map((i) => new Date(Date.UTC(2024, 2, 20, i)).toISOString().slice(0, 19))
  const table = await berlin('2024-03-20 00:00', 480, 'i not in (268, 269, 270)')
  const { series } = await read(table, { missing: 'zero' }, { time_zone: 'Europe/Berlin' })
  assert.equal(series.values.length, 480)
  assert.equal(new Set(series.positions).size, 480)
  const zeros = series.times.filter((_, row) => series.values[row] === 0)
  assert.deepEqual(
    zeros.map((time) => String(time).slice(0, 19)),
    gone,
  )
})
