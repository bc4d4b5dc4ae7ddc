/** Tests `assay draft`: a short form of the proof over public tables, and the command as an author uses it. */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { after, test } from 'node:test'
import { rolesOf } from '../../packages/engine/drafting/roles.ts'
import { writeDraft } from '../../packages/engine/drafting/write.ts'
import { parseTemplate } from '../../packages/engine/reading/parse.ts'
import { judgeAll, violationsOf } from '../../proofs/drafts.ts'
import { HOSTILE_TEXTS } from '../hostile/hostile-texts.ts'
import { temporaryFolder } from '../servers/service.ts'
import { openCommands } from './commands.ts'

const { folder, remove } = temporaryFolder()
after(remove)

test('drafts of public tables find the roles that were labelled by hand, pass the checks and run', async () => {
  const found = await judgeAll(['seattle-weather.csv', 'gapminder.json', 'burtin.json', 'ucb-admissions.csv'])
  assert.deepEqual(violationsOf(found), [])
  assert.deepEqual(Object.keys(found[0]!.drafted.metrics), [
    'seattle_weather_precipitation',
    'seattle_weather_temp_max',
    'seattle_weather_rows',
  ])
  assert.deepEqual(found[2]!.drafted.metrics, {})
})

test('a draft has at most 60 lines, however much it asks and assumes', () => {
  const top = [{ value: 'X', n: 20 }]
  const column = { nulls: 0, distinct: 40, min: 1, max: 90, top, question: null }
  const names = Array.from({ length: 30 }, (_, at) => `column ${at}`)
  const columns = [
    { ...column, name: 'day', type: 'date', min: '2025-01-01', max: '2025-03-01' },
    { ...column, name: 'price', type: 'number' },
    { ...column, name: 'amount', type: 'number' },
    ...names.map((name) => ({ ...column, name, type: 'text', distinct: 12 })),
    ...names.map((name) => ({ ...column, name: `${name} seller`, type: 'integer', distinct: 12 })),
  ]
  const decisions = rolesOf(columns, 800)
  assert.ok(decisions.filter(({ sure }) => !sure).length > 20)
  const keys = Object.fromEntries(names.map((name) => [name, { missing: ['x', 'y'], decimal: ',' }]))
  for (const alone of [true, false]) {
    const source = { file: 'a.csv', dates: 'dmy', columns: keys }
    const { template } = writeDraft({
      called: 'a.csv',
      source,
      rowSource: source,
      alone,
      rows: 800,
      columns,
      decisions,
    })
    const lines = template.split('\n').length - 1
    assert.ok(lines > 50 && lines <= 60, `${lines} lines`)
    assert.match(template, /of: parts[\s\S]*title: "Amount"/)
  }
})

test('a level is not added up over time, and acronyms of a name stay in capitals', () => {
  const shape = { nulls: 0, distinct: 90, min: 1, max: 90, top: [{ value: 9, n: 2 }], question: null }
  const columns = [
    { ...shape, name: 'day', type: 'date', min: '2025-01-01', max: '2025-03-31' },
    { ...shape, name: 'ending_balance', type: 'number' },
    { ...shape, name: 'amount', type: 'number' },
    { ...shape, name: 'branch', type: 'text', distinct: 3, top: [{ value: 'north', n: 90 }] },
  ]
  const source = { file: 'us-kpi.csv' }
  const decisions = rolesOf(columns, 270)
  const drafted = (called: string, alone: boolean) =>
    writeDraft({ called, source, rowSource: source, alone, rows: 270, columns, decisions })
  const { metrics, template } = drafted('us-kpi.csv', false)
  assert.match(template, /^title: US KPI$/m)
  assert.doesNotMatch(template, /drivers/)
  assert.match(
    metrics.us_kpi_ending_balance!,
    /numerator: sum\("ending_balance"\)\n +denominator: count\(distinct "day"\)/,
  )
  assert.match(metrics.us_kpi_ending_balance!, /Assumed: a level, which is not added up over time/)
  assert.match(metrics.us_kpi_amount!, /^value: sum\("amount"\)$/m)
  const alone = drafted('us-kpi.csv', true).template
  assert.match(alone, /sum\("ending_balance"\)::double \/ count\(distinct "day"\) as value/)
  assert.match(
    alone,
    /date_trunc\('month', "day"\) as date\) as time, "branch", sum\("ending_balance"\)::double \/ count/,
  )
  assert.match(drafted('unemployment.csv', false).metrics.unemployment_amount!, /count\(distinct "day"\)/)
  const named = (name: string): string => {
    const given = columns.map((column) => (column.name === 'ending_balance' ? { ...column, name } : column))
    const table = { called: 'a.csv', source, rowSource: source, alone: false, rows: 270 }
    return Object.values(
      writeDraft({ ...table, columns: given, decisions: rolesOf(given, 270) }).metrics,
    ).join('\n')
  }
  for (const name of ['Saldo', 'Lagerbestand', 'on_hand', 'solde'])
    assert.match(named(name), new RegExp(`numerator: sum\\("${name}"\\)`))
  for (const name of ['Preis', 'duration_ms', 'salary'])
    assert.match(named(name), new RegExp(`value: avg\\("${name}"\\)`))
  const gaps = columns.map((column) => ({ ...column, nulls: column.name === 'ending_balance' ? 9 : 0 }))
  const table = { called: 'us-kpi.csv', source, rowSource: source, alone: true, rows: 270 }
  assert.match(
    writeDraft({ ...table, columns: gaps, decisions: rolesOf(gaps, 270) }).template,
    /count\(distinct case when "ending_balance" is not null then "day" end\) as value/,
    'a day without a balance is not counted as one with none',
  )
})

