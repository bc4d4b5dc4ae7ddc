/**
 * outliers: finds the values of a column that stand far apart, whatever their order.
 *
 * The rule is one of three: the modified z score 0.6745 (x - median) / MAD beyond 3.5 (Iglewicz and Hoaglin, How to
 * Detect and Handle Outliers, 1993), Tukey's fences 1.5 interquartile ranges beyond the quartiles (Exploratory Data
 * Analysis, 1977), or z scores beyond 3. DuckDB computes order statistics. The farthest `max` rows are fetched. A few
 * values are called strays only if the farthest lies beyond the chance of normal noise (a t test against the other
 * values, times their number). More values are called a tail. For values in time, `anomalies` allows for trend and
 * season.
 */
import { Type } from '@assay/model/schema'
import type { Static } from 'typebox'
import { studentTwoSided } from '../numeric/distributions.ts'
import { allAlike, leftOut, tooFew } from '../verdicts/common-doubts.ts'
import { measureOf, opening } from '../verdicts/measure.ts'
import { LIKELY, stopped, verdict } from '../verdicts/verdict.ts'
import { amount, partNamed, quoted } from '../verdicts/words.ts'
import { cellSql, columnOf, numberSql } from './shared/columns.ts'
import { cell, integer, number, rowsWith, text } from './shared/fields.ts'
import type { Method, Relation } from './shared/method.ts'
import { orderStatistics } from './shared/order-statistics.ts'
import { count, figure, finite } from './shared/sentence.ts'
import { readShape, type Shape } from './shared/shape.ts'
import { double } from './shared/sums.ts'

const Options = Type.Object(
  {
    value: Type.String({ description: 'A number column.' }),
    rule: Type.Enum(['auto', 'modified_z', 'iqr', 'z'], { default: 'auto' }),
    threshold: Type.Optional(
      Type.Number({ exclusiveMinimum: 0, description: 'Default 3.5 for modified_z, 1.5 for iqr, 3 for z.' }),
    ),
    label: Type.Optional(Type.String({ description: 'A column that names a row.' })),
    max: Type.Integer({
      default: 100,
      minimum: 1,
      maximum: 10_000,
      description: 'The rows that are listed.',
    }),
  },
  { additionalProperties: false },
)
type Options = Static<typeof Options>
type Rule = 'modified_z' | 'iqr' | 'z'

const LEAST = 5
/** The share of the values from which outliers are a tail and no longer strays. */
const TAIL = 0.02
const STRAYS = 0.1
const THRESHOLD: Record<Rule, number> = { modified_z: 3.5, iqr: 1.5, z: 3 }
const NAMES: Record<Rule, string> = {
  modified_z: 'modified z score',
  iqr: 'fences beyond the quartiles',
  z: 'z score',
}

/**
 * The limits, over `unit`. A value at `center` plus or minus `reach` is at the threshold. `low` and `high` are the
 * fences.
 */
interface Fences {
  rule: Rule
  low: number
  high: number
  /** The divisor of a score, which is a row's distance from `center`, or from the nearer quartile. */
  scale: number
  centers: [number, number]
  reason: string | null
}

export const outliers: Method = {
  name: 'outliers',
  options: Options,
  columns(options) {
    const { value, label } = options as Options
    return [
      { option: 'value', column: value, numeric: true },
      ...(label === undefined ? [] : [{ option: 'label', column: label, numeric: false }]),
    ]
  },
  news: { lists: ['points'], key: ['label', 'value'] },
  prints: () => true,
  fields: {
    rule: text,
    reason: text,
    found: integer,
    low_fence: number,
    high_fence: number,
    points: rowsWith({ row: integer, label: cell, value: number, score: number }),
  },
  async run(table, options, { meanings }) {
    const given = options as Options
    const shape = await readShape(table, given.value)
    const measure = measureOf(meanings, given.value)
    const stop =
      shape.n < LEAST
        ? tooFew(shape.n, measure.label, 'to tell which stand apart takes', LEAST)
        : shape.constant
          ? allAlike(measure.label)
          : null
    const left = leftOut(shape.left, 'without a number')
    if (stop) {
      const told = stopped(`${count(shape.n, 'value')}.`, stop, left)
      const nothing = { rule: null, reason: null, found: 0, low_fence: null, high_fence: null, points: [] }
      return { ...told, n: shape.n, method: 'outliers', ...nothing }
    }
    const fences = await fencesOf(table, given, shape)
    const { found, points, chance } = await beyond(table, given, shape, fences)
    const [low, high] = [finite(fences.low * shape.unit), finite(fences.high * shape.unit)]
    const reason = fences.reason
    const tail = found > 3 && found > TAIL * shape.n
    const perhaps = found > 0 && !tail && chance > LIKELY
    const told = verdict({
      headline: headline(),
      grade: perhaps ? 'unclear' : 'firm',
      evidence: `${opening(NAMES[fences.rule])} beyond ${given.threshold ?? THRESHOLD[fences.rule]}, that is below ${figure(low)} or above ${figure(high)}: ${figure(found)} of ${count(shape.n, 'value')}.${reason === null ? '' : ` ${reason}`}`,
      doubts: left,
    })
    return {
      ...told,
      n: shape.n,
      method: NAMES[fences.rule],
      rule: fences.rule,
      reason,
      found,
      low_fence: low,
      high_fence: high,
      points,
    }

    function headline(): string {
      const [first] = points
      if (!first) return `No value of ${measure.label} stands far apart from the others.`
      const which =
        first.label === null ? '' : ` (${rowNamed(measureOf(meanings, given.label!).label, first.label)})`
      const far = `${amount(first.value, measure)}${which}`
      if (perhaps)
        return `No value of ${measure.label} stands far apart for certain; the farthest, ${far}, may be chance.`
      if (tail) {
        const many = `${found.toLocaleString('en-US')} of ${count(shape.n, 'value')} of ${measure.label} lie far out`
        const what =
          found > STRAYS * shape.n ? 'too many to be strays' : 'a long tail rather than single strays'
        return `${many}, ${what}; the farthest is ${far}.`
      }
      return found === 1
        ? `One value of ${measure.label} stands far apart from the others: ${far}.`
        : `${count(found, 'value')} of ${measure.label} stand far apart from the others; the farthest is ${far}.`
    }
  },
}

