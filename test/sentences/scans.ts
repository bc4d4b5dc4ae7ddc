/** Situations of anomalies with a list `by`: the whole and its segments, and why one stands out. */
import { MEASURES, NOISE, type Situation } from './situation.ts'

const PLACES =
  "(values ('DE', 'paid', 1, 1.5), ('DE', 'free', 2, 1), ('FR', 'paid', 3, 0.8), ('FR', 'free', 4, 0.6), ('US', 'paid', 5, 1.8), ('US', 'free', 6, 1.2)) c(country, channel, hash, size)"
/** Uniform noise between -0.5 and 0.5 for each day and place. */
const WOBBLE =
  '(((d * d * 7919 + d * 104729 + hash * hash * 611953 + hash * d * 1299709) % 10007) / 10007.0 - 0.5)'

interface Made {
  name?: string
  scale?: number
  days?: number
  where?: string
  time?: string
}

/** Returns days by country and channel. `factor` is SQL over the day `d`, `country` and `channel`. */
const sales = (
  factor = '1',
  {
    name = 'orders',
    scale = 100,
    days = 120,
    where = 'true',
    time = "date '2024-01-01' + d::int",
  }: Made = {},
): string =>
  `select ${time} as t, country, channel, ${scale} * size * (1 + 0.2 * ${WOBBLE}) * (${factor}) as ${name}
   from range(${days}) r(d), ${PLACES} where ${where}`

const on = (day: number, cell: string, factor: number): string =>
  `case when d = ${day} and ${cell} then ${factor} else 1 end`
const DE_PAID = "country = 'DE' and channel = 'paid'"
const scan = { time: 't', value: 'orders', by: ['country', 'channel'] }
const situation = (is: string, sql: string, more: Partial<Situation> = {}): Situation => ({
  is,
  method: 'anomalies',
  options: scan,
  sql,
  ...more,
})

export const scans: Situation[] = [
  ...MEASURES.filter(({ name }) => name !== 'late_share').flatMap(({ name, scale, columns }) => [
    situation('by segment: one combination falls on a day', sales(on(90, DE_PAID, 0.2), { name, scale }), {
      options: { ...scan, value: name },
      columns,
    }),
  ]),
  situation('by segment: everything falls on a day', sales(on(90, 'true', 0.5))),
  situation('by segment: everything rises on a day', sales(on(90, 'true', 1.6))),
  situation('by segment: one country rises on a day', sales(on(90, "country = 'FR'", 2.5))),
  situation(
    'by segment: one falls and one rises on the same day',
    sales(`${on(90, DE_PAID, 0.2)} * ${on(90, "country = 'US' and channel = 'free'", 2)}`),
  ),
  situation('by segment: two days', sales(`${on(60, DE_PAID, 0.2)} * ${on(90, 'true', 0.5)}`)),
  situation(
    'by segment: five days',
    sales([30, 45, 60, 75, 90].map((day) => on(day, 'true', 0.4)).join(' * ')),
  ),
  situation('by segment: no day out of the ordinary', sales()),
  situation('by segment: one day without rows', sales('1', { where: 'd <> 90' })),
  situation('by segment: the same with missing days as zero', sales('1', { where: 'd <> 90' }), {
    options: { ...scan, missing: 'zero' },
  }),
  situation(
    'by segment: one country has no rows on a day',
    sales('1', { where: "d <> 90 or country <> 'US'" }),
  ),
  situation('by segment: all fall on a day but one country', sales(on(90, "country <> 'FR'", 0.3))),
  situation(
    'by segment: rows without a country fall on a day',
    `select t, if(country = 'DE', null, country) as country, channel, orders from (${sales(on(90, "country = 'DE'", 0.3))})`,
  ),
  situation(
    'by segment: a day with many times what came before, all of one country',
    `select date '2024-01-01' + d::int as t, country, channel, if(d = 50, [40, 30, 25][c], hash(d, c, country) % 6) as orders
     from range(60) r(d), (values (1, 'free'), (2, 'mail'), (3, 'paid')) p(c, channel), (values ('US'), ('FR'), ('DE')) q(country)
     where d <> 50 or country = 'US'`,
  ),
  situation(
    'by segment: rows without a number',
    `select t, country, channel, if(hash(country || channel || t) % 50 = 0, null, orders) as orders from (${sales(on(90, 'true', 0.4))})`,
  ),
  situation('by segment: columns one at a time', sales(on(90, DE_PAID, 0.1)), {
    options: { ...scan, depth: 1 },
  }),
  situation('by segment: one column', sales(on(90, "country = 'US'", 0.3)), {
    options: { ...scan, by: ['country'] },
  }),
  situation(
    'by segment: a segment that is rare',
    `select * from (${sales(on(90, 'true', 0.5))}) union all select date '2024-02-01' + d::int as t, 'IT' as country, 'paid' as channel, 3.0 as orders from range(3) r(d)`,
  ),
  situation(
    'by segment: only the latest value is asked for, and it is ordinary',
    sales(on(90, 'true', 0.4)),
    {
      options: { ...scan, latest: 1 },
    },
  ),
  situation(
    'by segment: only the latest value is asked for, and it stands out',
    sales(on(119, 'true', 0.4)),
    {
      options: { ...scan, latest: 1 },
    },
  ),
  situation('by segment: smaller than asked for', sales(on(90, 'true', 0.6)), {
    options: { ...scan, at_least: { relative: 0.6 } },
  }),
  situation(
    'by segment: months',
    sales(on(40, DE_PAID, 0.1), { days: 60, time: "date '2019-01-01' + to_months(d::int)" }),
  ),
  situation(
    'by segment: hours',
    sales(on(200, DE_PAID, 0.1), { days: 240, time: "timestamp '2024-01-01' + to_hours(d::int)" }),
  ),
  situation(
    'by segment: events at any time of the day',
    `select timestamp '2024-01-01' + to_days(d::int) + to_minutes(((k * 7919 + d * 31) % 1440)::int) as t, country, channel, 1 as orders
     from range(100) r(d), ${PLACES}, range(40) q(k) where k < 20 * size * (1 + 0.3 * ${WOBBLE}) * case when d = 70 and country = 'DE' then 0.1 else 1 end`,
  ),
  situation('by segment: five days in all', sales('1', { days: 5 })),
  situation('by segment: one value throughout', sales('0', { days: 40 })),
  situation(
    'by segment: years that are numbers',
    `select 1960 + d as t, country, channel, 100 * size * (1 + 0.2 * ${WOBBLE}) * ${on(40, 'true', 0.4)} as orders from range(60) r(d), ${PLACES}`,
  ),
  situation(
    'by segment: values of one land only',
    sales(on(90, 'true', 0.4), { where: "country = 'DE' and channel = 'paid'" }),
  ),
  situation(
    'by segment: profits and losses',
    `select t, country, channel, orders - 150 + 20 * ${NOISE.replaceAll('i', 'd')} as profit from (select *, row_number() over () as d from (${sales(on(90, DE_PAID, 0.1))}))`,
    { options: { ...scan, value: 'profit' }, columns: { profit: { unit: 'EUR' } } },
  ),
]
