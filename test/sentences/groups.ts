/** Situations of the methods over groups, paths and columns. */
import { MEASURES, NOISE, rows, type Situation } from './situation.ts'

const each = (make: (measure: (typeof MEASURES)[number]) => Situation[]): Situation[] =>
  MEASURES.flatMap(make)
const ARM = `case i % 2 when 0 then 'old' else 'new' end as arm`
const value = { group: 'arm', value: 'orders', control: 'old' }
const success = { group: 'arm', success: 'paid', control: 'old' }

const abTest: Situation[] = [
  ...each(({ name, scale, columns }) => {
    const options = { group: 'arm', value: name, control: 'old' }
    const at = (gain: number): string =>
      rows(`${ARM}, ${scale} * (1 + ${NOISE} + ${gain} * (i % 2)) as ${name}`)
    return [
      { is: 'no difference', method: 'ab_test', options, columns, sql: at(0) },
      { is: 'a higher mean', method: 'ab_test', options, columns, sql: at(0.2) },
      { is: 'a lower mean', method: 'ab_test', options, columns, sql: at(-0.2) },
    ]
  }),
  {
    is: 'the same rate',
    method: 'ab_test',
    options: success,
    columns: { paid: { label: 'share of buyers' } },
    sql: rows(`${ARM}, i % 10 < 4 as paid`),
  },
  {
    is: 'a higher rate',
    method: 'ab_test',
    options: success,
    columns: { paid: { label: 'share of buyers' } },
    sql: rows(`${ARM}, (i // 2) % 10 < 4 + 2 * (i % 2) as paid`),
  },
  {
    is: 'a lower rate',
    method: 'ab_test',
    options: success,
    columns: { paid: { label: 'share of buyers' } },
    sql: rows(`${ARM}, (i // 2) % 10 < 5 - 2 * (i % 2) as paid`),
  },
  {
    is: 'a broken split',
    method: 'ab_test',
    options: value,
    sql: rows(`case when i % 3 = 0 then 'old' else 'new' end as arm, 5 + ${NOISE} as orders`),
  },
  {
    is: 'the same split as planned',
    method: 'ab_test',
    options: { ...value, planned: { old: 1, new: 2 } },
    sql: rows(`case when i % 3 = 0 then 'old' else 'new' end as arm, 5 + ${NOISE} as orders`),
  },
  {
    is: 'groups that nobody drew',
    method: 'ab_test',
    options: { ...value, planned: 'none' },
    sql: rows(`${ARM}, 5 + ${NOISE} + (i % 2) as orders`),
  },
  {
    is: 'a unit in both groups',
    method: 'ab_test',
    options: { ...value, unit: 'user_id' },
    sql: rows(`${ARM}, i // 10 as user_id, 5 + ${NOISE} as orders`),
  },
  {
    is: 'one row that makes the difference',
    method: 'ab_test',
    options: value,
    sql: rows(`${ARM}, case when i = 1 then 90000 else 5 + ${NOISE} end as orders`),
  },
  { is: 'all 1 against all 2', method: 'ab_test', options: value, sql: rows(`${ARM}, 1 + i % 2 as orders`) },
  { is: 'the same value everywhere', method: 'ab_test', options: value, sql: rows(`${ARM}, 3 as orders`) },
  { is: 'three rows', method: 'ab_test', options: value, sql: rows(`${ARM}, i as orders`, 3) },
  { is: 'one group', method: 'ab_test', options: value, sql: rows(`'old' as arm, i as orders`) },
  {
    is: 'three groups, one of them higher',
    method: 'ab_test',
    options: value,
    sql: rows(
      `case i % 3 when 0 then 'old' when 1 then 'new' else 'bold' end as arm, 5 + ${NOISE} + 2 * (i % 3 = 2)::int as orders`,
    ),
  },
]

const compareGroups: Situation[] = each(({ name, scale, columns }) => {
  const options = { value: name, group: 'shop' }
  const at = (gain: number): string =>
    rows(
      `case i % 3 when 0 then 'Kiel' when 1 then 'Ulm' else 'Jena' end as shop, ${scale} * (1 + ${NOISE} + ${gain} * (i % 3 = 2)::int) as ${name}`,
      300,
    )
  return [
    { is: 'three shops alike', method: 'compare_groups', options, columns, sql: at(0) },
    { is: 'one shop higher', method: 'compare_groups', options, columns, sql: at(0.5) },
  ]
})

const event = (name: string, share: number, after: number): string =>
  `select i as id, timestamp '2024-01-01' + interval (i * 7) minute + interval (${after}) minute as t, '${name}' as event from range(1000) r(i) where (i * 37) % 100 < ${share}`
