/** Doubts that many methods share, each worded once. */
import type { Doubt } from '@assay/model/insight'
import { count, figure, thereAre } from '../methods/shared/sentence.ts'
import { doubt } from './verdict.ts'

/** Returns the doubt "There are 3 values of orders; a trend needs at least 4." `use`: the part before "at least". */
export function tooFew(n: number, label: string, use: string, least: number, one = 'value'): Doubt {
  return doubt('too_few', `${thereAre(n, one)} of ${label}; ${use} at least ${least}.`)
}

/** Returns the doubt about a requested season for which the series has fewer than `least` steps. */
export function seasonTooLong(steps: number, label: string, period: number, least: number): Doubt {
  return doubt(
    'too_few',
    `${thereAre(steps, 'step')} of ${label}; a season of ${period} needs at least ${Math.ceil(least)}. Give a shorter period.`,
  )
}

export function allAlike(label: string): Doubt {
  return doubt('constant', `Every value of ${label} is the same.`)
}

/**
 * Returns the doubt "3 rows without a number are left out."; empty if none is left out. `lack`: the part after the
 * count.
 */
export function leftOut(n: number, lack: string, { one, many } = { one: 'row', many: 'rows' }): Doubt[] {
  if (n === 0) return []
  return [doubt('rows_left_out', `${count(n, one, many)} ${lack} ${n === 1 ? 'is' : 'are'} left out.`)]
}

/** Returns the doubt that only the groups with the most rows are kept. `rows`: the rows of the other groups. */
export function largestKept(kept: number, groups: number, rows: number, many: string): Doubt[] {
  if (groups <= kept) return []
  return [
    doubt(
      'rows_left_out',
      `Only the ${kept} of ${figure(groups)} ${many} with the most rows are told of; ${count(rows, 'row')} of the others ${rows === 1 ? 'is' : 'are'} left out.`,
    ),
  ]
}

/** Groups below this size hold too few values to show how much they vary. */
export const FEW = 5

/**
 * Returns the caveat that a test of means has so few values that its assumptions cannot be checked. `too_few` is mild
 * beside it.
 */
export function fewRows(least: number, { one, many }: { one: string; many: string }): Doubt {
  return doubt(
    'too_few',
    `The smallest group has only ${count(least, one, many)}: too few to show how much its values vary, so repeat this with more.`,
  )
}
