/**
 * experiment: a test with randomised units and several metrics.
 *
 * The rows of one unit are one observation. Units are compared by Welch's t test, ratios by the delta method. A
 * covariate from before the start is used by CUPED, and the interval of the relative lift is Fieller's
 * (experiment/effects.ts). `looks: sequential` gives intervals that hold at every look (experiment/sequential.ts).
 * P-values are corrected by Holm over the primary metrics and arms, and by the false discovery rate of Benjamini and
 * Hochberg over the others. The intervals agree with both. A split that differs from the planned shares (chi-square, p
 * below 0.001) and a unit in two arms withhold every result. One row for each arm and metric is fetched, of at most 50
 * arms.
 */
import type { Doubt, Grade } from '@assay/model/insight'
import { Type } from '@assay/model/schema'
import { leftOut } from '../verdicts/common-doubts.ts'
import type { Meanings } from '../verdicts/measure.ts'
import { nounsOf, withArticle } from '../verdicts/nouns.ts'
import { type Doubting, doubt, verdict } from '../verdicts/verdict.ts'
import { quoted } from '../verdicts/words.ts'
import { decisive } from './ab-test/influence.ts'
import type { ObservedArm } from './ab-test/observations.ts'
import { reachOf } from './experiment/effects.ts'
import {
  checkMetrics,
  ExperimentOptions,
  metricColumns,
  type ExperimentOptions as Options,
} from './experiment/options.ts'
import { POWER, powerOf, unitsNeeded } from './experiment/planner.ts'
import { type Judged, judge, type Result } from './experiment/results.ts'
import { extremesOf, type Units, unitsOf } from './experiment/units.ts'
import {
  caveatsOfAll,
  decides,
  decidesLoss,
  evidence,
  gradeOfAll,
  headline,
  meaningOf,
  measureOfMetric,
  type Power,
  raisedBy,
  type Told,
} from './experiment/words.ts'
import { integer, number, object, pAdjusted, rowsWith, text } from './shared/fields.ts'
import { type Method, MethodError, type Relation } from './shared/method.ts'
import { factorOf } from './shared/multiplicity.ts'
import { count, enumeration, finite } from './shared/sentence.ts'
import { splitDoubt, splitOf } from './shared/split.ts'

const SHARES = Type.Record(Type.String(), Type.Number())

export const experiment: Method = {
  name: 'experiment',
  options: ExperimentOptions,
  columns(options) {
    const { unit, arm, time, metrics } = options as Options
    return [
      { option: 'unit', column: unit, numeric: false },
      { option: 'arm', column: arm, numeric: false },
      ...(time === undefined ? [] : [{ option: 'time', column: time, numeric: false }]),
      ...metricColumns(metrics).map((column) => ({ option: 'metrics', column, numeric: true })),
    ]
  },
  prints: () => true,
  fields: {
    split: object({ planned: SHARES, seen: SHARES, p: number }),
    arms: rowsWith({ name: text, n: integer, share: number, control: Type.Boolean() }),
    results: rowsWith({
      metric: text,
      arm: text,
      primary: Type.Boolean(),
      control_value: number,
      value: number,
      estimate: number,
      relative: number,
      relative_low: number,
      relative_high: number,
      low: number,
      high: number,
      margin: number,
      not_worse: Type.Union([Type.Boolean(), Type.Null()]),
      p: number,
      q: number,
      grade: text,
    }),
    power: object({ now: number, needed_n: integer, days_left: integer }),
    p_adjusted: pAdjusted,
  },
  async run(table, options, context) {
    const given = withGood(options as Options, context.meanings)
    checkMetrics(given.metrics)
    const { planned } = given
    if (planned === 'none')
      throw new MethodError(
        'planned: experiment reads units that were drawn by chance. For groups that nobody drew write `method: ab_test` with `planned: none`.',
      )
    if (given.tuned_for !== undefined && given.looks === 'fixed')
      throw new MethodError('tuned_for belongs to `looks: sequential`: write that, or leave tuned_for out.')
    const units = await unitsOf(table, given)
    const names = Object.keys(units.seen)
    const control = controlOf(names, given.control)
    const split = splitOf(units.seen, planned)
    const judged = control === null ? [] : judge(units.metrics, control, given)
    const power = powerOfAll(judged, units, given)
    const told: Told = {
      ...given,
      meanings: context.meanings,
      control: control ?? '',
      judged,
      power,
      sequential: given.looks === 'sequential',
    }
    const stops = [...splitDoubt(split, nounsOf(given.unit)), ...stopsOf(given, units, control, judged)]
    const tested = judged.some(({ effect, primary }) => effect !== null && primary)
    const n = Object.values(units.seen).reduce((sum, size) => sum + size, 0)
    const resultsBy = (grade: Grade, factor: number): Result[] => {
      const results = (factor === 1 ? judged : judge(units.metrics, told.control, given, factor)).map(
        ({ result }) => result,
      )
      return grade === 'withheld' ? results.map(withheld) : results
    }
    const outcome = verdict({
      headline: tested ? (grade, factor) => headline(raisedBy(told, factor), grade) : '',
      grade: gradeOfAll(judged),
      evidence: judged.length > 0 ? evidence(told) : `${count(n, 'unit')}.`,
      doubts: [
        ...stops,
        ...(tested ? await influence(table, units, told) : []),
        ...caveatsOfAll(told),
        ...rowsOf(given, units, n),
      ],
      mild: mildOf(units, tested),
      corrected: (grade, factor) => ({ results: resultsBy(grade, factor) }),
    })
    return {
      ...outcome,
      n,
      method: methodOf(given),
      split,
      arms: names.map((name) => ({
        name,
        n: units.seen[name]!,
        share: units.seen[name]! / n,
        control: name === control,
      })),
      results: resultsBy(outcome.grade, 1),
      power,
    }
  },
}

