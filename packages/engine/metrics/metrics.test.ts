import assert from 'node:assert/strict'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, test } from 'node:test'
import { parseTemplate } from '../reading/parse.ts'
import { templateVersion } from '../reading/partials.ts'
import { findingsOf, openTestPool, templateOf } from '../run/test-pool.ts'
import { readMetric } from './definition.ts'

const ROWS = [
  'order_id,paid_at,amount,refunded,status,country',
  '1,2026-01-05 10:00:00,100,0,paid,DE',
  '2,2026-01-05 23:30:00,50,50,paid,FR',
  '3,2026-01-06 09:00:00,70,0,open,DE',
  '4,2026-01-06 11:00:00,30,0,paid,FR',
  '5,2026-01-13 08:00:00,10,0,paid,DE',
]
const bench = await openTestPool({ files: { 'orders.csv': `${ROWS.join('\n')}\n` } })
after(() => bench.close())

const METRIC = `metric: revenue
label: Revenue
source: { file: orders.csv }
time: { column: paid_at }
value: sum(amount - refunded)
where: status = 'paid'
unit: EUR
dimensions: [country]
`
const partials = (text: string, name = 'revenue') => ({ [`metrics/${name}.yaml`]: text })
const template = (fence: string, metric = METRIC, rest = '{{ rev.size }}') =>
  templateOf(`\`\`\`metric rev\n${fence}\n\`\`\`\n\n# A report\n\n${rest}\n`, partials(metric))

async function rowsOf(source: ReturnType<typeof templateOf>, variables = {}): Promise<unknown[][]> {
  return findingsOf(await bench.run(source, variables)).tables.rev!.rows
}
const faultsOf = (source: ReturnType<typeof templateOf>) =>
  bench.pool.check({ kind: 'check', template: source, roots: bench.roots }, { workspace_id: 'test' })

test('a fence gives time, each column of "by", and value, for rows that the metric counts', async () => {
  assert.deepEqual(await rowsOf(template('metric: revenue')), [
    ['2026-01-05', 100],
    ['2026-01-06', 30],
    ['2026-01-13', 10],
  ])
  assert.deepEqual(await rowsOf(template('metric: revenue\nby: country\ngrain: week')), [
    ['2026-01-05', 'DE', 100],
    ['2026-01-05', 'FR', 30],
    ['2026-01-12', 'DE', 10],
  ])
  const narrowed = "metric: revenue\nby: all\nperiod: 2026-01-05..2026-01-06\nwhere: country in ('FR')"
  assert.deepEqual(await rowsOf(template(narrowed)), [
    ['2026-01-05', 'FR', 0],
    ['2026-01-06', 'FR', 30],
  ])
})

test('an average is a ratio, whose parts come with it', async () => {
  const average = METRIC.replace('sum(amount - refunded)', 'avg(amount)')
  assert.deepEqual(await rowsOf(template('metric: revenue\ngrain: month', average)), [
    ['2026-01-01', 47.5, 190, 4],
  ])
  const ratio = METRIC.replace(
    'sum(amount - refunded)',
    '{ ratio: { numerator: sum(refunded), denominator: sum(amount) } }',
  )
  assert.deepEqual(await rowsOf(template('metric: revenue\ngrain: year', ratio)), [
    ['2026-01-01', 50 / 190, 50, 190],
  ])
})

test('a period variable narrows the rows, and without a value all count', async () => {
  const source = templateOf(
    '---\nvariables:\n  p: { type: period }\n---\n```metric rev\nmetric: revenue\nperiod: $p\n```\n\n# {{ rev.size }}\n',
    partials(METRIC),
  )
  assert.equal((await rowsOf(source, { p: '2026-01-06..2026-01-31' })).length, 2)
  assert.equal((await rowsOf(source, { p: null })).length, 3)
})

test('a variable chooses several metrics, whose rows come together with their names', async () => {
  const source = templateOf(
    '---\nvariables:\n  m: { type: list }\n---\n```metric rev\nmetric: $m\nby: all\n```\n\n# {{ rev.size }}\n',
    {
      ...partials(METRIC),
      ...partials(
        METRIC.replace('revenue', 'orders').replace('sum(amount - refunded)', 'count(*)'),
        'orders',
      ),
    },
  )
  const found = findingsOf(await bench.run(source, { m: ['orders', 'revenue'] })).tables.rev!
  assert.deepEqual(
    found.columns.map(({ name }) => name),
    ['metric', 'time', 'country', 'value', 'numerator', 'denominator'],
  )
  assert.deepEqual(found.rows.filter(([name]) => name === 'orders').length, 4)
  const unknown = await bench.run(source, { m: ['ordres'] })
  assert.ok(
    unknown.status === 'failed' && /no metric "ordres".*"orders"/.test(unknown.error.detail),
    JSON.stringify(unknown),
  )
})

