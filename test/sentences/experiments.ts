/** Situations of experiments: each grade, direction, form of a metric and doubt. */
import { MEASURES, NOISE, rows, type Situation } from './situation.ts'

const ARMS = `case when i % 2 = 0 then 'old' else 'new' end as arm, i as user_id`
const tested = { unit: 'user_id', arm: 'arm', control: 'old' }
const orders = { name: 'orders', value: 'orders' }
const situation = (
  is: string,
  metrics: Record<string, unknown>[],
  sql: string,
  { options = {}, ...more }: Partial<Situation> = {},
): Situation => ({ is, method: 'experiment', options: { ...tested, metrics, ...options }, sql, ...more })

/** Returns 600 users with a value each. `i % 2` is the group. */
const users = (value: string, name = 'orders', n = 600): string => rows(`${ARMS}, ${value} as ${name}`, n)

const directions: Situation[] = MEASURES.flatMap(({ name, scale, columns }) => [
  situation(
    'a lower mean',
    [{ name, value: name }],
    users(`${scale} * (1 + ${NOISE} - 0.3 * (i % 2))`, name),
    { columns },
  ),
  situation(
    'a slightly higher mean',
    [{ name, value: name, good: 'up' }],
    users(`${scale} * (1 + ${NOISE} + 0.09 * (i % 2))`, name),
    { columns },
  ),
])

const FLAG = `(${NOISE} > 0.3 - 0.1 * (i % 2))::int`
const shares: Situation[] = [
  situation('a share that rises', [{ name: 'bought', value: 'bought', good: 'up' }], users(FLAG, 'bought'), {
    columns: { bought: { label: 'the share of buyers', fmt: 'pct1' } },
  }),
  situation(
    'a share of few users',
    [{ name: 'bought', value: 'bought' }],
    users('(i = 4)::int', 'bought', 16),
    {
      columns: { bought: { label: 'the share of buyers', fmt: 'pct1' } },
    },
  ),
  situation('a share near 100 %', [{ name: 'kept', value: 'kept' }], users('(i % 50 > 0)::int', 'kept'), {
    columns: { kept: { label: 'the share of users who stay', fmt: 'pct1' } },
  }),
  situation(
    'a ratio of sums',
    [{ name: 'revenue_per_visit', numerator: 'revenue', denominator: 'visits', good: 'up' }],
    rows(`${ARMS}, (1 + i % 3) * (2 + ${NOISE} + 0.5 * (i % 2)) as revenue, 1 + i % 3 as visits`),
    { columns: { revenue_per_visit: { label: 'revenue per visit', unit: 'EUR' } } },
  ),
]

