import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Findings } from '@assay/model/insight'
import { openTestPool, templateOf } from './test-pool.ts'

const ROWS = Array.from({ length: 120 }, (_, day) => {
  const date = new Date(Date.UTC(2024, 0, 1 + day)).toISOString().slice(0, 10)
  const amount = 100 + (day % 7) * 10 + ((day * 37) % 11) + (day === 80 ? 400 : 0)
  return `${date},${day % 2 === 0 ? 'x' : 'y'},${amount}`
})
const bench = await openTestPool({ files: { 'sales.csv': `day,kind,amount\n${ROWS.join('\n')}\n` } })
after(() => bench.close())

const HEAD = `---
sources:
  sales: { file: sales.csv }
---
`
const analysis = (name: string, text: string): string =>
  `\`\`\`analysis ${name}\nof: sales\n${text}\n\`\`\`\n\n`
const sql = (name: string, text: string): string => `\`\`\`sql ${name}\n${text}\n\`\`\`\n\n`
const AHEAD = analysis('ahead', 'method: forecast\ntime: day\nvalue: amount\nhorizon: 5')

async function run(body: string): Promise<Findings> {
  const result = await bench.run(templateOf(`${HEAD}\n${body}# A test\n`))
  assert.equal(result.status, 'done', JSON.stringify(result))
  return (result as { findings: Findings }).findings
}

async function refusal(body: string): Promise<string> {
  const result = await bench.run(templateOf(`${HEAD}\n${body}# A test\n`))
  return result.status === 'failed' ? result.error.detail : JSON.stringify(result)
}

test('a later SQL block reads the list of an analysis as a table, with the values and types of the outcome', async () => {
  const { tables, analyses } = await run(
    `${AHEAD}${sql('plan', 'select time, value, high_95 - low_95 as width from ahead_points order by time')}`,
  )
  const { columns, rows } = tables.plan!
  assert.deepEqual(
    columns.map(({ name, type }) => [name, type]),
    [
      ['time', 'date'],
      ['value', 'number'],
      ['width', 'number'],
    ],
  )
  const points = analyses.ahead!.points as { time: string; value: number; low_95: number; high_95: number }[]
  assert.deepEqual(
    rows,
    points.map(({ time, value, low_95, high_95 }) => [time, value, high_95 - low_95]),
  )
})

test('lists of an outcome for each group are one table with the group', async () => {
  const { tables, analyses } = await run(
    `${analysis('odd', 'method: anomalies\ntime: day\nvalue: amount\nby: kind')}${sql(
      'found',
      'select p."by", p.time, g.grade from odd_points p join odd_groups g using ("by") order by all',
    )}`,
  )
  const groups = analyses.odd!.groups as { by: string; grade: string; points: { time: string }[] }[]
  const expected = groups.flatMap(({ by, grade, points }) => points.map(({ time }) => [by, time, grade]))
  assert.ok(
    expected.some(([by, time]) => by === 'x' && time === '2024-03-21'),
    JSON.stringify(expected),
  )
  assert.deepEqual(tables.found!.rows, expected)
})

test('a list of an analysis holds what is left of it beside all tests, also beside those of the blocks below', async () => {
  const moved =
    sql(
      'levels',
      "select day, (hash(day) % 1000) / 250.0 + if(day >= date '2024-03-01', 1.3, 0) as level from sales",
    ) +
    analysis('moved', 'method: changepoints\ntime: day\nvalue: level').replace('of: sales', 'of: levels') +
    sql('found', 'select time from moved_points') +
    sql('again', 'select count(*) as n from found')
  const others =
    analysis('apart', 'method: compare_groups\nvalue: amount\ngroup: kind') +
    analysis('rise', 'method: trend\ntime: day\nvalue: amount')
  const alone = await run(moved)
  assert.deepEqual([alone.tables.found!.total, alone.tables.again!.rows], [1, [[1]]])
  const { tables, analyses, lineage } = await run(moved + others)
  assert.deepEqual([analyses.moved!.grade, analyses.moved!.points], ['unclear', []])
  assert.deepEqual([tables.found!.total, tables.again!.rows], [0, [[0]]])
  assert.deepEqual(Object.keys(tables), ['levels', 'found', 'again'])
  assert.deepEqual(
    lineage.blocks.map(({ name }) => name),
    ['levels', 'moved', 'found', 'again', 'apart', 'rise'],
  )
})

