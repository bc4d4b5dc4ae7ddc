/**
 * Renders a template to Markdown: its text over the tables and outcomes of its blocks, then "How this was computed". The
 * same template, variables, clock and data give the same bytes. Charts are placeholders: their form is filled in when an
 * insight is read.
 */

import type { Chart, Fact, Lineage, Outcome, Table } from '@assay/model/insight'
import { type Edit, type Mark, movedMarks } from '@assay/model/provenance'
import type { Reader as Person } from '@assay/model/reader'
import type { Reading } from '@assay/model/reading'
import type { Template } from '@assay/model/template'
import { Budget } from '../language/budget.ts'
import { Reader } from '../language/expressions.ts'
import { makeFault, OffsetFault, type Position, TemplateFault } from '../language/fault.ts'
import { Interpreter } from '../language/interpreter.ts'
import type { Printed } from '../language/recorder.ts'
import type { MetricOfRows } from '../metrics/meaning.ts'
import { escapeMarkdown, plainLine } from '../printing/escape.ts'
import { lineageSection } from '../printing/lineage-section.ts'
import { withNotices } from '../printing/metric-section.ts'
import type { Narration } from '../printing/narrative.ts'
import { printText } from '../printing/print.ts'
import { catalogOfMethods } from '../reading/methods-on-demand.ts'
import { readingOf } from '../tiles/reading.ts'
import { newIn, visibleSchema } from '../values/news.ts'
import { outcomeObject, tableRows } from '../values/rows.ts'
import { Markdown, Rounded, type Row } from '../values/value.ts'
import { type Collected, templateTags } from './tags.ts'

export { TemplateFault } from '../language/fault.ts'

export interface RenderContext {
  /** The variables by name, with periods as resolvePeriod gives them. */
  vars: Record<string, unknown>
  /** The reader of a personal template; null or absent for none. */
  reader?: Person | null
  run: { started_at: string; time_zone: string }
  blocks: Map<string, Table | Outcome>
  lineage: Lineage
  /** Returns the one metric that the rows of a block come from; null if there is none. */
  metricOf?: (block: string) => MetricOfRows | null
  /** The analyses of the last delivered insight, by block; null if there is none. */
  delivered?: Record<string, Outcome> | null
}

export interface RenderResult {
  /** The title: plain text on one line. */
  title: string
  markdown: string
  /** The origins of the numbers of the Markdown. */
  provenance: Mark[]
  charts: Chart[]
  facts: Fact[]
  /** The questions to a language model; `narrationPlaceholder(id)` stands in the Markdown for each. */
  narrations: Narration[]
  /** The parts that the page shows around the text. */
  reading: Reading
  /** False if `deliver_if` does not hold. */
  delivers: boolean
}

/**
 * Renders the template. Throws TemplateFault with the code `output_too_large` if the Markdown exceeds limits.output,
 * else for a fault of the template.
 */
export function renderTemplate(template: Template, context: RenderContext): RenderResult {
  const collected: Collected = { charts: [], facts: [], narrations: [] }
  const globals = globalsOf(template, context)
  const { partials } = template
  const tags = templateTags(
    { template, blocks: context.blocks, metricOf: context.metricOf ?? (() => null) },
    collected,
  )
  const interpreter = new Interpreter({
    globals,
    tags,
    partials,
    print: printMarkdown,
    onPrint: outputBound(template),
  })
  const prose = withNotices(tidy(interpreter.render(template.body)), context.lineage)
  const section = template.lineage ? lineageSection(template, context.lineage) : ''
  return {
    title: renderTitle(template, globals),
    ...withSection(prose, section),
    ...collected,
    reading: readingOf({ template, blocks: context.blocks, facts: collected.facts }, prose.text),
    delivers: delivers(template, interpreter),
  }
}

/**
 * Renders text that is not Markdown, such as a title or a source's `file`, over `vars` alone. Throws TemplateFault at
 * `position`.
 */
export function renderText(
  text: string,
  vars: Record<string, unknown>,
  position: Position,
  budget?: Budget,
): string {
  return renderPlain(text, { vars: asGiven(vars) }, position, budget)
}

