/** Situations of the methods over time. */
import { dayNumber } from '@assay/model/dates'
import { MEASURES, NOISE, type Situation, series } from './situation.ts'

const each = (make: (measure: (typeof MEASURES)[number]) => Situation[]): Situation[] =>
  MEASURES.flatMap(make)
const orders = { time: 't', value: 'orders' }
const cut = { columns: [{ first: dayNumber('2020-01-01'), last: dayNumber('2024-12-18'), due: 1 }] }

const trend: Situation[] = [
  ...each(({ name, scale, columns }) => {
    const options = { time: 't', value: name }
    const at = (change: string): string => series(name, `${scale} * (${change} + 0.1 * ${NOISE})`)
    return [
      { is: 'a steady rise', method: 'trend', options, columns, sql: at('1 + i / 60.0') },
      { is: 'a steady fall', method: 'trend', options, columns, sql: at('1 - i / 100.0') },
      { is: 'noise alone', method: 'trend', options, columns, sql: at('1') },
    ]
  }),
  {
    is: 'a walk that ends far from where it began',
    method: 'trend',
    options: orders,
    sql: `select t, 500 + sum(orders) over (order by t) as orders from (${series('orders', `40 * ${NOISE}`)})`,
  },
  { is: 'three values', method: 'trend', options: orders, sql: series('orders', 'i', { n: 3 }) },
  { is: 'one value throughout', method: 'trend', options: orders, sql: series('orders', '7') },
  {
    is: 'a last month in which the data end',
    method: 'trend',
    options: orders,
    sql: series('orders', `100 + i * 4 + ${NOISE}`),
    extent: cut,
  },
  {
    is: 'a rise in weeks',
    method: 'trend',
    options: orders,
    sql: series('orders', `100 + i * 4 + ${NOISE}`, { step: 'week' }),
  },
  {
    is: 'a rise in hours',
    method: 'trend',
    options: orders,
    sql: series('orders', `100 + i * 4 + ${NOISE}`, { step: 'hour' }),
  },
  {
    is: 'a rise in days with four days missing',
    method: 'trend',
    options: orders,
    sql: series('orders', `100 + i * 4 + ${NOISE}`, { step: 'day', where: 'i not in (9, 10, 30, 31)' }),
  },
  {
    is: 'the same with missing days as zero',
    method: 'trend',
    options: { ...orders, missing: 'zero' },
    sql: series('orders', `100 + i * 4 + ${NOISE}`, { step: 'day', where: 'i not in (9, 10, 30, 31)' }),
  },
  {
    is: 'a rise over years that are numbers',
    method: 'trend',
    options: orders,
    sql: `select 1950 + i as t, 10 + i * 0.5 + ${NOISE} as orders from range(60) r(i)`,
  },
  {
    is: 'a season that is asked for and too long',
    method: 'trend',
    options: { ...orders, period: 52 },
    sql: series('orders', `i + ${NOISE}`),
  },
  {
    is: 'a rise with one value far out',
    method: 'trend',
    options: orders,
    sql: series('orders', `100 + i * 4 + ${NOISE} + case when i = 20 then 900 else 0 end`),
  },
  { is: 'no rows', method: 'trend', options: orders, sql: series('orders', 'i', { n: 0 }) },
  {
    is: 'days of which most have no orders',
    method: 'trend',
    options: orders,
    sql: series('orders', 'case when (i * 7919) % 11 < 2 then 1 + i % 3 else 0 end', { step: 'day', n: 200 }),
  },
  {
    is: 'two rows for each month',
    method: 'trend',
    options: orders,
    sql: `select t, orders + s as orders from (${series('orders', `100 + i * 4 + ${NOISE}`)}), range(2) q(s)`,
  },
  {
    is: 'times without an even step',
    method: 'trend',
    options: orders,
    sql: `select timestamp '2024-01-01' + interval (i * i * 17 + i * 53) minute as t, 100 + i * 4 + ${NOISE} as orders from range(60) r(i)`,
  },
]

