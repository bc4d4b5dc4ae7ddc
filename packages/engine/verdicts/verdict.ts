/**
 * Makes the verdict of an analysis: what a reader is told, how sure it is, and the doubts about it. Every method makes
 * its outcome with `verdict`; no method writes `summary` or `notes` itself.
 */
import type { Doubt, Grade, Outcome, Verdict } from '@assay/model/insight'
import { CODES, type Code } from './codes.ts'
import { opening } from './measure.ts'

/** Thresholds of the adjusted p-value: `firm` at most 0.01, `likely` at most 0.05. */
const FIRM = 0.01
export const LIKELY = 0.05

/** The grade of a claim by its adjusted p-value; null, where no test could be made, is `unclear`. */
export function gradeOf(p: number | null): Exclude<Grade, 'withheld'> {
  if (p === null || Number.isNaN(p)) return 'unclear'
  return p <= FIRM ? 'firm' : p <= LIKELY ? 'likely' : 'unclear'
}

/** The less sure of two grades. */
export function lesser(left: Grade, right: Grade): Grade {
  const order: Grade[] = ['firm', 'likely', 'unclear', 'withheld']
  return order.indexOf(left) > order.indexOf(right) ? left : right
}

/** One doubt. `says` is a whole sentence for a reader who knows no statistics: what holds, and what to do where one can act. */
export function doubt(code: Code, says: string): Doubt {
  return { code, says }
}

/** The doubts that hold once a correction has raised every p of the outcome by `factor`. */
export type DoubtsBy = (factor: number) => readonly Doubt[]
export type Doubting = Doubt | DoubtsBy

export interface Finding {
  /** The sentence for a director, as it would read without blockers; by its grade and the `factor` of corrections, where its words depend on them. */
  headline: string | ((grade: Grade, factor: number) => string)
  grade: Grade
  /** Estimate, interval, test, p and n in one sentence. */
  evidence: string
  doubts?: readonly Doubting[]
  /** Codes that only count as caveats here, such as `constant` in a description. */
  mild?: readonly Code[]
  /** What the outcome holds where a correction leaves the claim `unclear`, such as `{ direction: 'none' }`. */
  unfound?: Record<string, unknown>
  /** The fields of the outcome that a correction changes, such as the grade of each result. */
  corrected?: (grade: Grade, factor: number) => Record<string, unknown>
  /** By how much corrections for several tests have raised p. */
  factor?: number
  /** p after these corrections, and the grade before them. */
  among?: { p: number; alone: Grade }
}

/** How a verdict was found, kept beside it until the run is over. JSON does not hold it. */
const FINDING = Symbol('finding')
type Told = Verdict & { [FINDING]?: Finding }

/**
 * Puts a verdict together. With a blocker the grade is `withheld` and the first blocker's sentence stands in place of the
 * headline. `summary` is the headline and what blockers and caveats say; `notes` lists the latter.
 */
export function verdict(finding: Finding): Verdict {
  const { grade, mild = [], factor = 1 } = finding
  const doubts = (finding.doubts ?? []).flatMap((one) => (typeof one === 'function' ? one(factor) : one))
  const blocks = ({ code }: Doubt): boolean =>
    CODES[code as Code].kind === 'blocker' && !mild.includes(code as Code)
  const blockers = doubts.filter(blocks)
  const caveats = doubts.filter((one) => !blocks(one))
  const first = blockers[0]
  const shown = first ? first.says : headlineOf(finding, grade, factor)
  const notes = [...new Set([...blockers, ...caveats].map(({ says }) => says))]
  // What the headline says already is not said again.
  const rest = notes.filter((says) => !shown.includes(says))
  const told: Told = {
    [FINDING]: finding,
    headline: shown,
    grade: first ? 'withheld' : grade,
    blockers,
    caveats,
    evidence: opening(evidenceOf(finding)),
    summary: [shown, ...rest].join(' '),
    notes,
  }
  return told
}

/**
 * Returns the evidence. It gives the p of the test alone, and adds the corrected p if the test's own p was raised and
 * is at least 0.001.
 */
function evidenceOf({ evidence, grade, among, factor = 1 }: Finding): string {
  if (!among || factor === 1 || among.p < 0.001) return evidence
  const p = String(Number(among.p.toPrecision(2)))
  const alone =
    grade === 'unclear' && among.alone !== 'unclear'
      ? ', which may be chance: what stands before it is of this test alone'
      : ''
  return `${evidence} Allowing for the other tests, p is ${p}${alone}.`
}

/** The verdict where the data cannot answer at all: `stop` stands in place of the headline. */
export function stopped(evidence: string, stop: Doubt, doubts: readonly Doubt[] = []): Verdict {
  return verdict({ headline: stop.says, grade: 'unclear', evidence, doubts: [stop, ...doubts] })
}

/** A correction of the primary p-value: the corrected `p`, and the `factor` by which it was multiplied. */
export interface Correction {
  p: number
  factor: number
}

/** The key of the function that judges the parts of an outcome again after a correction. JSON does not hold it. */
const AGAIN = Symbol('again')
type Again = (correction: Correction, more: Doubt) => Outcome

/** The outcome, whose parts `again` judges anew when it is corrected. */
export function judgedAgain(outcome: Outcome, again: Again): Outcome {
  return Object.assign(outcome, { [AGAIN]: again })
}

/** The sentence at a grade, once p has been raised by `factor`. */
export const headlineOf = ({ headline }: Finding, grade: Grade, factor: number): string =>
  typeof headline === 'string' ? headline : headline(grade, factor)

/** How an outcome was found, for a method that tells it as its own. */
export function findingOf(outcome: Outcome): Finding | undefined {
  return (outcome as Partial<Told>)[FINDING]
}

/** The outcome with more doubts. An outcome without a verdict is returned as it is. */
export function doubted(outcome: Outcome, more: readonly Doubt[]): Outcome {
  const finding = findingOf(outcome)
  if (!finding || more.length === 0) return outcome
  return { ...outcome, ...verdict({ ...finding, doubts: [...more, ...(finding.doubts ?? [])] }) }
}

/**
 * The outcome with a grade no higher than its corrected p-value allows, and one more caveat. Outcomes without a verdict are
 * returned as they are.
 */
export function regraded(outcome: Outcome, correction: Correction, more: Doubt | null): Outcome {
  const { [FINDING]: finding, [AGAIN]: again } = outcome as Partial<Told> & { [AGAIN]?: Again }
  if (again && more) return again(correction, more)
  if (!finding) return outcome
  const grade = lesser(finding.grade, gradeOf(correction.p))
  const factor = (finding.factor ?? 1) * correction.factor
  const doubts = [...(finding.doubts ?? []), ...(more ? [more] : [])]
  const among = { p: correction.p, alone: finding.among?.alone ?? finding.grade }
  const told = verdict({ ...finding, grade, factor, doubts, among })
  const fields = finding.corrected?.(told.grade, factor)
  return { ...outcome, ...told, ...(grade === 'unclear' ? finding.unfound : {}), ...fields }
}
