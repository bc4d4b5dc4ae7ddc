/** Makes orders with known season, growth and noise for tests and the proof of causes. */
import { relation } from './relation-fixture.ts'
import type { Relation } from './shared/method.ts'

/**
 * Makes daily orders with a weekly and a yearly season and growth. `planted` is the SQL of what happens to one
 * combination from 1 December 2025 on.
 */
const makeSeasonal = (planted: string, seed: string): Promise<Relation> =>
  relation(
    `select day, country, channel, greatest(0, round(m + sqrt(m) * z))::int as orders, greatest(10, round(m)) as visits from (
       select d::date as day, country, channel, w * k / 10.0 * (1 + 0.3 * sin(2 * pi() * dayofyear(d) / 365.25))
           * (1 + 0.0003 * datediff('day', date '2023-01-01', d::date)) * case when dayofweek(d) in (0, 6) then 0.6 else 1.16 end
           * case when d >= date '2025-12-01' and country = 'DE' and channel = 'paid' then ${planted} else 1 end as m,
         list_sum(list_transform(range(12), q -> (hash(d, country, channel, q, '${seed}') % 10000) / 10000.0)) - 6 as z
       from generate_series(date '2023-01-01', date '2025-12-31', interval 1 day) t(d),
         (values ('DE', 400), ('US', 300), ('FR', 150), ('UK', 150), ('TV', 0.3)) c(country, w),
         (values ('paid', 4), ('organic', 5), ('email', 1)) h(channel, k))`,
  )
const made = new Map<string, Promise<Relation>>()
export function seasonal(planted: string, seed: string): Promise<Relation> {
  const key = `${planted} ${seed}`
  const table = made.get(key) ?? makeSeasonal(planted, seed)
  made.set(key, table)
  return table
}
