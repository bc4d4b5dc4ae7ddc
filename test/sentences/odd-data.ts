/** Situations of data that a careless method would misread. */
import { NOISE, type Situation, series } from './situation.ts'

const orders = { time: 't', value: 'orders' }
const NORMAL =
  'sqrt(-2 * ln((hash(i, 3) % 9973 + 1) / 9974.0)) * cos(6.2831853 * (hash(i, 11) % 9973) / 9973.0)'
/** SQL of orders that come on one day of four, 1 to 6 of them. */
const SOME = 'case when hash(i, 5) % 4 > 0 then 0 else 1 + hash(i, 9) % 6 end'
const over = (is: string, sql: string, more: Partial<Situation> = {}): Situation[] =>
  ['trend', 'changepoints', 'anomalies', 'forecast'].map((method) => ({
    is,
    method,
    options: method === 'forecast' ? { ...orders, horizon: 7 } : orders,
    sql,
    ...more,
  }))
const days = (value: string, n: number): string => series('orders', value, { step: 'day', n })

/** A season by the clock of Berlin, over the night in which clocks go forward. */
const hours = `select timezone('UTC', u) as t, 100 + 50 * sin(2 * pi() * extract(hour from timezone('Europe/Berlin', timezone('UTC', u))) / 24) + 3 * ${NORMAL} as orders
  from (select i, timestamp '2024-03-20 00:00' + interval (i) hour as u from range(480) r(i))`

const SHOPS = "['Ulm', 'Kiel', 'Jena'][s + 1] as shop"
const shops = (value: string): string =>
  `select date '2020-01-01' + interval (i) month as t, ${SHOPS}, cast(${value} as double) as orders from range(60) r(i), range(3) q(s)`

export const oddData: Situation[] = [
  ...over('one value throughout, with one spike', days('case when i = 90 then 5000 else 100 end', 150)),
  ...over(
    'one value throughout, with one spike at the end',
    days('case when i = 149 then 5000 else 100 end', 150),
  ),
  ...over('three days of four without an order', days(SOME, 400)),
  ...over(
    'three days of four without an order, and one day of many',
    days(`case when i = 300 then 90 else ${SOME} end`, 400),
  ),
  ...over(
    'losses, and gains in the last week',
    days(`case when i < 193 then -50000 else 12000 end + 4000 * ${NORMAL}`, 200),
  ),
  ...over('a rise that ends in the middle', days(`100 + least(i, 150) + 5 * ${NORMAL}`, 300)),
  ...over(
    'one gap of a month in days',
    series('orders', `100 + 5 * ${NORMAL}`, { step: 'day', n: 200, where: 'i not between 80 and 109' }),
  ),
  ...over('shares just below a hundred', days(`least(1, 0.9985 + 0.001 * ${NORMAL})`, 200), {
    columns: { orders: { label: 'availability', fmt: 'pct2' } },
  }),
  ...over('hours by the clocks of Berlin, over summer time', hours, { time_zone: 'Europe/Berlin' }),
  {
    is: 'hours by the clocks of Berlin, over summer time',
    method: 'seasonality',
    options: orders,
    time_zone: 'Europe/Berlin',
    sql: hours,
  },
  ...['year', 'quarter'].map((period) => ({
    is: `one value in each week, by the ${period}, of which one has a week more`,
    method: 'compare',
    options: { ...orders, period },
    sql: "select date '2022-01-03' + 7 * i::int as t, 100.0 as orders from range(157) r(i)",
  })),
  {
    is: 'one value in each week, by the quarter, of which one has a week more',
    method: 'drivers',
    options: { value: 'orders', by: ['shop'], time: 't', period: 'quarter' },
    sql: `select date '2022-01-03' + 7 * i::int as t, ${SHOPS}, 100.0 as orders from range(157) r(i), range(3) q(s)`,
  },
  ...over('no value at all', days('null', 30)),
  {
    is: 'by shop: one shop has two rows of a month',
    method: 'trend',
    options: { ...orders, by: 'shop' },
    sql: `${shops(`100 + 10 * ${NOISE}`)} union all select date '2020-03-01', 'Kiel', 97.0`,
  },
  {
    is: 'by shop: three values each',
    method: 'describe',
    options: { value: 'orders', by: 'shop' },
    sql: `select * from (${shops(`100 + 10 * ${NOISE}`)}) where t < date '2020-04-01'`,
  },
]