const compare: Situation[] = [
  ...each(({ name, scale, columns }) => {
    const options = { time: 't', value: name, aggregate: 'mean' }
    const at = (last: number): string =>
      series(name, `${scale} * case when i = 35 then ${last} else 1 + 0.1 * ${NOISE} end`, { n: 36 })
    return [
      { is: 'a last month like the others', method: 'compare', options, columns, sql: at(0.97) },
      { is: 'a last month almost like the one before', method: 'compare', options, columns, sql: at(1.03) },
      { is: 'a last month far below', method: 'compare', options, columns, sql: at(0.4) },
      { is: 'a last month far above', method: 'compare', options, columns, sql: at(2) },
    ]
  }),
  {
    is: 'the same every day, February after January',
    method: 'compare',
    options: orders,
    sql: series('orders', '300', { step: 'day', n: 60, from: '2024-01-01' }),
  },
  {
    is: 'sums of days, a fall in a shorter month',
    method: 'compare',
    options: orders,
    sql: series('orders', 'case when i < 31 then 300 else 240 end', {
      step: 'day',
      n: 60,
      from: '2024-01-01',
    }),
  },
  {
    is: 'three days of the last week missing',
    method: 'compare',
    options: { ...orders, period: 'week' },
    sql: series('orders', '1000', {
      step: 'day',
      n: 140,
      from: '2024-01-01',
      where: 'i not in (135, 136, 137)',
    }),
  },
  {
    is: 'the same with missing days as zero',
    method: 'compare',
    options: { ...orders, period: 'week', missing: 'zero' },
    sql: series('orders', '1000', {
      step: 'day',
      n: 140,
      from: '2024-01-01',
      where: 'i not in (135, 136, 137)',
    }),
  },
  {
    is: 'data that end inside a month',
    method: 'compare',
    options: orders,
    sql: series('orders', '100', { step: 'day', n: 86, from: '2024-01-01' }),
  },
  {
    is: 'the same with partial: keep',
    method: 'compare',
    options: { ...orders, partial: 'keep' },
    sql: series('orders', '100', { step: 'day', n: 86, from: '2024-01-01' }),
  },
  {
    is: 'two months only',
    method: 'compare',
    options: orders,
    sql: series('orders', '100 + i * 20', { n: 2 }),
  },
  { is: 'one month only', method: 'compare', options: orders, sql: series('orders', '100', { n: 1 }) },
  {
    is: 'a sign that changes',
    method: 'compare',
    options: orders,
    sql: series('orders', 'case when i = 11 then -40 else 25 end', { n: 12 }),
  },
  {
    is: 'from nothing to something',
    method: 'compare',
    options: orders,
    sql: series('orders', 'case when i = 11 then 40 else 0 end', { n: 12 }),
  },
  {
    is: 'years that are numbers',
    method: 'compare',
    options: { ...orders, period: 10 },
    sql: `select 1900 + i as t, 5 + i % 3 as orders from range(120) r(i)`,
  },
  {
    is: 'rows without a number',
    method: 'compare',
    options: orders,
    sql: series('orders', `case when i % 20 = 7 then null else 100 + 10 * ${NOISE} end`, {
      step: 'day',
      n: 366,
      from: '2024-01-01',
    }),
  },
  {
    is: 'a day far below',
    method: 'compare',
    options: { ...orders, period: 'day' },
    sql: series('orders', `case when i = 59 then 20 else 100 + 10 * ${NOISE} end`, { step: 'day' }),
  },
  {
    is: 'a Monday after a weekend without rows',
    method: 'compare',
    options: { ...orders, period: 'day' },
    sql: series('orders', `100 + 10 * ${NOISE}`, {
      step: 'day',
      n: 78,
      from: '2024-01-01',
      where: 'i % 7 < 5',
    }),
  },
  {
    is: 'months of which one has no rows',
    method: 'compare',
    options: orders,
    sql: series('orders', `100 + 10 * ${NOISE}`, { n: 36, where: 'i <> 20' }),
  },
  {
    is: 'weeks of which one has no rows, as zero',
    method: 'compare',
    options: { ...orders, period: 'week', missing: 'zero' },
    sql: series('orders', `100 + 10 * ${NOISE}`, {
      step: 'day',
      n: 140,
      from: '2024-01-01',
      where: 'i < 126 or i >= 133',
    }),
  },
]

const changepoints: Situation[] = [
  ...each(({ name, scale, columns }) => {
    const options = { time: 't', value: name }
    const at = (level: string): string => series(name, `${scale} * (${level} + 0.2 * ${NOISE})`)
    return [
      {
        is: 'a level that jumps up once',
        method: 'changepoints',
        options,
        columns,
        sql: at('case when i < 35 then 1 else 1.6 end'),
      },
      {
        is: 'a level that falls once',
        method: 'changepoints',
        options,
        columns,
        sql: at('case when i < 20 then 1 else 0.5 end'),
      },
      { is: 'one level', method: 'changepoints', options, columns, sql: at('1') },
    ]
  }),
  {
    is: 'three levels',
    method: 'changepoints',
    options: orders,
    sql: series('orders', `${NOISE} + case when i < 30 then 10 when i < 60 then 20 else 5 end`, { n: 90 }),
  },
  {
    is: 'a jump in days',
    method: 'changepoints',
    options: orders,
    sql: series('orders', `${NOISE} + case when i < 30 then 10 else 20 end`, { step: 'day' }),
  },
  {
    is: 'one spike at the end',
    method: 'changepoints',
    options: orders,
    sql: series('orders', `case when i = 59 then 500000 else ${NOISE} end`),
  },
  {
    is: 'one spike at the end of zeros',
    method: 'changepoints',
    options: orders,
    sql: series('orders', 'case when i = 98 then 500000 else 0 end', { step: 'day', n: 99 }),
  },
  { is: 'five values', method: 'changepoints', options: orders, sql: series('orders', 'i', { n: 5 }) },
  { is: 'one value throughout', method: 'changepoints', options: orders, sql: series('orders', '7') },
]

