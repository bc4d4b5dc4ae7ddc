/**
 * Makes tiles of the figures of an outcome. Methods that answer with no single figure, such as normality, have none.
 */

import type { Outcome, Table } from '@assay/model/insight'
import type { Tile, TileChange } from '@assay/model/reading'
import { unitNamed } from '../series/grid.ts'
import { type Measure, opening } from '../verdicts/measure.ts'
import { withArticle } from '../verdicts/nouns.ts'
import { timeInWords } from '../verdicts/times.ts'
import { amount, both } from '../verdicts/words.ts'
import { changeWords, targetWords, timeWords } from './changes.ts'
import { courseOf } from './course.ts'

export interface Told {
  outcome: Outcome
  /** The block, with the group if there is one. */
  of: string
  measure: Measure
  /** The options of the analysis. */
  options: Record<string, unknown>
  measureOf(name: string): Measure
  /** All rows from which the outcome was computed; null if they are not kept. */
  rows: Table | null
}

type Row = Record<string, unknown>

/** The methods that have a figure. The first is the one that a reader most likely asks for first. */
export const METHODS_WITH_TILES: Record<string, (told: Told) => Tile | null> = {
  compare: ofCompare,
  experiment: ofExperiment,
  ab_test: ofArms,
  drivers: ofDrivers,
  forecast: ofForecast,
}

/** Marks a change as neither good nor bad if it may be ordinary noise. */
export function judged(change: TileChange, { grade }: Pick<Outcome, 'grade'>): TileChange {
  return grade === 'firm' || grade === 'likely' ? change : { ...change, good: null }
}

/** The caveats that make the data of a figure doubtful. Every blocker does so as well. */
const DOUBTS_OF_DATA = new Set(['days_missing', 'rows_left_out', 'type_ambiguous', 'times_uneven'])

export function doubtOf({ blockers, caveats }: Outcome): string | null {
  return (blockers[0] ?? caveats.find(({ code }) => DOUBTS_OF_DATA.has(code)))?.says ?? null
}

export function plainTile(given: Pick<Tile, 'of' | 'label' | 'text'> & Partial<Tile>): Tile {
  return {
    value: null,
    when: null,
    changes: [],
    target: null,
    note: null,
    doubt: null,
    course: null,
    ...given,
  }
}

function base({ outcome, of, measure }: Told, value: number): Tile {
  const label = opening(measure.label.replace(/^the /i, ''))
  return plainTile({ of, label, value, text: amount(value, measure), doubt: doubtOf(outcome) })
}

const numberIn = (row: Row | undefined, field: string): number | null => {
  const value = row?.[field]
  return typeof value === 'number' && Number.isFinite(value) ? value : null
}
/** Returns the text of a name, a label or a time; empty for anything else. */
export const textOf = (value: unknown): string =>
  typeof value === 'string' || typeof value === 'number' ? String(value) : ''
const textIn = (row: Row | undefined, field: string): string => textOf(row?.[field])
const rowsIn = (row: Row, field: string): Row[] => (Array.isArray(row[field]) ? (row[field] as Row[]) : [])

/** Returns the unit of time of a row of the data. */
function stepOf({ diagnosis }: Row): string {
  const { step } = (diagnosis ?? {}) as { step?: unknown }
  return ['week', 'month', 'quarter', 'year'].find((name) => name === step) ?? 'day'
}

function ofCompare(told: Told): Tile | null {
  const { outcome, measure } = told
  const now = numberIn(outcome, 'current')
  const before = numberIn(outcome, 'previous')
  if (now === null || before === null) return null
  // Periods of unequal length are compared per day.
  const [day, dayBefore] = [numberIn(outcome, 'current_per_day'), numberIn(outcome, 'previous_per_day')]
  const earlier = `from ${timeWords(textIn(outcome, 'previous_period'))}`
  const pair =
    day === null || dayBefore === null
      ? { now, before, beside: earlier, relative: numberIn(outcome, 'relative') }
      : { now: day, before: dayBefore, beside: `${withArticle(stepOf(outcome))} ${earlier}` }
  const others = rowsIn(outcome, 'against')
  const year = others.find(({ what }) => what === 'year_before')
  const target = numberIn(
    others.find(({ what }) => what === 'target'),
    'value',
  )
  const lastYear = numberIn(year, 'value')
  return {
    ...base(told, now),
    when: timeWords(textIn(outcome, 'current_period')),
    changes: [
      judged(changeWords(pair, measure), outcome),
      ...(lastYear === null
        ? []
        : [judged(changeWords({ now, before: lastYear, beside: 'from a year before' }, measure), outcome)]),
    ],
    target: target === null ? null : targetWords(now, target, measure),
    course: courseOf(
      rowsIn(outcome, 'course').map((row) => ({ at: textIn(row, 'period'), value: numberIn(row, 'value') })),
    ),
  }
}

