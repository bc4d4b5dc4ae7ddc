/** Situations of drivers: what moved a number, in every direction and with every doubt. */
import { dayNumber } from '@assay/model/dates'
import { MEASURES, NOISE, rows, type Situation } from './situation.ts'

const PLACES =
  "(values ('DE', 'paid', 1), ('DE', 'free', 2), ('FR', 'paid', 3), ('FR', 'free', 4), ('US', 'paid', 5), ('US', 'free', 6)) c(country, channel, hash)"
const WOBBLE =
  '0.2 * (((d * d * 7919 + d * 104729 + hash * hash * 611953 + hash * d * 1299709) % 10007) / 10007.0 - 0.5)'

interface Made {
  name?: string
  scale?: number
  days?: number
  from?: string
  where?: string
}

/** Returns days by country and channel. `factor` is SQL over the day `d`, `country` and `channel`. */
const sales = (
  factor: string,
  { name = 'orders', scale = 100, days = 60, from = '2023-03-01', where = 'true' }: Made = {},
): string =>
  `select date '${from}' + d::int as day, country, channel, ${scale} * (1 + ${WOBBLE}) * (${factor}) as ${name}
   from range(${days}) r(d), ${PLACES} where ${where}`

/** Returns the factor of a cell from the second month on. */
const later = (cell: string, factor: number): string =>
  `case when d >= 31 and ${cell} then ${factor} else 1 end`
const DE_PAID = "country = 'DE' and channel = 'paid'"
const US_FREE = "country = 'US' and channel = 'free'"
const MARCH = { days: 61 }
const why = { time: 'day', by: ['country', 'channel'], value: 'orders' }
const situation = (is: string, sql: string, more: Partial<Situation> = {}): Situation => ({
  is,
  method: 'drivers',
  options: why,
  sql,
  ...more,
})

const byMeasure: Situation[] = MEASURES.filter(({ name }) => name !== 'late_share').map(
  ({ name, scale, columns }) =>
    situation('one combination rises', sales(later(DE_PAID, 2), { name, scale, ...MARCH }), {
      options: { ...why, value: name },
      columns,
    }),
)

const periods: Situation[] = [
  situation('one falls and another rises', sales(`${later(DE_PAID, 0.3)} * ${later(US_FREE, 2.2)}`, MARCH)),
  situation(
    'one falls and another rises as much',
    sales(`${later(DE_PAID, 0.5)} * ${later(US_FREE, 1.5)}`, MARCH),
  ),
  situation('a country falls in all its channels', sales(later("country = 'FR'", 0.4), MARCH)),
  situation(
    'rows without a channel fall',
    `select day, country, if(channel = 'paid', null, channel) as channel, orders from (${sales(later("channel = 'paid'", 0.4), MARCH)})`,
  ),
  situation('all fall but one country, which stays level', sales(later("country <> 'FR'", 0.4), MARCH)),
  situation(
    'all fall but one country, which falls a little',
    sales(`${later("country <> 'FR'", 0.4)} * ${later("country = 'FR'", 0.9)}`, MARCH),
  ),
  situation(
    'all fall but one country, which rises',
    sales(`${later("country <> 'FR'", 0.4)} * ${later("country = 'FR'", 1.5)}`, MARCH),
  ),
  situation('a country is gone', sales('1', { ...MARCH, where: "d < 31 or country <> 'FR'" })),
  situation(
    'a shop closes within the latest of seven months, after a row a day',
    sales('1', {
      days: 212,
      from: '2023-01-01',
      where: "channel = 'paid' and (d < 190 or country <> 'FR')",
    }),
    { options: { ...why, by: ['country'] } },
  ),
  situation('everything rises alike', sales(later('true', 1.3), MARCH)),
  situation('a small cause in a level whole', sales(later(US_FREE, 1.04), { ...MARCH, scale: 1000 })),
  situation(
    'weeks of which the last misses three days',
    sales('1', { days: 70, from: '2024-03-04', where: 'd not in (64, 65, 66)' }),
    { options: { ...why, period: 'week' } },
  ),
  situation(
    'the same with missing days as zero',
    sales('1', { days: 70, from: '2024-03-04', where: 'd not in (64, 65, 66)' }),
    { options: { ...why, period: 'week', missing: 'zero' } },
  ),
  situation('days', sales(`case when d = 59 and ${DE_PAID} then 0.1 else 1 end`), {
    options: { ...why, period: 'day' },
  }),
  situation(
    'quarters',
    sales(`case when d >= 181 and ${DE_PAID} then 0.2 else 1 end`, {
      days: 366,
      from: '2024-01-01',
      where: 'd < 274',
    }),
    {
      options: { ...why, period: 'quarter' },
    },
  ),
  situation(
    'years that are numbers',
    `select 2000 + i // 6 as year, 'land ' || (i % 6) as land, 50 + 4 * ${NOISE} - case when i >= 114 and i % 6 = 2 then 30 else 0 end as orders from range(120) r(i)`,
    {
      options: { time: 'year', by: ['land'], value: 'orders', period: 1 },
    },
  ),
  situation(
    'the same month a year before',
    sales(`case when d >= 365 and ${DE_PAID} then 0.2 else 1 end`, {
      days: 396,
      from: '2024-02-01',
      where: 'd < 29 or d >= 366',
    }),
    {
      options: { ...why, compare_with: 'year_before' },
    },
  ),
  situation(
    'against what the past leads to expect',
    sales(`(1 + 0.3 * sin(2 * pi() * d / 7)) * case when d >= 357 and ${DE_PAID} then 0.2 else 1 end`, {
      days: 364,
      from: '2024-01-01',
    }),
    {
      options: { ...why, period: 'week', compare_with: 'forecast' },
    },
  ),
  situation('nothing beside what the past leads to expect', sales('1', { days: 364, from: '2024-01-01' }), {
    options: { ...why, period: 'week', compare_with: 'forecast' },
  }),
  situation('a past too short for a forecast', sales('1', { days: 28, from: '2024-01-01' }), {
    options: { ...why, period: 'week', compare_with: 'forecast' },
  }),
  situation('a last month in which the data end', sales(later(DE_PAID, 0.2), { days: 80 })),
  situation(
    'rows without a number',
    `select day, country, channel, case when hash = 3 then null else orders end as orders from (select *, hash(country || channel || day) % 40 as hash from (${sales(later(DE_PAID, 0.2), MARCH)}))`,
  ),
  situation('a profit that becomes a loss', sales(later('true', -0.4), { ...MARCH, name: 'profit' }), {
    options: { ...why, value: 'profit' },
    columns: { profit: { unit: 'EUR' } },
  }),
  situation('a loss that grows', sales(`-1 * ${later(DE_PAID, 3)}`, { ...MARCH, name: 'profit' }), {
    options: { ...why, value: 'profit' },
    columns: { profit: { unit: 'EUR' } },
  }),
  situation('from nothing to something', sales('case when d < 31 then 0 else 1 end', MARCH)),
]

