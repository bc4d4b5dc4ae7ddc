/** Situations of forecasts, drivers, experiments, groups by `by`, and metrics. */
import { differing } from '../../packages/engine/partitions/keeper.ts'
import { MEASURES, NOISE, rows, type Situation, series } from './situation.ts'

const each = (make: (measure: (typeof MEASURES)[number]) => Situation[]): Situation[] =>
  MEASURES.flatMap(make)
const orders = { time: 't', value: 'orders' }
const SEASON = '0.3 * sin((i - 3) * pi() / 6)'

const forecast: Situation[] = [
  ...each(({ name, scale, columns }) => {
    const options = { time: 't', value: name, horizon: 6 }
    return [
      {
        is: 'a yearly season and a rise',
        method: 'forecast',
        options,
        columns,
        sql: series(name, `${scale} * (1 + i / 120.0 + ${SEASON} + 0.1 * ${NOISE})`),
      },
    ]
  }),
  {
    is: 'one level, only the next month',
    method: 'forecast',
    options: { ...orders, horizon: 1 },
    sql: series('orders', `100 + 10 * ${NOISE}`),
  },
  {
    is: 'a weekly season in days',
    method: 'forecast',
    options: { ...orders, horizon: 7 },
    sql: series('orders', `100 + 10 * ${NOISE} + case when i % 7 = 5 then 60 else 0 end`, {
      step: 'day',
      n: 140,
    }),
  },
  {
    is: 'twelve values',
    method: 'forecast',
    options: { ...orders, horizon: 3 },
    sql: series('orders', `100 + i + 3 * ${NOISE}`, { n: 12 }),
  },
  {
    is: 'one value far out in the past',
    method: 'forecast',
    options: { ...orders, horizon: 3 },
    sql: series('orders', `100 + 10 * ${NOISE} + case when i = 30 then 900 else 0 end`),
  },
  {
    is: 'days of which most have no orders',
    method: 'forecast',
    options: { ...orders, horizon: 7 },
    sql: series('orders', `case when ${NOISE} > 0.3 then 1 + i % 3 else 0 end`, { step: 'day', n: 200 }),
  },
  {
    is: 'weeks of which the last has two days',
    method: 'forecast',
    options: { ...orders, horizon: 2 },
    sql: `select cast(date_trunc('week', d) as date) as t, sum(orders) as orders from (select date '2023-01-02' + i::int as d, 100 + 10 * ${NOISE} as orders from range(709) r(i)) group by 1 order by 1`,
  },
  {
    is: 'a season that is asked for and too long',
    method: 'forecast',
    options: { ...orders, period: 52 },
    sql: series('orders', `100 + ${NOISE}`),
  },
  {
    is: 'a slow wave that has just turned',
    method: 'forecast',
    options: orders,
    sql: 'select i as t, 20 * sin(2 * pi() * i / 40) + ((i * 7919) % 13) / 6 as orders from range(40) r(i)',
  },
  {
    is: 'every second month 12, the others 10',
    method: 'forecast',
    options: { ...orders, horizon: 2 },
    sql: series('orders', '10 + 2 * (i % 2)', { n: 36 }),
  },
  {
    is: 'high and low months in turn',
    method: 'forecast',
    options: { ...orders, horizon: 2 },
    sql: series('orders', `100 + 40 * (i % 2) + 6 * ${NOISE}`),
  },
  {
    is: 'a share near 100 %',
    method: 'forecast',
    options: { time: 't', value: 'on_time', horizon: 3 },
    columns: { on_time: { label: 'trains on time', fmt: 'pct1' } },
    sql: series('on_time', `0.98 + 0.04 * ${NOISE}`),
  },
  { is: 'three values', method: 'forecast', options: orders, sql: series('orders', 'i', { n: 3 }) },
  { is: 'one value throughout', method: 'forecast', options: orders, sql: series('orders', '7') },
]

/**
 * Returns two months of days by country and channel. `fall` is the part that the cell of DE and paid keeps in the
 * second month.
 */
const sales = (name: string, scale: number, { fall = '1', all = '1' } = {}): string =>
  `select date '2024-03-01' + d::int as day, country, channel,
     ${scale} * (1 + 0.2 * (((d * 7919 + hash * 104729) % 10007) / 10007.0 - 0.5)) * case when d < 31 then 1 else ${all} end
       * case when d >= 31 and country = 'DE' and channel = 'paid' then ${fall} else 1 end as ${name}
   from range(61) r(d),
     (values ('DE', 'paid', 1), ('DE', 'free', 2), ('FR', 'paid', 3), ('FR', 'free', 4), ('US', 'paid', 5), ('US', 'free', 6)) c(country, channel, hash)`
