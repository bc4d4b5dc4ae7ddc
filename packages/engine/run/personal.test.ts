import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, test } from 'node:test'
import type { Reader } from '@assay/model/reader'
import { execute, openEngine } from '../duckdb/duckdb.ts'
import { asMetricFaults, metricHead, metricReader } from '../metrics/reader.ts'
import { parseTemplate } from '../reading/parse.ts'
import { parsedTemplate, templateView } from '../reading/template-cache.ts'
import type { RunResult } from './protocol.ts'
import { findingsOf, openTestPool, templateOf } from './test-pool.ts'

const ORDERS = [
  'region,team,amount,big,day',
  'North,a,10,true,2024-01-01',
  '"North ",a,20,false,2024-01-02',
  'north,b,30,true,2024-01-03',
  'South,c,40,false,2024-01-04',
  ',c,50,true,2024-01-05',
  "O'Hara,d,60,,2024-01-06",
]
const bench = await openTestPool({ files: { 'orders.csv': `${ORDERS.join('\n')}\n` } })
after(() => bench.close())

const anna: Reader = { id: 'anna', region: 'North', teams: ['a', 'b'], none: [], level: 30, big: true }

const source = (rule: string, rest = '{{ a.size }}', sql = 'select amount from orders order by amount') =>
  templateOf(
    `---\nsources:\n  orders: { file: orders.csv, rows: ${JSON.stringify(rule)} }\n---\n\n\`\`\`sql a\n${sql}\n\`\`\`\n\n# A\n\n${rest}\n`,
  )
async function amounts(rule: string, reader = anna): Promise<unknown[]> {
  const found = findingsOf(await bench.run(source(rule), {}, { reader }))
  return found.tables.a!.rows.map(([amount]) => amount)
}
const errorOf = (result: RunResult) =>
  result.status === 'failed' ? result.error : assert.fail(result.status)

test('a rule lets through the rows that SQL would, comparing texts byte by byte', async () => {
  const cases: [rule: string, amounts: number[]][] = [
    ['region = $reader.region', [10]],
    ["region != 'North'", [20, 30, 40, 60]],
    ['not region = $reader.region', [20, 30, 40, 60]],
    ['region is null', [50]],
    ['region is not null and team in ($reader.teams)', [10, 20, 30]],
    ["team = $reader.teams or region = 'O''Hara'", [10, 20, 30, 60]],
    ['team in ($reader.none)', []],
    ['region not in ($reader.none)', [10, 20, 30, 40, 60]],
    ["(team = 'c' or team = 'a') and not (region = 'South' or amount = 10)", [20]],
    ['amount = $reader.level', [30]],
    ['big = $reader.big', [10, 30, 50]],
    ['"team" <> \'c\' and big is null', [60]],
  ]
  for (const [rule, wanted] of cases) assert.deepEqual(await amounts(rule), wanted, rule)
})

