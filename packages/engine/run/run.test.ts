import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Outcome } from '@assay/model/insight'
import type { Fault } from '@assay/model/template'
import type { RunResult } from './protocol.ts'
import { findingsOf, openTestPool, STARTED_AT, sqlTemplate, templateOf } from './test-pool.ts'

const ROWS = Array.from({ length: 60 }, (_, day) => {
  const date = new Date(Date.UTC(2024, 0, 1 + day)).toISOString().slice(0, 10)
  return `${date},${day % 3 === 0 ? 'x' : 'y'},${day}.5`
})
const EVENTS = Array.from({ length: 38 * 37 + 13 }, (_, row) => {
  const minutes = 8 * 60 + (row % 37) * 20
  const day = new Date(Date.UTC(2024, 1, 1 + Math.floor(row / 37), 0, minutes)).toISOString()
  return `${day.slice(0, 19).replace('T', ' ')},${row % 3 === 0 ? 'x' : 'y'}`
})
const bench = await openTestPool({
  files: {
    'sales.csv': `day,kind,amount\n${ROWS.join('\n')}\n`,
    'odd.csv': 'user,current_date\na,2024-01-01\n',
    'eu/a.csv': 'v\n1\n',
    'us/a.csv': 'v\n2\n',
    // An event every 20 minutes from 8:00 to 20:00, until the data end at 12:00 on 10 March.
    'events.csv': `moment,kind\n${EVENTS.join('\n')}\n`,
    'empty.csv': 'day,n\n2024-01-01,\n2024-01-02,\n2024-01-03,\n',
    'broken.csv': 'a,b\n1,2\n1,2,3,4\n"x\n',
  },
})
after(() => bench.close())

function failure(result: RunResult): { code: string; detail: string } {
  assert.equal(result.status, 'failed', JSON.stringify(result))
  return result.status === 'failed' ? result.error : { code: '', detail: '' }
}

const SALES = 'sources:\n  sales: { file: sales.csv }'

test('errors name the block, the line of the template and the reason', async () => {
  for (const [template, code, detail] of [
    [
      sqlTemplate('select\n  nope\nfrom sales', SALES),
      'analysis_failed',
      /^SQL block "a", line 8: Binder Error: .*"nope"/,
    ],
    [sqlTemplate('select day::int from sales', SALES), 'analysis_failed', /^SQL block "a", line 7: /],
    [
      sqlTemplate('select 1\n  + random()'),
      'template_invalid',
      /line 7, column 5: SQL block "a": random\(\) is not allowed/,
    ],
    [
      sqlTemplate("select * from 'sales.csv'", SALES),
      'template_invalid',
      /no source or earlier block named "sales.csv"/,
    ],
    [sqlTemplate('select current_date'), 'template_invalid', /current_date asks the clock/],
    [
      sqlTemplate('select 1', 'sources:\n  s: { file: missing.csv }'),
      'source_unavailable',
      /^Source "s", line 3: There is no file "missing.csv"/,
    ],
    [
      sqlTemplate('select * from s', 'sources:\n  s: { file: broken.csv }'),
      'source_unavailable',
      /^Source "s", line 3: "broken.csv" cannot be read: /,
    ],
    [
      sqlTemplate('select list(i) from range(100000000) t(i)', 'limits: { memory: 100MB }'),
      'memory_exceeded',
      /^SQL block "a", line 6/,
    ],
    [
      sqlTemplate("select repeat('x', 1000) as t from range(2000)", 'limits: { output: 1MB }'),
      'output_too_large',
      /^SQL block "a", line 6, gives more text than limits.output allows/,
    ],
    [
      sqlTemplate(
        'select i, i as j, i as k from range(100000) t(i)',
        'limits: { output: 1MB, rows: 100000 }',
      ),
      'output_too_large',
      /^The insight has \d+ bytes, limits.output allows 1000000/,
    ],
    [templateOf('---\nnonsense: 1\n---\n# A\n'), 'template_invalid', /nonsense/],
    [templateOf('# A\n\n{{ nope }}\n'), 'template_invalid', /line 3, column \d+: .*nope/],
    [
      templateOf(
        `---\n${SALES}\n---\n\n\`\`\`analysis d\nmethod: describe\nof: sales\nvalue: nope\n\`\`\`\n\n# A\n`,
      ),
      'template_invalid',
      /^line 9, column 1: value: sales has no column "nope"\. Known: day, kind, amount\.$/,
    ],
    [
      templateOf(
        `---\n${SALES}\n---\n\n\`\`\`analysis d\nmethod: describe\nof: sales\nvalue: kind\n\`\`\`\n\n# A\n`,
      ),
      'template_invalid',
      /^line 9, column 1: value: "kind" is text, not a number\. Choose another column/,
    ],
    [
      templateOf(`---\n${SALES}\n---\n\n\`\`\`analysis d\nmethod: describes\nof: sales\n\`\`\`\n\n# A\n`),
      'template_invalid',
      /describes/,
    ],
  ] as const) {
    const error = failure(await bench.run(template))
    assert.equal(error.code, code, error.detail)
    assert.match(error.detail, detail)
    assert.ok(!error.detail.includes(bench.data), error.detail)
  }
})

