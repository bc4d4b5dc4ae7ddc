/** assay plan: computes how many units an experiment needs, and how many days at the present traffic. */
import type { Call, Command } from '../../command.ts'
import { EXIT, UsageError } from '../../exit.ts'
import { numberOption, text } from '../../options.ts'
import { out, say } from '../../print.ts'
import type { Rules as Asked, Seen } from './plan-from.ts'

function numberOf(call: Call, name: string): number | null {
  const given = call.text(name)
  if (given === undefined) return null
  const percent = given.endsWith('%')
  const value = Number(percent ? given.slice(0, -1) : given) / (percent ? 100 : 1)
  if (!Number.isFinite(value))
    throw new UsageError(`--${name} takes a number, such as 0.12 or 12%; "${given}" is not a number.`)
  return value
}

function between(name: string, value: number, low: number, high: number): number {
  if (value > low && value < high) return value
  throw new UsageError(
    `--${name} must lie between ${low} and ${high}; it is ${Number(value.toPrecision(6))}.`,
  )
}

interface Rules {
  arms: number
  alpha: number
  power: number
  looks: 'fixed' | 'sequential'
  tuned: number | undefined
  /** The share of each group, the control first; undefined for equal shares. */
  shares: number[] | undefined
}

/** Parses "80%,20%": the share of each group, the control first. */
function sharesOf(call: Call): number[] | undefined {
  const given = call.text('shares')
  if (given === undefined) return undefined
  if (call.text('arms') !== undefined)
    throw new UsageError('--shares says how many arms there are: leave out --arms.')
  const shares = given.split(',').map((part) => {
    const value = Number(part.replace('%', '')) / (part.includes('%') ? 100 : 1)
    return part.trim() === '' ? Number.NaN : value
  })
  const sum = shares.reduce((all, share) => all + share, 0)
  if (
    shares.length < 2 ||
    shares.length > 50 ||
    !shares.every((share) => share > 0) ||
    Math.abs(sum - 1) > 1e-6
  )
    throw new UsageError(
      `--shares takes the share of each group, the control first, and they add up to 1, such as 80%,20%; not "${given}".`,
    )
  return shares
}

function rulesOf(call: Call): Rules {
  const looks = call.text('looks') ?? 'fixed'
  if (looks !== 'fixed' && looks !== 'sequential')
    throw new UsageError(`--looks is fixed or sequential; "${looks}" is neither.`)
  const shares = sharesOf(call)
  const arms = shares ? shares.length - 1 : (numberOf(call, 'arms') ?? 1)
  if (!Number.isInteger(arms) || arms < 1 || arms > 49)
    throw new UsageError('--arms is the number of arms beside the control, 1 to 49.')
  const alpha = 1 - between('confidence', numberOf(call, 'confidence') ?? 0.95, 0.5, 1)
  const power = between('power', numberOf(call, 'power') ?? 0.8, 0, 1)
  const tuned = numberOption(call, 'tuned-for', 10, 1_000_000_000)
  if (tuned !== undefined && looks === 'fixed')
    throw new UsageError('--tuned-for belongs to --looks sequential: add that, or leave it out.')
  return { arms, alpha, power, looks, tuned, shares }
}

/** The smallest difference that matters: in the measure's own unit, or as a share of the control's value. */
interface Difference {
  effect: number | null
  lift: number | null
  /** The loss that the test must exclude if there is none; null for a difference. */
  margin: number | null
}

function differenceOf(call: Call): Difference {
  const found = {
    effect: numberOf(call, 'effect'),
    lift: numberOf(call, 'lift'),
    margin: numberOf(call, 'margin'),
  }
  const asked = Object.values(found).filter((value) => value !== null)
  if (asked.length !== 1 || asked[0] === 0)
    throw new UsageError(
      'assay plan needs the smallest difference that matters: either --effect 0.01, in the unit of the measure, or --lift 5%, of the value in the control; or --margin 0.01, the loss that must be excluded.',
    )
  if (found.margin !== null && found.margin < 0)
    throw new UsageError('--margin is the size of the loss that must be excluded, above 0.')
  return found
}

