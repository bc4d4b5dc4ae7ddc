/**
 * Tests what every kind of database promises about digits. Over the published tables to which the engine here is held,
 * an analysis that runs there keeps as many digits as docs/accuracy.md says. WRITE_DIGITS=1 writes the digits that
 * were found.
 */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { Outcome } from '@assay/model/insight'
import { digits } from '../../../../test/accuracy/figure.ts'
import { type NistTable, nistTables } from '../../../../test/accuracy/nist.ts'
import { findingsOf, type TestPool, templateOf } from '../../run/test-pool.ts'
import type { Adding } from './metrics.ts'

/** The fewest right digits, by kind of database, then by method and set. */
export type EngineDigits = Record<string, { server: string; digits: Record<string, number> }>

const FILE = path.join(import.meta.dirname, '../../../../test/accuracy/engines.json')
const readDigits = (): EngineDigits => JSON.parse(readFileSync(FILE, 'utf8')) as EngineDigits

async function fill(server: Adding, name: string, { columns }: NistTable): Promise<void> {
  const { kind } = server
  const double = { clickhouse: 'Float64', mysql: 'double' }[kind] ?? 'double precision'
  const names = Object.keys(columns)
  const typed = names.map((column) => `${column} ${column === 'g' ? 'integer' : double}`)
  await server.execute(`drop table if exists ${name}`)
  await server.execute(
    `create table ${name} (${typed.join(', ')})${kind === 'clickhouse' ? ' engine Memory' : ''}`,
  )
  const rows = Array.from({ length: columns[names[0]!]!.length }, (_, index) => {
    const cells = names.map((column) => {
      const value = columns[column]![index]!
      return column === 'g' ? String(value) : value.toExponential()
    })
    return `(${cells.join(', ')})`
  })
  for (let from = 0; from < rows.length; from += 500)
    await server.execute(`insert into ${name} values ${rows.slice(from, from + 500).join(', ')}`)
}

export function figureOf(outcome: Outcome, name: string): number {
  const [, at] = /^estimate (\d+)$/.exec(name) ?? []
  if (at === undefined) return outcome[name] as number
  return (outcome.coefficients as { estimate: number }[])[Number(at)]!.estimate
}

/** Returns the fewest right digits of a table, to a tenth. */
export function fewestOf({ expected }: NistTable, outcome: Outcome): number {
  const found = Object.entries(expected)
    .filter(([name]) => name.startsWith('estimate') || outcome[name] !== undefined)
    .map(([name, value]) => digits({ expected: value, got: figureOf(outcome, name) }))
  return Math.floor(10 * Math.min(...found)) / 10
}

export const tableKey = ({ method, set }: NistTable): string => `${method} ${set}`

/** Tests the digits of a server. `server`: its name and version. */
export async function digitsAreKept(server: Adding, bench: TestPool, name: string): Promise<void> {
  const found: Record<string, number> = {}
  for (const [index, table] of nistTables().entries()) {
    const there = `digits_${index}`
    await fill(server, there, table)
    const options = Object.entries({ method: table.method, ...table.options })
    const lines = options.map(([key, value]) => `${key}: ${JSON.stringify(value)}`)
    const template = templateOf(
      `---\nlimits: { timeout: 600 }\n---\n\`\`\`analysis a\nof: remote.${there}\n${lines.join('\n')}\n\`\`\`\n\n{{ a.summary }}\n`,
    )
    const findings = findingsOf(await bench.run(template, {}, { connections: server.connections() }))
    assert.ok(findings.lineage.blocks[0]!.asked, `${tableKey(table)} was asked there`)
    found[tableKey(table)] = fewestOf(table, findings.analyses.a!)
    await server.execute(`drop table ${there}`)
  }
  hold(server.kind, name, found)
}

/** Fails if fewer digits are right than the guide says. With WRITE_DIGITS=1 writes the digits instead. */
export function hold(kind: string, server: string, found: Record<string, number>): void {
  const published = readDigits()
  if (process.env.WRITE_DIGITS) {
    const all = { ...published, [kind]: { server, digits: found } }
    const sorted = Object.fromEntries(Object.entries(all).toSorted(([a], [b]) => (a < b ? -1 : 1)))
    writeFileSync(FILE, `${JSON.stringify(sorted, null, 2)}\n`)
    return
  }
  const said = published[kind]!.digits
  assert.deepEqual(Object.keys(found), Object.keys(said))
  // A server of another version may round the last digit in another way.
  const fewer = Object.entries(found).filter(([key, value]) => value < Math.min(14, said[key]! - 0.3))
  assert.deepEqual(fewer, [])
}
