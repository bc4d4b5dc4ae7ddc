/**
 * Computes the complementary error function by rational approximations on three intervals, with a relative error below
 * 1e-15 until it underflows near 27. Source: W. J. Cody, Rational Chebyshev approximations for the error function,
 * Mathematics of Computation 23 (1969), with the coefficients of his SPECFUN (CALERF, 1990). special-functions.test.ts
 * compares it with the incomplete gamma function.
 */

const NEAR = 0.46875
const MIDDLE = 4
/** The argument beyond which erfc is below the smallest double. */
const GONE = 28
const ONE_OVER_ROOT_PI = 0.5641895835477563

/** The numerators and denominators, highest power first. Each denominator begins with 1. */
const NEAR_OVER = [
  0.18577770618460315, 3.1611237438705655, 113.86415415105016, 377.485237685302, 3209.3775891384694,
]
const NEAR_UNDER = [1, 23.601290952344122, 244.02463793444417, 1282.6165260773723, 2844.236833439171]
const MIDDLE_OVER = [
  2.1531153547440383e-8, 0.5641884969886701, 8.883149794388377, 66.11919063714163, 298.6351381974001,
  881.952221241769, 1712.0476126340707, 2051.0783778260716, 1230.3393547979972,
]
const MIDDLE_UNDER = [
  1, 15.744926110709835, 117.6939508913125, 537.1811018620099, 1621.3895745666903, 3290.7992357334597,
  4362.619090143247, 3439.3676741437216, 1230.3393548037495,
]
const FAR_OVER = [
  0.016315387137302097, 0.30532663496123236, 0.36034489994980445, 0.12578172611122926, 0.016083785148742275,
  0.0006587491615298378,
]
const FAR_UNDER = [
  1, 2.568520192289822, 1.8729528499234673, 0.5279051029514285, 0.06051834131244132, 0.0023352049762686918,
]

function polynomial(coefficients: readonly number[], x: number): number {
  let sum = coefficients[0]!
  for (let index = 1; index < coefficients.length; index++) sum = sum * x + coefficients[index]!
  return sum
}

/** Returns exp(-y^2). The argument is split at a sixteenth, so that the rounding of y^2 costs no digit. */
function squareExp(y: number): number {
  const split = Math.trunc(y * 16) / 16
  return Math.exp(-split * split) * Math.exp(-(y - split) * (y + split))
}

function far(y: number): number {
  const inverse = 1 / (y * y)
  return (ONE_OVER_ROOT_PI - (inverse * polynomial(FAR_OVER, inverse)) / polynomial(FAR_UNDER, inverse)) / y
}

/** Returns 1 - erf(x). */
export function erfc(x: number): number {
  const y = Math.abs(x)
  if (y <= NEAR) return 1 - (x * polynomial(NEAR_OVER, y * y)) / polynomial(NEAR_UNDER, y * y)
  if (y > GONE) return x > 0 ? 0 : 2
  const beyond =
    squareExp(y) * (y <= MIDDLE ? polynomial(MIDDLE_OVER, y) / polynomial(MIDDLE_UNDER, y) : far(y))
  return x >= 0 ? beyond : 2 - beyond
}
