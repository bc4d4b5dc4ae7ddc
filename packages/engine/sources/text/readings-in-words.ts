/** Prints a value of two readings so that a reader sees the difference: "1 February 2023", "1,234". */
import { MONTHS } from '@assay/model/dates'
import { fullYear } from './values.ts'

export type Order = 'dmy' | 'mdy' | 'ymd'

const NAMES: Record<Order, string> = { dmy: 'day first', mdy: 'month first', ymd: 'year first' }

export function orderName(order: Order): string {
  return NAMES[order]
}

export interface Day {
  year: number
  month: number
  day: number
}

export function readDate(text: string, order: Order): Day {
  const numbers = /^(\d+)\D(\d+)\D(\d+)/.exec(text)!.slice(1).map(Number)
  const part = (name: string): number => numbers[order.indexOf(name)]!
  return { year: fullYear(part('y')), month: part('m'), day: part('d') }
}

export function dateInWords({ year, month, day }: Day): string {
  return `${day} ${MONTHS[month - 1]} ${year}`
}

export function readNumber(text: string, decimal: '.' | ','): number {
  const groups = decimal === '.' ? ',' : '.'
  return Number(text.replaceAll(groups, '').replace(decimal, '.'))
}

/** Prints a number with a comma between thousands, as the insight prints numbers. */
export function shownNumber(value: number): string {
  return value.toLocaleString('en-US', { maximumFractionDigits: 12 })
}