/** Renders text as `renderText` does, over all of `globals`, as they are. */
export function renderPlain(text: string, globals: Row, position: Position, budget = new Budget()): string {
  if (!/\{[{%]/.test(text)) return text
  try {
    return new Interpreter({ globals, print: printText, budget }).render(text).text
  } catch (error) {
    throw error instanceof TemplateFault ? new TemplateFault({ ...error.fault, ...position }) : error
  }
}

/** Prints a value. It is escaped unless a filter made Markdown of it. */
function printMarkdown(value: unknown): string {
  return value instanceof Markdown ? value.toString() : escapeMarkdown(printText(value))
}

/** Returns the outcome as the method of the analysis describes it, with its new rows. */
function analysisOf({ blocks }: Template, name: string, outcome: Outcome, context: RenderContext): Row {
  const block = blocks.find((one) => one.name === name)
  const method = block?.kind === 'analysis' ? catalogOfMethods()[block.method] : undefined
  if (!method || block?.kind !== 'analysis') return outcomeObject(name, outcome)
  const seen = method.news
    ? { ...outcome, new: newIn(method.news, outcome, context.delivered?.[name] ?? null) }
    : outcome
  return outcomeObject(name, seen, visibleSchema(method, block.options))
}

function globalsOf(template: Template, context: RenderContext): Row {
  const blocks = [...context.blocks].map(([name, block]): [string, unknown] => [
    name,
    'summary' in block ? analysisOf(template, name, block, context) : tableRows(name, block),
  ])
  const { vars, reader = null, run } = context
  const person = reader ? { reader: asGiven(reader) } : {}
  return { vars: asGiven(vars), run, ...person, ...Object.fromEntries(blocks) }
}

/** Returns the variables with numbers that print as they were given. */
function asGiven(vars: Record<string, unknown>): Row {
  const given = (value: unknown): unknown =>
    typeof value === 'number' && !Number.isInteger(value) ? new Rounded(value) : value
  return Object.fromEntries(
    Object.entries(vars).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.map(given) : given(value),
    ]),
  )
}

function renderTitle(template: Template, globals: Row): string {
  const title = plainLine(renderPlain(template.title, globals, { line: template.title_line, column: 1 }))
  return title === '' ? template.template_id : title
}

function delivers({ deliver_if }: Template, interpreter: Interpreter): boolean {
  if (!deliver_if) return true
  try {
    return interpreter.test(new Reader(deliver_if.expression).expression())
  } catch (error) {
    if (!(error instanceof OffsetFault)) throw error
    const position = { line: deliver_if.line, column: 1 }
    throw new TemplateFault(makeFault(error.code, position, `deliver_if: ${error.message}`, error.remedy))
  }
}

/**
 * Returns the bound on printed text, so that a loop over many rows ends at limits.output and not at the end of the
 * memory. Captured text counts as well, and so do empty lines that are removed at the end, so three times the limit
 * may be printed.
 */
function outputBound({ limits }: Template): (length: number) => void {
  let printed = 0
  return (length) => {
    printed += length
    if (printed <= limits.output_bytes * 3) return
    const message = `The Markdown is larger than limits.output (${limits.output_bytes} bytes).`
    const position = { line: 1, column: 1 }
    throw new TemplateFault(makeFault('output_too_large', position, message, 'Show fewer rows.'))
  }
}

/** Returns the prose with the section "How this was computed". */
function withSection({ text, marks }: Printed, section: string): { markdown: string; provenance: Mark[] } {
  const markdown = `${[text, section].filter((part) => part !== '').join('\n\n')}\n`
  if (section === '') return { markdown, provenance: marks }
  const end = markdown.length - 1
  return { markdown, provenance: [...marks, { start: end - section.length, end, from: [], by: 'lineage' }] }
}

/** Replaces several empty lines by one, except inside fences. */
function tidy({ text: markdown, marks }: Printed): Printed {
  const lines: string[] = []
  const edits: Edit[] = []
  let next = 0
  let fence: string | null = null
  for (const line of markdown.split('\n')) {
    const start = next
    next += line.length + 1
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1]
    if (mark !== undefined) {
      if (fence === null) fence = mark
      else if (mark.startsWith(fence)) fence = null
    }
    const empty = fence === null && line.trim() === ''
    if (empty && (lines.length === 0 || lines.at(-1) === '')) {
      edits.push({ start, end: next, length: 0 })
      continue
    }
    // One blank at the end has no meaning in Markdown; two are a line break.
    const kept = empty ? '' : line.replace(/(?<=\S) $/, '')
    if (kept.length < line.length) edits.push({ start: start + kept.length, end: next - 1, length: 0 })
    lines.push(kept)
  }
  const text = lines.join('\n').trimEnd()
  return { text, marks: within(movedMarks(marks, edits), text.length) }
}

/** Returns the marks of a text that was cut at the end. */
function within(marks: Mark[], length: number): Mark[] {
  return marks
    .filter(({ start }) => start < length)
    .map((mark) => (mark.end > length ? { ...mark, end: length } : mark))
}
