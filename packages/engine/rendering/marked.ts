/** Prints the output of tags with marks of its origin (packages/model/insights/provenance.ts). */
import type { Outcome } from '@assay/model/insight'
import type { Mark, MarkedTable } from '@assay/model/provenance'
import { type From, printedFrom } from '../language/origins.ts'
import type { Printed } from '../language/recorder.ts'
import { escapeMarkdown } from '../printing/escape.ts'
import type { PrintedTable } from '../printing/tables.ts'
import { homeOf } from '../values/rows.ts'
import type { Row } from '../values/value.ts'
import { APART } from './tag-values.ts'

/** The most runs of rows of one table. */
const MOST_RUNS = 1000
const DIGIT = /\d/

/** Prints a table as one mark: its rows as runs of one block, or else only the blocks that they come from. */
export function printedTable(all: Row[], from: From | null, printed: PrintedTable): Printed {
  const { table, rows, columns, note, total } = printed
  const end = APART.length + table.length
  const cells = { start: APART.length, end }
  const home = homeOf(rows[0])
  const runs = home && runsOf(rows, home.block, home.field)
  const origins = from ? printedFrom(from) : { from: [] }
  const marks: Mark[] = []
  if (home && runs) {
    const { row: _, ...place } = home
    marks.push({ ...cells, from: [place], table: { columns, rows: runs } })
  } else if (rows.length > 0 && origins.from.length > 0) marks.push({ ...cells, ...origins })
  if (note === '') return { text: `${APART}${table}${APART}`, marks }
  const own = homeOf(all)
  const size = own
    ? { from: [{ ...own, field: own.field ? `${own.field}.size` : 'size' }], through: [] }
    : { ...origins, through: [...(origins.through ?? []), 'size'] }
  const start = end + APART.length + note.lastIndexOf(total)
  if (size.from.length > 0)
    marks.push({ start, end: start + total.length, ...size, through: [...size.through, 'fmt: "num0"'] })
  return { text: `${APART}${table}${APART}${note}${APART}`, marks }
}

/** Returns the runs of rows. Null if the rows come from several lists or from too many pieces. */
function runsOf(rows: Row[], block?: string, field?: string): MarkedTable['rows'] | null {
  const runs: MarkedTable['rows'] = []
  for (const one of rows) {
    const home = homeOf(one)
    if (home?.row === undefined || home.block !== block || home.field !== field) return null
    const last = runs.at(-1)
    if (last && last[1] + 1 === home.row) last[1] = home.row
    else runs.push([home.row, home.row])
    if (runs.length > MOST_RUNS) return null
  }
  return runs
}

export function factMarks(name: string, text: string, from: From | null, code: string | null): Mark[] {
  if (!from || !DIGIT.test(text)) return []
  const named = new Map<string, unknown>()
  const through = code === null ? from.through : [...from.through, { name: 'fmt', args: [code], named }]
  return [{ start: 0, end: text.length, ...printedFrom({ ...from, through }), fact: name }]
}

/** The doubts of an outcome. A blocker is printed in bold. */
export interface Doubted {
  says: string
  bold: boolean
  block: string | null
  field: string
}

export function doubtsOf(outcome: Outcome, block: string | null): Doubted[] {
  return (['blockers', 'caveats'] as const).flatMap((list) =>
    (outcome[list] ?? []).map(({ says }, row) => ({
      says,
      bold: list === 'blockers',
      block,
      field: `${list}.${row}.says`,
    })),
  )
}

export function onlyOnce(doubts: Doubted[]): Doubted[] {
  const said = new Set<string>()
  return doubts.filter(({ says }) => !said.has(says) && said.add(says))
}

/** Prints a list with one line for each doubt. */
export function doubtLines(doubts: Doubted[]): Printed {
  let text = APART
  const marks: Mark[] = []
  for (const { says, bold, block, field } of doubts) {
    const [sentence, strong] = [escapeMarkdown(says), bold ? '**' : '']
    if (sentence === '') continue
    text += `${text === APART ? '' : '\n'}- ${strong}`
    const [start, end] = [text.length, text.length + sentence.length]
    if (block !== null && DIGIT.test(says)) marks.push({ start, end, from: [{ block, field }] })
    text += `${sentence}${strong}`
  }
  return { text: text + APART, marks }
}