test('blocks read the sources and each other, analyses read both', async () => {
  const { tables, analyses, lineage, markdown } = findingsOf(
    await bench.run(
      templateOf(
        `---\n${SALES}\nlimits: { rows: 5 }\n---\n\n\`\`\`sql daily\nselect day, amount from sales where kind = $kind order by day\n\`\`\`\n\n\`\`\`sql total\nselect count(*) as n, sum(amount) as s from daily\n\`\`\`\n\n\`\`\`analysis spread\nmethod: describe\nof: daily\nvalue: amount\n\`\`\`\n\n# Sales\n\n{{ total | first: "n" }} {{ spread.n }} {{ daily.truncated }}\n`.replace(
          'limits',
          'variables:\n  kind: { type: string, default: x }\nlimits',
        ),
      ),
      { kind: 'x' },
    ),
  )
  assert.equal(tables.daily?.total, 20)
  assert.equal(tables.daily?.rows.length, 5)
  assert.deepEqual(tables.total?.rows, [[20, 580]])
  assert.equal(analyses.spread?.n, 20)
  assert.match(markdown, /20 20 true/)
  assert.deepEqual(
    lineage.blocks.map(({ name, kind, rows }) => [name, kind, rows]),
    [
      ['daily', 'sql', 20],
      ['total', 'sql', 1],
      ['spread', 'analysis', null],
    ],
  )
  assert.deepEqual(
    lineage.sources.map(({ name, rows, format, files }) => [name, rows, format, files[0]?.path]),
    [['sales', 60, 'csv', 'sales.csv']],
  )
  assert.equal(lineage.engine, 'DuckDB 1.5.6')
})

test('optional clauses are left out where their variable is null, in the statement that is shown too', async () => {
  const template = sqlTemplate(
    'select count(*) as n from sales where true [[ and kind = $kind ]]',
    `${SALES}\nvariables:\n  kind: { type: string }`,
  )
  for (const [kind, expected, sql] of [
    ['x', 20, 'select count(*) as n from sales where true    and kind = $kind'],
    [null, 60, 'select count(*) as n from sales where true'],
  ] as const) {
    const { tables, lineage } = findingsOf(await bench.run(template, { kind }))
    assert.deepEqual(tables.a?.rows, [[expected]])
    assert.equal(lineage.blocks[0]?.sql, sql)
  }
})