async function fencesOf(table: Relation, given: Options, shape: Shape): Promise<Fences> {
  const kept = keptSql(table, given.value, shape.unit)
  const places = [0.25, 0.5, 0.75].map((share) => (shape.n - 1) * share)
  const wanted = places.flatMap((place) => [Math.floor(place) + 1, Math.ceil(place) + 1])
  const at = await orderStatistics(table, kept, shape.n, [...new Set(wanted)])
  const [q1, median, q3] = places.map((place) => {
    const [low, high] = [at.get(Math.floor(place) + 1)!, at.get(Math.ceil(place) + 1)!]
    return low + (high - low) * (place - Math.floor(place))
  }) as [number, number, number]
  const [spread] = await table.query(`select median(abs(v - ${double(median)})) as mad from ${kept}`)
  const mad = spread!.mad as number
  const asked = given.rule === 'auto' ? (mad > 0 ? 'modified_z' : q3 > q1 ? 'iqr' : 'z') : given.rule
  // If over half of the values are equal, the middle has no width as a measure.
  const rule = (asked === 'modified_z' && mad === 0) || (asked === 'iqr' && q3 === q1) ? 'z' : asked
  const threshold = given.threshold ?? THRESHOLD[rule]
  const reason =
    given.rule === 'auto'
      ? mad > 0
        ? 'It was chosen because a few extreme values do not move a median.'
        : 'It was chosen because over half of the values are the same.'
      : rule === asked
        ? null
        : `The rule ${asked} cannot be used, because too many values are the same.`
  if (rule === 'iqr') {
    const reach = threshold * (q3 - q1)
    return { rule, low: q1 - reach, high: q3 + reach, scale: q3 - q1, centers: [q1, q3], reason }
  }
  const center = rule === 'z' ? (shape.mean ?? 0) / shape.unit : median
  const scale = rule === 'z' ? (shape.sd ?? 0) / shape.unit : mad / 0.6745
  return {
    rule,
    low: center - threshold * scale,
    high: center + threshold * scale,
    scale,
    centers: [center, center],
    reason,
  }
}

function keptSql(table: Relation, value: string, unit: number): string {
  const number = numberSql(table, 'value', value)
  return `(select ${number} / ${double(unit)} as v from ${table.relation} where isfinite(${number}))`
}

async function beyond(table: Relation, given: Options, shape: Shape, fences: Fences) {
  const number = numberSql(table, 'value', given.value)
  const label = given.label === undefined ? 'null' : cellSql(columnOf(table, 'label', given.label))
  const rows = `(select row_number() over () as row, ${label} as label, ${number} as x, ${number} / ${double(shape.unit)} as v from ${table.relation})`
  const out = `isfinite(x) and (v < ${double(fences.low)} or v > ${double(fences.high)})`
  const distance = `greatest(${double(fences.centers[0])} - v, v - ${double(fences.centers[1])})`
  const [counted] = await table.query(`select count(*) filter (${out}) as found from ${rows}`)
  const listed = await table.query(
    `select row, label, x, v from ${rows} where ${out} order by ${distance} desc, row limit ${given.max}`,
  )
  const points = listed.map((row) => {
    const v = row.v as number
    const away = v < fences.centers[0] ? v - fences.centers[0] : v - fences.centers[1]
    return {
      row: row.row as number,
      label: row.label ?? null,
      value: row.x as number,
      score: finite(away / fences.scale),
    }
  })
  const found = counted!.found as number
  return {
    found,
    points,
    chance: points.length === 0 ? 1 : await chanceOf(table, rows, out, points[0]!.value / shape.unit),
  }
}

/** Returns the chance, at most 1, that the farthest of as many normal values lies as far from the others as `far`. */
async function chanceOf(table: Relation, rows: string, out: string, far: number): Promise<number> {
  const [rest] = await table.query(
    `select count(*) as n, avg(v) as mean, stddev_samp(v) as sd from ${rows} where isfinite(x) and not (${out})`,
  )
  const { n, mean, sd } = rest as { n: number; mean: number; sd: number | null }
  if (n < 3 || sd === null) return 1
  if (sd === 0) return 0
  const away = Math.abs(far - mean) / (sd * Math.sqrt(1 + 1 / n))
  return Math.min(1, (n + 1) * studentTwoSided(away, n - 1))
}

/** Returns `customer "49"`, or `"customer 49"` if the value itself contains the label. */
const rowNamed = (label: string, value: unknown): string =>
  String(value).toLowerCase().includes(label.toLowerCase()) ? quoted(value) : partNamed(label, value)