/** Removes the numbers of a withheld result, which stand in the evidence only. */
function withheld(result: Result): Result {
  const { metric, arm, primary } = result
  const values = { control_value: null, value: null, estimate: null, low: null, high: null }
  const lift = { relative: null, relative_low: null, relative_high: null }
  const loss = { margin: null, not_worse: null }
  return { metric, arm, primary, ...values, ...lift, ...loss, p: null, q: null, grade: 'withheld' }
}

/**
 * Adds the good direction to metrics with a margin. It comes from the metric, or from what the template says of its
 * column.
 */
function withGood(options: Options, meanings: Meanings): Options {
  const metrics = options.metrics.map((metric) => {
    if (metric.margin === undefined) return metric
    const { good } = meaningOf(meanings, metric)
    if (good === 'none')
      throw new MethodError(
        `metrics: "${metric.name}" has a margin, so it must be known which way is worse: add \`good: up\` or \`good: down\`.`,
      )
    return { ...metric, good }
  })
  return { ...options, metrics }
}

function methodOf({ looks, metrics }: Options): string {
  const parts = [looks === 'fixed' ? "Welch's t test of units" : 'always-valid normal mixture of units']
  if (metrics.some(({ numerator }) => numerator !== undefined)) parts.push('delta method')
  if (metrics.some(({ covariate }) => covariate !== undefined)) parts.push('CUPED')
  if (metrics.some(({ margin }) => margin !== undefined)) parts.push('not worse by a margin')
  return parts.join('; ')
}

function controlOf(names: readonly string[], wanted: string | undefined): string | null {
  if (wanted !== undefined) return names.includes(wanted) ? wanted : null
  return names.find((name) => name.toLowerCase() === 'control') ?? names[0] ?? null
}

function stopsOf(given: Options, units: Units, control: string | null, judged: readonly Judged[]): Doubt[] {
  const names = Object.keys(units.seen)
  const { one, many } = nounsOf(given.unit)
  const stops: Doubt[] = []
  if (units.across > 0)
    stops.push(
      doubt(
        'unit_repeated',
        `${count(units.across, one, many)} ${units.across === 1 ? 'stands' : 'stand'} in more than one arm, so nobody can say which version they saw. Mend the assignment before reading any result.`,
      ),
    )
  if (names.length < 2)
    stops.push(
      doubt(
        'too_few',
        `There ${names.length === 1 ? 'is one arm' : 'is no arm'} in the data; an experiment needs two.`,
      ),
    )
  else if (control === null)
    stops.push(
      doubt(
        'too_few',
        `There are no rows of ${quoted(given.control)}, with which the other arms are to be compared; the data have ${enumeration(names.slice(0, 5).map(quoted))}.`,
      ),
    )
  else if (!judged.some(({ primary, effect }) => primary && effect)) stops.push(whyUntested(judged, many))
  return stops
}

/** Returns the doubt that says why no primary metric can be compared. */
function whyUntested(judged: readonly Judged[], many: string): Doubt {
  const primary = judged.filter((one) => one.primary)
  const without = primary.flatMap(({ units: { ratio, moments } }) =>
    [...moments].filter(([, { means }]) => ratio && means[1] === 0).map(([arm]) => arm),
  )
  if (without.length > 0) {
    const all = primary.every(({ units: { moments } }) =>
      [...moments.keys()].every((arm) => without.includes(arm)),
    )
    const where = all ? '' : ` in ${enumeration([...new Set(without)].map(quoted))}`
    return doubt(
      'too_few',
      `The main metric has nothing in its denominator${where}, so it has no value${all ? '' : ' there'}.`,
    )
  }
  if (primary.some(({ units }) => units.beyond))
    return doubt(
      'too_few',
      'The main metric has no values whose squares are numbers, since they lie beyond 1e150 or below 1e-150. Multiply them by a power of ten in the SQL block.',
    )
  if (primary.some(({ control, arm }) => control.n > 1 && arm.n > 1))
    return doubt('constant', `The main metric is the same for all ${many}: there is nothing to compare.`)
  return doubt('too_few', `The main metric has values of fewer than two ${many} in an arm.`)
}