const funnelRows = [event('visit', 100, 0), event('cart', 40, 5), event('paid', 12, 9)].join(' union all ')
const funnelOptions = { id: 'id', time: 't', event: 'event' }
const paths: Situation[] = [
  {
    is: 'three steps',
    method: 'funnel',
    options: { ...funnelOptions, steps: ['visit', 'cart', 'paid'] },
    sql: funnelRows,
  },
  {
    is: 'a misspelt step',
    method: 'funnel',
    options: { ...funnelOptions, steps: ['visit', 'cart', 'payed'] },
    sql: funnelRows,
  },
  {
    is: 'two steps',
    method: 'funnel',
    options: { ...funnelOptions, steps: ['visit', 'cart'] },
    sql: funnelRows,
  },
  {
    is: 'no rows',
    method: 'funnel',
    options: { ...funnelOptions, steps: ['visit', 'cart'] },
    sql: `${funnelRows} limit 0`,
  },
  {
    is: 'half of a cohort comes back',
    method: 'cohorts',
    options: { id: 'id', time: 't', every: 'month' },
    sql: `select i % 100 as id, date '2024-01-01' + ((i // 100) * 31 + i % 20)::int as t from range(800) r(i) where i < 100 or i % 2 = 0`,
  },
  {
    is: 'cohorts of one month',
    method: 'cohorts',
    options: { id: 'id', time: 't', every: 'month' },
    sql: `select i as id, date '2024-01-05' as t from range(30) r(i)`,
  },
  {
    is: 'a step that passes within a day',
    method: 'funnel',
    options: { ...funnelOptions, steps: ['visit', 'cart', 'paid'], window: '1 day' },
    sql: funnelRows,
  },
  {
    is: 'nobody reaches the end',
    method: 'funnel',
    options: { ...funnelOptions, steps: ['cart', 'visit', 'paid'] },
    sql: funnelRows,
  },
  {
    is: 'cohorts of which one does better',
    method: 'cohorts',
    options: { id: 'id', time: 't', every: 'month' },
    sql: `select c * 1000 + i as id, date '2024-01-15' + (31 * (c + p))::int as t from range(6) k(c), range(200) r(i), range(3) q(p)
      where p = 0 or (i * 7919) % 100 < 30 + case when c = 2 then 30 else 0 end`,
  },
  {
    is: 'newcomers who never come back',
    method: 'cohorts',
    options: { id: 'id', time: 't', every: 'month' },
    sql: `select i as id, date '2024-01-01' + (i % 180)::int as t from range(900) r(i)`,
  },
]

const shares: Situation[] = [
  ...each(({ name, scale, columns }) => [
    {
      is: 'a few make up most',
      method: 'pareto',
      options: { value: name, by: 'shop' },
      columns,
      sql: rows(`'shop ' || i as shop, ${scale} * 100.0 / (1 + i * i) as ${name}`, 40),
    },
  ]),
  {
    is: 'all alike',
    method: 'pareto',
    options: { value: 'orders', by: 'shop' },
    sql: rows(`'shop ' || (i % 10) as shop, 5 as orders`),
  },
  {
    is: 'values below zero',
    method: 'pareto',
    options: { value: 'orders', by: 'shop' },
    sql: rows(`'shop ' || (i % 10) as shop, i % 10 - 2 as orders`),
  },
  {
    is: 'one shop',
    method: 'pareto',
    options: { value: 'orders', by: 'shop' },
    sql: rows(`'Kiel' as shop, 5 as orders`),
  },
  {
    is: 'no rows',
    method: 'pareto',
    options: { value: 'orders', by: 'shop' },
    sql: rows(`'Kiel' as shop, 5 as orders`, 0),
  },
  {
    is: 'one shop has nearly all',
    method: 'pareto',
    options: { value: 'orders', by: 'shop' },
    sql: rows(`'shop ' || i as shop, case when i = 3 then 900 else 1 end as orders`, 40),
  },
  {
    is: 'one row makes the largest shop',
    method: 'pareto',
    options: { value: 'orders', by: 'shop' },
    sql: rows(`'shop ' || (i % 4) as shop, case when i = 3 then 900 else 10 + i % 4 end as orders`, 40),
  },
  {
    is: 'one row makes most of the largest shop, which is the largest without it, too',
    method: 'pareto',
    options: { value: 'orders', by: 'shop' },
    sql: rows(
      `'shop ' || (i % 8) as shop, case when i = 3 then 2000 when i % 8 = 3 then 40 else 10 end as orders`,
      80,
    ),
  },
  {
    is: 'rows without a shop are the most',
    method: 'pareto',
    options: { value: 'orders', by: 'shop' },
    sql: rows(`case when i % 2 = 0 then null else 'shop ' || (i % 10) end as shop, 5 as orders`),
  },
  {
    is: 'one row without a shop makes the largest part',
    method: 'pareto',
    options: { value: 'orders', by: 'shop' },
    sql: rows(
      `case when i % 4 = 0 then null else 'shop ' || (i % 4) end as shop, if(i = 8, 900, 10 + i % 4) as orders`,
      40,
    ),
  },
  {
    is: 'nothing sold',
    method: 'pareto',
    options: { value: 'orders', by: 'shop' },
    sql: rows(`'shop ' || i as shop, 0 as orders`, 10),
  },
]