/** The level of the control. `value` is null if only the spread is given. */
interface Level {
  rate: boolean
  value: number | null
  sd: number | null
  perDay: number | null
}

/** The options that say how `--from` is read. */
const READING = ['unit', 'value', 'time', 'aggregate', 'covariate', 'winsorise', 'source'] as const

function givenLevel(call: Call): Level {
  const [rate, sd] = [numberOf(call, 'rate'), numberOf(call, 'sd')] as const
  const reading = READING.find((name) => call.text(name) !== undefined)
  if (reading !== undefined)
    throw new UsageError(`--${reading} says how a table is read: name the table, --from FILE.`)
  if ((rate === null) === (sd === null))
    throw new UsageError(
      'assay plan needs either --rate, the share in the control, or --sd, the spread of a measure, or --from, a table or a metric to read them from.',
    )
  if (rate !== null) between('rate', rate, 0, 1)
  else if (sd! <= 0) throw new UsageError('--sd must be above 0.')
  return { rate: rate !== null, value: rate, sd, perDay: null }
}

/** Returns the difference and the rules as options of the method `plan`. */
function optionsOf(
  { arms, alpha, power, looks, tuned, shares }: Rules,
  { effect, lift, margin }: Difference,
): Asked {
  return {
    ...(effect !== null && { minimum_effect: effect }),
    ...(lift !== null && { lift }),
    ...(margin !== null && { margin }),
    ...(tuned !== undefined && { tuned_for: tuned }),
    ...(shares && { shares }),
    arms,
    confidence: 1 - alpha,
    power,
    looks,
  }
}

async function levelOf(call: Call, asked: Asked): Promise<Level> {
  const given = numberOf(call, 'per-day')
  if (given !== null && given <= 0) throw new UsageError('--per-day must be above 0.')
  if (call.text('from') === undefined) return { ...givenLevel(call), perDay: given }
  const twice = ['rate', 'sd'].find((name) => call.text(name) !== undefined)
  if (twice !== undefined)
    throw new UsageError(`--from reads the level and the spread: leave out --${twice}.`)
  const { seenFrom } = await import('./plan-from.ts')
  const seen = await seenFrom(call, asked)
  const daily = seen.days === null ? null : seen.units / seen.days
  tell(seen, daily)
  if (daily === null && given === null)
    say('Days are not known: name the column of the day with --time, or give --per-day.')
  // With --per-day the days are not those of the table, so its caveats are left out.
  if (given === null) for (const caveat of seen.caveats) say(caveat)
  // The formula for rates knows no covariate, so a rate with one counts as a mean.
  const rate = seen.rate && call.text('covariate') === undefined
  return { rate, value: seen.value, sd: seen.sd, perDay: given ?? daily }
}

const figure = (value: number): string => value.toLocaleString('en-US', { maximumSignificantDigits: 4 })
const whole = (value: number): string => Math.round(value).toLocaleString('en-US')

/** Prints a line such as "orders.csv: converted is 12.3 % over 41,188 units (user), in 20 days 2,059 a day." */
function tell(seen: Seen, daily: number | null): void {
  const { from, measure, unit, units, value, sd, rate, days, left, covariate } = seen
  const beside = covariate === undefined ? '' : ` after ${covariate} has taken its part`
  const level =
    rate && covariate === undefined
      ? `${figure(100 * value)} %`
      : `${figure(value)} with a standard deviation of ${figure(sd)}${beside}`
  const traffic =
    daily === null ? '' : `, ${figure(daily)} a day in ${whole(days!)} ${days === 1 ? 'day' : 'days'}`
  const without = left === 0 ? '' : `; ${whole(left)} without a value are left out`
  out(`${from}: ${measure} is ${level} over ${whole(units)} units (${unit})${traffic}${without}.\n`)
}

function effectOf({ effect, lift, margin }: Difference, level: Level): number {
  if (margin !== null) return margin
  if (lift !== null && (level.value === null || level.value <= 0))
    throw new UsageError(
      '--lift is a share of the value in the control, which is not known or not above 0: give --effect in its place.',
    )
  const found = effect ?? lift! * level.value!
  if (level.rate) between('rate plus --effect', level.value! + found, 0, 1)
  return found
}

