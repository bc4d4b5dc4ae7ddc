/** Finds the differences between two insights of one template: figures, findings, variables. Pure. */
import type { Grade, Outcome } from '@assay/model/insight'
import type { Insight } from '../insights.ts'
import { GRADE_WORDS } from '../names.ts'
import { textOf } from '../values.ts'
import { changeInWords } from './change.ts'

interface FigureDifference {
  key: string
  label: string
  /** The figure of this run; null if it has none. */
  now: string | null
  before: string | null
  /** The change: "up 3.7 points", "the same", "new", "gone". */
  change: string
}

export interface FindingDifference {
  key: string
  now: string | null
  before: string | null
  /** The change; null if the finding is as sure as before and of the same direction. */
  change: string | null
}

interface VariableDifference {
  name: string
  now: string
  before: string
}

/** Returns the keys of both, with those of the first in their order. */
const keysOf = (now: ReadonlyMap<string, unknown>, before: ReadonlyMap<string, unknown>): string[] => [
  ...new Set([...now.keys(), ...before.keys()]),
]

interface Figure {
  label: string
  text: string
  value: number | null
}

const numberOf = (value: unknown): number | null =>
  typeof value === 'number' && Number.isFinite(value) ? value : null

/** Returns the tiles by their subject, then the facts that no tile shows. A repeated name gets a number. */
function figuresOf({ reading, facts }: Insight): Map<string, Figure> {
  const figures = new Map<string, Figure>()
  const add = (name: string, figure: Figure): void => {
    let key = name
    for (let nth = 2; figures.has(key); nth += 1) key = `${name} ${nth}`
    figures.set(key, figure)
  }
  const tiles = reading?.tiles ?? []
  for (const { of, label, text, value } of tiles) add(of, { label, text, value })
  const shown = new Set(tiles.map(({ of }) => of.slice(of.lastIndexOf('.') + 1)))
  for (const { name, text, value } of facts)
    if (!shown.has(name)) add(name, { label: name.replaceAll('_', ' '), text, value: numberOf(value) })
  return figures
}

function moved(now: Figure, before: Figure): string {
  if (now.text === before.text) return 'the same'
  if (now.value === null || before.value === null) return 'changed'
  return changeInWords(now.text, now.value, before.value)
}

export function figureDifferences(insight: Insight, earlier: Insight): FigureDifference[] {
  const [now, before] = [figuresOf(insight), figuresOf(earlier)]
  return keysOf(now, before).map((key) => {
    const [own, other] = [now.get(key), before.get(key)]
    return {
      key,
      label: (own ?? other)!.label,
      now: own?.text ?? null,
      before: other?.text ?? null,
      change: own && other ? moved(own, other) : own ? 'new' : 'gone',
    }
  })
}

type Grouped = Outcome & { by?: unknown; groups?: unknown }

const findingKey = (block: string, by: string | null): string => (by === null ? block : `${block}, ${by}`)

/** Returns every outcome by its block, and by its group if there are groups. */
function outcomesOf({ analyses }: Insight): Map<string, Outcome> {
  const found = new Map<string, Outcome>()
  for (const [block, outcome] of Object.entries(analyses)) {
    const { groups } = outcome as Grouped
    if (typeof outcome.headline === 'string') found.set(block, outcome)
    for (const group of Array.isArray(groups) ? (groups as Grouped[]) : [])
      if (typeof group.headline === 'string' && group.by !== undefined)
        found.set(findingKey(block, textOf(group.by)), group)
  }
  return found
}

/** Returns the outcomes whose sentences the text prints, or all of them if the insight does not record that. */
function printedIn({ reading }: Insight, outcomes: ReadonlyMap<string, Outcome>): string[] {
  return reading ? reading.proofs.map(({ block, by }) => findingKey(block, by)) : [...outcomes.keys()]
}

const SUREST: readonly Grade[] = ['firm', 'likely', 'unclear', 'withheld']

type Direction = 'up' | 'down'

/** Returns the direction of an outcome; null if it is not sure enough for one. */
function directionOf(outcome: Outcome): Direction | null {
  if (outcome.grade !== 'firm' && outcome.grade !== 'likely') return null
  if (outcome.direction === 'increasing') return 'up'
  if (outcome.direction === 'decreasing') return 'down'
  const change = [outcome.relative, outcome.change, outcome.difference]
    .map(numberOf)
    .find((one) => one !== null)
  return change ? (change > 0 ? 'up' : 'down') : null
}

const sure = (grade: Grade): string => GRADE_WORDS[grade].toLowerCase()

function became(now: Outcome, before: Outcome): string | null {
  const [own, other] = [directionOf(now), directionOf(before)]
  if (own && other && own !== other) return `Turned: ${own} now, ${other} before.`
  const surer = SUREST.indexOf(before.grade) - SUREST.indexOf(now.grade)
  if (surer === 0) return null
  return `${surer > 0 ? 'Surer' : 'Less sure'}: ${sure(now.grade)} now, ${sure(before.grade)} before.`
}

/**
 * Returns the differences of the findings that either text prints. A finding that only one of them prints is still
 * matched if both runs computed it.
 */
export function findingDifferences(insight: Insight, earlier: Insight): FindingDifference[] {
  const [now, before] = [outcomesOf(insight), outcomesOf(earlier)]
  const printed = new Set([...printedIn(insight, now), ...printedIn(earlier, before)])
  return [...printed].flatMap((key) => {
    const [own, other] = [now.get(key), before.get(key)]
    if (!own && !other) return []
    const change = own && other ? became(own, other) : own ? 'New.' : 'Gone.'
    return [{ key, now: own?.headline ?? null, before: other?.headline ?? null, change }]
  })
}

interface Period {
  start: string
  end: string
  label: string
}

function isPeriod(value: unknown): value is Period {
  const { start, end, label } = (value ?? {}) as Partial<Period>
  return [start, end, label].every((part) => typeof part === 'string')
}

const daysOf = ({ start, end }: Period): number =>
  Math.round((Date.parse(end) - Date.parse(start)) / 86_400_000)

/** Returns the differences of variables other than periods, and of the version of the template. */
export function variableDifferences(insight: Insight, earlier: Insight): VariableDifference[] {
  const valuesOf = ({ lineage }: Insight) =>
    new Map<string, unknown>([
      ...Object.entries(lineage.variables),
      ['version of the template', lineage.template_version],
    ])
  const [now, before] = [valuesOf(insight), valuesOf(earlier)]
  return keysOf(now, before)
    .filter((name) => !isPeriod(now.get(name)) && !isPeriod(before.get(name)))
    .map((name) => ({
      name,
      now: textOf(now.get(name)) || 'not given',
      before: textOf(before.get(name)) || 'not given',
    }))
    .filter((one) => one.now !== one.before)
}

/**
 * Returns a note if totals of the two periods cannot be compared. Returns null if they are about as long, or there are
 * no periods.
 */
export function unequalPeriods(insight: Insight, earlier: Insight): string | null {
  for (const [name, own] of Object.entries(insight.lineage.variables)) {
    const other = earlier.lineage.variables[name]
    if (!isPeriod(own) || !isPeriod(other)) continue
    const [now, before] = [daysOf(own), daysOf(other)]
    // Months have 28 to 31 days, so such lengths are alike.
    if (Math.abs(now - before) > 3 || (now !== before && Math.min(now, before) < 28))
      return `This run covers ${now} ${now === 1 ? 'day' : 'days'}, the other ${before}: their totals cannot be compared.`
  }
  return null
}
