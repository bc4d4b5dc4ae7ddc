/** Doubts that many methods share, each worded once. */
import type { Doubt } from '@assay/model/insight'
import { count } from '../methods/shared/sentence.ts'
import { doubt } from './verdict.ts'

/** "There are 3 values of orders; a trend needs at least 4." `use` is the part before "at least". */
export function tooFew(n: number, label: string, use: string, least: number, one = 'value'): Doubt {
  return doubt(
    'too_few',
    `There ${n === 1 ? 'is' : 'are'} ${count(n, one)} of ${label}; ${use} at least ${least}.`,
  )
}

/** A season that was asked for, and that the series does not hold `least` steps for. */
export function seasonTooLong(steps: number, label: string, period: number, least: number): Doubt {
  return doubt(
    'too_few',
    `There ${steps === 1 ? 'is' : 'are'} ${count(steps, 'step')} of ${label}; a season of ${period} needs at least ${Math.ceil(least)}. Give a shorter period.`,
  )
}

export function allAlike(label: string): Doubt {
  return doubt('constant', `Every value of ${label} is the same.`)
}

/** "3 rows without a number are left out."; none where none is left out. `lack` is the part after the count. */
export function leftOut(n: number, lack: string, one = 'row'): Doubt[] {
  if (n === 0) return []
  return [doubt('rows_left_out', `${count(n, one)} ${lack} ${n === 1 ? 'is' : 'are'} left out.`)]
}
