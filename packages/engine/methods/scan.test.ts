import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Errors } from 'typebox/value'
import { METHODS } from './catalog.ts'
import type { Cause } from './drivers/causes.ts'
import { outcomeOf, relation } from './relation-fixture.ts'
import { outcomeSchema } from './shared/fields.ts'

const SIZE = `case country when 'DE' then 120 when 'US' then 180 when 'FR' then 60 else 30 end
  * case channel when 'paid' then 1.5 when 'mail' then 0.5 else 1 end * case when dayofweek(day) in (0, 6) then 0.6 else 1 end`
/** Orders by day, country and channel: a weekly season and the noise of counts; `factor` is SQL. */
const orders = (factor: string, seed: number, days = 180) => `select day::date as day, country, channel,
    round(greatest(0, m * (1 + 0.03 * w) + sqrt(m) * z)) as orders from (
    select day, country, channel, ${SIZE} * (${factor}) as m,
      sqrt(-2 * ln(u1)) * cos(6.283185307 * u2) as z, sqrt(-2 * ln(v1)) * cos(6.283185307 * v2) as w
    from (select *,
        ((hash(day, country, channel, ${seed}, 1) >> 11) + 1) / 9007199254740993.0 as u1, (hash(day, country, channel, ${seed}, 2) >> 11) / 9007199254740992.0 as u2,
        ((hash(day, ${seed}, 3) >> 11) + 1) / 9007199254740993.0 as v1, (hash(day, ${seed}, 4) >> 11) / 9007199254740992.0 as v2
      from (select unnest(generate_series(date '2026-01-01', date '2026-01-01' + ${days - 1}, interval 1 day)) as day),
        (select unnest(['DE', 'US', 'FR', 'IT']) as country), (select unnest(['paid', 'free', 'mail']) as channel)))`

const BY = { time: 'day', value: 'orders', by: ['country', 'channel'] }
const NOW = '2027-06-01T00:00:00Z'

interface Event {
  time: string
  where: Record<string, string>
  value: number
  expected: number
  low: number
  high: number
  p_adjusted: number
  says: string
  causes: Cause[]
  segments: number
}
const scanned = async (factor: string, seed: number, more: Record<string, unknown> = {}, days = 180) => {
  const table = await relation(orders(factor, seed, days))
  const outcome = await outcomeOf(METHODS.anomalies!, table, { ...BY, ...more }, NOW)
  assert.deepEqual(Errors(outcomeSchema(METHODS.anomalies!.fields, BY), outcome), [])
  return { ...outcome, events: outcome.events as Event[], findings: outcome.findings as Event[] }
}
const FALL = (where: string) => `case when day = date '2026-06-22' and ${where} then 0.2 else 1 end`

test('a fall in one combination is found there, and the anomaly and its cause have one expectation', async () => {
  const { events, findings, grade, headline } = await scanned(FALL("country = 'DE' and channel = 'paid'"), 1)
  assert.equal(grade, 'firm')
  assert.equal(events.length, 1)
  const [event] = events
  assert.deepEqual(event!.where, { country: 'DE', channel: 'paid' })
  assert.ok(event!.low < event!.expected && event!.expected < event!.high)
  assert.equal(event!.segments, findings.length)
  const [cause, ...others] = event!.causes
  assert.deepEqual(others, [])
  assert.deepEqual([cause!.where, cause!.before, cause!.after], [event!.where, event!.expected, event!.value])
  assert.match(
    headline,
    /^Orders of country "DE" and channel "paid" came to 45 on 22 June 2026, 75 % less than expected \(181, usually 154 to 209\)\.$/u,
  )
})

test('a fall that the whole shows is split over its parts, which add up to what was expected of it', async () => {
  const { events, headline } = await scanned(FALL("channel = 'paid'"), 1)
  const event = events.find(({ time }) => time === '2026-06-22')!
  assert.deepEqual(event.where, {})
  assert.deepEqual(
    event.causes.map(({ where }) => where),
    [{ channel: 'paid' }],
  )
  for (const { before, after } of event.causes) assert.ok(after! < 0.3 * before!)
  assert.ok(event.causes.reduce((sum, { before }) => sum + before!, 0) < event.expected)
  assert.match(
    headline,
    /^Orders came to .* less than expected .*: nearly all of the gap came with channel "paid", down 8\d %; everything else was/u,
  )
})

test('where all parts fall alike no part is called the cause', async () => {
  const { events } = await scanned(FALL('true'), 1)
  assert.deepEqual(events[0]!.where, {})
  assert.deepEqual(events[0]!.causes, [])
  assert.match(events[0]!.says, /the gap is spread over all/u)
})

test('in counts without an anomaly no segment stands out', async () => {
  for (const seed of [11, 12, 13]) {
    const { events, findings, headline } = await scanned('1', seed, {}, 90)
    assert.deepEqual([events, findings], [[], []])
    assert.equal(headline, 'No value of orders stands out, neither of the whole nor of its 19 segments.')
  }
})

test('floors and `latest` leave out what is too small or too old to be told', async () => {
  const fall = FALL("country = 'DE' and channel = 'paid'")
  assert.equal((await scanned(fall, 1, { latest: 14 })).events.length, 1)
  assert.equal((await scanned(fall, 1, { latest: 7 })).events.length, 0)
  assert.equal((await scanned(fall, 1, { at_least: { absolute: 100 } })).events.length, 1)
  assert.equal((await scanned(fall, 1, { at_least: { relative: 0.9 } })).events.length, 0)
})

test('what a scan cannot do is refused with what to write', async () => {
  await assert.rejects(scanned('1', 1, { test: 'esd' }), /goes with test: auto/u)
  const table = await relation(orders('1', 1))
  const one = { time: 'day', value: 'orders', depth: 2 }
  await assert.rejects(outcomeOf(METHODS.anomalies!, table, one), /by: \[country, channel\]/u)
})

test('events at any time of the day are scanned by their days, and a day without one is told', async () => {
  const table =
    await relation(`select day + interval ((hash(i, day) % 86400)) second as at, country, 1 as orders from (
      select unnest(generate_series(timestamp '2026-01-01', timestamp '2026-02-28', interval 1 day)) as day), (select unnest(['DE', 'US', 'FR']) as country),
      range(120) e(i) where i < 90 + hash(day, country) % 20 and day not in (timestamp '2026-02-10', timestamp '2026-02-11')
      and (country <> 'DE' or day <> timestamp '2026-02-20' or i < 6)`)
  const outcome = await outcomeOf(
    METHODS.anomalies!,
    table,
    { time: 'at', value: 'orders', by: ['country'] },
    NOW,
  )
  const [event, ...others] = outcome.events as Event[]
  assert.deepEqual([event?.time, others.length], ['2026-02-20', 0])
  assert.deepEqual(
    event?.causes.map(({ where, after }) => ({ ...where, after })),
    [{ country: 'DE', after: 6 }],
  )
  assert.match(outcome.summary, /2 days of 59 have no row\. If no row means zero, write missing: zero/)
})
