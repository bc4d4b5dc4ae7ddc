/** The tags `table`, `chart`, `fact` and `sql`: their arguments checked, their Markdown made. */
import { CHART_TYPES, type Chart, type ChartType, chartPlaceholder, type Fact } from '@assay/model/insight'
import type { Template } from '@assay/model/template'
import { makeChart } from '../charts/spec.ts'
import type { Expression } from '../language/expressions.ts'
import { makeFault, type Place, TemplateFault } from '../language/fault.ts'
import { suggest } from '../language/near.ts'
import { escapeMarkdown, fenced, plainLine } from '../printing/escape.ts'
import { formatCount, formatValue } from '../printing/format.ts'
import { cutData, type Narration, narrationPlaceholder } from '../printing/narrative.ts'
import { printText } from '../printing/print.ts'
import { type Align, markdownTable, type TableOptions } from '../printing/tables.ts'
import { isPlainObject, isRows, type Row, Safe, toCell } from '../values/rows.ts'
import { FilterError } from './filters.ts'
import type { Evaluate, OwnTag, TagArguments } from './liquid.ts'

export interface Findings {
  charts: Chart[]
  facts: Fact[]
  narrations: Narration[]
}

type Values = Map<string, unknown>
type Steps<T> = Generator<unknown, T, unknown>

function* valuesOf(args: TagArguments, evaluate: Evaluate): Steps<Values> {
  const values: Values = new Map()
  for (const { name, value } of args.named) {
    values.set(name, yield* evaluate(value))
  }
  return values
}

function rowsOf(value: unknown, tag: string): Row[] {
  if (isRows(value) || (Array.isArray(value) && value.length === 0)) return value
  throw new FilterError(`${tag} needs rows.`, 'Name an SQL block, or a list of an analysis such as X.points.')
}

function text(values: Values, name: string): string | null {
  const value = values.get(name) ?? null
  if (value === null || typeof value === 'string') return value
  throw new FilterError(`${name} must be text.`, `Write ${name}: "...".`)
}

function texts(values: Values, name: string): string[] {
  const value = values.get(name) ?? null
  const list = value === null ? [] : Array.isArray(value) ? value : [value]
  if (list.every((item) => typeof item === 'string')) return list
  throw new FilterError(`${name} must be a column or a list of columns.`, `Write ${name}: ["a", "b"].`)
}

/** Text for all, or a map by column. */
function byColumn(values: Values, name: string): Record<string, string> {
  const value = values.get(name) ?? null
  if (value === null) return {}
  if (typeof value === 'string') return { '': value }
  if (isPlainObject(value) && Object.values(value).every((item) => typeof item === 'string')) {
    return value as Record<string, string>
  }
  throw new FilterError(`${name} must be text or a map by column.`, `Write ${name}: { column: "..." }.`)
}

function tableOptions(values: Values): TableOptions {
  const options: TableOptions = { fmt: byColumn(values, 'fmt') }
  const limit = values.get('limit') ?? null
  if (limit !== null) {
    if (typeof limit !== 'number' || !Number.isInteger(limit) || limit < 1) {
      throw new FilterError('limit must be a whole number from 1.', 'Write limit: 10.')
    }
    options.limit = limit
  }
  const columns = values.get('columns') ?? null
  if (isPlainObject(columns)) {
    const headings = byColumn(values, 'columns')
    options.columns = Object.entries(headings).map(([name, heading]) => ({ name, heading }))
  } else if (columns !== null) {
    options.columns = texts(values, 'columns').map((name) => ({ name, heading: name }))
  }
  const aligns = byColumn(values, 'align')
  for (const align of Object.values(aligns)) {
    const known = ['left', 'right', 'center']
    if (!known.includes(align)) {
      throw new FilterError(`align cannot be ${JSON.stringify(align)}.`, suggest(align, known))
    }
  }
  options.align = aligns as Record<string, Align>
  return options
}

/** Tables and charts stand between empty lines, wherever the tag is written. */
const standalone = (markdown: string): string => `\n\n${markdown}\n\n`

const table: OwnTag = {
  plain: 1,
  *render(args, evaluate) {
    const rows = rowsOf(yield* evaluate(args.plain[0]!), 'table')
    return standalone(markdownTable(rows, tableOptions(yield* valuesOf(args, evaluate))))
  },
}

