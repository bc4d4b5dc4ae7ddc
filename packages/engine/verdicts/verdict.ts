/**
 * Makes the verdict of an analysis: the sentences for the reader, how sure they are, and the doubts about them. Every
 * method makes its outcome with `verdict`; no method writes `summary` or `notes` itself.
 */
import type { Doubt, Grade, Outcome, Verdict } from '@assay/model/insight'
import { CODES, type Code } from './codes.ts'
import { opening } from './measure.ts'

/** Thresholds of the adjusted p-value: `firm` at most 0.01, `likely` at most 0.05. */
const FIRM = 0.01
export const LIKELY = 0.05

/** Returns the grade of a claim by its adjusted p-value. Null, if no test could be made, is `unclear`. */
export function gradeOf(p: number | null): Exclude<Grade, 'withheld'> {
  if (p === null || Number.isNaN(p)) return 'unclear'
  return p <= FIRM ? 'firm' : p <= LIKELY ? 'likely' : 'unclear'
}

/** Returns the less sure of two grades. */
export function lesser(left: Grade, right: Grade): Grade {
  const order: Grade[] = ['firm', 'likely', 'unclear', 'withheld']
  return order.indexOf(left) > order.indexOf(right) ? left : right
}

/**
 * Makes a doubt. `says` is a full sentence for a reader who knows no statistics: the fact, and the remedy if there is
 * one.
 */
export function doubt(code: Code, says: string): Doubt {
  return { code, says }
}

/** Returns the doubts that hold once a correction has raised every p of the outcome by `factor`. */
export type DoubtsBy = (factor: number) => readonly Doubt[]
export type Doubting = Doubt | DoubtsBy

export interface Finding {
  /**
   * The sentence for a director, as it would read without blockers. It depends on the grade and the `factor` of
   * corrections if its words do.
   */
  headline: string | ((grade: Grade, factor: number) => string)
  grade: Grade
  /** The estimate, interval, test, p and n in one sentence. */
  evidence: string
  doubts?: readonly Doubting[]
  /** The codes that only count as caveats here, such as `constant` in a description. */
  mild?: readonly Code[]
  /** The p that decided, if it is not the field `p` of the outcome. A correction raises it. */
  decided?: number | null
  /** The fields of the outcome if a correction leaves the claim `unclear`, such as `{ direction: 'none' }`. */
  unfound?: Record<string, unknown>
  /** Returns the fields of the outcome that a correction changes, such as the grade of each result. */
  corrected?: (grade: Grade, factor: number) => Record<string, unknown>
  /** The factor by which corrections for several tests have raised p. */
  factor?: number
  /** The p after these corrections, and the grade before them. */
  among?: { p: number; alone: Grade }
}

/** The key of a verdict's finding, which is kept beside it until the run is over. JSON does not hold it. */
const FINDING = Symbol('finding')
type Told = Verdict & { [FINDING]?: Finding }

/**
 * Makes a verdict. With a blocker the grade is `withheld` and the first blocker's sentence replaces the headline.
 * `summary` is the headline with the sentences of blockers and caveats; `notes` lists the latter.
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
  // A note that the headline already says is not repeated.
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

/** Returns the verdict if the data cannot answer at all. `stop` replaces the headline. */
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

/** Returns the outcome, whose parts `again` judges anew when it is corrected. */
export function judgedAgain(outcome: Outcome, again: Again): Outcome {
  return Object.assign(outcome, { [AGAIN]: again })
}

/** Returns the sentence at a grade, once p has been raised by `factor`. */
export const headlineOf = ({ headline }: Finding, grade: Grade, factor: number): string =>
  typeof headline === 'string' ? headline : headline(grade, factor)

/** Returns how an outcome was found, for a method that reports it as its own. */
export function findingOf(outcome: Outcome): Finding | undefined {
  return (outcome as Partial<Told>)[FINDING]
}

/** Returns the outcome with more doubts. An outcome without a verdict is returned as it is. */
export function doubted(outcome: Outcome, more: readonly Doubt[]): Outcome {
  const finding = findingOf(outcome)
  if (!finding || more.length === 0) return outcome
  return { ...outcome, ...verdict({ ...finding, doubts: [...more, ...(finding.doubts ?? [])] }) }
}

/**
 * Returns the outcome with a grade no higher than its corrected p-value allows, and one more caveat. An outcome
 * without a verdict is returned as it is.
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
