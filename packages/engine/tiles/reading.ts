/**
 * Collects what the page of an insight shows around its text: blockers, the grade of the headline, tiles, and the
 * evidence of its sentences.
 */
import type { Grade, Outcome } from '@assay/model/insight'
import type { Proof, Reading } from '@assay/model/reading'
import { escapeMarkdown, plainLine } from '../printing/escape.ts'
import { textOf } from './of-outcome.ts'
import { type Computed, tilesOf } from './tiles.ts'

/** The most sentences of a page that are followed by their evidence. */
const MOST_PROOFS = 100

/** Returns the reading. `body` is the Markdown of the text, without the lineage. */
export function readingOf(computed: Computed, body: string): Reading {
  const outcomes = [...computed.blocks].filter((entry): entry is [string, Outcome] => 'summary' in entry[1])
  const proofs = outcomes
    .flatMap(([block, outcome]) => proofsOf(block, outcome, computed))
    .filter(({ says }) => body.includes(escapeMarkdown(says)))
  // A sentence that several analyses share is followed by the evidence of the first of them.
  const once = [...Map.groupBy(proofs, ({ says }) => says).values()].map(([first]) => first!)
  return plainly({
    blockers: [...new Set(outcomes.flatMap(([, { blockers }]) => blockers.map(({ says }) => says)))],
    grade: gradeOfHeadline(body, once),
    tiles: tilesOf(computed),
    proofs: once.slice(0, MOST_PROOFS),
  })
}

/** Puts each text of the value on one line, because pages, documents and subjects of mails show it as it is. */
function plainly<T>(value: T): T {
  if (typeof value === 'string') return plainLine(value) as T
  if (Array.isArray(value)) return value.map(plainly) as T
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, plainly(one)])) as T
}

function proofsOf(block: string, outcome: Outcome, { template }: Computed): Proof[] {
  const own = template.blocks.find(({ name }) => name === block)
  const of = own?.kind === 'analysis' ? own.of : ''
  const groups = Array.isArray(outcome.groups) ? (outcome.groups as (Outcome & { by?: unknown })[]) : []
  return [
    outcome,
    ...groups.filter(({ headline, by }) => typeof headline === 'string' && by !== undefined),
  ].map(({ by, headline, grade, evidence, notes, method, n }: Outcome & { by?: unknown }) => ({
    block,
    by: by === undefined ? null : textOf(by),
    says: headline,
    grade,
    evidence,
    notes,
    method,
    of,
    n,
  }))
}

/** Returns the grade of the analysis whose sentence is the first paragraph. */
function gradeOfHeadline(body: string, proofs: readonly Proof[]): Grade | null {
  const first = body.split(/\n{2,}/).find((part) => !/^(?:#|>|\s*$)/.test(part)) ?? ''
  const before = body.slice(0, body.indexOf(first))
  // After a second heading, the sentence is only the first of several findings.
  if (/^##/m.test(before)) return null
  return proofs.find(({ says }) => first.includes(escapeMarkdown(says)))?.grade ?? null
}
