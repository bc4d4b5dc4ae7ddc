/**
 * Tests what methods take from the metrics that they read: the rule of adding, the year before, targets, dimensions,
 * labels.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { findingsOf, openTestPool, templateOf } from '../run/test-pool.ts'

const DAY = 86_400_000
/** Two years of days until 31 December 2025: three visitors a day, of whom one buys; in the last week all three buy. */
const days = Array.from({ length: 730 }, (_, index) =>
  new Date(Date.UTC(2025, 11, 31) - (729 - index) * DAY).toISOString().slice(0, 10),
)
const visits = days.flatMap((day) =>
  ['a', 'b', 'c'].map(
    (who, at) => `${day},${who},${at === 0 || day >= '2025-12-22' ? 1 : 0},${who === 'a' ? 'DE' : 'FR'}`,
  ),
)
const bench = await openTestPool({ files: { 'visits.csv': `day,who,buys,country\n${visits.join('\n')}\n` } })
after(() => bench.close())

const metric = (name: string, value: string, more = '') =>
  `metric: ${name}\nlabel: ${name} here\nsource: { file: visits.csv }\ntime: { column: day }\nvalue: ${value}\n${more}`
const partials = {
  'metrics/visits.yaml': metric('visits', 'count(*)', 'dimensions: [country]\ntests: [{ unique: who }]'),
  'metrics/visitors.yaml': metric('visitors', 'count(distinct who)'),
  'metrics/rate.yaml': metric(
    'rate',
    '{ ratio: { numerator: sum(buys), denominator: count(*) } }',
    'dimensions: [country]\ngood: up\ntarget: { value: 0.5, per: week }\nevents: [{ date: 2025-12-22, label: Free coffee }, { date: 2020-01-01, label: Opened }]',
  ),
}
const source = (analyses: string) =>
  templateOf(
    `---\nvariables:\n  metrics: { type: list }\n  period: { type: period, default: 2025-12-22..2025-12-28 }\n---\n\`\`\`metric daily\nmetric: $metrics\nby: all\n\`\`\`\n\`\`\`sql history\nselect * from daily where time < $period.end\n\`\`\`\n${analyses}\n# A review\n\n{% doubts %}\n`,
    partials,
  )
const COMPARE =
  '```analysis review\n{ method: compare, of: history, time: time, value: value, period: $period.unit, by: metric }\n```'
const WHY =
  '```analysis why\n{ method: drivers, of: history, time: time, value: value, period: $period.unit, by: all, each: metric }\n```'
const asked = (metrics: string[]) => ({ metrics, period: '2025-12-22..2025-12-28' })

interface Group {
  by: string
  label: string
  headline: string
  grade: string
  current: number
  previous: number
  after: number
  events: { date: string; label: string }[]
  against: { what: string; value: number; relative: number; says: string }[]
}

test('each metric is put together as it adds up, and stands beside the year before and its target', async () => {
  const found = findingsOf(await bench.run(source(COMPARE), asked(['rate', 'visits', 'visitors'])))
  const [rate, visitors, visited] = found.analyses.review!.groups as Group[]
  assert.deepEqual(
    [rate!.label, rate!.current, Number(rate!.previous.toFixed(9))],
    ['rate here', 1, 0.333333333],
  )
  assert.deepEqual([visitors!.by, visitors!.current], ['visitors', 3])
  assert.deepEqual(
    rate!.against.map(({ what, value }) => [what, Number(value.toFixed(6))]),
    [
      ['year_before', 0.333333],
      ['target', 0.5],
    ],
  )
  assert.match(rate!.against[1]!.says, /^The target for a week: .*; now .* more, so it is met\.$/)
  assert.deepEqual(
    rate!.events.map(({ label }) => label),
    ['Opened', 'Free coffee'],
  )
  assert.equal(visited!.by, 'visits')
})

test('a metric whose own steps are longer than the period says which period to choose', async () => {
  const monthly = partials['metrics/visits.yaml'].replace('{ column: day }', '{ column: day, grain: month }')
  const one = templateOf(source(COMPARE).source, {
    'metrics/visits.yaml': monthly.replace('[{ unique: who }]', '[]'),
  })
  const [visited] = findingsOf(await bench.run(one, asked(['visits']))).analyses.review!.groups as Group[]
  assert.equal(
    visited!.headline,
    'There is a value of visits here for each month and none for a week: choose a whole month.',
  )
})

test('a failed test of one metric withholds that metric alone', async () => {
  const found = findingsOf(await bench.run(source(COMPARE), asked(['rate', 'visits'])))
  const [rate, visited] = found.analyses.review!.groups as Group[]
  assert.equal(visited!.grade, 'withheld')
  assert.match(visited!.headline, /^Visits here must not be read: .* "who"/)
  assert.notEqual(rate!.grade, 'withheld')
})

test('drivers takes the dimensions and the parts of each metric, and says which one has none', async () => {
  const found = findingsOf(await bench.run(source(WHY), asked(['rate', 'visitors'])))
  const [rate, visitors] = found.analyses.why!.groups as Group[]
  assert.equal(rate!.after, 1)
  assert.match(rate!.headline, /^Rate here/)
  assert.match(
    visitors!.headline,
    /^What moved visitors here is not known: the metric names no dimensions\.$/,
  )
  const several = await bench.run(source(WHY.replace(', each: metric', '')), asked(['rate', 'visits']))
  assert.ok(several.status === 'failed' && /by: all is for one metric/.test(several.error.detail))
})

test('each chart and table tells its own metric by its label, unit, target and events', async () => {
  const block = (name: string) => `\`\`\`metric of_${name}\nmetric: ${name}\ngrain: week\n\`\`\`\n`
  const chart = (name: string) =>
    `{% chart of_${name}, type: "line", x: "time", y: "value", title: "A chart" %}\n{% table of_${name}, limit: 1 %}\n`
  const both = ['rate', 'visits']
  const found = findingsOf(
    await bench.run(templateOf(`${both.map(block).join('')}# T\n\n${both.map(chart).join('\n')}`, partials)),
  )
  const kept = found.charts.map(({ spec }) => spec.usermeta as Record<string, unknown>)
  assert.deepEqual(
    kept.map(({ target, events, labels }) => [target, events, (labels as { y: { title: string } }).y.title]),
    [
      [0.5, [{ x: '2025-12-22', label: 'Free coffee' }], 'Rate here'],
      [undefined, undefined, 'Visits here'],
    ],
  )
  assert.match(found.markdown, /Rate here[\s\S]*Visits here/)
})

test('a period that is no calendar unit is refused where a unit is asked', async () => {
  const wrong = await bench.run(source(COMPARE), { ...asked(['rate']), period: '2025-12-20..2025-12-28' })
  assert.ok(wrong.status === 'failed' && /"period" must be one of "day", "week"/.test(wrong.error.detail))
})
