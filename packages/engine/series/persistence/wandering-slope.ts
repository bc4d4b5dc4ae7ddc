/**
 * Tells whether the slope itself wanders. A walk whose steps are a walk (integrated twice) rises and falls for long
 * without any trend. Its line must then exceed what its steps explain, whatever their persistence. Its second
 * differences are noise. Those of a smooth curve are alike, and those of a curve or a walk beneath noise alternate, so
 * neither is such a walk.
 */
import { centred } from './centre.ts'
import { lasts } from './lasting.ts'
import { persistentTest } from './persistent-regression.ts'
import { dot } from './residuals.ts'

/**
 * The range of the autocorrelation of second differences that counts as noise. A walk has -1/2, a curve beneath noise
 * -2/3.
 */
const [SWINGING, SMOOTH] = [-0.3, 0.5]
const ROUNDING = 1e-18

/**
 * Returns the chance of steps whose mean lies as far from zero, beside errors as persistent as a walk. It is 0 if the
 * slope does not wander, and 1 if it wanders beneath noise. Growth by a share has growing steps, so for values above
 * zero the logarithms may decide as well.
 */
export function slopeChance(
  given: readonly number[],
  waves: readonly (readonly number[])[],
  line: readonly number[],
): number {
  const chance = chanceOf(centred(given), waves, line)
  if (chance === 0 || given.some((value) => !(value > 0))) return chance
  return Math.min(chance, chanceOf(centred(given.map((value) => Math.log(value))), waves, line))
}

function chanceOf(
  values: readonly number[],
  waves: readonly (readonly number[])[],
  line: readonly number[],
): number {
  const steps = differences(values)
  const even = differences(line)
  const beside = waves.map(differences).filter((column) => column.some((value) => value !== 0))
  if (lasts(steps, [even, ...beside], () => 1)) return 1
  return isNoise(differences(steps), values) ? (persistentTest(steps, beside, [even])?.p ?? 1) : 0
}

const differences = (values: readonly number[]): number[] =>
  values.slice(1).map((value, row) => value - values[row]!)

function isNoise(second: readonly number[], values: readonly number[]): boolean {
  const whole = dot(second, second)
  if (!(whole > ROUNDING * dot(values, values))) return false
  const alike = dot(second.slice(1), second.slice(0, -1)) / whole
  return alike > SWINGING && alike < SMOOTH
}