function mildOf(units: Units, tested: boolean) {
  return [
    ...(units.across === 0 ? (['unit_repeated'] as const) : []),
    ...(tested ? (['constant'] as const) : []),
  ]
}

function rowsOf({ unit }: Options, units: Units, n: number): Doubt[] {
  const { one, many } = nounsOf(unit)
  const found = leftOut(units.left, `without ${withArticle(one)} or an arm`)
  if (units.rows > n && units.across === 0)
    found.push(
      doubt(
        'unit_repeated',
        `${count(units.rows, 'row')} belong to ${count(n, one, many)}. The test counts each ${one} once.`,
      ),
    )
  return found
}

/**
 * Returns the power for the first primary metric that names a difference that matters or a margin. With a margin it is
 * the chance to exclude that loss if there is none. All fields are null if no primary metric names one.
 */
function powerOfAll(judged: readonly Judged[], units: Units, given: Options): Power {
  const primary = judged.filter((one) => one.primary && one.effect)
  const leastOf = ({ units: { metric } }: Judged): number | undefined =>
    metric.margin ?? metric.minimum_effect
  const one = primary.find((each) => leastOf(each) !== undefined)
  if (!one || one.effect!.error === 0) return { now: null, needed_n: null, days_left: null }
  const least = leastOf(one)!
  const n = one.control.n + one.arm.n
  const level = (1 - given.confidence) / primary.length
  const reach = reachOf(one.effect!, n, level, given.looks, given.tuned_for)
  const groups = Object.keys(units.seen).length
  const variance = (one.control.variance + one.arm.variance) / 2
  const { looks, tuned_for: tuned } = given
  const plan = { effect: least, variance, arms: groups - 1, power: POWER, looks, tuned }
  const needed = Math.ceil(unitsNeeded({ ...plan, alpha: level * (groups - 1) }))
  const seen = Object.values(units.seen).reduce((sum, size) => sum + size, 0)
  const daily = units.days === null ? null : seen / units.days
  return {
    now: powerOf(least, one.effect!.error, reach),
    needed_n: finite(needed),
    days_left: daily === null ? null : Math.max(0, Math.ceil((needed - seen) / daily)),
  }
}

/** Returns the doubts for each primary metric that one unit decides, or that a few units weigh most. */
async function influence(table: Relation, units: Units, told: Told): Promise<Doubting[]> {
  const found: Doubting[] = []
  const nouns = nounsOf(told.unit)
  const seen = new Set<string>()
  const tests = told.sequential ? 1 : told.judged.filter(({ primary, effect }) => primary && effect).length
  for (const one of told.judged) {
    const { metric, arm } = one.result
    if (!one.primary || !one.effect || seen.has(metric)) continue
    seen.add(metric)
    const { once, estimate, boundary } = one.effect
    const { ends, kurtosis } = await extremesOf(table, units.source, one.units, one.theta)
    const observed = (name: string, level: Judged['arm']): ObservedArm => {
      const [min = level.adjusted, max = level.adjusted] = ends.get(name) ?? []
      const shift = name === arm ? boundary : 0
      const plain = { successes: null, rate: null, min: min - shift, max: max - shift }
      return { name, n: level.n, mean: level.adjusted - shift, sd: Math.sqrt(level.variance), ...plain }
    }
    const measure = measureOfMetric(told.meanings, one)
    const nothing = { low: null, high: null, statistic: null, df: null, detectable: null, test: '' }
    const adjusted = told.sequential ? once : one.result.q
    const flags = one.units.reach === 'share' && !one.units.ratio
    const sides = [observed(told.control, one.control), observed(arm, one.arm)] as const
    found.push((factor) => {
      const p_adjusted = adjusted === null ? null : Math.min(1, adjusted * factor)
      const compared = { ...nothing, arm, estimate: estimate - boundary, p: once, p_adjusted }
      const raised = p_adjusted === null ? 1 : factorOf(once, p_adjusted, tests * factor)
      const unit = decisive(...sides, compared, 'welch', told.confidence, raised)
      const shifted = unit?.arm === arm ? { ...unit, value: unit.value + boundary } : unit
      const says = shifted && (boundary === 0 ? decides : decidesLoss)({ measure, nouns, flags }, shifted)
      return says ? [doubt('one_row_decides', says)] : []
    })
    if (!flags && kurtosis !== null && kurtosis > 3)
      found.push(
        doubt(
          'tails_heavy',
          `A few ${nouns.many} weigh most in ${measure.label}; winsorise: 0.99 caps them.`,
        ),
      )
  }
  return found
}
