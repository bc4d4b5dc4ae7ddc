/** Compares what an insight printed with what its template prints again: value by value, then the words between them. */
import type { Mark, Origin } from '@assay/model/provenance'
import { pairsOf } from './pairs.ts'
import { lineCounter, type Marked, type PrintedValue, printedMark } from './printed.ts'
import { type Range, type WordChange, wordChange } from './words.ts'

/** A changed value. `is` is null if nothing is printed in its place any more. */
export interface ChangedValue {
  was: string
  is: string | null
  line: number
  from: Origin[]
}

export interface Comparison {
  /** The number of values of the insight: numbers in the text and cells of tables. */
  total: number
  hold: number
  changed: ChangedValue[]
  /** The values that only the new text prints. */
  added: { is: string; line: number; from: Origin[] }[]
  /** The values that cannot be checked, each with the reason as the end of a sentence. */
  unchecked: { was: string; line: number; from: Origin[]; reason: string }[]
  words: WordChange[]
  /** The charts whose printed form differs. */
  charts: string[]
}

const nothing = (): Comparison => ({
  total: 0,
  hold: 0,
  changed: [],
  added: [],
  unchecked: [],
  words: [],
  charts: [],
})

/** Marks all values of an insight that cannot be computed again as unchecked. */
export function uncomputed(insight: Marked, reason: string): Comparison {
  const lineOf = lineCounter(insight.markdown)
  const unchecked = recordedOf(insight).flatMap((mark) =>
    printedMark(insight, mark, lineOf(mark.start)).values.map(({ text, line, from }) => ({
      was: text,
      line,
      from,
      reason,
    })),
  )
  return { ...nothing(), total: unchecked.length, unchecked }
}

/**
 * Compares two texts. `filled` returns a piece of the new Markdown with its charts, in each form in which they may
 * stand in the insight.
 */
export function compare(before: Marked, now: Marked, filled: (piece: string) => string[]): Comparison {
  const [old, fresh] = [recordedOf(before), recordedOf(now)]
  const found = nothing()
  const lineOf = lineCounter(before.markdown)
  const newLineOf = lineCounter(now.markdown)
  const pairs = pairsOf(old, fresh)
  const partner = new Map(pairs)
  const paired = new Set(partner.values())
  for (const [index, mark] of old.entries()) {
    const was = printedMark(before, mark, lineOf(mark.start))
    const at = partner.get(index)
    const other = at === undefined ? null : fresh[at]!
    const is = other && printedMark(now, other, newLineOf(other.start))
    for (const [cell, value] of was.values.entries())
      judge(found, value, is?.values[cell] ?? null, mark.by === 'model')
    if (is && is.headings !== was.headings)
      found.words.push({ line: was.values[0]?.line ?? 1, was: was.headings, is: is.headings })
    for (const { text, line, from } of is?.values.slice(was.values.length) ?? [])
      found.added.push({ is: text, line, from })
  }
  const more = lineCounter(now.markdown)
  for (const [index, mark] of fresh.entries())
    if (!paired.has(index))
      for (const { text, line, from } of printedMark(now, mark, more(mark.start)).values)
        found.added.push({ is: text, line, from })
  for (const [mine, theirs] of piecesBetween(before, now, pairs, [old, fresh])) {
    const change = wordChange([before.markdown, mine], [now.markdown, theirs], filled)
    if (change && 'charts' in change) found.charts.push(...change.charts)
    else if (change) found.words.push(change)
  }
  return found
}

function judge(found: Comparison, was: PrintedValue, is: PrintedValue | null, written: boolean): void {
  const { text, line, from } = was
  found.total += 1
  if (written) found.unchecked.push({ was: text, line, from, reason: 'a language model wrote it' })
  else if (is?.text === text) found.hold += 1
  else found.changed.push({ was: text, is: is?.text ?? null, line, from })
}

/** Returns the marks without those of "How this was computed" and of notices of tests, which describe the run. */
const recordedOf = ({ provenance }: Marked): Mark[] => provenance.filter(({ by }) => by !== 'lineage')

type Pieces = [before: Range[], now: Range[]]

/** Compares the text between one pair and the next on both sides, without the values in it. */
function piecesBetween(
  before: Marked,
  now: Marked,
  pairs: readonly [number, number][],
  [old, fresh]: [Mark[], Mark[]],
): Pieces[] {
  const left = unmarked(
    before,
    pairs.map(([index]) => old[index]!),
  )
  const right = unmarked(
    now,
    pairs.map(([, index]) => fresh[index]!),
  )
  return left.map((ranges, index): Pieces => [ranges, right[index]!])
}

/** Returns the ranges of text without a mark, divided at the marks in `cuts`. There is one list more than cuts. */
function unmarked({ markdown, provenance }: Marked, cuts: readonly Mark[]): Range[][] {
  const pieces: Range[][] = [[]]
  const at = new Set(cuts)
  let last = 0
  for (const mark of provenance) {
    pieces.at(-1)!.push([last, mark.start])
    if (at.has(mark)) pieces.push([])
    last = mark.end
  }
  pieces.at(-1)!.push([last, markdown.length])
  return pieces
}
