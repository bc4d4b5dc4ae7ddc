/** Makes the card of a run, which the list of insights shows. */
import { createHash } from 'node:crypto'
import type { CardFound, Fact, Figure, Outcome } from '@assay/model/insight'
import { HEADLINE_MOST, SEARCHED_MOST, searchable } from '@assay/model/insight-card'
import type { FailedTest } from '@assay/model/metric'
import type { Template } from '@assay/model/template'
import { readable } from '../verdicts/measure.ts'

/** The most failed tests that a card names. */
const FAILED_TESTS_MOST = 5

export interface Carded {
  title: string
  markdown: string
  facts: readonly Fact[]
  analyses: Readonly<Record<string, Outcome>>
  /** The ids of the metrics that the run read. */
  metrics: readonly string[]
  failed_tests: readonly FailedTest[]
  /** The variables, with periods as resolvePeriod gives them. */
  vars: Readonly<Record<string, unknown>>
}

export function cardOf(
  template: Template,
  { title, markdown, facts, analyses, metrics, failed_tests, vars }: Carded,
): CardFound {
  const [first] = template.blocks.flatMap(({ name }) => analyses[name] ?? [])
  const headline = leadOf(markdown) ?? first?.headline ?? null
  const figure = figureOf(template, facts)
  const periods = template.variables.filter(({ type }) => type === 'period').map(({ name }) => name)
  const others = Object.entries(vars).filter(([name]) => !periods.includes(name))
  const period = periods.flatMap((name) => (vars[name] as CardFound['period']) ?? [])[0]
  const words = [title, headline ?? '', period?.label ?? '', ...others.map(([, value]) => wordsOf(value))]
  return {
    headline: headline === null ? null : cut(headline, HEADLINE_MOST),
    grade: first?.grade ?? null,
    figure,
    period: period ? { start: period.start, label: period.label } : null,
    tags: template.tags,
    metrics: [...new Set(metrics)],
    ...(failed_tests.length > 0 ? { failed_tests: failed_tests.slice(0, FAILED_TESTS_MOST) } : {}),
    series: seriesOf(template.template_id, figure, others),
    search: searchable(words.join(' ')).slice(0, SEARCHED_MOST).toWellFormed(),
  }
}

/** Returns the first number that the template names by `{% fact %}`; null if there is none. */
function figureOf({ columns }: Template, facts: readonly Fact[]): Figure | null {
  const [fact] = facts
  if (!fact || typeof fact.value !== 'number' || !Number.isFinite(fact.value)) return null
  const meaning = columns.get(fact.name.toLowerCase())
  const label = meaning?.label ?? readable(fact.name)
  return { label, value: fact.value, unit: meaning?.unit ?? null, text: fact.text }
}

/** Returns the first paragraph of the report as plain text, or null if the report begins with something else. */
function leadOf(markdown: string): string | null {
  for (const part of markdown.split(/\n{2,}/)) {
    if (/^#{1,6} |^>|^\u2063/u.test(part)) continue
    if (/^[-*+] |^\d+[.)] |^\||^```|^!\[|^<|^---/u.test(part)) return null
    const text = plain(part)
    if (text !== '') return text
  }
  return null
}

/** Returns one paragraph of rendered Markdown without its marks. */
function plain(markdown: string): string {
  return markdown
    .replaceAll(/!?\[([^\]]*)\]\([^)]*\)/gu, '$1')
    .replaceAll(/(?<!\\)(?:\*{1,3}|`+)/gu, '')
    .replaceAll(/\\(?=\p{P}|\p{S})/gu, '')
    .replaceAll('&lt;', '<')
    .replaceAll('&amp;', '&')
    .replaceAll(/\s+/gu, ' ')
    .trim()
}

function cut(text: string, most: number): string {
  if (text.length <= most) return text
  const end = text.lastIndexOf(' ', most - 1)
  return `${text.slice(0, end > most / 2 ? end : most - 1).toWellFormed()}…`
}

function wordsOf(value: unknown): string {
  if (Array.isArray(value)) return value.map(wordsOf).join(' ')
  return ['string', 'number', 'boolean'].includes(typeof value) ? `${value as string | number | boolean}` : ''
}

function seriesOf(template_id: string, figure: Figure | null, others: readonly [string, unknown][]): string {
  const sorted = others.toSorted(([one], [other]) => (one < other ? -1 : 1))
  return createHash('sha256')
    .update(JSON.stringify([template_id, figure?.label ?? null, sorted]))
    .digest('hex')
    .slice(0, 32)
}