function chartTag(findings: Findings): OwnTag {
  return {
    plain: 1,
    *render(args, evaluate) {
      const rows = rowsOf(yield* evaluate(args.plain[0]!), 'chart')
      const values = yield* valuesOf(args, evaluate)
      const type = text(values, 'type') ?? 'line'
      if (!CHART_TYPES.includes(type as ChartType)) {
        throw new FilterError(
          `There is no chart of type ${JSON.stringify(type)}.`,
          suggest(type, CHART_TYPES),
        )
      }
      const x = text(values, 'x')
      const y = texts(values, 'y')
      if (x === null) throw new FilterError('A chart needs x.', 'Write x: "column".')
      if (y.length === 0 && type !== 'histogram')
        throw new FilterError('A chart needs y.', 'Write y: "column".')
      if (y.length > 0 && type === 'histogram') {
        throw new FilterError('A histogram counts the rows by x.', 'Remove y.')
      }
      const series = text(values, 'series')
      if (y.length > 1 && (series !== null || type === 'pie')) {
        throw new FilterError(`y may only name one column here.`, 'Remove the others.')
      }
      const title = plainLine(text(values, 'title') ?? '')
      const id = `chart-${findings.charts.length + 1}`
      findings.charts.push(makeChart(id, rows, { type: type as ChartType, x, y, series, title }))
      return standalone(chartPlaceholder(id))
    },
  }
}

function factTag(findings: Findings): OwnTag {
  return {
    plain: 2,
    *render(args, evaluate) {
      const [first, second] = args.plain
      const operand = first!.operands[0]!
      const name = operand.kind === 'path' ? operand.root : String((operand as { value: unknown }).value)
      if (findings.facts.some((fact) => fact.name === name)) {
        throw new FilterError(`The fact "${name}" is recorded twice.`, 'Give each its own name.')
      }
      const value = yield* evaluate(second!)
      const code = text(yield* valuesOf(args, evaluate), 'fmt')
      const cell = toCell(value)
      const shown = code === null ? printText(value) : formatValue(cell, code)
      findings.facts.push({ name, value: cell, text: shown })
      return value instanceof Safe ? shown : escapeMarkdown(shown)
    },
  }
}

function sqlTag(template: Template): OwnTag {
  return {
    plain: 1,
    // oxlint-disable-next-line require-yield -- a tag without values still has the shape of the others
    *render(args, _evaluate, place: Place) {
      const operand = args.plain[0]?.operands[0]
      const name = operand?.kind === 'path' ? operand.root : ''
      const block = template.blocks.find((candidate) => candidate.kind === 'sql' && candidate.name === name)
      if (block?.kind === 'sql') return standalone(fenced(block.sql, 'sql'))
      const known = template.blocks.filter(({ kind }) => kind === 'sql').map((known) => known.name)
      const message = `There is no SQL block ${JSON.stringify(name)}.`
      throw new TemplateFault(makeFault('unknown_block', place, message, suggest(name, known)))
    },
  }
}

/** The names of the blocks that an expression tells of: `a`, `a.points`, `[a, b]`. */
function blocksOf({ operands }: Expression): string[] {
  return operands.flatMap((operand) => {
    if (operand.kind === 'path') return [operand.root]
    return operand.kind === 'list' ? operand.items.flatMap(blocksOf) : []
  })
}

function narrateTag(findings: Findings): OwnTag {
  return {
    plain: 1,
    *render(args, evaluate) {
      const expression = args.plain[0]!
      const blocks = blocksOf(expression)
      const value = yield* evaluate(expression)
      const ask = text(yield* valuesOf(args, evaluate), 'ask')
      if (ask === null || ask.trim() === '')
        throw new FilterError('narrate needs a question.', 'Write ask: "...".')
      const parts = expression.operands[0]?.kind === 'list' ? (value as unknown[]) : [value]
      const names = parts.map((_, index) => blocks[index] ?? `part ${index + 1}`)
      const data = Object.fromEntries(parts.map((part, index) => [names[index]!, cutData(toCell(part))]))
      const summary = parts.map((part, index) => summaryOf(names[index]!, part)).join(' ')
      const id = String(findings.narrations.length + 1)
      findings.narrations.push({ id, blocks: names, ask, data, summary })
      return standalone(narrationPlaceholder(id))
    },
  }
}

function summaryOf(name: string, value: unknown): string {
  if (isRows(value))
    return `${name} has ${value.length === 1 ? 'one row' : `${formatCount(value.length)} rows`}.`
  if (isPlainObject(value) && typeof value.summary === 'string') return value.summary
  return `${name}: ${printText(value)}`
}

export function ownTags(template: Template, findings: Findings): Record<string, OwnTag> {
  return {
    table,
    chart: chartTag(findings),
    fact: factTag(findings),
    narrate: narrateTag(findings),
    sql: sqlTag(template),
  }
}
