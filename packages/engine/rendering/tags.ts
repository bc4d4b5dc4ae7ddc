/**
 * Evaluates the tags of reports: `table`, `chart`, `fact`, `doubts`, `narrate` and `sql`. Each checks its arguments
 * and gives Markdown.
 */

import { type Chart, type Fact, type Outcome } from '@assay/model/insight'
import type { Template } from '@assay/model/template'
import type { Expression } from '../language/expressions.ts'
import { OffsetFault } from '../language/fault.ts'
import type { Tag } from '../language/interpreter.ts'
import { escapeMarkdown, fenced, plainLine } from '../printing/escape.ts'
import { formatCount, formatValue } from '../printing/format.ts'
import { cutData, NARRATIONS_MOST, type Narration, narrationPlaceholder } from '../printing/narrative.ts'
import { printText } from '../printing/print.ts'
import { type Align, markdownTable, type TableOptions } from '../printing/tables.ts'
import { suggest } from '../values/near.ts'
import { homeOf, isRows } from '../values/rows.ts'
import { isPlainObject, Markdown, toCell, ValueError } from '../values/value.ts'
import { type Meanings, titleOf } from '../verdicts/measure.ts'
import { chartTag, meaningsOf, type Ran } from './chart-tag.ts'
import { doubtLines, doubtsOf, factMarks, onlyOnce, printedTable } from './marked.ts'
import { optionsOf, rowsOf, standalone, text, texts, type Values } from './tag-values.ts'

/** The charts, facts and narrations that the tags of a text record. */
export interface Collected {
  charts: Chart[]
  facts: Fact[]
  narrations: Narration[]
}

/** Reads an option that is a text for all columns (under "") or a map by column. */
function byColumn(values: Values, name: string): Record<string, string> {
  const value = values.get(name) ?? null
  if (value === null) return {}
  if (typeof value === 'string') return { '': value }
  if (isPlainObject(value) && Object.values(value).every((item) => typeof item === 'string')) {
    return value as Record<string, string>
  }
  throw new ValueError(`${name} must be text or a map by column.`, `Write ${name}: { column: "..." }.`)
}

/** Returns the options of a table. The template's meanings give headings and formats that the tag does not give. */
function tableOptions(values: Values, meanings: Meanings): TableOptions {
  const options: TableOptions = { fmt: byColumn(values, 'fmt') }
  const limit = values.get('limit') ?? null
  if (limit !== null) {
    if (typeof limit !== 'number' || !Number.isInteger(limit) || limit < 1) {
      throw new ValueError('limit must be a whole number from 1.', 'Write limit: 10.')
    }
    options.limit = limit
  }
  const columns = values.get('columns') ?? null
  if (isPlainObject(columns)) {
    const headings = byColumn(values, 'columns')
    options.columns = Object.entries(headings).map(([name, heading]) => ({ name, heading }))
  } else if (columns !== null) {
    options.columns = texts(values, 'columns').map((name) => ({ name, heading: titleOf(meanings, name) }))
  }
  const aligns = byColumn(values, 'align')
  for (const align of Object.values(aligns)) {
    const known = ['left', 'right', 'center']
    if (!known.includes(align)) {
      throw new ValueError(`align cannot be ${JSON.stringify(align)}.`, suggest(align, known))
    }
  }
  options.align = aligns as Record<string, Align>
  return options
}

function tableTag(ran: Ran): Tag {
  return (statement, valueOf, seen) => {
    const rows = rowsOf(valueOf(statement.expressions[0]!), 'table')
    const meanings = meaningsOf(rows, ran)
    const from = seen()
    const options = tableOptions(optionsOf(statement, valueOf), meanings)
    return printedTable(rows, from, markdownTable(rows, options, meanings))
  }
}

function factTag(facts: Fact[]): Tag {
  return (statement, valueOf, seen) => {
    const name = statement.target!
    if (facts.some((fact) => fact.name === name)) {
      throw new ValueError(`The fact "${name}" is recorded twice.`, 'Give each its own name.')
    }
    const value = valueOf(statement.expressions[0]!)
    const from = seen()
    const code = text(optionsOf(statement, valueOf), 'fmt')
    const cell = toCell(value)
    const shown = code === null ? printText(value) : formatValue(cell, code)
    facts.push({ name, value: cell, text: plainLine(shown) })
    const printed = value instanceof Markdown ? shown : escapeMarkdown(shown)
    return { text: printed, marks: factMarks(name, printed, from, code) }
  }
}