const why = { time: 'day', by: ['country', 'channel'] }
const ratio = (before: string, after: string): string =>
  `select month, country, sum(paid) as paid, sum(seen) as seen from (values ${before}, ${after}) v(month, country, paid, seen) group by all`

const drivers: Situation[] = [
  // Shares are not added up.
  ...each(({ name, scale, columns }) =>
    name === 'late_share'
      ? []
      : [
          {
            is: 'one combination falls',
            method: 'drivers',
            options: { ...why, value: name },
            columns,
            sql: sales(name, scale, { fall: '0.2' }),
          },
        ],
  ),
  {
    is: 'everything falls alike',
    method: 'drivers',
    options: { ...why, value: 'orders' },
    sql: sales('orders', 100, { all: '0.8' }),
  },
  {
    is: 'nothing changes',
    method: 'drivers',
    options: { ...why, value: 'orders' },
    sql: sales('orders', 100),
  },
  {
    is: 'a country that is new',
    method: 'drivers',
    options: {
      value: 'orders',
      by: ['country'],
      split: { column: 'month', before: '2024-03-01', after: '2024-04-01' },
    },
    sql: `select case i % 2 when 0 then '2024-03-01' else '2024-04-01' end as month, 'land ' || (i // 2 % 12) as country, 100 + 4 * ${NOISE} as orders from range(240) r(i) where i % 2 = 1 or i // 2 % 12 > 0`,
  },
  {
    is: 'a share that falls while it rises in every country',
    method: 'drivers',
    options: {
      numerator: 'paid',
      denominator: 'seen',
      by: ['country'],
      split: { column: 'month', before: '2024-03-01', after: '2024-04-01' },
    },
    columns: { 'paid per seen': { label: 'the share of visitors who paid', fmt: 'pct1' } },
    sql: ratio(
      "('2024-03-01', 'DE', 300, 1000), ('2024-03-01', 'US', 20, 200)",
      "('2024-04-01', 'DE', 95, 300), ('2024-04-01', 'US', 99, 900)",
    ),
  },
  {
    is: 'more values than a table holds',
    method: 'drivers',
    options: {
      value: 'orders',
      by: ['customer'],
      split: { column: 'part', before: 'before', after: 'after' },
    },
    sql: rows(
      `'customer ' || (i // 2) as customer, case i % 2 when 0 then 'before' else 'after' end as part, 10 + (i * 7919) % 7 as orders`,
      1000,
    ),
  },
  {
    is: 'what was expected beside what came',
    method: 'drivers',
    options: { value: 'orders', expected: 'plan', by: ['country'] },
    sql: rows(
      `'land ' || (i % 12) as country, 100 as plan, (case when i % 12 = 2 then 60 else 100 end) + 4 * ${NOISE} as orders`,
      240,
    ),
  },
  {
    is: 'a gap in one of four lands',
    method: 'drivers',
    options: { value: 'orders', expected: 'plan', by: ['land'] },
    sql: rows(
      `['DE', 'FR', 'US', 'JP'][1 + i % 4] as land, 100 as plan, (case when i % 4 = 2 then 60 else 100 end) + 4 * ${NOISE} as orders`,
      80,
    ),
  },
  {
    is: 'one month only',
    method: 'drivers',
    options: { ...why, value: 'orders' },
    sql: `select * from (${sales('orders', 100)}) where day < date '2024-04-01'`,
  },
]