function ofExperiment(told: Told): Tile | null {
  const results = rowsIn(told.outcome, 'results')
  const primary = results.filter((result) => result.primary === true)
  // The arm that the headline names comes first.
  const named = primary.find(({ arm }) => told.outcome.headline.includes(`"${String(arm)}"`))
  const main = named ?? primary[0] ?? results[0]
  const [value, before] = [numberIn(main, 'value'), numberIn(main, 'control_value')]
  if (value === null || before === null) return null
  const measure = told.measureOf(textIn(main, 'metric'))
  const arms = rowsIn(told.outcome, 'arms')
  const control = textIn(
    arms.find((arm) => arm.control === true),
    'name',
  )
  const change = changeWords({ now: value, before, beside: `from "${control}"` }, measure)
  return {
    ...base({ ...told, measure }, value),
    when: `with "${textIn(main, 'arm')}"`,
    changes: [judged(change, told.outcome)],
  }
}

/** Makes the tile of the first comparison, beside its control. */
function ofArms(told: Told): Tile | null {
  const { outcome, measure } = told
  const arm = textIn(rowsIn(outcome, 'comparisons')[0], 'arm')
  const control = textIn(outcome, 'control')
  const of = (name: string): number | null => {
    const row = rowsIn(outcome, 'arms').find((one) => one.name === name)
    return numberIn(row, 'mean') ?? numberIn(row, 'rate')
  }
  const [now, before] = [of(arm), of(control)]
  if (now === null || before === null) return null
  const shown = 'success' in told.options ? { ...measure, fmt: measure.fmt ?? 'pct1' } : measure
  const change = changeWords({ now, before, beside: `from "${control}"` }, shown)
  return {
    ...base({ ...told, measure: shown }, now),
    when: `with "${arm}"`,
    changes: [judged(change, told.outcome)],
  }
}

function ofDrivers(told: Told): Tile | null {
  const { outcome, measure } = told
  const [now, before] = [numberIn(outcome, 'after'), numberIn(outcome, 'before')]
  if (now === null || before === null) return null
  const [after, earlier] = [textIn(outcome, 'after_label'), textIn(outcome, 'before_label')]
  const beside = earlier === '' ? 'from before' : `from ${timeWords(earlier)}`
  const change = changeWords({ now, before, beside, relative: numberIn(outcome, 'relative') }, measure)
  return {
    ...base(told, now),
    when: after === '' ? null : timeWords(after),
    changes: [judged(change, told.outcome)],
  }
}

function ofForecast(told: Told): Tile | null {
  const { outcome, measure } = told
  const points = rowsIn(outcome, 'points')
  const [first] = points
  const value = numberIn(first, 'value')
  if (value === null) return null
  const { step } = outcome.diagnosis as { step?: string }
  const time = first!.time as string | number
  const [low, high] = [numberIn(first, 'low_95'), numberIn(first, 'high_95')]
  return {
    ...base(told, value),
    when: `expected for ${timeInWords(time, unitNamed(step ?? null))}`,
    // A range whose ends read alike says nothing beside the value.
    note: amount(low, measure) === amount(high, measure) ? null : `very likely ${both([low, high], measure)}`,
    course: courseOf([...pastOf(told), { at: String(time), value }]),
  }
}

/** Returns the values that a forecast was made from, in the order of time. */
function pastOf({ rows, options }: Told): { at: string; value: number | null }[] {
  const [time, value] = [options.time, options.value].map((name) =>
    (rows?.columns ?? []).findIndex((column) => column.name === name),
  )
  if (!rows || time === undefined || value === undefined || time < 0 || value < 0) return []
  return rows.rows
    .map((row) => ({ at: textOf(row[time]), value: typeof row[value] === 'number' ? row[value] : null }))
    .filter((point) => point.value !== null)
    .toSorted((a, b) => (a.at < b.at ? -1 : 1))
}
