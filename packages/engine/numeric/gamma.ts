/**
 * Computes the gamma function and its incomplete forms, both tails free of cancellation. Sources: series and continued
 * fraction DLMF 8.11.4 and 8.9.2; the common factor in Loader's saddle-point form (C. Loader, Fast and accurate
 * computation of binomial probabilities, 2000), which keeps full relative accuracy where exp(a ln x - x - lnΓ(a)) loses
 * digits with a. special-functions.test.ts checks it to 1e-12 relative.
 */

const HALF_LOG_2PI = 0.9189385332046728
const ONE_LESS_EULER = 0.42278433509846713
/** The values (ζ(k) - 1) / k for k = 2, 3, ...: Taylor coefficients of lnΓ at 2 (DLMF 5.7.3). */
const LOG_GAMMA_TAYLOR = [
  0.3224670334241132, 0.0673523010531981, 0.02058080842778455, 0.007385551028673985, 0.0028905103307415234,
  0.001192753911703261, 0.0005096695247430425, 0.00022315475845357939, 0.00009945751278180853,
  0.00004492623673813314, 0.00002050721277567069, 0.000009439488275268397, 0.000004374866789907488,
  0.000002039215753801366, 9.55141213040742e-7, 4.492469198764566e-7, 2.1207184805554667e-7,
  1.004322482396809e-7, 4.769810169363981e-8, 2.271109460894316e-8, 1.0838659214896955e-8,
  5.183475041970047e-9, 2.4836745438024785e-9, 1.1921401405860914e-9, 5.731367241678862e-10,
  2.7595228851242334e-10, 1.330476437424449e-10, 6.422964563838101e-11, 3.104424774732227e-11,
]
/** The coefficients of 1/n, 1/n^3, ... in the error of Stirling's formula (DLMF 5.11.1). */
const STIRLING = [1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156, -3617 / 122400]

/** Returns lnΓ(x) for x > 0, to about 1e-14 relative, also near its zeros at 1 and 2. */
export function logGamma(x: number): number {
  if (x >= 10) return (x - 0.5) * Math.log(x) - x + HALF_LOG_2PI + stirlingTail(x)
  if (x < 0.5) return logGamma(x + 1) - Math.log(x)
  if (x < 1.5) return aroundTwo(x - 1) - Math.log1p(x - 1)
  let factor = 1
  let argument = x
  while (argument > 2.5) {
    argument -= 1
    factor *= argument
  }
  return aroundTwo(argument - 2) + Math.log(factor)
}

/** Returns lnΓ(2 + x) for |x| <= 0.5. */
function aroundTwo(x: number): number {
  let sum = 0
  for (let index = LOG_GAMMA_TAYLOR.length - 1; index >= 0; index--) {
    sum = LOG_GAMMA_TAYLOR[index]! - x * sum
  }
  return x * (ONE_LESS_EULER + x * sum)
}

function stirlingTail(n: number): number {
  const square = n * n
  let sum = 0
  for (let index = STIRLING.length - 1; index >= 0; index--) sum = STIRLING[index]! + sum / square
  return sum / n
}

/** The errors of 1/2, 1, 3/2, ..., which degrees of freedom ask for again and again. */
const errors: number[] = []

/** Returns ln(n!) less Stirling's formula: lnΓ(n + 1) - (n + 1/2) ln n + n - ln(2π)/2, for n > 0. */
export function stirlingError(n: number): number {
  if (n >= 10) return stirlingTail(n)
  if (!Number.isInteger(2 * n)) return smallError(n)
  errors[2 * n] ??= smallError(n)
  return errors[2 * n]!
}

const smallError = (n: number): number => logGamma(n + 1) - (n + 0.5) * Math.log(n) + n - HALF_LOG_2PI

/** Returns Loader's deviance x ln(x/m) + m - x, by its series if the two are near. */
export function deviance(x: number, m: number): number {
  const v = (x - m) / (x + m)
  if (!(Math.abs(v) < 0.5)) return x * Math.log(x / m) + m - x
  let term = 2 * x * v
  let sum = (x - m) * v
  for (let index = 1; ; index++) {
    term *= v * v
    const next = sum + term / (2 * index + 1)
    if (next === sum) return sum
    sum = next
  }
}

/** Returns x^a e^-x / Γ(a + 1). */
function poissonDensity(a: number, x: number): number {
  return Math.exp(-stirlingError(a) - deviance(a, x)) / Math.sqrt(2 * Math.PI * a)
}

/** Returns both tails of the regularised incomplete gamma function: lower P(a, x), upper Q(a, x), for a > 0. */
export function gammaTails(a: number, x: number): { lower: number; upper: number } {
  if (Number.isNaN(x) || Number.isNaN(a)) return { lower: Number.NaN, upper: Number.NaN }
  if (x <= 0) return { lower: 0, upper: 1 }
  if (x === Number.POSITIVE_INFINITY) return { lower: 1, upper: 0 }
  const density = poissonDensity(a, x)
  if (x < a + 1) {
    const lower = Math.min(1, density * lowerSeries(a, x))
    return { lower, upper: 1 - lower }
  }
  const upper = Math.min(1, density * a * upperFraction(a, x))
  return { lower: 1 - upper, upper }
}

/** Returns the density of the gamma distribution with shape a and scale 1. */
export function gammaDensity(a: number, x: number): number {
  return x > 0 ? (poissonDensity(a, x) * a) / x : 0
}

function lowerSeries(a: number, x: number): number {
  let term = 1
  let sum = 1
  for (let index = 1; term > sum * 1e-17; index++) {
    term *= x / (a + index)
    sum += term
  }
  return sum
}

/** Returns Γ(a, x) e^x x^-a by Lentz's method. */
function upperFraction(a: number, x: number): number {
  let b = x + 1 - a
  let c = Number.MAX_VALUE
  let d = 1 / b
  let result = d
  for (let index = 1; index < 1_000_000; index++) {
    const numerator = -index * (index - a)
    b += 2
    d = 1 / (numerator * d + b)
    c = b + numerator / c
    const factor = c * d
    result *= factor
    if (Math.abs(factor - 1) < 2e-16) break
  }
  return result
}

/** Returns the logarithm of the number of ways to choose k of n. */
export function logChoose(n: number, k: number): number {
  return logGamma(n + 1) - logGamma(k + 1) - logGamma(n - k + 1)
}
