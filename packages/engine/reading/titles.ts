/**
 * Renders the title of a template or of a run before there is an insight. What a title may compute is bounded, since
 * the process that answers requests renders it.
 */
import type { Template } from '@assay/model/template'
import { Budget } from '../language/budget.ts'
import { renderPlain } from '../rendering/render.ts'
import { isCountedFromNow, resolvePeriod } from '../values/period.ts'

/** A sign that stands for values that only a run knows. Data of a title cannot hold it. */
const OPEN = '\u0001'
/** The sign with the words that lead to it: ", ", " from ". */
const LED = new RegExp(
  `[\\s,:(–-]*(?:\\b(?:of|from|in|on|for|by|since|to|after|before|at|and|with|until|between)\\s+)?${OPEN}[)]?`,
  'gi',
)
/** The bounds of a title: the characters and items that it may make, and its milliseconds. */
const TITLE_BOUND = { spent: 20_000, ms: 50 }
const TITLE_MOST = 300
/** The most characters that are searched for words before the sign. The search takes the square of a run of signs. */
const READ_MOST = 2 * TITLE_MOST
/** The most characters of a title that is shown without its Liquid. */
const SOURCE_MOST = 2000

export type Titled = Pick<Template, 'template_id' | 'title' | 'variables' | 'time_zone'> & {
  blocks: readonly { name: string }[]
}

/** Renders the title. Blocks have no rows before there is an insight. */
function written({ title, template_id, blocks }: Titled, vars: Record<string, unknown>): string {
  let text: string
  const without = Object.fromEntries(blocks.map(({ name }) => [name, []]))
  try {
    text = renderPlain(title, { ...without, vars }, { line: 1, column: 1 }, new Budget(TITLE_BOUND))
  } catch {
    text = title
      .slice(0, SOURCE_MOST)
      .replace(/\{%.*?%\}/g, '')
      .replace(/\{\{.*?\}\}/g, OPEN)
  }
  const read = text.replace(/\s+/g, ' ').slice(0, READ_MOST)
  const whole = read.replaceAll(LED, '').replace(/ +/g, ' ').trim()
  return whole.length > TITLE_MOST ? `${whole.slice(0, TITLE_MOST)}…` : whole || template_id
}

/**
 * Returns a title before there is a run: with the defaults of its variables, without its period and without variables
 * that have no default. "Flight delays from {{ vars.origin }}, {{ vars.period.label }}" gives "Flight delays".
 */
export function plainTitle(template: Titled): string {
  if (!/\{[{%]/.test(template.title)) return template.title
  const values = template.variables.map(({ name, type, required, default: value }) => [
    name,
    type === 'period' ? { label: OPEN, start: OPEN, end: OPEN } : (value ?? (required ? OPEN : null)),
  ])
  return written(template, Object.fromEntries(values))
}

/** Returns the period. One that is counted from the data stays in its own words: "last 30 days". */
function periodOf(
  text: unknown,
  until: string | null,
  at: { started_at: string; time_zone: string },
): unknown {
  if (typeof text !== 'string') return text
  if (until !== null && isCountedFromNow(text))
    return { label: text.replaceAll('_', ' '), start: OPEN, end: OPEN }
  return resolvePeriod(text, at)
}

/**
 * Returns the title of a run without an insight, with the values of its variables. `started_at`: the time when it
 * began, or else was created.
 */
export function runTitle(template: Titled, given: Record<string, unknown>, started_at: string): string {
  if (!/\{[{%]/.test(template.title)) return template.title
  const { time_zone } = template
  const values = template.variables.map(({ name, type, until }) => [
    name,
    type === 'period' ? periodOf(given[name], until, { started_at, time_zone }) : (given[name] ?? null),
  ])
  return written(template, Object.fromEntries(values))
}