const columns: Situation[] = [
  ...each(({ name, scale, columns: meaning }) => [
    {
      is: 'even values',
      method: 'describe',
      options: { value: name },
      columns: meaning,
      sql: rows(`${scale} * (1 + ${NOISE}) as ${name}`),
    },
    {
      is: 'one value far out',
      method: 'outliers',
      options: { value: name },
      columns: meaning,
      sql: rows(`${scale} * (1 + 0.2 * ${NOISE} + case when i = 9 then 8 else 0 end) as ${name}`, 100),
    },
  ]),
  { is: 'one value throughout', method: 'describe', options: { value: 'orders' }, sql: rows('5 as orders') },
  { is: 'no values', method: 'describe', options: { value: 'orders' }, sql: rows('null::double as orders') },
  {
    is: 'no value far out',
    method: 'outliers',
    options: { value: 'orders' },
    sql: rows(`100 + 10 * ${NOISE} as orders`, 100),
  },
  {
    is: 'a value far out that chance may make',
    method: 'outliers',
    options: { value: 'orders' },
    sql: 'select unnest([150, 154, 158, 160, 161, 162, 163, 170, 184]) as orders',
  },
  {
    is: 'a long tail',
    method: 'outliers',
    options: { value: 'orders' },
    sql: rows('exp(i / 50.0) as orders', 200),
  },
  {
    is: 'rare orders in zeros',
    method: 'outliers',
    options: { value: 'orders' },
    sql: rows('case when i % 4 = 0 then 1 + i % 3 else 0 end as orders', 200),
  },
  {
    is: 'two values',
    method: 'describe',
    options: { value: 'orders' },
    sql: 'select unnest([7, 9]) as orders',
  },
  {
    is: 'three values',
    method: 'describe',
    options: { value: 'orders' },
    sql: 'select unnest([7, 9, 8]) as orders',
  },
  {
    is: 'values near the normal curve',
    method: 'normality',
    options: { value: 'orders' },
    sql: rows('sqrt(-2 * ln((i + 0.5) / 200.0)) * cos(i * 2.399963) * 10 + 50 as orders', 200),
  },
  {
    is: 'values with a long tail',
    method: 'normality',
    options: { value: 'orders' },
    sql: rows('exp(i / 40.0) as orders', 200),
  },
  { is: 'two values', method: 'normality', options: { value: 'orders' }, sql: rows('i as orders', 2) },
  {
    is: 'a whole table',
    method: 'profile',
    options: {},
    sql: rows("i as id, 'x' as always, case when i % 4 = 0 then null else i end as some"),
  },
  { is: 'a table without gaps', method: 'profile', options: {}, sql: rows('i as id, i % 3 as kind', 21_961) },
  { is: 'a table without rows', method: 'profile', options: {}, sql: rows('i as id', 0) },
  { is: 'five values', method: 'describe', options: { value: 'orders' }, sql: rows('i as orders', 5) },
  {
    is: 'a few very high values',
    method: 'describe',
    options: { value: 'orders' },
    sql: rows('exp(i / 40.0) as orders', 300),
  },
  {
    is: 'several columns',
    method: 'describe',
    options: { values: ['orders', 'visits'] },
    sql: rows(`100 + 20 * ${NOISE} as orders, 900 + 100 * ${NOISE} as visits`),
  },
  {
    is: 'three values far out',
    method: 'outliers',
    options: { value: 'orders', label: 'customer' },
    sql: rows(
      `'customer ' || i as customer, 100 + 10 * ${NOISE} + case when i % 40 = 9 then 90 else 0 end as orders`,
      100,
    ),
  },
  {
    is: 'a table with an id and an empty column',
    method: 'profile',
    options: {},
    sql: rows(`'id ' || i as id, null::varchar as nothing, i % 2 as half`),
  },
]

export const overGroups: Situation[] = [...abTest, ...compareGroups, ...paths, ...shares, ...columns]