const seasonality: Situation[] = [
  ...each(({ name, scale, columns }) => {
    const options = { time: 't', value: name }
    return [
      {
        is: 'high Saturdays',
        method: 'seasonality',
        options,
        columns,
        sql: series(name, `${scale} * (1 + 0.1 * ${NOISE} + case when i % 7 = 5 then 0.5 else 0 end)`, {
          step: 'day',
          n: 140,
          from: '2024-01-01',
        }),
      },
      {
        is: 'high summers',
        method: 'seasonality',
        options,
        columns,
        sql: series(name, `${scale} * (1 + 0.1 * ${NOISE} + 0.3 * sin((i - 3) * pi() / 6))`),
      },
    ]
  }),
  {
    is: 'high Saturdays of a shop that is closed on Sundays',
    method: 'seasonality',
    options: orders,
    sql: `select * from (${series(
      'orders',
      `100 * (1 + 0.1 * ${NOISE} + case when i % 7 = 5 then 0.5 else 0 end)`,
      {
        step: 'day',
        n: 140,
        from: '2024-01-01',
      },
    )}) where isodow(t) < 7`,
  },
  { is: 'noise alone', method: 'seasonality', options: orders, sql: series('orders', `100 + 10 * ${NOISE}`) },
  {
    is: 'a year in days',
    method: 'seasonality',
    options: orders,
    sql: series('orders', `100 + 10 * ${NOISE} + 30 * sin(i * 2 * pi() / 365.25)`, { step: 'day', n: 1200 }),
  },
  {
    is: 'a Monday peak in Berlin',
    method: 'seasonality',
    options: orders,
    time_zone: 'Europe/Berlin',
    sql: `select timezone('Europe/Berlin', (date '2024-01-01' + i::int)::timestamp) as t, 100 + case when i % 7 = 0 then 50 else 0 end + 10 * ${NOISE} as orders from range(200) r(i)`,
  },
  {
    is: 'hours of a Monday peak in Berlin',
    method: 'seasonality',
    options: orders,
    time_zone: 'Europe/Berlin',
    sql: `select t, 100 + case when dayofweek(timezone('Europe/Berlin', t)) = 1 then 50 else 0 end + 10 * ${NOISE} as orders from (select i, timezone('UTC', timestamp '2024-01-01' + i * interval '1 hour') as t from range(2400) r(i))`,
  },
  {
    is: 'a pattern of 11 steps without a calendar',
    method: 'seasonality',
    options: orders,
    sql: `select i as t, 100 + 20 * sin(i * 2 * pi() / 11) + ${NOISE} as orders from range(120) r(i)`,
  },
  {
    is: 'a period that is asked for and is none',
    method: 'seasonality',
    options: { ...orders, period: 5 },
    sql: series('orders', `100 + 10 * ${NOISE}`),
  },
  {
    is: 'a period that is asked for and too long',
    method: 'seasonality',
    options: { ...orders, period: 40 },
    sql: series('orders', `100 + 10 * ${NOISE}`),
  },
  {
    is: 'half a year of months',
    method: 'seasonality',
    options: orders,
    sql: series('orders', 'i', { n: 6 }),
  },
  { is: 'one value throughout', method: 'seasonality', options: orders, sql: series('orders', '7') },
]

const anomalies: Situation[] = [
  ...each(({ name, scale, columns }) => {
    const options = { time: 't', value: name }
    const at = (value: string): string =>
      series(name, `${scale} * (1 + 0.1 * ${NOISE} + ${value})`, { step: 'day', n: 90 })
    return [
      {
        is: 'one day far above',
        method: 'anomalies',
        options,
        columns,
        sql: at('case when i = 40 then 1 else 0 end'),
      },
      {
        is: 'one day far below',
        method: 'anomalies',
        options,
        columns,
        sql: at('case when i = 40 then -0.8 else 0 end'),
      },
      { is: 'no day out of the ordinary', method: 'anomalies', options, columns, sql: at('0') },
    ]
  }),
  {
    is: 'three days out of the ordinary',
    method: 'anomalies',
    options: orders,
    sql: series('orders', `100 + 10 * ${NOISE} + case when i in (20, 50, 70) then 90 else 0 end`, {
      step: 'day',
      n: 90,
    }),
  },
  { is: 'five values', method: 'anomalies', options: orders, sql: series('orders', 'i', { n: 5 }) },
  { is: 'one value throughout', method: 'anomalies', options: orders, sql: series('orders', '7') },
]

export const overTime: Situation[] = [...trend, ...compare, ...changepoints, ...seasonality, ...anomalies]
