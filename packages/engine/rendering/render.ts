/**
 * Renders a template: Liquid over the blocks' tables and outcomes, then "How this was computed". Pure: the same template,
 * variables, clock and data give the same bytes. Charts are placeholders; the form is filled in when an insight is read.
 */

import type { Chart, Fact, Lineage, Outcome, Table } from '@assay/model/insight'
import type { Fault, Template } from '@assay/model/template'
import type { Liquid } from 'liquidjs'
import { makeFault, TemplateFault } from '../language/fault.ts'
import { escapeMarkdown, plainLine } from '../printing/escape.ts'
import { lineageSection } from '../printing/lineage-section.ts'
import type { Narration } from '../printing/narrative.ts'
import { printText } from '../printing/print.ts'
import { outcomeObject, type Row, Safe, tableRows } from '../values/rows.ts'
import { createEngine, parseLiquid } from './liquid.ts'
import { toFault } from './render-fault.ts'
import { type Findings, ownTags } from './tags.ts'

export { TemplateFault } from '../language/fault.ts'

export interface RenderContext {
  /** By name; periods as resolvePeriod gives them. */
  vars: Record<string, unknown>
  run: { started_at: string; time_zone: string }
  blocks: Map<string, Table | Outcome>
  lineage: Lineage
}

export interface RenderResult {
  /** Plain text on one line. */
  title: string
  markdown: string
  charts: Chart[]
  facts: Fact[]
  /** What a model is to be asked; `narrationPlaceholder(id)` stands in the Markdown for each. */
  narrations: Narration[]
  /** False where `deliver_if` does not hold. */
  delivers: boolean
}

/** Throws TemplateFault: code `output_too_large` where the Markdown outgrows limits.output, else a fault of the template. */
export function renderTemplate(template: Template, context: RenderContext): RenderResult {
  const findings: Findings = { charts: [], facts: [], narrations: [] }
  const budget = outputBudget(template)
  const engine = createEngine({
    print: (value) => budget(printMarkdown(value)),
    tags: ownTags(template, findings),
    partials: template.partials,
  })
  const scope = scopeOf(context)
  const body = budget(renderWith(engine, template.body, scope, template.partials))
  const parts = [tidy(body)]
  if (template.lineage) parts.push(lineageSection(template, context.lineage))
  const markdown = `${parts.filter((part) => part !== '').join('\n\n')}\n`
  budget(markdown)
  return {
    title: renderTitle(template, scope),
    markdown,
    charts: findings.charts,
    facts: findings.facts,
    narrations: findings.narrations,
    delivers: delivers(template, engine, scope),
  }
}

/**
 * Renders text that is no Markdown, such as a title or a source's `file`, over `vars` alone. Throws TemplateFault at
 * `where`.
 */
export function renderText(
  text: string,
  vars: Record<string, unknown>,
  where: { line: number; column: number },
): string {
  if (!/\{[{%]/.test(text)) return text
  const engine = createEngine({ print: printText, tags: {}, partials: {} })
  return renderPlain(engine, text, { vars }, where)
}

/** Printed from data: escaped, unless a filter made Markdown of it. */
function printMarkdown(value: unknown): string {
  return value instanceof Safe ? value.toString() : escapeMarkdown(printText(value))
}

function scopeOf(context: RenderContext): Row {
  const blocks = [...context.blocks].map(([name, block]): [string, unknown] => [
    name,
    isTable(block) ? tableRows(name, block) : outcomeObject(name, block),
  ])
  return { vars: context.vars, run: context.run, ...Object.fromEntries(blocks) }
}

function isTable(block: Table | Outcome): block is Table {
  return !('summary' in block)
}

/** What every template and partial sees are globals: a partial sees them too. */
function renderWith(engine: Liquid, text: string, scope: Row, partials: Record<string, string>): string {
  try {
    const templates = parseLiquid(engine, text, null)
    return String(engine.renderSync(templates, {}, { globals: scope }))
  } catch (error) {
    throw new TemplateFault(toFault(error, { text, offset: 0, partial: null, partials }))
  }
}

function renderPlain(
  engine: Liquid,
  text: string,
  scope: Row,
  where: { line: number; column: number },
): string {
  try {
    return String(engine.renderSync(parseLiquid(engine, text, null), {}, { globals: scope }))
  } catch (error) {
    const fault: Fault = { ...toFault(error, { text, offset: 0, partial: null }), ...where }
    throw new TemplateFault(fault)
  }
}

function renderTitle(template: Template, scope: Row): string {
  const engine = createEngine({ print: printText, tags: {}, partials: {} })
  const where = { line: template.title_line, column: 1 }
  const title = plainLine(renderPlain(engine, template.title, scope, where))
  return title === '' ? template.template_id : title
}

function delivers(template: Template, engine: Liquid, scope: Row): boolean {
  if (!template.deliver_if) return true
  const { expression, line } = template.deliver_if
  try {
    return truthy(engine, expression, scope)
  } catch (error) {
    const fault = toFault(error, { text: expression, offset: 0, partial: null })
    throw new TemplateFault({ ...fault, line, column: 1, message: `deliver_if: ${fault.message}` })
  }
}

/** Through an `if`, so that it is the very condition that prose knows. */
function truthy(engine: Liquid, expression: string, scope: Row): boolean {
  const templates = parseLiquid(engine, `{% if ${expression} %}yes{% endif %}`, null)
  return String(engine.renderSync(templates, {}, { globals: scope })) === 'yes'
}

/** Counts what is printed, so that a loop over many rows ends at limits.output and not at the end of the memory. */
function outputBudget(template: Template): (text: string) => string {
  let printed = 0
  return (text) => {
    printed += text.length
    if (printed <= template.limits.output_bytes * 3) return text
    const message = `The Markdown is larger than limits.output (${template.limits.output_bytes} bytes).`
    const place = { line: 1, column: 1 }
    throw new TemplateFault(makeFault('output_too_large', place, message, 'Show fewer rows.'))
  }
}

/** Empty lines in a row become one, but not inside fences, where they may matter. */
function tidy(markdown: string): string {
  const lines: string[] = []
  let fence: string | null = null
  for (const line of markdown.split('\n')) {
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1]
    if (mark !== undefined) {
      if (fence === null) fence = mark
      else if (mark.startsWith(fence)) fence = null
    }
    const empty = fence === null && line.trim() === ''
    if (empty && (lines.length === 0 || lines.at(-1) === '')) continue
    // One blank at the end means nothing, two are a line break.
    lines.push(empty ? '' : line.replace(/(?<=\S) $/, ''))
  }
  return lines.join('\n').trimEnd()
}