test('a value of a variable that an analysis cannot take is told with the variable', async () => {
  const days = 'variables:\n  p: { type: period, default: 2024-01-01..2024-01-05 }'
  const block = '{ method: compare, of: sales, time: day, value: amount, period: $p.unit }'
  const result = await bench.run(
    templateOf(
      `---\n${SALES}\n${days}\n---\n\n\`\`\`analysis a\n${block}\n\`\`\`\n\n# A\n\n{{ a.summary }}\n`,
    ),
    { p: '2024-01-01..2024-01-05' },
  )
  assert.ok(result.status === 'failed', JSON.stringify(result))
  assert.match(result.error.detail, /It is "5 days", from \$p\.unit: run with another value of "p"\.$/)
})

test('a run tells all options and columns of analyses that cannot be, before it computes a block', async () => {
  const block = (name: string, rest: string) => `\`\`\`analysis ${name}\n${rest}\n\`\`\`\n`
  const template = templateOf(
    `---\n${SALES}\n---\n\`\`\`sql slow\nselect error('computed') as v from sales\n\`\`\`\n` +
      block('a', 'method: trend\nof: sales\ntime: day\nvalue: amout') +
      block('b', 'method: trnd\nof: sales\ntime: day\nvalue: amount') +
      block('c', 'method: describe\nof: slow\nvalu: v') +
      '# A\n\n{{ a.summary }}\n',
  )
  const { code, detail } = failure(await bench.run(template))
  assert.equal(code, 'template_invalid')
  for (const told of [/value: sales has no column "amout"/, /There is no method "trnd"/, /valu/])
    assert.match(detail, told)
  assert.equal(detail.split(' Also: ').length, 3, detail)
})

test('a run that fails tells the steps that it took, the last of which failed', async () => {
  const result = await bench.run(
    templateOf(
      `---\n${SALES}\n---\n\n\`\`\`sql good\nselect 1 as n\n\`\`\`\n\n\`\`\`sql bad\nselect cast('x' as integer) as n\n\`\`\`\n\n# A\n\n{{ good.size }} {{ bad.size }}\n`,
    ),
  )
  assert.ok(result.status === 'failed', JSON.stringify(result))
  assert.deepEqual(
    result.steps?.map(({ name }) => name),
    ['source sales', 'good', 'bad'],
  )
  assert.ok(result.steps.every(({ elapsed_ms }) => elapsed_ms >= 0))
})

test('relative periods count back from the start in the zone, or from the latest day of the data', async () => {
  const period = (until: string) =>
    sqlTemplate(
      'select $p.start as a, $p.end as b, count(*) as n from sales where day >= $p.start and day < $p.end',
      `${SALES}\ntime_zone: Pacific/Kiritimati\nvariables:\n  p: { type: period, default: last_7_days${until} }`,
    )
  const clock = findingsOf(await bench.run(period(''), { p: 'last_7_days' }))
  // 12:00 UTC on the 15th is 02:00 on the 16th in Kiritimati.
  assert.deepEqual(clock.tables.a?.rows, [['2026-01-09', '2026-01-16', 0]])
  const data = findingsOf(await bench.run(period(', until: sales.day'), { p: 'last_7_days' }))
  assert.deepEqual(data.tables.a?.rows, [['2024-02-23', '2024-03-01', 7]])
})

test('a file named by a variable is resolved at run', async () => {
  const template = sqlTemplate(
    'select v from s',
    'variables:\n  region: { type: string, default: eu }\nsources:\n  s: { file: "{{ vars.region }}/a.csv" }',
  )
  assert.deepEqual(findingsOf(await bench.run(template, { region: 'us' })).tables.a?.rows, [[2]])
  const error = failure(await bench.run(template, { region: '../data/eu' }))
  assert.equal(error.code, 'source_unavailable')
})

test('a column whose name DuckDB would answer from the clock is read where a source has it', async () => {
  const front = 'sources:\n  odd: { file: odd.csv }'
  const { tables } = findingsOf(await bench.run(sqlTemplate('select user, current_date from odd', front)))
  assert.deepEqual(tables.a?.rows, [['a', '2024-01-01']])
  assert.equal(
    failure(await bench.run(sqlTemplate('select session_user from odd', front))).code,
    'template_invalid',
  )
})

