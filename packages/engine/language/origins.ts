/**
 * Tracks the origins of the values of prose. The evaluator notes on a trail, for the value that it evaluated last,
 * the place of the value, or the places that it was computed from and the filters in between.
 */
import type { Mark, Origin } from '@assay/model/provenance'
import { homeOf } from '../values/rows.ts'
import { isPlainObject, toCell } from '../values/value.ts'

/** Rows of which a filter read a column, or which it counted. Their places are looked up when the value is printed. */
interface Cells {
  list: readonly unknown[]
  column: string | null
}
type Source = Origin | Cells

/** A filter with its arguments. */
export interface Step {
  name: string
  args: readonly unknown[]
  named: ReadonlyMap<string, unknown>
}

export interface From {
  /** True if the value lies at its only source, so that a step can continue from there. */
  exact: boolean
  sources: readonly Source[]
  /** The number of further sources. */
  more: number
  through: readonly Step[]
}

export class Trail {
  /** False once the bound on what is recorded is reached. */
  on = true
  last: From | null = null
}

/** The most origins of one value, the most filters, and the most characters of an argument. */
const MOST_SOURCES = 4
const MOST_STEPS = 8
const LONGEST_ARGUMENT = 60
const LEFT_OUT = '...'

const plainStep = (name: string): Step => ({ name, args: [], named: new Map() })
const isCells = (source: Source): source is Cells => 'list' in source
const joined = (path: string | undefined, key: unknown): string =>
  path ? `${path}.${String(key)}` : String(key)

export const exactly = (origin: Origin): From => ({ exact: true, sources: [origin], more: 0, through: [] })

/** Returns the origin of a name that all texts see. */
export function rootOf(name: string): From {
  if (name === 'vars') return exactly({ variable: '' })
  return exactly(name === 'run' ? { run: '' } : { block: name })
}

/** Returns the origin of `holder[key]`, whose value is `value`. */
export function stepped(from: From | null, holder: unknown, key: unknown, value: unknown): From | null {
  const home = homeOf(value)
  if (home) return exactly(home)
  if (from === null) return null
  const list = Array.isArray(holder)
  if (key === 'size' && !list && !(isPlainObject(holder) && Object.hasOwn(holder, key)))
    return merged([from], plainStep('size'))
  if (!from.exact) return key === 'size' && list ? cells(holder, null, plainStep('size'), from) : from
  const place = from.sources[0] as Origin
  const name = Array.isArray(holder) ? indexIn(holder, key) : key
  if (place.variable !== undefined) return exactly({ variable: joined(place.variable, name) })
  if (place.run !== undefined) return exactly({ run: joined(place.run, name) })
  if (place.row !== undefined) return exactly({ ...place, column: joined(place.column, name) })
  return exactly({ ...place, field: joined(place.field, name) })
}

function indexIn(list: readonly unknown[], key: unknown): unknown {
  if (key === 'first') return 0
  if (key === 'last') return list.length - 1
  return typeof key === 'number' && key < 0 ? list.length + key : key
}

/** Returns the origin of the cells of a list. `before`: the origin of the list. */
function cells(list: readonly unknown[], column: string | null, step: Step, before: From | null): From {
  const through = [...(before?.through ?? []), step].slice(-MOST_STEPS)
  return { exact: false, sources: [{ list, column }], more: 0, through }
}

/** Returns all origins of the values. `step`: what was done with the first. */
export function merged(froms: readonly (From | null)[], step: Step | null = null): From | null {
  const known = froms.filter((from) => from !== null)
  const [first] = known
  if (!first) return null
  if (step === null && known.length === 1) return { ...first, exact: false }
  const before = froms[0]?.through ?? []
  const through = step === null ? before : [...before, step].slice(-MOST_STEPS)
  if (known.length === 1) return { exact: false, sources: first.sources, more: first.more, through }
  const sources = known.reduce<Source[]>((list, { sources: more }) => more.reduce(added, list), [])
  const kept = sources.slice(0, MOST_SOURCES)
  const more = known.reduce((sum, from) => sum + from.more, 0) + sources.length - kept.length
  return { exact: false, sources: kept, more, through }
}

const sameColumn = (a: Origin, b: Origin): boolean =>
  a.block === b.block && a.field === b.field && a.column === b.column

const rowsOf = ({ row, rows }: Origin): readonly [number, number] | null =>
  row === undefined ? (rows ?? null) : [row, row]

/** Returns the list with one more place. Beyond a few places, cells of one column become a range. */
function added(list: Source[], source: Source): Source[] {
  if (isCells(source)) return list.includes(source) ? list : [...list, source]
  const own = rowsOf(source)
  for (const [index, known] of list.entries()) {
    if (isCells(known) || !sameColumn(known, source)) continue
    const rows = rowsOf(known)
    if (rows === null || own === null) return list
    if (known.row !== undefined && source.row !== undefined) {
      if (known.row === source.row) return list
      if (list.length < MOST_SOURCES) continue
    }
    return list.with(index, spanning(known, rows, source, own))
  }
  return [...list, source]
}

