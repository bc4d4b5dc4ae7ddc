/**
 * Handles the statistics of days. A database computes them exactly, they are kept as text, and they are merged in the
 * order of the days. Sums of whole numbers and decimals are the database's own. Doubles are cut into integers of 30
 * bits, down to 2^-60, whose sums are exact in every engine. So the same rows give the same bits, whatever their order
 * and whatever was read before.
 */
import type { Cell } from '@assay/model/insight'
import type { StatisticKind } from '@assay/model/metric'
import {
  and,
  below,
  bytes,
  column,
  count,
  counted,
  digits,
  distinct,
  double,
  type Expression,
  type From,
  finite,
  given,
  least,
  minus,
  most,
  number,
  type Select,
  shown,
  size,
  times,
  where,
  whole,
} from '../dialects/language.ts'
import { SourceError } from '../sources/source.ts'
import { type Answer, columnsOf, numberOf } from '../sufficient/ask.ts'

export const STEP = 'step of metric'
export const keyName = (index: number): string => `key ${index}`
export const valueName = (index: number): string => `value ${index}`

/**
 * `loose`: the values decide the type, not the column. `number`: a decimal, whose zeros at the end depend on the other
 * rows of an answer.
 */
export type KeyKind = boolean | 'loose' | 'number'

/** How the rows of a query are added up. Without statistics they are kept as they are. */
export interface Shape {
  /** The kind of each key: a text (true), a value of another type (false), or one that only a block has. */
  keys: readonly KeyKind[]
  statistics: readonly { kind: StatisticKind; binary: boolean }[]
}

/**
 * A kept statistic. Null is no value. A sum holds the number of values, and the digits of their sum, for doubles in
 * units of 2^-60.
 */
export type Kept = number | string | null | readonly [n: number, digits: string]
export type KeptRow = readonly [step: string, keys: readonly Cell[], kept: readonly Kept[]]

const PART = 2 ** 30
/** The size from which doubles have too many digits. */
const LARGEST = 2 ** 80
/** The size below which a value counts as zero. */
const SMALLEST = 2 ** -61

/** Returns the select. `rows` is a query with the columns STEP, and those of the keys and values. */
export function selectOf(rows: string, { keys, statistics }: Shape): Select {
  const groups: Record<string, Expression> = { 'step shown': column(STEP) }
  const list: Record<string, Expression> = {}
  if (statistics.length === 0) {
    for (const [index, kind] of keys.entries()) {
      const key = column(keyName(index))
      // A case has no type but that of its values.
      list[`shown ${index}`] = kind === true ? shown(key) : kind === 'loose' ? where(given(key), key) : key
    }
    return { from: { query: rows }, list: { ...groups, ...list } }
  }
  for (const [index, isText] of keys.entries()) {
    const key = column(keyName(index))
    groups[`group ${index}`] = isText ? bytes(key) : key
    list[`shown ${index}`] = isText ? least(shown(key)) : least(key)
  }
  for (const [index, { kind, binary }] of statistics.entries()) {
    const value = column(valueName(index))
    if (kind === 'rows') list[`n ${index}`] = counted
    else if (kind === 'distinct') list[`n ${index}`] = distinct(value)
    else if (kind === 'least' || kind === 'most')
      list[`n ${index}`] = kind === 'least' ? least(double(value)) : most(double(value))
    else list[`n ${index}`] = count(value)
    if (kind !== 'sum') continue
    if (!binary) list[`sum ${index}`] = digits(value)
    else Object.assign(list, partsOf(index))
  }
  const added: Select = { from: cut({ query: rows }, { keys, statistics }), keys: groups, list }
  // Groups are made by bytes, which are not shown.
  const asked = ['step shown', ...Object.keys(list)]
  return { from: { select: added }, list: Object.fromEntries(asked.map((name) => [name, column(name)])) }
}

const piece = (index: number, part: string): string => `${part} of ${index}`

