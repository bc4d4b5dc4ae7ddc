/**
 * A figure compares two measurements in turns, and judges the result by its aim. Each turn has a ratio of its own, so
 * that changing load of the machine affects both sides of it.
 */

/** One turn: our measurement and theirs, in the same unit, one right after the other. */
export interface Turn {
  ours: number
  theirs: number
}

export interface Aim {
  text: string
  /** Tells whether the median meets the aim. */
  holds(median: number): boolean
}

export interface Figure {
  work: string
  beside: string
  aim: Aim | null
  /**
   * The comparison of the two. `ratio`: ours / theirs. `inverse`: theirs / ours, for times, so that more is better.
   * `difference`: ours - theirs. `value`: ours alone.
   */
  compare: 'ratio' | 'inverse' | 'difference' | 'value'
  unit: string
  turns: Turn[]
  note?: string
}

/** A row that could not be measured on this machine, with the reason. */
export interface Missing {
  work: string
  beside: string
  aim: string
  reason: string
}

/** A figure as it is kept in results.json and shown in the table. */
export interface Outcome {
  work: string
  beside: string
  aim: string
  median: number | null
  low: number | null
  high: number | null
  ours: number | null
  theirs: number | null
  turns: number
  compare: Figure['compare']
  unit: string
  verdict: 'met' | 'missed' | 'no aim' | 'not run'
  note: string
}

export function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

/** Returns the value below which the share of the values lies (nearest rank). */
export function percentile(values: number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(share * sorted.length) - 1))]!
}

export const atLeast = (least: number): Aim => ({
  text: `at least ${least}`,
  holds: (value) => value >= least,
})
export const atMost = (most: number, unit = ''): Aim => ({
  text: `at most ${most}${unit && ` ${unit}`}`,
  holds: (value) => value <= most,
})

function compared({ ours, theirs }: Turn, compare: Figure['compare']): number {
  switch (compare) {
    case 'ratio':
      return ours / theirs
    case 'inverse':
      return theirs / ours
    case 'difference':
      return ours - theirs
    case 'value':
      return ours
  }
}

export function outcomeOf({ work, beside, aim, compare, unit, turns, note = '' }: Figure): Outcome {
  const values = turns.map((turn) => compared(turn, compare))
  const middle = median(values)
  return {
    work,
    beside,
    aim: aim?.text ?? '',
    median: middle,
    low: Math.min(...values),
    high: Math.max(...values),
    ours: median(turns.map(({ ours }) => ours)),
    theirs: compare === 'value' ? null : median(turns.map(({ theirs }) => theirs)),
    turns: turns.length,
    compare,
    unit,
    verdict: aim === null ? 'no aim' : aim.holds(middle) ? 'met' : 'missed',
    note,
  }
}

export function outcomeOfMissing({ work, beside, aim, reason }: Missing): Outcome {
  const none = { median: null, low: null, high: null, ours: null, theirs: null, turns: 0 }
  return { work, beside, aim, ...none, compare: 'value', unit: '', verdict: 'not run', note: reason }
}