test('a column variable is put in as an identifier and nothing else', async () => {
  const template = sqlTemplate(
    'select $by as k, count(*) as n from sales group by 1 order by 2',
    `${SALES}\nvariables:\n  by: { type: column, of: sales, default: kind }`,
  )
  assert.deepEqual(findingsOf(await bench.run(template, { by: 'kind' })).tables.a?.rows, [
    ['x', 20],
    ['y', 40],
  ])
  const error = failure(await bench.run(template, { by: 'kind" from sales; drop table sales; --' }))
  assert.match(error.detail, /not found in FROM clause/)
})

test('deliver_if is judged by the results', async () => {
  const template = (condition: string) => sqlTemplate('select 1 as n', `deliver_if: "${condition}"`)
  assert.equal(findingsOf(await bench.run(template('a.size > 0'))).skipped, null)
  assert.equal(findingsOf(await bench.run(template('a.size > 1'))).skipped, 'condition')
})

test('deliver_if can ask what is new since the last insight that was delivered', async () => {
  const days = `select date '2026-01-01' + i::int as day, case when i in (20, 40) then 500 else 100 + (i * 7919) % 13 end as v from range(60) t(i)`
  const source = `---\ntitle: T\ndeliver_if: odd.new.size > 0\n---\n\n\`\`\`sql a\n${days}\n\`\`\`\n\n\`\`\`analysis odd\nmethod: anomalies\nof: a\ntime: day\nvalue: v\n\`\`\`\n\n{% for point in odd.new %}New: {{ point.time }}.\n{% endfor %}\n`
  const run = async (delivered: Record<string, Outcome> | null) =>
    findingsOf(
      await bench.pool.run(
        {
          kind: 'run',
          template: templateOf(source),
          variables: {},
          started_at: STARTED_AT,
          roots: bench.roots,
          delivered,
        },
        { workspace_id: 'test' },
      ),
    )
  const first = await run(null)
  assert.equal(first.skipped, null)
  assert.match(first.markdown, /New: 2026-01-21\.[^]*New: 2026-02-10\./u)
  assert.equal((await run(first.analyses)).skipped, 'condition')
  const { odd } = first.analyses
  const earlier = { odd: { ...odd!, points: (odd!.points as object[]).slice(0, 1) } }
  const next = await run(earlier)
  assert.equal(next.skipped, null)
  assert.doesNotMatch(next.markdown, /New: 2026-01-21/u)
  assert.match(next.markdown, /New: 2026-02-10/u)
})

test('limits beyond the caps are capped', async () => {
  const { tables } = findingsOf(
    await bench.run(
      sqlTemplate('select i from range(200000) t(i)', 'limits: { rows: 1000000, output: 40MB }'),
    ),
  )
  assert.equal(tables.a?.rows.length, 100_000)
  assert.equal(tables.a?.total, 200_000)
})

test('the same template, variables, clock and data give the same bytes, in another process under another zone', async () => {
  const source = `---\ntitle: T\nsources:\n  flights: { file: sample/flights-3m.parquet }\ntime_zone: America/Chicago\n---\n\n\`\`\`sql a\nselect origin, count(*) as n, avg(delay) as d, stddev(delay) as s, any_value(date) as t, sum(distance * 1.1::double) as x, max(date)::timestamptz as z from flights where date < '2001-02-01' group by 1 order by n desc, 1 limit 20\n\`\`\`\n\n\`\`\`analysis b\nmethod: describe\nof: a\nvalue: d\n\`\`\`\n\n# T\n\n{{ b.summary }}\n\n{% table a %}\n\n{% chart a, type: "bar", x: "origin", y: "d" %}\n`
  const bytes = async (): Promise<string> => {
    const own = await openTestPool({ single: true })
    try {
      const { lineage, ...found } = findingsOf(await own.run(templateOf(source)))
      const { elapsed_ms: _elapsed, peak_memory_bytes: _peak, host: _host, blocks, ...rest } = lineage
      return JSON.stringify([found, rest, blocks.map(({ elapsed_ms: _own, ...block }) => block)])
    } finally {
      await own.close()
    }
  }
  const zone = process.env.TZ
  const first = await bytes()
  process.env.TZ = 'Asia/Kolkata'
  try {
    assert.equal(await bytes(), first)
  } finally {
    if (zone === undefined) delete process.env.TZ
    else process.env.TZ = zone
  }
})

