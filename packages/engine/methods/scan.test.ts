import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Errors } from 'typebox/value'
import { METHODS } from './catalog.ts'
import type { Cause } from './drivers/causes.ts'
import { outcomeOf, relation } from './relation-fixture.ts'
import { outcomeSchema } from './shared/fields.ts'

const SIZE = `case country when 'DE' then 120 when 'US' then 180 when 'FR' then 60 else 30 end
  * case channel when 'paid' then 1.5 when 'mail' then 0.5 else 1 end * case when dayofweek(day) in (0, 6) then 0.6 else 1 end`
/** Makes orders by day, country and channel, with a weekly season and the noise of counts. `factor` is SQL. */
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

test('where a day is all of one topic, the topic is named and no channel', async () => {
  const table = await relation(`select date '2025-09-01' + d::int as day, channel, topic,
      if(d = 50, if(topic = 'bug', [40, 30, 25][c], 0), (hash(d, c, topic) % 6)::int) as tickets
    from range(60) r(d), (values (1, 'chat'), (2, 'mail'), (3, 'phone')) p(c, channel), (values ('bug'), ('howto'), ('bill')) q(topic)
    where d <> 50 or topic = 'bug'`)
  const asked = { time: 'day', value: 'tickets', by: ['channel', 'topic'] }
  const { headline, events } = await outcomeOf(METHODS.anomalies!, table, asked, NOW)
  assert.deepEqual(
    (events as Event[]).map(({ time, causes }) => [time, causes.map(({ where }) => where)]),
    [['2025-10-21', [{ topic: 'bug' }]]],
  )
  assert.match(headline, /came with topic "bug", up .* times; nothing came of anything else\.$/u)
})

/** Makes tickets by day, channel and topic as random counts. `when` is SQL of the rows that exist. */
const tickets = (when: string, days: number) =>
  relation(`select * from (${orders('1', 5, days)}) where ${when}`)

test('a value that vanishes on a day, one that ends and one that is new are reported on that day as what they are', async () => {
  const last = "date '2026-04-20'"
  const cases: [string, string, RegExp][] = [
    [`not (day = ${last} and country = 'US')`, 'US', /nothing came of any part|down to nothing/],
    [`not (day >= ${last} and country = 'FR')`, 'FR', /nothing came of any part|down to nothing/],
    [`not (day < ${last} and country = 'DE')`, 'DE', /, up \d/],
  ]
  for (const [when, country, says] of cases) {
    const { events } = await outcomeOf(METHODS.anomalies!, await tickets(when, 110), BY, NOW)
    const [event, ...others] = events as Event[]
    assert.deepEqual(
      [event?.time, event?.causes.map(({ where }) => where), others.length],
      ['2026-04-20', [{ country }], 0],
      when,
    )
    assert.match(event!.says, says)
  }
})

