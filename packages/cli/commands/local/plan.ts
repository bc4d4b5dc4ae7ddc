/** assay plan: how many units an experiment needs, and how many days at the traffic that there is. */
import type { Call, Command } from '../../command.ts'
import { EXIT, UsageError } from '../../exit.ts'
import { out } from '../../print.ts'

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
  throw new UsageError(`--${name} must lie between ${low} and ${high}; it is ${value}.`)
}

interface Asked {
  rate: number | null
  sd: number | null
  effect: number
  arms: number
  alpha: number
  power: number
  looks: 'fixed' | 'sequential'
  perDay: number | null
}

function askedOf(call: Call): Asked {
  const [rate, sd, effect] = ['rate', 'sd', 'effect'].map((name) => numberOf(call, name))
  if ((rate === null) === (sd === null))
    throw new UsageError(
      'assay plan needs either --rate, the share in the control, or --sd, the spread of a measure.',
    )
  if (effect === null || effect === 0)
    throw new UsageError(
      'assay plan needs --effect, the smallest difference that matters: --effect 0.01, or --effect 1%.',
    )
  const looks = call.text('looks') ?? 'fixed'
  if (looks !== 'fixed' && looks !== 'sequential')
    throw new UsageError(`--looks is fixed or sequential; "${looks}" is neither.`)
  const arms = numberOf(call, 'arms') ?? 1
  if (!Number.isInteger(arms) || arms < 1 || arms > 49)
    throw new UsageError('--arms is the number of arms beside the control, 1 to 49.')
  if (rate !== null) {
    between('rate', rate!, 0, 1)
    between('rate plus --effect', rate! + effect!, 0, 1)
  } else if (sd! <= 0) throw new UsageError('--sd must be above 0.')
  const perDay = numberOf(call, 'per-day')
  if (perDay !== null && perDay <= 0) throw new UsageError('--per-day must be above 0.')
  const alpha = 1 - between('confidence', numberOf(call, 'confidence') ?? 0.95, 0.5, 1)
  const power = between('power', numberOf(call, 'power') ?? 0.8, 0, 1)
  return { rate: rate!, sd: sd!, effect: effect!, arms, alpha, power, looks, perDay }
}

export const PLAN: Command = {
  name: 'plan',
  operands: '',
  summary: 'Compute the units and days that an experiment needs',
  details:
    'Groups of equal size, each compared with the control. Rates as power.prop.test of R, means by the normal approximation. ' +
    'Under --looks sequential the result may be looked at as often as wanted. Numbers may be percentages.\n\n' +
    'assay plan --rate 12% --effect 1% --per-day 4000\nassay plan --sd 25 --effect 2 --arms 2 --looks sequential',
  options: {
    rate: { type: 'string', value: 'SHARE', doc: 'The share that succeeds in the control' },
    sd: { type: 'string', value: 'NUMBER', doc: 'The standard deviation of the measure over units' },
    effect: {
      type: 'string',
      value: 'NUMBER',
      doc: 'The smallest difference that matters; below 0 for a fall',
    },
    arms: { type: 'string', value: 'N', doc: 'Arms beside the control (1)' },
    confidence: { type: 'string', value: 'SHARE', doc: 'Confidence of the result (0.95)' },
    power: { type: 'string', value: 'SHARE', doc: 'The chance to find the effect if it is there (0.8)' },
    looks: { type: 'string', value: 'KIND', doc: 'fixed (one look at the end) or sequential' },
    'per-day': { type: 'string', value: 'N', doc: 'Units that enter each day' },
  },
  async run(call) {
    const { rate, sd, perDay, ...plan } = askedOf(call)
    const { unitsNeeded, unitsNeededOfRates } = await import('@assay/engine/methods/experiment/planner')
    const needed =
      rate === null
        ? unitsNeeded({ ...plan, variance: sd! ** 2 })
        : unitsNeededOfRates({ ...plan, base: rate })
    const groups = plan.arms + 1
    const each = Math.ceil(needed / groups)
    const units = (count: number): string => count.toLocaleString('en-US')
    out(`${units(each)} units in each of ${groups} groups, ${units(each * groups)} in all.\n`)
    if (perDay !== null) {
      const days = Math.ceil((each * groups) / perDay)
      out(`${units(days)} ${days === 1 ? 'day' : 'days'} at ${units(perDay)} units a day.\n`)
    }
    return EXIT.ok
  },
}