async function check(source: string): Promise<Fault[]> {
  return bench.pool.check(
    { kind: 'check', template: templateOf(source), roots: bench.roots },
    { workspace_id: 'test' },
  )
}

test('a check finds the faults of SQL against the columns that there are, and runs nothing', async () => {
  const faults = await check(
    `---\n${SALES}\nvariables:\n  kind: { type: string }\n  by: { type: column, of: sales }\n  p: { type: period, default: last_7_days }\n---\n\n\`\`\`sql good\nselect $by as k, avg(amount) as m from sales where day >= $p.start [[ and kind = $kind ]] group by 1 -- fine\n\`\`\`\n\n\`\`\`sql bad\nselect k,\n  missing\nfrom good\n\`\`\`\n\n\`\`\`sql after\nselect * from bad\n\`\`\`\n\n\`\`\`sql clause\nselect 1 as one [[ , $kind as kind ]] from sales order by kind2\n\`\`\`\n\n\`\`\`sql slow\nselect sum(sqrt(a.range * b.range)) as s from range(1000000000) a, range(1000000000) b;\n\`\`\`\n\n# A\n\n{{ good.size }}{{ after.size }}{{ clause.size }}{{ slow.size }}\n`,
  )
  assert.deepEqual(
    faults.map(({ line, code, column }) => [line, code, column]),
    [
      [16, 'sql_refused', 3],
      [25, 'sql_refused', 59],
    ],
    JSON.stringify(faults, null, 1),
  )
})

test('a check of a template whose data are missing says so, and judges the rest', async () => {
  const faults = await check(
    '---\nsources:\n  s: { file: none.csv }\n---\n\n```sql a\nselect x from s\n```\n\n```sql b\nselect now()\n```\n\n# A\n\n{{ a.size }}{{ b.size }}\n',
  )
  assert.deepEqual(
    faults.map(({ line, code }) => [line, code]),
    [
      [3, 'source_unavailable'],
      [11, 'sql_refused'],
    ],
    JSON.stringify(faults),
  )
})

test('charts are drawn in the child', async () => {
  const spec = {
    data: { values: [{ a: 1, b: 2 }] },
    mark: 'bar',
    encoding: { x: { field: 'a' }, y: { field: 'b' } },
  }
  const drawn = await bench.pool.draw({ kind: 'draw', specs: [spec, spec] }, { workspace_id: 'test' })
  assert.equal(drawn.length, 2)
  assert.match(drawn[0] ?? '', /^<svg/)
  assert.equal(drawn[0], drawn[1])
})