test('a level that changed near the end makes no anomaly of the days before, and the headline says when it changed', async () => {
  const gone = "not (day >= date '2026-06-10' and country = 'US')"
  const { events, headline } = await outcomeOf(METHODS.anomalies!, await tickets(gone, 166), BY, NOW)
  assert.deepEqual(
    (events as Event[]).filter(({ time }) => time < '2026-06-10'),
    [],
  )
  assert.match(headline, /2026/)
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

test('events at any time of the day are scanned by their days, and a day without one is reported', async () => {
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
  assert.match(outcome.summary, /2 of 59 days have no row\. If no row means zero, write missing: zero/)
})

/**
 * Makes visits and their orders by day, country and channel. `rate` is SQL of a combination's share. Sundays have a
 * fifth of the visits.
 */
const visits = (rate: string, seed: number, days = 120) => `select day, country, channel, n as visits,
    least(n, greatest(0, round(n * p + sqrt(n * p * (1 - p)) * z))) as orders from (
    select *, list_sum(list_transform(range(12), q -> (hash(day, country, channel, q, ${seed}) % 10000) / 10000.0)) - 6 as z, ${rate} as p from (
      select day::date as day, country, channel, round(w * k * if(dayofweek(day) = 0, 0.2, 1) * (0.9 + (hash(day, country, ${seed}) % 200) / 1000.0)) as n
      from (select unnest(generate_series(date '2026-01-01', date '2026-01-01' + ${days - 1}, interval 1 day)) as day),
        (values ('DE', 2000), ('US', 4500), ('FR', 1000), ('IT', 300)) c(country, w), (values ('paid', 1.5), ('free', 1), ('mail', 0.5)) h(channel, k)))`
const RATES =
  "0.04 * case country when 'US' then 0.7 when 'IT' then 1.5 else 1 end * case channel when 'mail' then 2 else 1 end"
const RATIO = { time: 'day', numerator: 'orders', denominator: 'visits', by: ['country', 'channel'] }
const scannedRatio = async (rate: string, seed: number, more: Record<string, unknown> = {}, where = '') => {
  const table = await relation(`select * from (${visits(rate, seed)}) ${where}`)
  const outcome = await outcomeOf(METHODS.anomalies!, table, { ...RATIO, ...more }, NOW)
  return { ...outcome, events: outcome.events as Event[], findings: outcome.findings as Event[] }
}
const LOST = (where: string) => `${RATES} * if(day = date '2026-04-15' and ${where}, 0.2, 1)`

test('a rate that falls in one segment is found there by its denominators, and explained', async () => {
  const { events, headline, grade } = await scannedRatio(LOST("country = 'DE' and channel = 'paid'"), 3)
  assert.deepEqual([grade, events.length], ['firm', 1])
  const [event] = events
  assert.deepEqual(event!.where, { country: 'DE', channel: 'paid' })
  const [cause] = event!.causes
  assert.deepEqual([cause!.where, cause!.before, cause!.after], [event!.where, event!.expected, event!.value])
  assert.match(
    headline,
    /^Orders per visit of country "DE" and channel "paid" came to .* on 15 April 2026, \d\d % less than expected/u,
  )
  // The loss of a whole country is found in the whole. It is split over its parts by their rates.
  const wide = await scannedRatio(LOST("country = 'US'"), 3)
  const found = wide.events.find(({ time }) => time === '2026-04-15')!
  assert.deepEqual(found.where, {})
  assert.deepEqual(
    found.causes.map((one) => [one.where, (one as { kind?: string }).kind]),
    [[{ country: 'US' }, 'rate']],
  )
  assert.deepEqual(
    (await scannedRatio(LOST("country = 'US'"), 3, { at_least: { absolute: 0.1 } })).events,
    [],
  )
})

test('in rates without an anomaly no segment stands out, and neither does a day without a denominator', async () => {
  for (const seed of [21, 22, 23]) {
    const { events, headline, summary } = await scannedRatio(
      RATES,
      seed,
      { alpha: 0.01 },
      `where not (day = date '2026-02-11' and country = 'DE') and day <> date '2026-03-03'`,
    )
    assert.deepEqual(events, [])
    assert.match(
      headline,
      /^No value of orders per visit stands out, neither of the whole nor of its \d+ segments\.$/u,
    )
    assert.match(summary, /1 of 120 days has no row/)
  }
})

test('one series of a ratio is judged by its rates, and a metric by what can be added up', async () => {
  const table = await relation(visits(LOST('true'), 3))
  const { time, numerator, denominator } = RATIO
  const one = await outcomeOf(METHODS.anomalies!, table, { time, numerator, denominator }, NOW)
  const points = one.points as { time: string; value: number; expected: number }[]
  assert.deepEqual(
    points.map((point) => point.time),
    ['2026-04-15'],
  )
  assert.ok(points[0]!.value < 0.3 * points[0]!.expected)
  const fault = (more: Record<string, unknown>, says: RegExp) =>
    assert.rejects(outcomeOf(METHODS.anomalies!, table, { time, ...more }, NOW), says)
  await fault({ numerator }, /needs both `numerator` and `denominator`/u)
  await fault({ numerator, denominator, value: 'orders' }, /either `value`, or `numerator`/u)
  await fault({ numerator, denominator, missing: 'zero' }, /unknown and never zero/u)
  // The values of a ratio metric do not add up, but its parts do.
  const read = `select day, country, channel, orders as numerator, visits as denominator, orders / visits as value from (${visits(LOST("country = 'US'"), 3)})`
  const scanOf = async (adding: string) => {
    const metrics = [{ info: { adding, label: 'Orders a visit' }, doubts: [] }] as never
    const options = { time, value: 'value', by: RATIO.by }
    return outcomeOf(METHODS.anomalies!, await relation(read), options, NOW, { metrics })
  }
  const { events } = (await scanOf('ratio')) as unknown as { events: Event[] }
  assert.deepEqual([events[0]!.time, events[0]!.causes[0]!.where], ['2026-04-15', { country: 'US' }])
  await assert.rejects(
    scanOf('none'),
    /Orders a visit cannot be added up over its dimensions.*Name one column: by: country\./u,
  )
})