test('an empty list is an empty table, and what holds several values is JSON', async () => {
  const causes = analysis(
    'why',
    'method: drivers\nvalue: amount\nby: [kind]\nsplit: { column: kind, before: x, after: y }',
  )
  const { tables } = await run(
    `${causes}${sql('named', `select "where" ->> '$.kind' as kind, change from why_causes`)}${sql('parts', 'select segment, change from why_segments order by 1')}`,
  )
  assert.equal(tables.named!.total, (tables.named!.rows as unknown[]).length)
  assert.deepEqual(
    tables.parts!.rows.map(([segment]) => segment),
    ['x', 'y'],
  )
})

test('another analysis reads the rows on, a check knows the columns, and wrong names are told with the right one', async () => {
  const onward = `${AHEAD}${sql('plan', 'select time, value from ahead_points')}\`\`\`analysis size\nmethod: describe\nof: plan\nvalue: value\n\`\`\`\n\n`
  assert.equal((await run(onward)).analyses.size!.n, 5)
  const source = (body: string) => templateOf(`${HEAD}\n${body}# A test\n`)
  const check = (body: string) =>
    bench.pool.check({ kind: 'check', template: source(body), roots: bench.roots }, { workspace_id: 'test' })
  assert.deepEqual(await check(onward), [])
  const wrong = await check(`${AHEAD}${sql('plan', 'select times from ahead_points')}`)
  assert.match(JSON.stringify(wrong), /times/)
  assert.match(
    await refusal(`${AHEAD}${sql('plan', 'select * from ahead.points')}`),
    /In SQL this list of the analysis is named ahead_points/,
  )
  assert.match(
    await refusal(`${sql('plan', 'select * from ahead_points')}${AHEAD}`),
    /no source or earlier block named "ahead_points"/,
  )
})

test('a source or block keeps its name beside the list of an analysis', async () => {
  const { tables } = await run(
    `${sql('ahead_points', 'select 42 as own')}${AHEAD}${sql('plan', 'select * from ahead_points')}`,
  )
  assert.deepEqual(tables.plan!.rows, [[42]])
})

test('times of moments are moments, whatever the zone of the template', async () => {
  const hours = sql(
    'hours',
    "select timezone('UTC', timestamp '2024-05-01' + to_hours(i::int)) as t, 100 + 20 * sin(i * pi() / 12) + (i * 37 % 11) / 10.0 as v from range(480) r(i)",
  )
  const ahead = '```analysis ahead\nmethod: forecast\nof: hours\ntime: t\nvalue: v\nhorizon: 3\n```\n\n'
  const next = sql(
    'next',
    'select min(time) - (select max(t) from hours) = interval 1 hour as follows from ahead_points',
  )
  const result = await bench.run(
    templateOf(`---\ntime_zone: Europe/Berlin\n---\n\n${hours}${ahead}${next}# A test\n`),
  )
  assert.equal(result.status, 'done', JSON.stringify(result))
  assert.deepEqual((result as { findings: Findings }).findings.tables.next!.rows, [[true]])
})

test('rows that have a "by" of their own tell their group in "each"', async () => {
  const why =
    '```analysis why\nmethod: drivers\nof: parts\nvalue: amount\nby: [half]\nsplit: { column: late, before: "no", after: "yes" }\neach: kind\n```\n\n'
  const parts = sql(
    'parts',
    "select kind, amount, case when amount % 2 = 0 then 'even' else 'odd' end as half, case when day < date '2024-03-01' then 'no' else 'yes' end as late from sales",
  )
  const { tables } = await run(
    `${parts}${why}${sql('found', 'select distinct each, "by" from why_segments order by all')}`,
  )
  assert.deepEqual(tables.found!.rows, [
    ['x', 'half'],
    ['y', 'half'],
  ])
})
