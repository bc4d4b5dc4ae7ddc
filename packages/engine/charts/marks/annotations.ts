/** Draws the marks beside the values: the line of the target and those of the events, each with its name. */
import type { ChartEvent, Point } from '../chart-values.ts'
import { valueText } from '../labels.ts'
import { textWidthOf } from '../text-width.ts'
import { CONTEXT, edgeOf, INK, LETTERS_NARROW, NARROW, QUIET } from './look.ts'
import { HEIGHT, liesOnSide, type Plot, type Spec, typeOfX } from './scales.ts'

/** The share of the axis. A target nearer than this to an end has its name on the inner side of its line. */
const NAME = 0.3
/** The share of the largest value. A target below it has no room for its name below it. */
const NEAR_AXIS = 0.1
/** The pixels of a lane. Names of events stand in lanes above the values, and a name is cut at the limit. */
const LANE = 17
const LIMIT = 150
const LIMIT_NARROW = 110
/** The width of a narrow drawing without the numbers along its side, in pixels. */
const ACROSS = NARROW - 70
/** The pixels between the lanes and the values. */
const BASE = 4

/** Returns the line of the target and those of the events, above the other marks. */
export function annotations(plot: Plot): Spec[] {
  const { target, events } = plot.kept
  const onSide = areRows(plot)
  return [
    ...(target === undefined ? [] : targetMarks(plot, target, onSide)),
    ...(events && !onSide ? eventMarks(plot, events) : []),
  ]
}

const areRows = ({ type, kept, points }: Plot): boolean =>
  type === 'interval' || liesOnSide(type, kept.x, points)

/** Returns the height that the names of events take above the values, in pixels. */
export function roomOfEvents(plot: Plot): number {
  const { events = [] } = plot.kept
  if (plot.by || areRows(plot)) return 0
  const named = lanesOf(plot, events).filter(({ event }) => event.label !== '')
  return named.length === 0 ? 0 : BASE + (1 + Math.max(...named.map(({ lane }) => lane))) * LANE
}

function targetMarks(plot: Plot, target: number, onSide: boolean): Spec[] {
  const data = { values: [{ target, text: `Target ${valueText(plot.kept.labels.y, target)}` }] }
  const at = { [onSide ? 'x' : 'y']: { field: 'target', type: 'quantitative' } }
  const rule = { data, mark: { type: 'rule', color: INK, strokeDash: [2, 3] }, encoding: at }
  // The subtitle of panels shows the value (drawing/size.ts).
  if (plot.by) return [rule]
  const place = onSide ? { y: -5, baseline: 'bottom', align: sideOf(plot, target) } : cornerOf(plot, target)
  const mark = { type: 'text', color: INK, ...place }
  const encoding = { ...at, text: { field: 'text' } }
  return [rule, { data, mark: edgeOf(mark), encoding }, { data, mark, encoding }]
}

/**
 * Returns the side of the target's name among rows: above the rows, and within the drawing if the target is at one
 * end.
 */
function sideOf({ points }: Plot, target: number): string {
  const edges = points.flatMap(({ y, low, high }) => [y ?? 0, low ?? y ?? 0, high ?? y ?? 0])
  const least = edges.reduce((a, b) => Math.min(a, b), Math.min(0, target))
  const most = edges.reduce((a, b) => Math.max(a, b), target)
  const share = (target - least) / (most - least || 1)
  return share < 0.2 ? 'left' : share > 0.8 ? 'right' : 'center'
}

/**
 * Returns the corner for the name: the end of the line, left or right and above or below it, where the values are
 * farthest from the name.
 */
function cornerOf(plot: Plot, target: number): Spec {
  const { points } = plot
  const placeOf = placesOf(plot)
  const places = points.map((point) => placeOf(point.x))
  const [first, last] = endsOf(places)
  const clear = (left: boolean, above: boolean): number => {
    const near = points.filter((_, index) => {
      const share = (places[index]! - first) / (last - first || 1)
      return left ? share <= NAME : share >= 1 - NAME
    })
    const gaps = near.flatMap(({ y, low, high }) =>
      [y, low ?? null, high ?? null].flatMap((value) =>
        value === null ? [] : [above ? value - target : target - value],
      ),
    )
    return gaps.filter((gap) => gap >= 0).reduce((least, gap) => Math.min(least, gap), Number.MAX_VALUE)
  }
  // A name below a target near zero would lie on the axis.
  const most = points.reduce((top, { y, high }) => Math.max(top, y ?? 0, high ?? 0), 0)
  const below = !(target >= 0 && target < NEAR_AXIS * most)
  const corners = [true, false].flatMap((left) =>
    (below ? [true, false] : [true]).map((above) => ({ left, above })),
  )
  const best = corners.reduce((one, other) =>
    clear(other.left, other.above) > clear(one.left, one.above) ? other : one,
  )
  const across = best.left ? { align: 'left', x: 0, dx: 4 } : { align: 'right', x: 'width', dx: -2 }
  return { ...across, ...(best.above ? { dy: -6 } : { dy: 4, baseline: 'top' }) }
}

