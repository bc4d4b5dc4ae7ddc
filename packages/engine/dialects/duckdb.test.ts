/**
 * Tests the engine itself as the database of the analyses, with the same printers, against the answers over a file of
 * the same rows. Analyses that its own SQL cannot express fail here first.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, test } from 'node:test'
import { parse } from 'yaml'
import { nistTables } from '../../../test/accuracy/nist.ts'
import { bindPlain } from '../duckdb/bindings.ts'
import { describeQuery, type Engine, engineVersion, openEngine, readRows } from '../duckdb/duckdb.ts'
import { METHODS } from '../methods/catalog.ts'
import { outcomeOf } from '../methods/relation-fixture.ts'
import type { Method, Relation } from '../methods/shared/method.ts'
import {
  ASKED,
  assertAlike,
  describes,
  measuredText,
  NOTHING,
  WITHOUT,
} from '../sources/conformance/analyses.ts'
import { fewestOf, hold, tableKey } from '../sources/conformance/digits.ts'
import { PRINTED, visitsText } from '../sources/conformance/printed.ts'
import { parsed, readAnswer } from './answers.ts'
import { DUCKDB } from './duckdb.ts'
import { printSelect } from './print.ts'
import { TreePrinter } from './print-tree.ts'

let engine: Engine
const folder = mkdtempSync(path.join(tmpdir(), 'assay-asked-'))
before(async () => {
  engine = await openEngine()
  await engine.connection.run("set TimeZone = 'UTC'")
  for (const [name, text] of [
    ['measured', measuredText()],
    ['visits', visitsText()],
  ] as const) {
    writeFileSync(path.join(folder, `${name}.csv`), text)
    await engine.connection.run(`create table ${name} as from read_csv('${path.join(folder, name)}.csv')`)
  }
})
after(() => {
  engine.close()
  rmSync(folder, { recursive: true, force: true })
})

/** Makes the table here, and the same table as one of a database. */
async function both(name: string, method: Method, options: Record<string, unknown>) {
  const columns = await describeQuery(engine, `select * from ${name}`)
  const here: Relation = {
    relation: name,
    columns,
    query: (sql, values = {}) => readRows(engine, sql, bindPlain(values)),
  }
  const query = `select * from ${name}`
  let statements = 0
  const answered = async (sql: string) => {
    statements += 1
    return readRows(engine, sql)
  }
  const there: Relation = method.asks?.(options)
    ? { ...here, there: { from: { query }, ask: (select) => answered(printSelect(select, DUCKDB)) } }
    : {
        ...here,
        unordered: true,
        async query(sql, values = {}) {
          const printer = new TreePrinter(DUCKDB, { relation: name, columns, query }, values)
          const statement = printer.print(await parsed(engine, sql))
          return (await answered(statement.sql)).map((row) => readAnswer(row, statement))
        },
      }
  const outcomes = {
    there: await outcomeOf(method, there, options),
    here: await outcomeOf(method, here, options),
  }
  assert.ok(statements > 0, `${name} was asked`)
  return outcomes
}

const read = (text: string): { method: Method; options: Record<string, unknown> } => {
  const { method, ...options } = parse(text) as Record<string, unknown>
  return { method: METHODS[method as string]!, options }
}

test('DuckDB answers what analyses ask of a database as it does over a file of the same rows', async () => {
  for (const [name, text] of Object.entries(ASKED)) {
    const { method, options } = read(text)
    const { there, here } = await both('measured', method, options)
    assertAlike(there, here, name, describes(name) ? WITHOUT : NOTHING)
  }
})

test('the SQL of methods that is printed for DuckDB answers as what was written for it', async () => {
  for (const [name, text] of Object.entries(PRINTED)) {
    const { method, options } = read(text)
    const { there, here } = await both('visits', method, options)
    assertAlike(there, here, name, NOTHING)
  }
})

test('over published tables DuckDB as a database keeps the digits that the guide says', async () => {
  const found: Record<string, number> = {}
  for (const table of nistTables()) {
    const names = Object.keys(table.columns)
    const list = names.map(
      (name) =>
        `unnest([${table.columns[name]!.map((one) => `${one.toExponential()}::${name === 'g' ? 'integer' : 'double'}`).join(', ')}]) as ${name}`,
    )
    await engine.connection.run(`create or replace table published as select ${list.join(', ')}`)
    const { there } = await both('published', METHODS[table.method]!, table.options)
    found[tableKey(table)] = fewestOf(table, there)
  }
  hold('duckdb', `DuckDB ${(await engineVersion(engine)).replace(/^\D+/, '')}`, found)
})