test('without a reader, or without an attribute that it needs, nothing is read', async () => {
  const template = source('region = $reader.region and team in ($reader.teams)')
  const { code, detail } = errorOf(await bench.run(template))
  assert.equal(code, 'reader_missing')
  assert.match(detail, /give one with region, teams \(--reader NAME=VALUE/)
  const lacking = errorOf(await bench.run(template, {}, { reader: { id: 'b', region: 'North' } }))
  assert.equal(lacking.code, 'reader_missing')
  assert.match(lacking.detail, /The reader has no "teams"/)
  const list = errorOf(await bench.run(source('region != $reader.teams'), {}, { reader: anna }))
  assert.match(list.detail, /reader\.teams is a list/)
  const text = errorOf(await bench.run(source('amount = $reader.region'), {}, { reader: anna }))
  assert.equal(text.code, 'reader_missing')
  assert.match(text.detail, /The column "amount" is a number, and reader\.region is not\./)
})

test('a template says that it is personal and what its reader must have, wherever it reads one', () => {
  const viewOf = (text: string, partials = {}) => {
    const { template, faults } = parsedTemplate(templateOf(text, partials))
    assert.deepEqual(faults, [])
    const { personal, reader_attributes } = templateView(template!, 'folder')
    return { personal, reader_attributes }
  }
  const view = templateView(parsedTemplate(source('region = $reader.region')).template!, 'folder')
  assert.deepEqual([view.personal, view.reader_attributes], [true, ['region']])
  assert.deepEqual(viewOf('# A reader\n'), { personal: false, reader_attributes: [] })
  assert.deepEqual(viewOf("{% if true %}{{ reader['name'] | upcase }}{% endif %} {{ reader.id }}"), {
    personal: true,
    reader_attributes: ['name'],
  })
  assert.deepEqual(
    viewOf('# A\n{% render "p" %}', { p: '{{ "x" | append: reader.city }}' }).reader_attributes,
    ['city'],
  )
  assert.deepEqual(
    viewOf('```sql a\nselect $reader.b as b, $reader.a as a\n```\n# {{ a.size }}').reader_attributes,
    ['a', 'b'],
  )
  const query = `---\nsources:\n  o: { connection: shop, query: "select 'it\\\\'s' from t where r = $reader.region and x = 'y'" }\n---\n# A\n`
  assert.deepEqual(viewOf(query).reader_attributes, ['region'], 'as MySQL reads its texts')
  const metric = `metric: sold\nsource: { file: orders.csv }\nrows: region = $reader.region\ntime: { column: day }\nvalue: sum(amount)\n`
  const fence = '```metric m\nmetric: sold\n```\n# {{ m.size }}'
  assert.deepEqual(viewOf(fence, { 'metrics/sold.yaml': metric }).reader_attributes, ['region'])
})

test('a fault of a rule has its place and says what to write', () => {
  const faultOf = (rule: string) => {
    const [fault] = parseTemplate(source(rule)).faults
    return fault ? `${fault.line}:${fault.column} ${fault.code} ${fault.message} ${fault.remedy}` : 'none'
  }
  const cases: [rule: string, fault: RegExp][] = [
    ['region = ', /^3:\d+ bad_rule rows: the end cannot stand here\./],
    ['region = North', /North is a column.* Write texts in single quotes: 'North'/],
    ['$reader.region = region', /\$reader\.region cannot stand first\. Write the column first/],
    ['region = $region', /The reader has no attribute \$region\. Write \$reader\.NAME/],
    ['region = $reader.Region', /has no attribute \$reader\.Region/],
    ['amount > 5', /">" is not part of rules\. A rule compares columns/],
    ["region like 'N%'", /=, !=, in or is null is missing before "like"/],
    ['region = null', /Nothing equals null\. Write "is null"/],
    ['region in $reader.teams', /"\(" is missing before/],
    ["lower(region) = 'north'", /is missing before "\("/],
    ["region = 'North", /A quote is not closed\. Close it\./],
    [`${'('.repeat(80)}a = 1`, /nested too deeply/],
  ]
  for (const [rule, wanted] of cases) assert.match(faultOf(rule), wanted, rule)
})

test('a check finds a rule that does not fit the columns, and reads no value', async () => {
  const check = async (rule: string, sql?: string) =>
    (
      await bench.pool.check(
        { kind: 'check', template: source(rule, '{{ a.size }}', sql), roots: bench.roots },
        { workspace_id: 'test' },
      )
    ).map(({ code, message }) => `${code}: ${message}`)
  assert.deepEqual(await check('region = $reader.region'), [])
  assert.deepEqual(
    await check("region = 'x'", 'select * from orders where list_contains($reader.teams, team)'),
    [],
  )
  assert.deepEqual(await check("region = 'x'", 'select * from orders where amount > $reader.level'), [])
  assert.match((await check("regoin = 'x'"))[0]!, /bad_rule: orders: rows: There is no column "regoin"\./)
  assert.match((await check('region = 5'))[0] ?? '', /^$/)
  assert.match((await check("amount = 'x'"))[0]!, /The column "amount" is a number, and "x" is not\./)
  assert.match((await check('day = 5'))[0]!, /The column "day" is neither a text, a number nor true or false/)
  assert.match(
    (await check("region = 'x'", 'select $reader as r from orders'))[0]!,
    /SQL takes one of its attributes/,
  )
})

test('SQL and text read the attributes, and the lineage names the rule and the reader alone', async () => {
  const sql =
    'select count(*) as n, max(rowid) as last, $reader.level + 1 as level, $reader.teams[2] as second from orders'
  const text =
    '{{ reader.region }} {{ reader.teams | join: "+" }} {{ a.first.level }} {{ a.first.second }} {{ a.first.last }}'
  const found = findingsOf(await bench.run(source('amount in (20, 30, 50)', text, sql), {}, { reader: anna }))
  assert.match(found.markdown, /North a\+b 31 b 2\n/)
  assert.deepEqual(found.lineage.reader, { id: 'anna' })
  const [orders] = found.lineage.sources
  assert.equal(orders!.rule, 'amount in (20, 30, 50)')
  assert.equal(orders!.rows, 3)
  assert.equal(JSON.stringify(found.lineage).includes('North'), false)
})

test('no name reaches the rows behind a rule, and no message tells of them', async () => {
  for (const table of ['"rows of the reader"', 'main.orders', 'duckdb_tables()', "read_csv('orders.csv')"]) {
    const { code } = errorOf(
      await bench.run(source("team = 'a'", '', `select * from ${table}`), {}, { reader: anna }),
    )
    assert.equal(code, 'template_invalid', table)
  }
  const cast = source("team = 'a'", '', 'select cast(region as date) from orders')
  const { detail } = errorOf(await bench.run(cast, {}, { reader: anna }))
  assert.equal(/South|Hara|north/.test(detail), false)
})

test('what reading a file finds of other rows is not told', async () => {
  const files = {
    'ambiguous.csv': 'team,day\na,01/02/2023\nc,03/04/2023\n',
    'ragged.csv': 'team,day\na,1\nc,2,secret\n',
  }
  for (const [name, content] of Object.entries(files)) writeFileSync(path.join(bench.data, name), content)
  const of = (file: string, sql: string) =>
    templateOf(
      `---\nsources:\n  orders: { file: ${file}, rows: "team = 'a'" }\n---\n\n\`\`\`sql a\n${sql}\n\`\`\`\n\n# A\n\n{{ a.size }}\n`,
    )
  const ambiguous = of('ambiguous.csv', 'select day from orders')
  const { code, detail } = errorOf(await bench.run(ambiguous, {}, { reader: anna }))
  assert.equal(code, 'source_unavailable')
  assert.match(detail, /uses the column "day", which can be read in more than one way/)
  const ruled = templateOf(
    '---\nsources:\n  orders: { file: ambiguous.csv, rows: day = $reader.day }\n---\n\n```sql a\nselect team from orders\n```\n\n# A\n\n{{ a.size }}\n',
  )
  const stopped = errorOf(await bench.run(ruled, {}, { reader: { id: 'x', day: '01/02/2023' } }))
  assert.match(
    stopped.detail,
    /The rule of rows uses the column "day", which can be read in more than one way/,
  )
  const ragged = errorOf(await bench.run(of('ragged.csv', 'select * from orders'), {}, { reader: anna }))
  assert.match(ragged.detail, /the reason may hold values of them, so it is not told/)
  const checked = await bench.pool.check(
    { kind: 'check', template: ambiguous, roots: bench.roots },
    { workspace_id: 'test' },
  )
  assert.equal(checked[0]!.code, 'type_ambiguous')
  const whole = findingsOf(
    await bench.run(of('ambiguous.csv', 'select team from orders'), {}, { reader: anna }),
  )
  const engine = await openEngine()
  const parquet = path.join(bench.data, 'loose.parquet')
  await execute(
    engine,
    `copy (from (values ('a', '1'), ('c', 'secret')) t(team, day)) to '${parquet}' (format parquet)`,
  )
  engine.close()
  const typed = templateOf(
    '---\nsources:\n  orders: { file: loose.parquet, columns: { day: integer }, rows: "day = 1" }\n---\n# A\n',
  )
  const loose = errorOf(await bench.run(typed, {}, { reader: anna }))
  assert.deepEqual([loose.code, /so it is not told/.test(loose.detail)], ['source_unavailable', true])
  for (const told of [detail, loose.detail, ragged.detail, JSON.stringify(checked), JSON.stringify(whole)])
    assert.equal(/03\/04|01\/02|secret|"c"/.test(told), false, told)
})

test('periods, profiles and tests of metrics see the rows of the reader alone', async () => {
  const front = `---\nsources:\n  orders: { file: orders.csv, rows: "team in ($reader.teams)" }\nvariables:\n  p: { type: period, default: last_2_days, until: orders.day }\n---\n`
  const body =
    '```analysis seen\nmethod: profile\nof: orders\n```\n\n# {{ vars.p.label }}\n\n{{ seen.columns[0].distinct }} {{ vars.p.end }}'
  const found = findingsOf(await bench.run(templateOf(front + body), { p: 'last_2_days' }, { reader: anna }))
  assert.match(found.markdown, /3 2024-01-0[34]/)
  assert.equal(/South|Hara|2024-01-0[56]/.test(JSON.stringify(found)), false)
})

const database = path.join(bench.data, 'shop.db')
const made = new DatabaseSync(database)
made.exec(`create table orders (region text collate nocase, team text, amount integer, day text, loose);
  insert into orders values ('North','a',10,'2024-01-01','x'),('north','a',20,'2024-01-01',5),('South','b',40,'2024-01-02','x'),(null,'c',50,'2024-01-02',null)`)
made.close()
const connection = {
  name: 'shop',
  kind: 'sqlite' as const,
  options: { file: 'shop.db' },
  secrets: {},
  limits: { rows: 1000, bytes: 1_000_000, timeout_seconds: 20, concurrent: 1 },
  targets: ['public'],
}
const connections = {
  acquire: () => Promise.resolve({ connection }),
  release: () => undefined,
  end: () => undefined,
}

test('a metric over a connection counts the rows of the reader, in the database, and its tests do too', async () => {
  const metric = (rule: string) =>
    `metric: sold\nsource: { connection: shop, table: orders }\nrows: ${rule}\ntime: { column: day }\nvalue: sum(amount)\ntests: [ { accepted: { region: [North, north] } } ]\n`
  const totals = async (rule: string, reader = anna) => {
    const template = templateOf('```metric m\nmetric: sold\n```\n\n# A\n\n{{ m.size }}\n', {
      'metrics/sold.yaml': metric(rule),
    })
    const { tables, lineage } = findingsOf(await bench.run(template, {}, { reader, connections }))
    return { rows: tables.m!.rows, ok: lineage.metrics![0]!.tests[0]!.ok, lineage }
  }
  const north = await totals('region = $reader.region')
  assert.deepEqual(north.rows, [['2024-01-01', 10]])
  assert.equal(north.ok, true)
  assert.equal(north.lineage.sources[0]!.rule, 'region = $reader.region')
  assert.match(north.lineage.sources[0]!.remote!.query, /where \(case when typeof\("region"\)/)
  assert.deepEqual((await totals('team in ($reader.teams)')).ok, false)
  assert.deepEqual((await totals("region != 'North'")).rows, [
    ['2024-01-01', 20],
    ['2024-01-02', 40],
  ])
  assert.deepEqual((await totals("loose != 'x'")).rows, [])
  assert.deepEqual((await totals('loose in ($reader.teams, 5)')).rows, [['2024-01-01', 20]])
  assert.deepEqual((await totals('region in ($reader.none)')).rows, [])
})

test('a rule of a metric that does not fit its rows is a fault of the fence, and of the line in the definition', async () => {
  const text = `metric: sold\nsource: { file: orders.csv }\ntime: { column: day }\nvalue: sum(amount)\nrows: amount = 'x'\n`
  const check = (template: ReturnType<typeof templateOf>) =>
    bench.pool.check({ kind: 'check', template, roots: bench.roots }, { workspace_id: 'test' })
  const fence = templateOf('# A\n\n```metric m\nmetric: sold\n```\n\n{{ m.size }}\n', {
    'metrics/sold.yaml': text,
  })
  const [fault] = await check(fence)
  assert.deepEqual([fault!.code, fault!.line], ['bad_rule', 4])
  const { lines } = metricHead({ metric_id: 'sold', source: text })
  const own = asMetricFaults(await check(metricReader({ metric_id: 'sold', source: text })), lines)
  assert.deepEqual(
    own.map(({ code, line }) => [code, line]),
    [['bad_rule', 5]],
  )
})

test("an author's query over a connection is filtered when its rows have come", async () => {
  const template = templateOf(
    '---\nsources:\n  orders: { connection: shop, query: "select * from orders where amount <= $reader.level", rows: "region = $reader.region" }\n---\n```sql a\nselect amount from orders\n```\n# {{ a.size }}\n',
  )
  const found = findingsOf(await bench.run(template, {}, { reader: anna, connections }))
  assert.deepEqual(found.tables.a!.rows, [[10]])
  assert.equal(found.lineage.sources[0]!.rows, 1)
})