/**
 * Draws each name beside its line, above the values. Names that would touch stand in lanes above each other. Panels
 * have lines only.
 */
function eventMarks(plot: Plot, events: ChartEvent[]): Spec[] {
  const x = { field: 'x', type: typeOfX(plot) }
  if (plot.by)
    return events.map((event) => ({
      data: { values: [{ x: event.x }] },
      mark: { type: 'rule', color: CONTEXT, strokeWidth: 1 },
      encoding: { x },
    }))
  const placed = lanesOf(plot, events).map((one) => ({
    ...one,
    data: { values: [one.event] },
    top: one.event.label === '' ? 0 : -BASE - (one.lane + 1) * LANE,
  }))
  const rules = placed.map(({ data, top }) => ({
    data,
    mark: { type: 'rule', color: CONTEXT, strokeWidth: 1 },
    encoding: { x, y: { value: top }, y2: { value: HEIGHT } },
  }))
  const names = placed.filter(({ event }) => event.label !== '')
  const texts = names.flatMap(({ data, top, late }) => {
    const side = late ? { align: 'right', dx: -4 } : { align: 'left', dx: 4 }
    const mark = { type: 'text', baseline: 'top', color: QUIET, y: top, limit: LIMIT, ...side }
    const encoding = { x, text: { field: 'label' } }
    return [
      { data, mark: edgeOf(mark), encoding },
      { data, mark, encoding },
    ]
  })
  return [...rules, ...texts]
}

interface Placed {
  event: ChartEvent
  lane: number
  /** True if the name is on the left of its line, because there is no room on its right. */
  late: boolean
  from: number
  to: number
}

/**
 * Puts each name into the lowest lane in which it touches no other, by the room of a narrow drawing. Names on the right
 * of their lines are placed from the right on, then names on the left from the left on. So the line of a higher name
 * crosses no lower one.
 */
function lanesOf(plot: Plot, events: readonly ChartEvent[]): Placed[] {
  const placeOf = placesOf(plot)
  const [first, last] = endsOf(plot.points.map((point) => placeOf(point.x)))
  const all = events.map((event) => {
    const at = ((placeOf(event.x) - first) / (last - first || 1)) * ACROSS
    const width = 10 + Math.min(LIMIT_NARROW, textWidthOf(event.label, LETTERS_NARROW))
    const late = at + width > ACROSS
    const [from, to] = late ? [at - width, at] : [at, at + width]
    return { event, late, from, to: event.label === '' ? from : to }
  })
  const [right, left] = [all.filter(({ late }) => !late), all.filter(({ late }) => late)]
  const placed: Placed[] = []
  for (const one of [...right.toSorted((a, b) => b.from - a.from), ...left.toSorted((a, b) => a.to - b.to)]) {
    const touched = placed.filter((other) => other.from < one.to && one.from < other.to)
    const lane = one.event.label === '' ? 0 : 1 + Math.max(-1, ...touched.map((other) => other.lane))
    placed.push({ ...one, lane })
  }
  return placed
}

function endsOf(places: readonly number[]): [number, number] {
  return [
    places.reduce((low, place) => Math.min(low, place), Number.POSITIVE_INFINITY),
    places.reduce((high, place) => Math.max(high, place), Number.NEGATIVE_INFINITY),
  ]
}

/**
 * Returns the place of an x: times and numbers as they are, names by their first place in the list, -1 without one.
 */
function placesOf({ kept, points }: Plot): (x: Point['x']) => number {
  if (kept.x === 'time') return (x) => Date.parse(String(x))
  if (kept.x !== 'text') return Number
  const places = new Map<Point['x'], number>()
  for (const [place, { x }] of points.entries()) if (!places.has(x)) places.set(x, place)
  return (x) => places.get(x) ?? -1
}