const ARMS = `case when i % 2 = 0 then 'old' else 'new' end as arm, i as user_id`
const tested = { unit: 'user_id', arm: 'arm', control: 'old' }
const experiment: Situation[] = [
  ...each(({ name, scale, columns }) => {
    const options = { ...tested, metrics: [{ name, value: name }] }
    const at = (gain: number): string =>
      rows(`${ARMS}, ${scale} * (1 + ${NOISE} + ${gain} * (i % 2)) as ${name}`)
    return [
      { is: 'a higher mean', method: 'experiment', options, columns, sql: at(0.2) },
      { is: 'no difference', method: 'experiment', options, columns, sql: at(0) },
    ]
  }),
  {
    is: 'a smaller difference than matters',
    method: 'experiment',
    options: { ...tested, metrics: [{ name: 'orders', value: 'orders', minimum_effect: 2 }] },
    sql: rows(`${ARMS}, 10 + ${NOISE} + 0.5 * (i % 2) as orders`),
  },
  {
    is: 'too few users to find what matters',
    method: 'experiment',
    options: { ...tested, metrics: [{ name: 'orders', value: 'orders', minimum_effect: 0.1 }] },
    sql: rows(`${ARMS}, 10 + 4 * ${NOISE} as orders`),
  },
  {
    is: 'a loss that is excluded',
    method: 'experiment',
    options: { ...tested, metrics: [{ name: 'orders', value: 'orders', good: 'up', margin: 0.5 }] },
    sql: rows(`${ARMS}, 10 + ${NOISE} - 0.05 * (i % 2) as orders`),
  },
  {
    is: 'a loss beyond the margin',
    method: 'experiment',
    options: { ...tested, metrics: [{ name: 'returns', value: 'returned', good: 'down', margin: 0.5 }] },
    sql: rows(`${ARMS}, 2 + ${NOISE} + i % 2 as returned`),
  },
  {
    is: 'too few users to exclude a loss',
    method: 'experiment',
    options: { ...tested, metrics: [{ name: 'orders', value: 'orders', good: 'up', margin: 0.1 }] },
    sql: rows(`${ARMS}, 10 + 4 * ${NOISE} as orders`),
  },
  {
    is: 'a broken split',
    method: 'experiment',
    options: { ...tested, metrics: [{ name: 'orders', value: 'orders' }] },
    sql: rows(`case when i % 3 = 0 then 'old' else 'new' end as arm, i as user_id, 5 + ${NOISE} as orders`),
  },
  {
    is: 'users who saw both',
    method: 'experiment',
    options: { ...tested, metrics: [{ name: 'orders', value: 'orders' }] },
    sql: rows(
      `case when i % 2 = 0 then 'old' else 'new' end as arm, i // 8 as user_id, 5 + ${NOISE} as orders`,
    ),
  },
  {
    is: 'a better first metric and a worse second',
    method: 'experiment',
    options: {
      ...tested,
      metrics: [
        { name: 'orders', value: 'orders', good: 'up' },
        { name: 'returns', value: 'returned', good: 'down' },
      ],
    },
    sql: rows(`${ARMS}, 10 + ${NOISE} + i % 2 as orders, 2 + ${NOISE} + 0.5 * (i % 2) as returned`),
  },
  {
    is: 'three arms',
    method: 'experiment',
    options: { ...tested, metrics: [{ name: 'orders', value: 'orders', good: 'up' }] },
    sql: rows(
      `['old', 'new', 'bold'][1 + i % 3] as arm, i as user_id, 10 + ${NOISE} + 2 * (i % 3 = 2)::int as orders`,
    ),
  },
  {
    is: 'three users',
    method: 'experiment',
    options: { ...tested, metrics: [{ name: 'orders', value: 'orders' }] },
    sql: rows(`${ARMS}, i as orders`, 3),
  },
]

const CUSTOMERS = `i as customer_id, date '2025-03-01' + (i // 100)::int as day`
const planned = { unit: 'customer_id', time: 'day' }
const plan: Situation[] = [
  ...each(({ name, scale, columns }) => [
    {
      is: 'a change of 5 %',
      method: 'plan',
      options: { ...planned, value: name, lift: 0.05 },
      columns,
      sql: rows(`${CUSTOMERS}, ${scale} * (1 + 2 * ${NOISE}) as ${name}`, 2800),
    },
  ]),
  {
    is: 'a rise of a share',
    method: 'plan',
    options: { ...planned, success: 'bought', minimum_effect: 0.02 },
    sql: rows(`${CUSTOMERS}, ${NOISE} > 0.38 as bought`, 2800),
  },
  {
    is: 'a fall, in three groups',
    method: 'plan',
    options: { ...planned, value: 'delay', minimum_effect: -2, arms: 2 },
    columns: { delay: { unit: 'minutes' } },
    sql: rows(`${CUSTOMERS}, 40 * (1 + ${NOISE}) as delay`, 2800),
  },
  {
    is: 'a loss to exclude',
    method: 'plan',
    options: { ...planned, success: 'bought', margin: 0.02 },
    sql: rows(`${CUSTOMERS}, ${NOISE} > 0.38 as bought`, 2800),
  },
  {
    is: 'a ratio of sums, without days',
    method: 'plan',
    options: {
      unit: 'customer_id',
      numerator: 'revenue',
      denominator: 'visits',
      lift: 0.1,
      looks: 'sequential',
    },
    sql: rows(`${CUSTOMERS}, 20 * (1 + ${NOISE}) as revenue, 1 + i % 3 as visits`, 2800),
  },
  {
    is: 'a change too small for a year',
    method: 'plan',
    options: { ...planned, value: 'orders', aggregate: 'sum', lift: 0.004 },
    sql: rows(`${CUSTOMERS}, 1 + i % 5 as orders`, 2800),
  },
  {
    is: 'traffic that falls',
    method: 'plan',
    options: { ...planned, value: 'orders', lift: 0.05 },
    sql: rows(
      `i as customer_id, date '2025-03-01' + if(i < 1820, i // 130, 14 + (i - 1820) // 70)::int as day, 1 + i % 5 as orders`,
      2800,
    ),
  },
  {
    is: 'four days of the past',
    method: 'plan',
    options: { ...planned, value: 'orders', lift: 0.05 },
    sql: rows(`${CUSTOMERS}, 1 + i % 5 as orders`, 400),
  },
  {
    is: 'a few heavy customers, and an answer within days',
    method: 'plan',
    options: { ...planned, value: 'revenue', lift: 0.5 },
    sql: rows(`${CUSTOMERS}, if(i % 60 = 0, 60, 10 + ${NOISE}) as revenue`, 2800),
  },
  {
    is: 'ten customers',
    method: 'plan',
    options: { ...planned, value: 'orders', lift: 0.2 },
    sql: rows(`${CUSTOMERS}, 1 + i % 5 as orders`, 10),
  },
  {
    is: 'one customer',
    method: 'plan',
    options: { ...planned, value: 'orders', lift: 0.2 },
    sql: rows(`${CUSTOMERS}, 1 + i % 5 as orders`, 1),
  },
  {
    is: 'one value throughout',
    method: 'plan',
    options: { ...planned, value: 'orders', lift: 0.2 },
    sql: rows(`${CUSTOMERS}, 5 as orders`),
  },
  {
    is: 'a share of a loss',
    method: 'plan',
    options: { ...planned, value: 'profit', lift: 0.2 },
    columns: { profit: { unit: 'EUR' } },
    sql: rows(`${CUSTOMERS}, ${NOISE} - 3 as profit`),
  },
]

