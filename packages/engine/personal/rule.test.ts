import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { after, test } from 'node:test'
import type { Reader, RuleNode, RuleValue } from '@assay/model/reader'
import { readerFault } from '@assay/model/reader'
import * as fc from 'fast-check'
import { execute, openEngine, readTable } from '../duckdb/duckdb.ts'
import { conditionFor } from './condition.ts'
import { engineCondition, remoteCondition } from './condition-sql.ts'
import { readRule } from './rule.ts'

const engine = await openEngine()
after(() => engine.close())

/** Texts that collations, trims and careless quotes take for each other. */
const text = fc.oneof(
  fc.constantFrom(
    'North',
    'north',
    'North ',
    ' North',
    'Nort\u00e9',
    'Norte\u0301',
    "O'Hara",
    "' or 1=1 --",
    'a\\',
    '',
    '5',
  ),
  fc.string({ maxLength: 4 }).filter((one) => one.isWellFormed() && !one.includes('\0')),
)
const number = fc.constantFrom(0, 1, -1, 5, 5.5, 0.1, 123_456_789_012)
const CLASSES = { region: 'text', team: 'text', level: 'number', open: 'boolean' } as const
type Column = keyof typeof CLASSES

const row = fc.record({
  region: fc.option(text),
  team: fc.option(text),
  level: fc.option(number),
  open: fc.option(fc.boolean()),
})
type Row = { [name in Column]: string | number | boolean | null }

const reader = fc.record({
  id: fc.constant('a'),
  text,
  texts: fc.array(text, { maxLength: 3 }),
  number,
  boolean: fc.boolean(),
})

const quoted = (value: string | number | boolean): string =>
  typeof value === 'string' ? `'${value.replaceAll("'", "''")}'` : String(value)

function comparison(column: Column): fc.Arbitrary<string> {
  const kind = CLASSES[column]
  const literal = kind === 'text' ? text : kind === 'number' ? number : fc.boolean()
  const single = fc.oneof(literal.map(quoted), fc.constant(`$reader.${kind}`))
  const any = kind === 'text' ? fc.oneof(single, fc.constant('$reader.texts')) : single
  return fc.oneof(
    any.map((value) => `${column} = ${value}`),
    single.map((value) => `${column} != ${value}`),
    fc
      .tuple(fc.constantFrom('in', 'not in'), fc.array(any, { minLength: 1, maxLength: 3 }))
      .map(([word, values]) => `${column} ${word} (${values.join(', ')})`),
    fc.constantFrom(`${column} is null`, `${column} is not null`),
  )
}

const { rule } = fc.letrec<{ rule: string }>((tie) => ({
  rule: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom<Column>('region', 'team', 'level', 'open').chain(comparison),
    fc
      .tuple(tie('rule'), fc.constantFrom('and', 'or'), tie('rule'))
      .map(([left, word, right]) => `(${left}) ${word} (${right})`),
    tie('rule').map((of) => `not (${of})`),
  ),
}))

/** True, false, or null for what is not known. */
function holds(node: RuleNode, cells: Row, person: Reader): boolean | null {
  switch (node.kind) {
    case 'not': {
      const of = holds(node.of, cells, person)
      return of === null ? null : !of
    }
    case 'and':
    case 'or': {
      const parts = node.parts.map((part) => holds(part, cells, person))
      const decides = node.kind === 'or'
      return parts.includes(decides) ? decides : parts.includes(null) ? null : !decides
    }
    case 'is_null':
      return (cells[node.column as Column] === null) !== node.not
    case 'among': {
      const cell = cells[node.column as Column]
      if (cell === null) return null
      return node.values.flatMap((value) => meant(value, person)).includes(cell) !== node.not
    }
  }
}

function meant(value: RuleValue, person: Reader): (string | number | boolean)[] {
  if (value.kind === 'reader') return [person[value.name]!].flat()
  return [value.kind === 'number' ? Number(value.value) : value.value]
}

const nowhere = () => ({ line: 1, column: 1 })
const COLUMNS = 'region varchar, team varchar, level double, open boolean'

test('the filter is the one that JavaScript makes of the same rule, in the engine and in SQLite', async () => {
  const database = new DatabaseSync(':memory:')
  await execute(engine, `create table cells (id integer, ${COLUMNS})`)
  database.exec(
    'create table cells (id integer, region text collate nocase, team text collate rtrim, level real, open boolean)',
  )
  const cell = (value: unknown): string => (value === null ? 'null' : quoted(value as string))
  const property = fc.asyncProperty(
    fc.array(row, { minLength: 1, maxLength: 12 }),
    rule,
    reader,
    async (rows, written, person) => {
      const { tree, ...rest } = readRule(written, nowhere)
      const condition = conditionFor({ tree, ...rest }, person, (name) => CLASSES[name as Column] ?? null)
      const wanted = rows.flatMap((cells, id) => (holds(tree, cells, person) === true ? [id] : []))
      const list = rows.map(
        (cells, id) => `(${[id, cells.region, cells.team, cells.level, cells.open].map(cell).join(', ')})`,
      )
      for (const sql of ['delete from cells', `insert into cells values ${list.join(', ')}`]) {
        await execute(engine, sql)
        database.exec(sql)
      }
      const here = await readTable(
        engine,
        `select id from cells where ${engineCondition(condition)} order by id`,
        {},
        100,
      )
      assert.deepEqual(here.rows.flat(), wanted, `the engine: ${written}`)
      const bound: (string | number)[] = []
      const sql = remoteCondition(condition, 'sqlite', (value, type) => {
        bound.push(type === 'string' ? String(value) : Number(value))
        return '?'
      })
      const there = database.prepare(`select id from cells where ${sql} order by id`).all(...bound)
      assert.deepEqual(
        there.map(({ id }) => id),
        wanted,
        `SQLite: ${written}`,
      )
    },
  )
  await fc.assert(property, { numRuns: 300 })
  database.close()
})

test('a reader is an object of attributes, each of a known form', () => {
  const cases: [given: unknown, fault: RegExp | null][] = [
    [{ id: 'a', region: 'North', teams: ['a'], level: 5, big: true }, null],
    [null, /is an object/],
    [['a'], /is an object/],
    [{ region: 'North' }, /has an "id"/],
    [{ id: '' }, /has an "id"/],
    [{ id: 'a', Region: 'x' }, /"Region" cannot be an attribute/],
    [{ id: 'a', region: null }, /reader\.region is neither/],
    [{ id: 'a', level: Number.NaN }, /not a finite number/],
    [{ id: 'a', teams: [1] }, /its values must be texts/],
    [{ id: 'a', teams: Array.from({ length: 1001 }, () => 'x') }, /at most 1000/],
    [{ id: 'a', region: 'a\0b' }, /a character that is none/],
    [{ id: 'a', region: '\ud800' }, /a character that is none/],
  ]
  for (const [given, wanted] of cases) {
    const fault = readerFault(given)
    if (wanted === null) assert.equal(fault, null)
    else assert.match(fault!, wanted)
  }
})