/** Evaluates `{% doubts %}`: prints the blockers and caveats of the analyses, each once, blockers first and in bold. */
function doubtsTag(blocks: Ran['blocks']): Tag {
  return ({ expressions }, valueOf) => {
    const all = [...blocks].filter(([, block]) => 'summary' in block)
    const given = expressions[0] ? [valueOf(expressions[0])].flat() : all.map(([, block]) => block)
    const names = new Map(all.map(([name, block]): [unknown, string] => [block, name]))
    if (!given.every(isOutcome))
      throw new ValueError(
        'doubts needs analyses.',
        'Write {% doubts %}, {% doubts X %} or {% doubts [X, Y] %}.',
      )
    const doubts = given.flatMap((one) => doubtsOf(one, names.get(one) ?? homeOf(one)?.block ?? null))
    const blockers = onlyOnce(doubts.filter(({ bold }) => bold))
    const caveats = onlyOnce(doubts.filter(({ bold }) => !bold)).filter(
      ({ says }) => !blockers.some((blocker) => blocker.says === says),
    )
    return [...blockers, ...caveats].length === 0 ? '' : doubtLines([...blockers, ...caveats])
  }
}

function isOutcome(value: unknown): value is Outcome {
  return isPlainObject(value) && typeof value.summary === 'string' && Array.isArray(value.notes)
}

function sqlTag(template: Template): Tag {
  return ({ target, begin }) => {
    const name = target!
    const blocks = template.blocks.filter(({ kind }) => kind === 'sql')
    const block = blocks.find((candidate) => candidate.name === name)
    if (block?.kind === 'sql') return standalone(fenced(block.sql, 'sql'))
    const known = blocks.map((candidate) => candidate.name)
    const message = `There is no SQL block ${JSON.stringify(name)}.`
    throw new OffsetFault(message, begin, suggest(name, known), 'unknown_block')
  }
}

/** Returns the names of the blocks in an expression: `a`, `a.points`, `[a, b]`. */
function blocksOf({ operands }: Expression): string[] {
  return operands.flatMap((operand) => {
    if (operand.kind === 'path') return [operand.root]
    return operand.kind === 'list' ? operand.items.flatMap(blocksOf) : []
  })
}

function narrateTag(narrations: Narration[]): Tag {
  return (statement, valueOf) => {
    const expression = statement.expressions[0]!
    const blocks = blocksOf(expression)
    const value = valueOf(expression)
    const ask = text(optionsOf(statement, valueOf), 'ask')
    if (ask === null || ask.trim() === '') {
      throw new ValueError('narrate needs a question.', 'Write ask: "...".')
    }
    const parts = expression.operands[0]?.kind === 'list' ? (value as unknown[]) : [value]
    const names = parts.map((_, index) => blocks[index] ?? `part ${index + 1}`)
    const data = Object.fromEntries(parts.map((part, index) => [names[index]!, cutData(toCell(part))]))
    const summary = parts.map((part, index) => summaryOf(names[index]!, part)).join(' ')
    if (narrations.length === NARRATIONS_MOST)
      throw new ValueError(
        `A report asks the language model at most ${NARRATIONS_MOST} times.`,
        'Ask about several blocks at once: {% narrate [a, b], ask: "..." %}.',
      )
    const id = String(narrations.length + 1)
    narrations.push({ id, blocks: names, ask, data, summary })
    return standalone(narrationPlaceholder(id))
  }
}

function summaryOf(name: string, value: unknown): string {
  if (isRows(value))
    return `${name} has ${value.length === 1 ? 'one row' : `${formatCount(value.length)} rows`}.`
  if (isPlainObject(value) && typeof value.summary === 'string') return value.summary
  return `${name}: ${printText(value)}`
}

export function templateTags(ran: Ran, collected: Collected): Record<string, Tag> {
  const { template } = ran
  return {
    table: tableTag(ran),
    chart: chartTag(collected.charts, ran),
    fact: factTag(collected.facts),
    narrate: narrateTag(collected.narrations),
    doubts: doubtsTag(ran.blocks),
    sql: sqlTag(template),
  }
}
