/**
 * plan: tells how many units an experiment needs, and how many days at the traffic of the past.
 *
 * The past rows give the level and the spread of the measure over units (experiment/units.ts). The rows of one unit are
 * one observation. Ratios use the delta method, a covariate CUPED. The past also gives the new units of a day
 * (planning/traffic.ts). The sizes come from experiment/planner.ts, as those that `assay plan` prints. A few rows are
 * fetched.
 */
import type { Doubt } from '@assay/model/insight'
import { Type } from '@assay/model/schema'
import { verdict } from '../../verdicts/verdict.ts'
import { levelOf, thetaOf } from '../experiment/effects.ts'
import { effectFound, type Level, sizesOf, unitsPlanned } from '../experiment/planner.ts'
import { extremesOf, type MetricUnits, type Units, unitsOf } from '../experiment/units.ts'
import { columnOf, numberSql } from '../shared/columns.ts'
import { integer, number, object, rowsWith } from '../shared/fields.ts'
import { type Method, quote, type Relation } from '../shared/method.ts'
import { finite } from '../shared/sentence.ts'
import { checkPlan, EITHER, type PlanOptions as Options, PlanOptions } from './options.ts'
import { type Traffic, trafficOf } from './traffic.ts'
import {
  caveats,
  evidence,
  headline,
  LEAST,
  leftOutOf,
  measureOfPlan,
  type Seen,
  stopOf,
  type Told,
  type Within,
} from './words.ts'

const WEEKS = [1, 2, 4]

export const plan: Method = {
  name: 'plan',
  options: PlanOptions,
  either: EITHER,
  columns(options) {
    const { unit, time, value, success, numerator, denominator, covariate } = options as Options
    const numbers = Object.entries({ value, numerator, denominator, covariate })
    const others = Object.entries({ unit, time, success })
    const named = (list: [string, string | undefined][], numeric: boolean) =>
      list.flatMap(([option, column]) => (column === undefined ? [] : [{ option, column, numeric }]))
    return [...named(others, false), ...named(numbers, true)]
  },
  fields: {
    without: Type.Integer(),
    level: number,
    sd: number,
    rate: Type.Union([Type.Boolean(), Type.Null()]),
    effect: number,
    lift: number,
    groups: Type.Integer(),
    needed_n: integer,
    per_group: integer,
    sizes: Type.Array(integer),
    days: integer,
    weeks: integer,
    traffic: object({ units: integer, days: number, per_day: number, recent_per_day: number }),
    within: rowsWith({ weeks: integer, units: integer, effect: number, lift: number }),
  },
  async run(given, options, { meanings }) {
    const chosen = options as Options
    checkPlan(chosen)
    const { shares } = chosen
    const asked = shares ? { ...chosen, arms: shares.length - 1 } : chosen
    const table = countedAsNumber(given, asked)
    const units = await unitsOf(table, { ...asked, metrics: [metricOf(table, asked)] })
    const [metric] = units.metrics as [MetricUnits]
    const traffic = asked.time === undefined ? null : await trafficOf(table, units, asked.time)
    const seen = await seenOf(table, units, metric)
    const effect = effectOf(asked, seen?.value ?? null)
    const measure = measureOfPlan(meanings, asked, seen?.rate ?? false)
    const stop = stopOf({ asked, measure, seen, effect })
    const found = stop ? NOTHING : planned(asked, seen!, effect!, traffic)
    const groups = asked.arms + 1
    const told: Told = { asked, measure, units, n: seen?.n ?? 0, seen, effect, traffic, groups, ...found }
    const doubts = stop ? [stop, ...leftOutOf(told)] : await doubtsOf(table, told, metric)
    const few = doubts.some(({ code }) => code === 'too_few')
    return {
      ...verdict({
        headline: stop ? stop.says : headline(told),
        grade: stop || told.n < LEAST ? 'unclear' : few ? 'likely' : 'firm',
        evidence: evidence(told),
        doubts,
        mild: stop ? [] : ['too_few'],
      }),
      n: told.n,
      method: methodOf(asked, told),
      ...fieldsOf(told, stop),
    }
  },
}

/** Returns the relation with true and false as 1 and 0. */
function countedAsNumber(table: Relation, { success }: Options): Relation {
  if (success === undefined) return table
  const column = columnOf(table, 'success', success)
  if (column.type !== 'boolean') return table
  const name = quote(column.name)
  const columns = table.columns.map((one) =>
    one === column ? { ...one, type: 'number' as const, database_type: 'DOUBLE' } : one,
  )
  const relation = `(select * replace (cast(${name} as double) as ${name}) from ${table.relation})`
  return { ...table, columns, relation }
}