function partsOf(index: number): Record<string, Expression> {
  const rest = times(column(piece(index, 'fraction')), number(PART))
  return {
    [`fit ${index}`]: count(column(piece(index, 'fit'))),
    [`sum ${index} 1`]: digits(column(piece(index, 'part 1'))),
    [`sum ${index} 2`]: digits(column(piece(index, 'part 2'))),
    [`sum ${index} 3`]: digits(column(piece(index, 'part 3'))),
    [`sum ${index} 4`]: digits(whole(rest)),
  }
}

/** Returns the rows with the pieces of each double: units of 2^30, of 1 and of 2^-30, and the fraction of the last. */
function cut(rows: From, { keys, statistics }: Shape): From {
  const binary = statistics.flatMap((one, index) => (one.kind === 'sum' && one.binary ? [index] : []))
  if (binary.length === 0) return rows
  const carried = [STEP, ...keys.map((_, index) => keyName(index))]
  for (const [index, { kind }] of statistics.entries()) if (kind !== 'rows') carried.push(valueName(index))
  let from = rows
  const level = (make: (index: number) => Record<string, Expression>): void => {
    const kept = Object.fromEntries(carried.map((name) => [name, column(name)]))
    const made = Object.assign({}, ...binary.map(make)) as Record<string, Expression>
    from = columnsOf(from, { ...kept, ...made })
  }
  level((index) => ({ [piece(index, 'double')]: double(column(valueName(index))) }))
  level((index) => {
    const value = column(piece(index, 'double'))
    const fits = and(finite(value), below(size(value), number(LARGEST)))
    const kept = where(below(size(value), number(SMALLEST)), number(0), value)
    return { [piece(index, 'fit')]: where(fits, kept) }
  })
  carried.push(...binary.map((index) => piece(index, 'fit')))
  const step = (from_: string, scale: number, part: string, rest: string): void => {
    level((index) => {
      const value = times(column(piece(index, from_)), number(scale))
      return {
        [piece(index, part)]: whole(value),
        [piece(index, rest)]: minus(value, whole(value)),
      }
    })
    carried.push(...binary.map((index) => piece(index, part)))
  }
  step('fit', 1 / PART, 'part 1', 'rest')
  step('rest', PART, 'part 2', 'rest after 2')
  step('rest after 2', PART, 'part 3', 'fraction')
  return from
}

/** Returns the rows of an answer, in an order of their own. */
export function rowsOf(answers: readonly Answer[], { keys, statistics }: Shape): KeptRow[] {
  const rows = answers.map((row): KeptRow => {
    const kept = statistics.map(({ kind, binary }, index): Kept => {
      const n = row[`n ${index}`] ?? null
      if (kind === 'least' || kind === 'most') return extremeOf(n)
      if (kind !== 'sum') return numberOf(n)
      return [numberOf(n), binary ? joined(row, index) : exact(row[`sum ${index}`] ?? null)]
    })
    return [
      stepText(row['step shown']),
      keys.map((kind, index) => keptCell(row[`shown ${index}`] ?? null, kind)),
      kept,
    ]
  })
  return rows.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
}

/** Returns the cell as JSON can hold it. */
function keptCell(cell: Cell, kind: KeyKind): Cell {
  if (typeof cell === 'number' && !Number.isFinite(cell)) return String(cell)
  if (kind !== 'number' || typeof cell !== 'string' || !cell.includes('.')) return cell
  return cell.replace(/0+$/, '').replace(/\.$/, '')
}

const keyOf = ([step, keys]: KeptRow): string => JSON.stringify([step, keys])

export const textOf = (cell: Cell): string => (typeof cell === 'string' ? cell : JSON.stringify(cell))

/** Returns "2024-02-29", or for an hour "2024-02-29 10:00:00". */
const stepText = (cell: Cell | undefined): string =>
  textOf(cell ?? null)
    .slice(0, 19)
    .replace('T', ' ')

function extremeOf(cell: Cell): number | string | null {
  if (cell === null) return null
  const value = Number(cell)
  return Number.isFinite(value) ? value : String(value)
}