test('no hostile name of a column writes a part of a draft, or keeps it from being read', () => {
  const shape = { nulls: 0, distinct: 40, min: 1, max: 90, top: [{ value: 'X', n: 20 }], question: null }
  const day = { ...shape, name: 'day', type: 'date', min: '2025-01-01', max: '2025-03-01' }
  for (const name of HOSTILE_TEXTS)
    for (const columns of [
      [day, { ...shape, name, type: 'number' }],
      [{ ...shape, name, type: 'number' }],
      [
        { ...day, name },
        { ...shape, name: 'part', type: 'text', distinct: 12 },
      ],
      [day, { ...shape, name, type: 'text', distinct: 12 }],
    ]) {
      const decisions = rolesOf(columns, 800)
      const source = { file: 'a.csv' }
      const table = { called: 'a.csv', source, rowSource: source, alone: true, rows: 800, columns, decisions }
      const { template } = writeDraft(table)
      const { template: read, faults } = parseTemplate({ template_id: 'a', source: template, partials: {} })
      assert.deepEqual(
        faults.filter(({ severity }) => severity === 'error'),
        [],
        template,
      )
      const kinds = [
        'main',
        'parts',
        'direction',
        'unusual',
        'why',
        'by_year',
        'by_group',
        'numbers',
        'spread',
        'columns',
      ]
      for (const block of read!.blocks) assert.ok(kinds.includes(block.name), template)
      const outside = read!.body.replaceAll(/"(?:[^"\\]|\\.)*"/g, '')
      assert.doesNotMatch(outside, /narrate|include|vars|<|]\(/)
    }
})

test('a text of dates is settled by a line of the source where a file has it, and by a view where a database does', () => {
  const shape = { nulls: 0, distinct: 2, min: null, max: null, question: null }
  const top = ['3 Mar 2025', '4 Apr 2025'].map((value) => ({ value, n: 30 }))
  const paid = { ...shape, name: 'paid', type: 'text', top }
  const [inFile] = rolesOf([paid], 60)
  assert.deepEqual(inFile!.question!.readings, [
    { as: '3 March 2025', write: 'columns: { "paid": { dates: "%d %b %Y" } }' },
  ])
  const [inDatabase] = rolesOf([{ ...paid, typed: 'database' }], 60)
  assert.deepEqual([inDatabase!.role, inDatabase!.question!.readings], ['unclear', []])
  assert.match(inDatabase!.question!.says, /"3 Mar 2025"\. Give it a type in a view of the database/)
})

const commands = openCommands({
  cwd: folder,
  env: { ASSAY_HOME: path.join(folder, 'home') },
  keepPool: true,
})
after(() => commands.close())

async function run(...args: string[]) {
  const { code, out, err } = await commands.run(['draft', ...args])
  return { status: code, out, err }
}
const read = (file: string): string => readFileSync(path.join(folder, file), 'utf8')

test('a date of two readings is asked and left out, and an answer settles it', async () => {
  const rows = Array.from(
    { length: 60 },
    (_, at) => `A-${at},0${1 + (at % 9)}/0${1 + (at % 7)}/2025,${10 + at}.50,${at % 2 ? 'DE' : 'FR'}`,
  )
  writeFileSync(path.join(folder, 'orders.csv'), `order_id,due,amount,country\n${rows.join('\n')}\n`)
  assert.equal((await run('orders.csv', '--metric-dir', 'new/metrics')).status, 1, 'folders are made')
  const asked = await run('orders.csv')
  assert.equal(asked.status, 1)
  assert.match(asked.err, /ASK {2}due: .*dates: dmy.*dates: mdy/)
  assert.match(read('orders.md'), /^# ASK: due: /m)
  assert.doesNotMatch(read('orders.md'), /"due"|column: due/)
  assert.equal((await run('orders.csv', '--source', 'dates: dmy')).status, 4)
  const days = rows.map((_, at) => ({ due: `0${1 + (at % 9)}-0${1 + (at % 7)}-2025`, n: at }))
  writeFileSync(path.join(folder, 'due.json'), JSON.stringify(days))
  assert.match(
    (await run('due.json')).err,
    /ASK {2}due: Every date fits two readings.*dates: dmy.*dates: mdy/,
  )
  const answered = await run('orders.csv', '--source', 'dates: dmy', '--force')
  assert.equal(answered.status, 0, answered.err)
  const metric = read('metrics/orders_amount.yaml')
  assert.match(metric, /dates: dmy[\s\S]*column: due[\s\S]*value: sum\("amount"\)[\s\S]*- country/)
  assert.match(metric, /^# Drafted\. Assumed: the value is the sum of a step/)
  assert.equal((await run('orders.csv', '--source', 'file: x', '--force')).status, 2)
  assert.equal((await run('nothing.csv')).status, 3)
})