test('a remark after the closing semicolon hides no fault and no column', async () => {
  const sql = 'select 1 as a ; -- remark\n;'
  const faultsOf = (text: string) =>
    bench.pool.check(
      { kind: 'check', template: sqlTemplate(text), roots: bench.roots },
      { workspace_id: 'test' },
    )
  assert.deepEqual(await faultsOf(sql), [])
  assert.match((await faultsOf('select nope as a ; -- remark'))[0]!.message, /nope/)
  const readTwice = templateOf(
    `\`\`\`sql a\n${sql}\n\`\`\`\n\`\`\`sql b\nfrom a;\n\`\`\`\n{% chart a, type: "bar", x: "b", y: "a" %}`,
  )
  const [fault] = await bench.pool.check(
    { kind: 'check', template: readTwice, roots: bench.roots },
    { workspace_id: 'test' },
  )
  assert.match(fault!.message, /column "?b/)
  assert.deepEqual(findingsOf(await bench.run(sqlTemplate(sql))).tables.a!.rows, [[1]])
})

test('the card of a run holds its first sentence, its grade, its first fact and what it reports on', async () => {
  const front = [
    'title: "Sales of {{ vars.kind }}, {{ vars.period.label }}"',
    'tags: [shop]',
    'variables:',
    '  kind: { type: string, default: X_1 }',
    '  period: { type: period, default: 2024-01 }',
    'columns: { amount: { label: amount sold, unit: EUR } }',
    SALES,
  ]
  const body = [
    '```sql days',
    'select * from sales where day >= $period.start and day < $period.end',
    '```',
    '```analysis level',
    '{ method: trend, of: days, time: day, value: amount }',
    '```',
    '# Sales',
    '> **Careful.**',
    '',
    '**{% fact "amount", days[0].amount, fmt: "num1" %}** were sold at [first](https://example.com/a) by *{{ vars.kind }}*, R&D < all.',
  ]
  const template = templateOf(`---\n${front.join('\n')}\n---\n${body.join('\n')}\n`)
  const cardAt = async (variables: Record<string, unknown>) =>
    findingsOf(await bench.run(template, { kind: 'X_1', period: '2024-01', ...variables })).card!
  const { series, search, ...card } = await cardAt({})
  assert.deepEqual(card, {
    headline: '0.5 were sold at first by X_1, R&D < all.',
    grade: 'firm',
    figure: { label: 'amount sold', value: 0.5, unit: 'EUR', text: '0.5' },
    period: { start: '2024-01-01', label: 'January 2024' },
    tags: ['shop'],
    metrics: [],
  })
  for (const word of ['sales of x_1, january 2024', 'r&d < all', 'were sold'])
    assert.ok(search.includes(word), search)
  const later = await cardAt({ period: '2024-02' })
  assert.deepEqual([later.series, later.figure?.value], [series, 31.5])
  assert.notEqual((await cardAt({ kind: 'other' })).series, series)
})

test('hours, days and weeks that SQL sums up are cut off where the events behind them end', async () => {
  const sums = (unit: string) =>
    `\`\`\`sql ${unit}s\nselect date_trunc('${unit}', moment) as ${unit}, count(*) as n from events group by 1\n\`\`\`\n`
  const ask = (name: string, method: string, unit: string, more = '') =>
    `\`\`\`analysis ${name}\nmethod: ${method}\nof: ${unit}s\ntime: ${unit}\nvalue: n\n${more}\`\`\`\n`
  const template = templateOf(
    `---\nsources:\n  events: { file: events.csv }\n---\n${sums('hour')}${sums('day')}${sums('week')}\`\`\`sql earlier\nselect * from hours where hour < timestamp '2024-03-10 12:00'\n\`\`\`\n${ask('rise', 'trend', 'hour')}${ask('before', 'trend', 'hour').replace('of: hours', 'of: earlier')}${ask('spikes', 'anomalies', 'day')}${ask('days_beside', 'compare', 'day', 'period: day\n')}${ask('weeks_beside', 'compare', 'week', 'period: week\n')}${ask('weeks_of_days', 'compare', 'day', 'period: week\n')}${sums('day').replace('sql days', 'sql kinds').replace('count', 'kind, count').replace('by 1', 'by all')}${ask('why', 'drivers', 'day', 'period: week\nby: [kind]\n').replace('of: days', 'of: kinds')}\n# A test\n\n{{ rise.summary }} {{ before.summary }} {{ spikes.summary }} {{ days_beside.summary }} {{ weeks_beside.summary }}\n`,
  )
  const { analyses } = findingsOf(await bench.run(template))
  const partial = (name: string) =>
    analyses[name]!.caveats.findLast(({ code }) => code === 'period_partial')?.says
  assert.equal(
    partial('rise'),
    'The last period, 10 March 2024, 12:00, has data only until 12:00. It is left out.',
  )
  assert.equal(partial('before'), undefined)
  assert.equal(
    partial('spikes'),
    'The last period, 10 March 2024, has data only until 12:00. It is left out.',
  )
  assert.equal(partial('days_beside'), '10 March 2024 has data only until 12:00. It is left out.')
  assert.equal(analyses.days_beside?.current_period, '2024-03-09')
  assert.equal(
    partial('weeks_beside'),
    'The week of 4 March 2024 has data only until 10 March 2024, 12:00. It is left out.',
  )
  // A week of days that are summed up ends with the last of them, which is not whole.
  assert.equal(partial('weeks_of_days'), partial('weeks_beside'))
  assert.equal(partial('why'), partial('weeks_beside'))
  assert.equal(analyses.weeks_of_days?.current_period, analyses.weeks_beside?.current_period)
})

test('two sides of a split are compared without a last day that ends early, however it is summed up', async () => {
  const block = (name: string, from: string, columns: string) =>
    `\`\`\`sql ${name}\nselect case when moment >= timestamp '${from}' then 'this' else 'before' end as side, kind, ${columns} from events where moment >= timestamp '2024-02-26' group by all\n\`\`\`\n\`\`\`analysis of_${name}\n{ method: drivers, of: ${name}, value: n, by: [kind], split: { column: side, before: before, after: this } }\n\`\`\`\n`
  const { analyses } = findingsOf(
    await bench.run(
      templateOf(
        `---\nsources:\n  events: { file: events.csv }\n---\n${block('days', '2024-03-04', 'cast(moment as date) as day, count(*) as n')}${block('rows', '2024-03-04', 'moment, 1 as n')}${block('alone', '2024-03-10', 'moment, 1 as n')}\n# A test\n\n{{ of_days.summary }} {{ of_rows.summary }} {{ of_alone.summary }}\n`,
      ),
    ),
  )
  for (const name of ['of_days', 'of_rows']) {
    const { summary, after } = analyses[name]! as Outcome & { after: number }
    assert.equal(after, 6 * 37, name)
    assert.match(summary, /10 March 2024 has data only until 12:00\. It is left out\./)
    assert.doesNotMatch(summary, /fell/)
  }
  assert.equal(
    analyses.of_alone?.summary,
    'The sides cannot be compared yet: one of them has no whole day. 10 March 2024 has data only until 12:00.',
  )
})

test('a column of a file without any value is an answer of too few, also through SQL, and one of words is a fault', async () => {
  const through = ['first', 'second'].map(
    (name, at) =>
      `\`\`\`sql ${name}\nselect * from ${at === 0 ? 'd where true or $k > 0' : 'first'}\n\`\`\`\n`,
  )
  const ask = (file: string, value: string, of = 'd') =>
    templateOf(
      `---\nvariables:\n  k: { type: integer, default: 1 }\nsources:\n  d: { file: ${file} }\n---\n\n${through.join('\n')}\n\`\`\`analysis rise\nmethod: trend\nof: ${of}\ntime: day\nvalue: ${value}\n\`\`\`\n\n# A test\n\n{{ rise.summary }}\n`,
    )
  const { rise } = findingsOf(await bench.run(ask('empty.csv', 'n'))).analyses
  assert.deepEqual([rise!.grade, rise!.blockers[0]!.code, rise!.n], ['withheld', 'too_few', 0])
  assert.match(failure(await bench.run(ask('sales.csv', 'kind'))).detail, /"kind" is text, not a number/)
  const check = async (file: string, value: string, of: string) => {
    const task = { kind: 'check' as const, template: ask(file, value, of), roots: bench.roots }
    return (await bench.pool.check(task, { workspace_id: 'test' })).map(({ code, message }) => [
      code,
      message,
    ])
  }
  const words = ['wrong_type', 'value: "kind" is text, not a number.']
  for (const read of ['d', 'first', 'second']) {
    assert.deepEqual(await check('empty.csv', 'n', read), [], read)
    assert.deepEqual(await check('sales.csv', 'kind', read), [words], read)
  }
})