function exact(cell: Cell): string {
  if (cell === null) return '0'
  const text = textOf(cell)
  if (/^-?\d+(\.\d+)?$/.test(text)) return text
  throw new SourceError(`The sum of a day is ${text}, which cannot be kept: leave such rows out by "where".`)
}

function joined(row: Answer, index: number): string {
  if (numberOf(row[`n ${index}`]) !== numberOf(row[`fit ${index}`]))
    throw new SourceError(
      'A value of the metric is not a finite number below 2^80, so the sum of its day cannot be kept: leave such rows out by "where".',
    )
  let sum = 0n
  for (const part of [1, 2, 3, 4]) sum = (sum << 30n) + BigInt(textOf(row[`sum ${index} ${part}`] ?? 0))
  return sum.toString()
}

/** Takes kept rows, and gives those of the whole series: a step, keys and statistics each. */
export interface Gathered {
  readonly size: number
  add(rows: readonly KeptRow[]): void
  rows(): Cell[][]
}

/** Gathers rows as they are. */
export class Listed implements Gathered {
  readonly #rows: Cell[][] = []

  add(rows: readonly KeptRow[]): void {
    for (const [step, keys] of rows) this.#rows.push([step, ...keys])
  }

  get size(): number {
    return this.#rows.length
  }

  rows(): Cell[][] {
    return this.#rows
  }
}

/** Adds up kept rows, under the step that `stepOf` gives to each. */
export class Merged implements Gathered {
  readonly #shape: Shape
  readonly #stepOf: (step: string) => string
  readonly #rows = new Map<string, { step: string; keys: readonly Cell[]; totals: Total[] }>()

  constructor(shape: Shape, stepOf: (step: string) => string) {
    this.#shape = shape
    this.#stepOf = stepOf
  }

  add(rows: readonly KeptRow[]): void {
    for (const [day, keys, kept] of rows) {
      const step = this.#stepOf(day)
      const key = JSON.stringify([step, keys])
      let row = this.#rows.get(key)
      if (!row) {
        row = { step, keys, totals: this.#shape.statistics.map(({ kind }) => new Total(kind)) }
        this.#rows.set(key, row)
      }
      for (const [index, one] of kept.entries()) row.totals[index]!.add(one)
    }
  }

  get size(): number {
    return this.#rows.size
  }

  /** Returns each row: its step, its keys, and the statistics as doubles, each rounded once. */
  rows(): Cell[][] {
    const { statistics } = this.#shape
    return [...this.#rows.values()].map(({ step, keys, totals }) => [
      step,
      ...keys,
      ...totals.map((total, index) => total.value(statistics[index]!.binary)),
    ])
  }
}

class Total {
  readonly #kind: StatisticKind
  #n = 0
  #units = 0n
  #scale = 0
  #extreme: number | null = null

  constructor(kind: StatisticKind) {
    this.#kind = kind
  }

  add(kept: Kept): void {
    if (Array.isArray(kept)) {
      const [n, text] = kept as readonly [number, string]
      this.#n += n
      const [whole_, fraction = ''] = text.split('.') as [string, string?]
      const scale = Math.max(this.#scale, fraction.length)
      const grown = 10n ** BigInt(scale - this.#scale)
      const added = BigInt(whole_ + fraction) * 10n ** BigInt(scale - fraction.length)
      this.#units = this.#units * grown + added
      this.#scale = scale
    } else if (this.#kind === 'least' || this.#kind === 'most') {
      if (kept === null) return
      const value = Number(kept)
      const pick = this.#kind === 'least' ? Math.min : Math.max
      this.#extreme = this.#extreme === null ? value : pick(this.#extreme, value)
    } else this.#n += Number(kept)
  }

  value(binary: boolean): number | null {
    if (this.#kind === 'least' || this.#kind === 'most') return this.#extreme
    if (this.#kind !== 'sum') return this.#n
    if (this.#n === 0) return null
    return binary ? Number(this.#units) / 2 ** 60 : Number(`${this.#units}e-${this.#scale}`)
  }
}