const split = { column: 'period', before: 'before', after: 'after' }
const halves = (
  value: string,
  { days = 62, name = 'orders' }: { days?: number; name?: string } = {},
): string =>
  `select if(d < 31, 'before', 'after') as period, country, channel, ${value} * (1 + ${WOBBLE}) as ${name} from range(${days}) r(d), ${PLACES}`
const named = (after: string, before: string): string =>
  `select * replace (if(period = 'after', '${after}', '${before}') as period) from (${halves(later(DE_PAID, 0.2))})`
const CUT = {
  periods: [{ start: dayNumber('2025-12-01'), end: dayNumber('2026-02-01') }],
  columns: [{ first: dayNumber('2025-01-01'), last: dayNumber('2025-12-30'), due: 1 }],
}
const ofGroups = { by: ['country', 'channel'], value: 'orders', split }
const groups: Situation[] = [
  situation('two groups of a split', halves(later(DE_PAID, 0.2)), { options: ofGroups }),
  situation('a split over a period that ends after the data', halves('1', { days: 45 }), {
    options: ofGroups,
    extent: CUT,
  }),
  situation('a split whose sides are named as phrases', named('this period', 'the period before'), {
    options: { ...ofGroups, split: { ...split, before: 'the period before', after: 'this period' } },
  }),
  situation('a group that has no rows', halves('1'), {
    options: { ...ofGroups, split: { ...split, after: 'afterwards' } },
  }),
  situation(
    'arms that are numbers',
    rows(
      `(1 + i % 2)::double as arm, 'land ' || (i // 2 % 12) as land, 100 + 4 * ${NOISE} - case when i % 24 = 5 then 60 else 0 end as orders`,
      480,
    ),
    { options: { value: 'orders', by: ['land'], split: { column: 'arm', before: 1, after: 2 } } },
  ),
]

/** Returns visits and buyers by country, in two months. */
const funnel = (rate: string, weight = '1000'): string =>
  `select date '2024-03-01' + d::int as day, country, channel, cast(${weight} as double) as visits, cast(round((${weight}) * (${rate}) * (1 + 0.1 * (((d * 7919 + hash * 104729) % 10007) / 10007.0 - 0.5))) as double) as bought
   from range(61) r(d), ${PLACES}`
const RATE = {
  options: { time: 'day', by: ['country', 'channel'], numerator: 'bought', denominator: 'visits' },
  columns: { 'bought per visits': { label: 'the share of visits with a purchase', fmt: 'pct1' } },
}
const ratios: Situation[] = [
  situation('a rate that falls in one combination', funnel(`0.1 * ${later(DE_PAID, 0.3)}`), RATE),
  situation('a rate that rises in one country', funnel(`0.1 * ${later("country = 'US'", 1.8)}`), RATE),
  situation(
    'rates that stay, with another mix',
    funnel("if(country = 'DE', 0.3, 0.05)", later("country = 'DE'", 4) + ' * 500'),
    RATE,
  ),
  situation('rates and mix that stay', funnel('0.1'), RATE),
  situation('a denominator of nothing', funnel('0.1', 'case when d < 31 then 0 else 1000 end'), RATE),
]

const plan = { value: 'orders', expected: 'plan', by: ['country'] }
const planned = (value: string, n = 240): string =>
  rows(`'land ' || (i % 12) as country, 100 as plan, ${value} + 4 * ${NOISE} as orders`, n)
const expected: Situation[] = [
  situation('as much as was expected', planned('100'), { options: plan }),
  situation('more than was expected in one land', planned('case when i % 12 = 4 then 190 else 100 end'), {
    options: plan,
  }),
  situation('less than was expected everywhere', planned('80'), { options: plan }),
  situation(
    'one above and one below what was expected',
    planned('case i % 12 when 4 then 150 when 7 then 50 else 100 end'),
    {
      options: plan,
    },
  ),
  situation(
    'no plan in some rows',
    `select country, if(i % 10 = 0, null, plan) as plan, orders from (select *, row_number() over () as i from (${planned('case when i % 12 = 4 then 60 else 100 end')}))`,
    {
      options: plan,
    },
  ),
  situation('no rows', `select * from (${planned('100')}) where false`, { options: plan }),
]

export const reasons: Situation[] = [...byMeasure, ...periods, ...groups, ...ratios, ...expected]