function metricOf(table: Relation, asked: Options) {
  const { success, value = success, aggregate, numerator, denominator, covariate, winsorise } = asked
  for (const [option, column] of Object.entries({ value, numerator, denominator, covariate }))
    if (column !== undefined) numberSql(table, option === 'value' && success ? 'success' : option, column)
  const measure = value === undefined ? { numerator: numerator!, denominator: denominator! } : { value }
  return {
    name: 'measure',
    ...measure,
    ...(aggregate && { aggregate }),
    ...(covariate && { covariate }),
    ...(winsorise && { winsorise }),
  }
}

async function seenOf(table: Relation, { source }: Units, metric: MetricUnits): Promise<Seen | null> {
  const [moments] = metric.moments.values()
  if (!moments) return null
  const { value, variance } = levelOf(moments, metric, thetaOf([moments], metric))
  const [y] = metric.columns
  const [others] = metric.ratio
    ? [{ n: 1 }]
    : await table.query(
        `select count(*) as n from ${source} where ${metric.known} and abs(${y}) > 1e-9 and abs(${y} - 1) > 1e-9`,
      )
  const rate = others!.n === 0
  const own = rate && !metric.covariate
  return { n: moments.n, value, variance: own ? value * (1 - value) : variance, rate }
}

function effectOf({ minimum_effect, lift, margin }: Options, value: number | null): number | null {
  if (lift === undefined) return minimum_effect ?? margin!
  return value === null || value <= 0 ? null : finite(lift * value)
}

const NOTHING = { needed: null, sizes: [] as number[], days: null, within: [] as Within[] }

function planned(asked: Options, seen: Seen, effect: number, traffic: Traffic | null) {
  const { power, arms, looks, tuned_for: tuned, shares } = asked
  // The formula for rates allows no covariate, and a margin assumes that both groups have the same rate.
  const plain = seen.rate && asked.margin === undefined && asked.covariate === undefined
  const level: Level = { base: plain ? seen.value : null, variance: seen.variance }
  const rules = { ...level, arms, shares, alpha: 1 - asked.confidence, power, looks, tuned }
  const each = sizesOf(unitsPlanned({ ...rules, effect }), rules)
  const needed = finite(each.reduce((sum, size) => sum + size, 0))
  const found = { needed, sizes: needed === null ? [] : each }
  if (traffic === null) return { ...NOTHING, ...found }
  const within = WEEKS.map((weeks): Within => {
    const units = Math.floor(traffic.per_day * 7 * weeks)
    const shown = finite(effectFound(units, rules) ?? Number.NaN)
    const lift = shown === null || seen.value <= 0 ? null : finite(shown / seen.value)
    return { weeks, units, effect: shown, lift }
  })
  return { ...found, days: needed === null ? null : finite(Math.ceil(needed / traffic.per_day)), within }
}

async function doubtsOf(table: Relation, told: Told, metric: MetricUnits): Promise<Doubt[]> {
  if (told.seen!.rate) return caveats(told, null)
  const theta = thetaOf([...metric.moments.values()], metric)
  const { kurtosis } = await extremesOf(table, told.units.source, metric, theta)
  return caveats(told, kurtosis)
}

function methodOf({ looks, margin, covariate }: Options, { seen, measure }: Told): string {
  const parts = [
    seen?.rate && margin === undefined && covariate === undefined
      ? 'sample size of two rates'
      : 'sample size of two means',
  ]
  if (measure.ratio) parts.push('delta method')
  if (covariate !== undefined) parts.push('CUPED')
  if (looks === 'sequential') parts.push('always-valid normal mixture')
  if (margin !== undefined) parts.push('not worse by a margin')
  return parts.join('; ')
}

function fieldsOf(
  { units, seen, effect, groups, needed, sizes, days, within, traffic }: Told,
  stop: Doubt | null,
) {
  const level = seen === null ? null : finite(seen.value)
  return {
    without: units.metrics[0]!.left,
    level,
    sd: seen === null ? null : finite(Math.sqrt(seen.variance)),
    rate: seen?.rate ?? null,
    effect: stop ? null : effect,
    lift: stop || effect === null || level === null || level <= 0 ? null : finite(effect / level),
    groups,
    needed_n: needed,
    per_group: sizes.length === 0 ? null : Math.min(...sizes),
    sizes,
    days,
    weeks: days === null ? null : Math.ceil(days / 7),
    traffic: {
      units: traffic?.units ?? null,
      days: traffic?.days ?? null,
      per_day: traffic?.per_day ?? null,
      recent_per_day: traffic?.recent?.per_day ?? null,
    },
    within,
  }
}