const forms: Situation[] = [
  situation('a loss of what should rise', [{ ...orders, good: 'up' }], users(`10 + ${NOISE} - i % 2`)),
  situation('a gain of what should fall', [{ ...orders, good: 'down' }], users(`10 + ${NOISE} - i % 2`)),
  situation(
    'a covariate from before',
    [{ ...orders, covariate: 'earlier' }],
    rows(
      `${ARMS}, 10 + 8 * ${NOISE} + ((i * i * 31 + i * 17) % 101) / 101.0 + 0.5 * (i % 2) as orders, 10 + 8 * ${NOISE} as earlier`,
    ),
  ),
  situation('a result that may be looked at every day', [orders], users(`10 + ${NOISE} + i % 2`), {
    options: { looks: 'sequential' },
  }),
  situation(
    'the same without a difference',
    [{ ...orders, minimum_effect: 0.5 }],
    users(`10 + 4 * ${NOISE}`),
    {
      options: { looks: 'sequential' },
    },
  ),
  situation(
    'days left at the present traffic',
    [{ ...orders, minimum_effect: 0.3 }],
    rows(`${ARMS}, date '2026-01-01' + (i // 60)::int as day, 10 + 6 * ${NOISE} as orders`),
    { options: { time: 'day' } },
  ),
  situation(
    'several rows of a user',
    [{ ...orders, aggregate: 'sum' }],
    rows(
      `case when i // 3 % 2 = 0 then 'old' else 'new' end as arm, i // 3 as user_id, 3 + ${NOISE} + i // 3 % 2 as orders`,
    ),
  ),
  situation(
    'two main metrics, one of which moves',
    [
      { ...orders, primary: true },
      { name: 'returns', value: 'returned', primary: true, good: 'down' },
    ],
    rows(`${ARMS}, 10 + ${NOISE} as orders, 2 + ${NOISE} - 0.4 * (i % 2) as returned`),
  ),
  situation(
    'two main metrics, and none moves',
    [
      { ...orders, primary: true },
      { name: 'returns', value: 'returned', primary: true },
    ],
    rows(`${ARMS}, 10 + ${NOISE} as orders, 2 + ${NOISE} as returned`),
  ),
  situation(
    'three arms, and none moves',
    [orders],
    rows(`['old', 'new', 'bold'][1 + i % 3] as arm, i as user_id, 10 + ${NOISE} as orders`),
  ),
  situation(
    'a second metric that is the same for all',
    [orders, { name: 'visits', value: 'visits' }],
    rows(`${ARMS}, 10 + ${NOISE} + i % 2 as orders, 1 as visits`),
  ),
  situation(
    'a margin of two main metrics',
    [
      { ...orders, good: 'up', margin: 0.2, primary: true },
      { name: 'returns', value: 'returned', good: 'down', margin: 0.2, primary: true },
    ],
    rows(`${ARMS}, 10 + ${NOISE} as orders, 2 + ${NOISE} as returned`),
  ),
]

const doubts: Situation[] = [
  situation(
    'one user makes the difference',
    [orders],
    users(`case when i = 7 then 9000 else 5 + ${NOISE} end`),
  ),
  situation(
    'one user hides the difference',
    [orders],
    users(`case when i = 7 then 900 else 5 + ${NOISE} + 0.5 * (i % 2) end`),
  ),
  situation(
    'the same with a cap',
    [{ ...orders, winsorise: 0.99 }],
    users(`case when i = 7 then 900 else 5 + ${NOISE} + 0.5 * (i % 2) end`),
  ),
  situation('all 1 against all 2', [orders], users('1 + i % 2')),
  situation('one value throughout', [orders], users('5')),
  situation(
    'users without a value',
    [orders],
    users(`case when i % 10 = 3 then null else 10 + ${NOISE} + i % 2 end`),
  ),
  situation(
    'rows without a user',
    [orders],
    rows(
      `case when i % 2 = 0 then 'old' else 'new' end as arm, case when i % 10 = 3 then null else i end as user_id, 10 + ${NOISE} as orders`,
    ),
  ),
  situation(
    'planned shares of 2 to 1',
    [orders],
    rows(`case when i % 3 = 0 then 'new' else 'old' end as arm, i as user_id, 5 + ${NOISE} as orders`),
    {
      options: { planned: { old: 2, new: 1 } },
    },
  ),
  situation('a control without rows', [orders], users(`5 + ${NOISE}`), { options: { control: 'before' } }),
  situation('one arm', [orders], rows(`'old' as arm, i as user_id, 5 + ${NOISE} as orders`)),
  situation('no rows', [orders], `select * from (${users('5')}) where false`),
  situation(
    'losses in place of profits',
    [{ name: 'profit', value: 'profit', good: 'up' }],
    users(`-5 + ${NOISE} + 0.5 * (i % 2)`, 'profit'),
    {
      columns: { profit: { unit: 'EUR' } },
    },
  ),
  situation(
    'very small numbers',
    [{ name: 'dose', value: 'dose' }],
    users(`1e-9 * (5 + ${NOISE} + 0.5 * (i % 2))`, 'dose'),
  ),
  situation(
    'arms that are numbers',
    [orders],
    rows(`(1 + i % 2)::double as arm, i as user_id, 5 + ${NOISE} + i % 2 as orders`),
    {
      options: { control: '1' },
    },
  ),
]

export const experiments: Situation[] = [...directions, ...shares, ...forms, ...doubts]