export const PLAN: Command = {
  name: 'plan',
  operands: '',
  summary: 'Compute the units and days that an experiment needs',
  details:
    'Groups of equal size, or of --shares, each compared with the control. Rates as power.prop.test of R, means by the normal approximation.\n' +
    'Under --looks sequential the result may be looked at as often as wanted. Numbers may be percentages. With --from the level,\n' +
    'the spread and the units of a day are those of the table or the metric; rows of one unit are one observation.\n\n' +
    'assay plan --rate 12% --effect 1% --per-day 4000\nassay plan --sd 25 --effect 2 --arms 2 --looks sequential\n' +
    'assay plan --rate 12% --margin 0.5%\n' +
    'assay plan --from visits.csv --unit user --value bought --time day --lift 5%\n' +
    'assay plan --from visits.csv --unit user --value spent --covariate spent_before --winsorise 99% --lift 5%\n' +
    'assay plan --from metric:revenue --unit user --lift 5% --shares 80%,20%',
  options: {
    rate: text('SHARE', 'The share that succeeds in the control'),
    sd: text('NUMBER', 'The standard deviation of the measure over units'),
    from: text(
      'FILE|metric:NAME',
      'Read the level, the spread and the units of a day from a table or a metric',
    ),
    unit: text('COLUMN', 'With --from: who is drawn, such as a user'),
    value: text('COLUMN', 'With --from FILE: the measure, a number or true and false'),
    time: text('COLUMN', 'With --from FILE: the day of a row'),
    aggregate: text('KIND', "With --from FILE: a unit's value is the mean (default) or the sum of its rows"),
    covariate: text(
      'COLUMN',
      'With --from FILE: the same measure before; the experiment will take its noise away (CUPED)',
    ),
    winsorise: text('SHARE', 'With --from: units above this quantile count with its value, such as 99%'),
    source: text('KEYS', 'With --from FILE: how the table is read, such as "dates: dmy"'),
    effect: text('NUMBER', 'The smallest difference that matters; below 0 for a fall'),
    margin: text(
      'NUMBER',
      'In its place, the loss that must be excluded (not worse by more), if nothing changes',
    ),
    lift: text('SHARE', 'The same as a share of the value in the control, such as 5%'),
    arms: text('N', 'Arms beside the control (1)'),
    shares: text('SHARES', 'The share of each group, the control first, such as 80%,20% (equal ones)'),
    confidence: text('SHARE', 'Confidence of the result (0.95)'),
    power: text('SHARE', 'The chance to find the effect if it is there (0.8)'),
    looks: text('KIND', 'fixed (one look at the end) or sequential'),
    'tuned-for': text(
      'N',
      'With --looks sequential: units of an arm and the control at which the interval is narrowest (5000)',
    ),
    'per-day': text('N', 'Units that enter each day'),
  },
  async run(call) {
    const rules = rulesOf(call)
    const difference = differenceOf(call)
    const level = await levelOf(call, optionsOf(rules, difference))
    const plan = { ...rules, effect: effectOf(difference, level) }
    const { sizesOf, unitsPlanned } = await import('@assay/engine/methods/experiment/planner')
    const variance = level.rate ? level.value! * (1 - level.value!) : level.sd! ** 2
    const base = level.rate && difference.margin === null ? level.value : null
    const needed = unitsPlanned({ ...plan, base, variance })
    const sizes = sizesOf(needed, rules)
    const all = sizes.reduce((sum, size) => sum + size, 0)
    const [control, ...arms] = sizes.map(whole)
    const each = rules.shares
      ? `${control} units in the control and ${arms.join(', ')} in the ${arms.length === 1 ? 'arm' : 'arms'}`
      : `${control} units in each of ${sizes.length} groups`
    out(`${each}, ${whole(all)} in all.\n`)
    if (level.perDay !== null) {
      const days = Math.ceil(all / level.perDay)
      out(`${whole(days)} ${days === 1 ? 'day' : 'days'} at ${figure(level.perDay)} units a day.\n`)
    }
    return EXIT.ok
  },
}
