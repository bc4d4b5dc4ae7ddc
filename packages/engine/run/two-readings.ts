/**
 * Finds uses of columns whose values can be read in two ways. Such a column stays text, and nothing may be computed
 * from it: a run that uses it stops with both readings and the line that settles it. A `*` may pass it on as text, and
 * a profile reports it.
 */
import type { ColumnDoubt, FoundColumn, FoundDialect, FoundSheet } from '@assay/model/dialect'
import type { Doubt } from '@assay/model/insight'
import type { AnalysisBlock, Source, Template } from '@assay/model/template'
import type { UsedNames } from '../fence/used-names.ts'
import { sheetSentence } from '../sources/sheets/sheet-words.ts'
import { aroundInWords } from '../sources/text/numbers/around.ts'
import { doubt } from '../verdicts/verdict.ts'

export interface BlockUse {
  block: string
  /** The sources and blocks that the block reads. */
  reads: readonly string[]
  uses: UsedNames
}

export interface UsedDoubt {
  source: Source
  column: string
  doubt: ColumnDoubt
  /** The user of the column: "SQL block "daily"", or a variable. */
  user: string
}

type Readings = ReadonlyMap<string, readonly FoundColumn[]>

/** Returns the first use of a column with two readings. `readings` are those of each source. */
export function firstUse(
  template: Template,
  blocks: readonly BlockUse[],
  readings: Readings,
): UsedDoubt | null {
  for (const source of template.sources) {
    const open = (readings.get(source.name) ?? []).filter(({ doubt: one }) => one?.kind === 'two_readings')
    for (const { name, doubt: found } of open) {
      const user = userOf(template, blocks, source.name, name.toLowerCase())
      if (user !== null) return { source, column: name, doubt: found!, user }
    }
  }
  return null
}

function userOf(
  template: Template,
  blocks: readonly BlockUse[],
  source: string,
  column: string,
): string | null {
  const until = template.variables.find(
    (one) =>
      one.until?.slice(0, one.until.indexOf('.')) === source &&
      one.until.toLowerCase().endsWith(`.${column}`),
  )
  if (until) return `The variable "${until.name}"`
  const rule = template.sources.find(({ name }) => name === source)?.rows
  if (rule?.columns.some((name) => name.toLowerCase() === column)) return 'The rule of rows'
  const tested = testOf(template, source, column)
  if (tested !== null) return tested
  const reached = new Set([source])
  for (const { block, reads, uses } of blocks) {
    if (!reads.some((name) => reached.has(name))) continue
    // The name of a source or block in an expression is its whole row. A block's own name is a column there.
    const whole = [...reached].some(
      (name) => uses.alone.has(name.toLowerCase()) && name.toLowerCase() !== column,
    )
    reached.add(block)
    if (uses.all || whole || uses.names.has(column)) return `The block "${block}"`
  }
  const condition = template.deliver_if?.expression ?? ''
  const prose = [template.body, condition, ...Object.values(template.partials)].join('\n')
  const word = column.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
  return reached.size > 1 && new RegExp(`["'.]${word}(?!\\w)`, 'iu').test(prose) ? 'The text' : null
}

/** Returns the metric whose test compares values of the column; null if none does. */
function testOf({ blocks }: Template, source: string, column: string): string | null {
  const metrics = blocks.flatMap((block) => (block.kind === 'sql' ? (block.metrics ?? []) : []))
  const found = metrics.find(
    ({ relation, info: { tests } }) =>
      relation === source &&
      tests.some(
        (one) => (one.kind === 'unique' || one.kind === 'accepted') && one.column.toLowerCase() === column,
      ),
  )
  return found ? `A test of the metric "${found.info.metric}"` : null
}

/** Returns the names that an analysis uses: every text among its options. */
export function namesInOptions({ method }: AnalysisBlock, options: Record<string, unknown>): UsedNames {
  const names = new Set<string>()
  const visit = (value: unknown): void => {
    if (typeof value === 'string') names.add(value.toLowerCase())
    else if (value !== null && typeof value === 'object')
      for (const [key, one] of Object.entries(value)) {
        names.add(key.toLowerCase())
        visit(one)
      }
  }
  for (const value of Object.values(options)) visit(value)
  // A profile reports what each column is. Other analyses that name no column may read any.
  return { names, alone: names, all: method !== 'profile' && names.size === 0 }
}

export function useSentence({ column, doubt: { says }, user }: UsedDoubt): string {
  return `${user} uses the column ${JSON.stringify(column)}, which can be read in more than one way. ${says} Write the right line in the source.`
}

/** The most doubts of columns that a profile tells one by one. */
const DOUBTS_TOLD = 20

/**
 * Returns the doubts of a profile about the columns of a source, or of a block that passes them on. `columns`: the
 * columns of the relation.
 */
export function profileDoubts(
  found: readonly FoundColumn[],
  columns: readonly { name: string; type: string }[],
): Doubt[] {
  const typeOf = new Map(columns.map(({ name, type }) => [name.toLowerCase(), type]))
  const doubts = found.flatMap((one) => {
    const type = typeOf.get(one.name.toLowerCase())
    if (type === undefined) return []
    const says = type === 'text' ? (one.doubt?.says ?? null) : null
    const told = says === null ? readingInWords(one) : [...readingInWords(one), says]
    return told.map((sentence) => doubt('type_ambiguous', `"${one.name}": ${sentence}`))
  })
  const more = doubts.length - DOUBTS_TOLD
  if (more <= 1) return doubts
  const rest = `${more} more such sentences of other columns are left out: the lineage of the source has a doubt or a reading for each.`
  return [...doubts.slice(0, DOUBTS_TOLD), doubt('type_ambiguous', rest)]
}

/** Returns in full sentences what was decided about a column by custom: what else its name and its numbers could be. */
export function readingInWords(found: FoundColumn): string[] {
  const { repeats } = found
  return [
    ...(repeats === undefined
      ? []
      : [
          `The row of names has "${repeats}" more than once, and this is not its first column. Give each column a name of its own in the file.`,
        ]),
    ...aroundInWords(found),
  ]
}

/** Returns the doubt of a profile about the sheet of a workbook that was read because no sheet was named. */
export function sheetDoubt(source: string, sheet: FoundSheet | undefined): Doubt[] {
  return sheet?.sure === 'likely'
    ? [
        doubt(
          'type_ambiguous',
          `${sheetSentence(`The file of "${source}"`, sheet)} Write its name as "sheet".`,
        ),
      ]
    : []
}

/** Returns the doubt of a profile about a text whose encoding is taken from custom. */
export function encodingDoubt(source: string, encoding: FoundDialect['encoding']): Doubt[] {
  return encoding?.sure === 'likely'
    ? [
        doubt(
          'type_ambiguous',
          `The file of "${source}" is not UTF-8 throughout and is read as ${encoding.is}. If letters are wrong, write its "encoding" in the source, such as iso-8859-2.`,
        ),
      ]
    : []
}

export function badRowsDoubt(source: string, n: number): Doubt[] {
  if (n === 0) return []
  const rows = n === 1 ? '1 row' : `${n} rows`
  return [
    doubt(
      'rows_left_out',
      `${rows} of "${source}" with too many or too few values ${n === 1 ? 'is' : 'are'} left out.`,
    ),
  ]
}