function spanning(
  known: Origin,
  rows: readonly [number, number],
  { count = 1 }: Origin,
  own: readonly [number, number],
): Origin {
  const { row: _, ...rest } = known
  const span: [number, number] = [Math.min(rows[0], own[0]), Math.max(rows[1], own[1])]
  return { ...rest, rows: span, count: Math.min((known.count ?? 1) + count, span[1] - span[0] + 1) }
}

/** Returns the places of a column of rows: a range for each block, or the list itself if its rows are its own. */
function placesIn({ list, column }: Cells): Origin[] {
  const whole = homeOf(list)
  const named = column === null ? {} : { column }
  if (whole && list.length > 0)
    return [{ ...whole, ...named, rows: [0, list.length - 1], count: list.length }]
  const found = new Map<string, Origin>()
  for (const item of list) {
    const home = homeOf(item)
    if (home?.row === undefined) continue
    const { block, field, row } = home
    const key = `${block} ${field ?? ''}`
    const known = found.get(key)
    if (known) {
      known.rows = [Math.min(known.rows![0], row), Math.max(known.rows![1], row)]
      known.count! += 1
    } else {
      found.set(key, { block: block!, ...(field ? { field } : {}), ...named, rows: [row, row], count: 1 })
    }
  }
  return [...found.values()].map(single)
}

/** Returns a range of one row as that row. */
function single(origin: Origin): Origin {
  const { rows, count, ...rest } = origin
  return count === 1 && rest.column !== undefined ? { ...rest, row: rows![0] } : origin
}

/** Returns the origins in the form of a mark. */
export function printedFrom({ sources, more, through }: From): Pick<Mark, 'from' | 'more' | 'through'> {
  const places = sources
    .flatMap((source) => (isCells(source) ? placesIn(source) : [source]))
    .reduce<Source[]>(added, []) as Origin[]
  const from = places.slice(0, MOST_SOURCES)
  const left = more + places.length - from.length
  const steps = through.map(stepText)
  if (steps.length === MOST_STEPS) steps[0] = LEFT_OUT
  return { from, ...(left > 0 ? { more: left } : {}), ...(steps.length > 0 ? { through: steps } : {}) }
}

function stepText({ name, args, named }: Step): string {
  const given = [...args.map(argument), ...[...named].map(([key, value]) => `${key}: ${argument(value)}`)]
  return given.length === 0 ? name : `${name}: ${given.join(', ')}`
}

function argument(value: unknown): string {
  const text = JSON.stringify(toCell(value)) ?? 'null'
  return text.length > LONGEST_ARGUMENT ? LEFT_OUT : text
}

/** An argument of a filter, with its origin. */
export interface GivenValue {
  value: unknown
  from: From | null
}

const PICKS = new Set(['first', 'last', 'min', 'max'])
const COLUMNS = new Set(['sum', 'mean', 'pluck', 'map', 'group_by'])

/** Returns the origin of the result of a filter. Rows that the filter keeps know their own place. */
export function filtered(
  step: Step,
  given: GivenValue,
  args: readonly GivenValue[],
  result: unknown,
): From | null {
  const { value, from } = given
  const home = homeOf(result)
  if (home) return exactly(home)
  if (step.name === 'default' && args[0] && result === args[0].value) return args[0].from
  if (result === value) return from
  const found = Array.isArray(value) ? filteredList(step, value, from, result) : null
  if (found) return found
  const all = merged([from, ...args.map((arg) => arg.from)], step)
  // A value of the template that is combined with data stands before the filters.
  return all && from === null ? { ...all, through: [plainStep(argument(value)), ...all.through] } : all
}

/** Returns null if the filter treats a list as any other value. */
function filteredList(step: Step, list: unknown[], from: From | null, result: unknown): From | null {
  const { name, args } = step
  const [column] = args
  if (name === 'size') return counted(list, from, step)
  if (typeof column === 'string' && PICKS.has(name)) {
    const place = homeOf(pickedRow(name, list, column, result))
    if (place) return exactly({ ...place, column: joined(place.column, column) })
  }
  if (typeof column === 'string' && COLUMNS.has(name)) return cells(list, column, step, from)
  const end = name === 'first' || name === 'last'
  return end && from?.exact ? stepped(from, list, name, result) : null
}

function pickedRow(name: string, list: unknown[], column: string, result: unknown): unknown {
  if (name === 'first' || name === 'last') return list.at(name === 'first' ? 0 : -1)
  return list.find((item) => isPlainObject(item) && item[column] === result)
}

/**
 * Returns the origin of a size. A block's own list has a size; rows that a filter kept are counted. Null for a list
 * of other values.
 */
function counted(list: unknown[], from: From | null, step: Step): From | null {
  const whole = homeOf(list)
  if (whole && from?.exact) return exactly({ ...whole, field: joined(whole.field, 'size') })
  return list.some((item) => homeOf(item) !== null) ? cells(list, null, step, from) : null
}