const SHOPS = `['Kiel', 'Ulm', 'Jena'][1 + s] as shop`
const shops = (value: string, n = 60): string =>
  `select date '2020-01-01' + interval (i) month as t, ${SHOPS}, cast(${value} as double) as orders from range(${n}) r(i), range(3) q(s)`
const groups: Situation[] = [
  {
    is: 'by shop: one of three rises',
    method: 'trend',
    options: { ...orders, by: 'shop' },
    sql: shops(`100 + case when s = 1 then 2 * i else 0 end + 10 * ${NOISE}`),
  },
  {
    is: 'by shop: none rises',
    method: 'trend',
    options: { ...orders, by: 'shop' },
    sql: shops(`100 + 10 * ${NOISE}`),
  },
  {
    is: 'by shop: all fall below',
    method: 'compare',
    options: { ...orders, by: 'shop' },
    sql: shops(`case when i = 35 then 40 else 100 + 10 * ${NOISE} end`, 36),
  },
  {
    is: 'by shop: one shop has too few values',
    method: 'trend',
    options: { ...orders, by: 'shop' },
    sql: `select * from (${shops(`100 + 2 * i + 10 * ${NOISE}`)}) where shop <> 'Jena' or t < date '2020-03-01'`,
  },
  {
    is: 'by shop: counted only',
    method: 'describe',
    options: { value: 'orders', by: 'shop' },
    sql: shops(`100 + 10 * ${NOISE}`),
  },
]

const METRIC = `metric: revenue
label: revenue
source: SOURCE
time: { column: paid_at }
value: sum(amount)
unit: EUR
good: up
`
const days = Array.from({ length: 366 }, (_, day) =>
  [
    new Date(Date.UTC(2024, 0, 1 + day)).toISOString().slice(0, 10),
    100 + ((day * 37) % 11),
    `order ${day}`,
  ].map(String),
)
const daily = { time: 'time', value: 'value', period: 'month' }
const metrics: Situation[] = [
  { is: 'a metric whose tests hold', tests: '[{ not_null: amount }, { unique: order_id }]', of: days },
  { is: 'a metric whose rows are too old', tests: '[{ fresh: 2d }]', of: days },
  { is: 'a metric with a repeated order', tests: '[{ unique: order_id }]', of: [...days, days[0]!] },
  {
    is: 'a metric with a missing amount',
    tests: '[{ not_null: amount }]',
    of: [...days, ['2024-05-20', '', 'order 999']],
  },
  {
    is: 'a metric over a connection, of which an audit found a kept day that differs',
    more: 'partitions: { reopen: 3d, deletes: none }',
    of: days,
    doubt: differing('2024-05-20', '2026-01-14T03:00:00.000Z'),
  },
].map(({ is, tests, more = `tests: ${tests!}`, of, doubt }) => ({
  is,
  method: 'compare',
  options: daily,
  sql: '',
  metric: {
    yaml: `${METRIC.replace('SOURCE', doubt === undefined ? '{ file: orders.csv }' : '{ connection: shop, table: orders }')}${more}\n`,
    rows: [['paid_at', 'amount', 'order_id'], ...of],
    ...(doubt === undefined ? {} : { doubt }),
  },
}))

export const changes: Situation[] = [...forecast, ...drivers, ...experiment, ...plan, ...groups, ...metrics]
