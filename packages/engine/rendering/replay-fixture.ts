/** For tests: prints each mark of an insight again from its origins and filters alone, without the template. */
import assert from 'node:assert/strict'
import type { Outcome, Table } from '@assay/model/insight'
import { AUTHORS, type Mark, type Origin } from '@assay/model/provenance'
import { Budget } from '../language/budget.ts'
import { filterNamed } from '../language/filters/catalog.ts'
import { property } from '../language/operations.ts'
import { escapeMarkdown } from '../printing/escape.ts'
import { printText } from '../printing/print.ts'
import { markdownTable } from '../printing/tables.ts'
import { outcomeObject, tableRows } from '../values/rows.ts'
import { Markdown, type Row } from '../values/value.ts'

export interface Marked {
  markdown: string
  provenance: readonly Mark[]
  tables: Record<string, Table>
  analyses: Record<string, Outcome>
  vars: Record<string, unknown>
  run: Record<string, unknown>
}

const LISTS = new Set(
  'sum mean min max first last pluck map where reject sort size group_by slice uniq'.split(' '),
)

const pathOf = (value: unknown, names: string | undefined): unknown =>
  (names ?? '')
    .split('.')
    .filter((name) => name !== '')
    .reduce<unknown>((at, name) => property(at, /^\d+$/.test(name) ? Number(name) : name), value)

/** Returns the value at an origin, or the whole list for a range of rows. */
export function valueAt(origin: Origin, { tables, analyses, vars, run }: Marked): unknown {
  const { block, field, row, column, variable } = origin
  if (variable !== undefined) return pathOf(vars, variable)
  if (origin.run !== undefined) return pathOf(run, origin.run)
  const whole = Object.hasOwn(tables, block!)
    ? tableRows(block!, tables[block!]!)
    : outcomeObject(block!, analyses[block!]!)
  const held = pathOf(whole, field)
  if (row === undefined) return held
  const found = (held as Row[])[row]
  return column !== undefined && Object.hasOwn(found!, column) ? found![column] : pathOf(found, column)
}

/** Returns the filter of a step. Null if the text is not one of our filters, because a literal stands first. */
function stepOf(text: string): { name: string; args: unknown[] } | null {
  const [, name, args = ''] = /^([a-z_]+)(?:: (.*))?$/s.exec(text) ?? []
  if (name === undefined || !filterNamed(name)) return null
  return { name, args: JSON.parse(`[${args}]`) as unknown[] }
}

/**
 * Returns the text of a mark. Null if the origins do not determine it, because a loop combined several or a text was
 * cut.
 */
function replayed(mark: Mark, insight: Marked): string | null {
  const { from, more = 0, through = [] } = mark
  if (
    more > 0 ||
    through.includes('...') ||
    through.some((step) => /\.\.\.|group_by|[a-z]+: [a-z]+: /.test(step))
  )
    return null
  const [first, ...rest] = through
  const literal = first !== undefined && stepOf(first) === null
  const steps = (literal ? rest : through).map((step) => stepOf(step)!)
  const [origin] = from
  if (!literal && origin!.rows && !(steps[0] && LISTS.has(steps[0].name))) return null
  const base: unknown = literal ? JSON.parse(first) : valueAt(origin!, insight)
  const context = { named: new Map(), budget: new Budget() }
  const value = steps.reduce((at, { name, args }) => filterNamed(name)!(at, args, context) ?? null, base)
  return value instanceof Markdown ? value.toString() : escapeMarkdown(printText(value))
}

/** Returns how many marks were printed again. Throws if one gives another text than the Markdown has. */
export function replayAll(insight: Marked): { replayed: number; left: Mark[] } {
  let count = 0
  let last = 0
  const left: Mark[] = []
  for (const mark of insight.provenance) {
    const text = insight.markdown.slice(mark.start, mark.end)
    assert.ok(mark.start >= last && mark.end > mark.start && mark.end <= insight.markdown.length, text)
    last = mark.end
    if (mark.by && AUTHORS.includes(mark.by)) continue
    if (mark.table) {
      const rows = valueAt(mark.from[0]!, insight) as Row[]
      const shown = mark.table.rows.flatMap(([first, end]) => rows.slice(first, end + 1))
      const columns = mark.table.columns.map(({ name }) => ({ name, heading: name }))
      const fmt = Object.fromEntries(
        mark.table.columns.flatMap((one) => (one.fmt ? [[one.name, one.fmt]] : [])),
      )
      const { table } = markdownTable(shown, { columns, fmt, limit: shown.length })
      assert.deepEqual(cellsOf(text), cellsOf(table), JSON.stringify(mark))
      count += 1
      continue
    }
    const again = replayed(mark, insight)
    if (again === null) left.push(mark)
    else {
      assert.equal(again, text, JSON.stringify(mark))
      count += 1
    }
  }
  return { replayed: count, left }
}

const cellsOf = (table: string): string[][] =>
  table
    .split('\n')
    .slice(2)
    .map((line) => line.split(/(?<!\\)\|/).map((cell) => cell.trim()))

/** Returns the text without marks, with a blank for each mark. Charts, code and pictures are left out. */
export function unmarked({ markdown, provenance }: Pick<Marked, 'markdown' | 'provenance'>): string {
  let text = ''
  let at = 0
  for (const { start, end } of provenance) {
    text += `${markdown.slice(at, start)} `
    at = end
  }
  return (text + markdown.slice(at)).replace(/\u2063chart:[^\u2063]*\u2063/g, '')
}