test('an analysis names the metric by its label and unit, and times in the zone of the metric count', async () => {
  const zoned = METRIC.replace(
    'file: orders.csv',
    'file: orders.csv, columns: { paid_at: timestamptz }',
  ).replace('column: paid_at', 'column: paid_at, zone: Asia/Tokyo')
  const rest = '```analysis d\nmethod: describe\nof: rev\nvalue: value\n```\n\n{{ d.summary }}'
  const findings = findingsOf(await bench.run(template('metric: revenue', zoned, rest)))
  // 23:30 of 5 January in UTC is the morning of the 6th in Tokyo.
  assert.deepEqual(findings.tables.rev!.rows[1], ['2026-01-06', 30])
  assert.match(findings.analyses.d!.summary, /[Rr]evenue/)
})

test('a failed test is a blocker of all that reads the metric, stands above the report, and in the lineage', async () => {
  const tests = `${METRIC}tests: [ { unique: country }, { not_null: amount }, { accepted: { status: [paid] } }, { fresh: 1d } ]\n`
  const rest =
    '```sql again\nselect * from rev\n```\n\n```analysis d\nmethod: describe\nof: again\nvalue: value\n```\n\n{{ d.headline }} {% doubts %}'
  const { markdown, analyses, lineage, card } = findingsOf(
    await bench.run(template('metric: revenue', tests, rest)),
  )
  assert.deepEqual(
    card!.failed_tests!.map(({ metric, label, late }) => [metric, label, late]),
    [
      ['revenue', 'Revenue', false],
      ['revenue', 'Revenue', false],
      ['revenue', 'Revenue', true],
    ],
  )
  assert.equal(analyses.d!.grade, 'withheld')
  assert.deepEqual(
    (analyses.d!.blockers ?? []).map(({ code }) => code),
    ['test_failed', 'test_failed', 'data_stale'],
  )
  assert.match(
    analyses.d!.headline ?? '',
    /Revenue must not be read: 3 rows repeat a value of "country", which/,
  )
  assert.match(markdown, /newest row is of 13 January 2026, 08:00, 2 days ago, and at most 1 day is allowed/)
  assert.deepEqual(
    lineage.metrics![0]!.tests.map(({ test: name, ok }) => [name, ok]),
    [
      ['unique: country', false],
      ['not_null: amount', true],
      ['accepted: status', false],
      ['fresh: 1d', false],
    ],
  )
  const plain = findingsOf(await bench.run(template('metric: revenue', tests)))
  assert.match(plain.markdown, /^# A report\n\n> \*\*Revenue must not be read/)
})

test('the checks name unknown metrics, columns and variables with the nearest one', async () => {
  const says = async (fence: string, metric?: string) =>
    (await faultsOf(template(fence, metric)))
      .filter(({ severity }) => severity === 'error')
      .map(({ line, message, remedy }) => `${line}: ${message} ${remedy}`)
  assert.match((await says('metric: revenu'))[0]!, /^2: There is no metric "revenu"\. .*"revenue"/)
  assert.match((await says('metric: revenue\nby: [contry]'))[0]!, /by names the column "contry".*country/)
  assert.match(
    (await says('metric: revenue', METRIC.replace('amount -', 'amout -')))[0]!,
    /value names the column "amout".*amount/,
  )
  assert.match((await says('metric: revenue\ngrain: hour'))[0]!, /a value for each day/)
  assert.match((await says('metric: revenue\nperiod: last_week'))[0]!, /2024-01-01\.\.2024-03-31, or \$NAME/)
  assert.match((await says('metric: revenue\nwhere: country = $land'))[0]!, /no variable \$land/)
  assert.match(
    (await says('metric: revenue', METRIC.replace('sum(', 'summe(')))[0]!,
    /in its line 5: value: There is no function summe/,
  )
  assert.deepEqual(await says('metric: revenue\nby: country'), [])
})

test('a definition tells every fault at its place', () => {
  const faults = (text: string): string[] =>
    readMetric('revenue', text).faults.map(
      ({ line, column, message, remedy }) => `${line}:${column} ${message} ${remedy}`,
    )
  assert.deepEqual(faults(METRIC), [])
  assert.match(
    faults(METRIC.replace('metric: revenue', 'metric: sales'))[0]!,
    /^1:9 .*"sales" here and "revenue"/,
  )
  assert.match(faults(METRIC.replace('unit', 'units'))[0]!, /"units" is not a key of the metric.*unit/)
  assert.match(
    faults(METRIC.replace("status = 'paid'", "status like 'p%'"))[0]!,
    /^6:15 where: "like" cannot stand here/,
  )
  assert.match(faults(METRIC.replace('{ file: orders.csv }', '{ table: orders }'))[0]!, /needs a connection/)
  assert.match(
    faults(METRIC.replace('{ file: orders.csv }', '{ file: ../x.csv }'))[0]!,
    /must not hold "\.\."/,
  )
  assert.match(faults(`${METRIC}tests: [ { fresh: soon } ]\n`)[0]!, /not a duration/)
  assert.match(faults(`${METRIC}events: [ { date: 2026-13-01, label: x } ]\n`)[0]!, /not a day/)
  assert.match(faults(`${METRIC}fmt: nonsense\n`)[0]!, /nonsense/)
  assert.match(
    faults(METRIC.replace('column: paid_at', 'column: paid_at, zone: Mars'))[0]!,
    /no time zone "Mars"/,
  )
})

test('the version of a template changes with a metric that it uses, and with no other', () => {
  const source = '```metric rev\nmetric: revenue\n```\n'
  const version = (metrics: Record<string, string>): string => templateVersion(source, metrics)
  assert.equal(version({ ...partials(METRIC), ...partials(METRIC, 'other') }), version(partials(METRIC)))
  assert.notEqual(version(partials(`${METRIC}fmt: eur0\n`)), version(partials(METRIC)))
  const { template: parsed } = parseTemplate({
    template_id: 'x',
    source,
    partials: { ...partials(METRIC), ...partials(METRIC, 'other') },
  })
  assert.deepEqual(Object.keys(parsed!.partials), ['metrics/revenue.yaml'])
})

test('a metric over a connection is added up by the database', async () => {
  const file = path.join(bench.data, 'shop.db')
  const database = new DatabaseSync(file)
  database.exec(
    'create table orders (order_id integer, paid_at text, amount real, refunded real, status text, country text)',
  )
  const insert = database.prepare('insert into orders values (?, ?, ?, ?, ?, ?)')
  for (const line of ROWS.slice(1)) insert.run(...line.split(','))
  database.close()
  const remote = `${METRIC.replace('{ file: orders.csv }', '{ connection: shop, table: orders }')}tests: [ { unique: country }, { not_null: amount } ]\n`
  const connection = {
    name: 'shop',
    kind: 'sqlite' as const,
    options: { file: 'shop.db' },
    secrets: {},
    limits: { rows: 5, bytes: 100_000, timeout_seconds: 10, concurrent: 1 },
    targets: ['public'],
  }
  const connections = {
    acquire: () => Promise.resolve({ connection }),
    release: () => undefined,
    end: () => undefined,
  }
  for (const [grain, first] of [
    ['day', '2026-01-05'],
    ['week', '2026-01-05'],
    ['month', '2026-01-01'],
    ['quarter', '2026-01-01'],
    ['year', '2026-01-01'],
  ]) {
    const source = template(`metric: revenue\ngrain: ${grain}`, remote)
    const findings = findingsOf(await bench.run(source, {}, { connections }))
    const here = await rowsOf(template(`metric: revenue\ngrain: ${grain}`))
    assert.deepEqual(findings.tables.rev!.rows, here, grain)
    assert.equal(findings.tables.rev!.rows[0]![0], first)
    assert.match(findings.lineage.sources[0]!.remote!.query, /group by/)
    assert.deepEqual(
      findings.lineage.metrics![0]!.tests.map(({ ok }) => ok),
      [false, true],
    )
  }
})

test('a quotient of sums is a ratio, so that its steps are put together by their parts', () => {
  const adding = (value: string) =>
    readMetric('share', `metric: share\nsource: { file: a.csv }\ntime: { column: day }\nvalue: ${value}\n`)
      .metric!.adding
  for (const value of ['sum(a) / sum(b)', '100 * sum(a) / count(*)', 'sum(a) / sum(b) * 100'])
    assert.equal(adding(value), 'ratio')
  for (const value of ['sum(a) / max(b)', '1 + sum(a) / sum(b)', 'sum(a) / count(distinct b)'])
    assert.equal(adding(value), 'none')
  assert.equal(adding('sum(a) / 100'), 'sum')
})
