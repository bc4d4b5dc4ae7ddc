/**
 * Simulated experiments with known truth, through the functions by which `experiment` decides: how often a null experiment
 * that is looked at 20 times is called a success, and what a covariate takes off the variance. `--runs N` experiments (10,000).
 */
import {
  effectOf,
  levelOf,
  thetaOf,
  type UnitMoments,
} from '../packages/engine/methods/experiment/effects.ts'
import { normal, type Random, randomFrom } from './calibration/processes.ts'
import type { Proof } from './main.ts'

export const LOOKS = 20
const ROWS = 10
const USERS_A_LOOK = 20
const ALPHA = 0.05
const PLAIN = { ratio: false, covariate: false }

/** The running sums of the units of one group. */
class Arm {
  private n = 0
  private readonly sums = [0, 0]
  private readonly products = [0, 0, 0]

  add(y: number, c = 0): void {
    this.n += 1
    this.sums[0]! += y
    this.sums[1]! += c
    this.products[0]! += y * y
    this.products[1]! += y * c
    this.products[2]! += c * c
  }

  moments(): UnitMoments {
    const [y, c] = this.sums.map((sum) => sum / this.n) as [number, number]
    const [yy, yc, cc] = this.products as [number, number, number]
    const cov = (sum: number, product: number): number => (sum - this.n * product) / (this.n - 1)
    const shared = cov(yc, y * c)
    return {
      n: this.n,
      means: [y, c],
      covariances: [
        [cov(yy, y * y), shared],
        [shared, cov(cc, c * c)],
      ],
    }
  }
}

/** Returns a user's value: the mean of ten rows that share most of their value. */
function user(random: Random): number {
  const own = normal(random)
  let sum = 0
  for (let row = 0; row < ROWS; row++) sum += own + 0.5 * normal(random)
  return sum / ROWS
}

export interface NullRuns {
  runs: number
  /** How often a success was called at one of the looks: with the always-valid p, and with the p of one test. */
  sequential: number
  fixed: number
}

export function nullRuns(runs: number, seed: number): NullRuns {
  const random = randomFrom(seed)
  const found = { runs, sequential: 0, fixed: 0 }
  for (let run = 0; run < runs; run++) {
    const [control, arm] = [new Arm(), new Arm()]
    let [sequential, fixed] = [false, false]
    for (let look = 0; look < LOOKS; look++) {
      for (let count = 0; count < USERS_A_LOOK; count++) {
        control.add(user(random))
        arm.add(user(random))
      }
      const [from, to] = [control, arm].map((one) => levelOf(one.moments(), PLAIN, 0)) as [
        ReturnType<typeof levelOf>,
        ReturnType<typeof levelOf>,
      ]
      const effect = effectOf(from, to, 'sequential')!
      sequential ||= effect.p <= ALPHA
      fixed ||= effect.once <= ALPHA
    }
    if (sequential) found.sequential += 1
    if (fixed) found.fixed += 1
  }
  return found
}

/**
 * Returns the adjusted variance divided by (1 - r squared) of the plain one, at this correlation. It is 1 if the
 * covariate does its work fully.
 */
export function covariateShare(correlation: number, units: number, seed: number): number {
  const random = randomFrom(seed)
  const arms = [new Arm(), new Arm()]
  for (let unit = 0; unit < units; unit++) {
    const before = normal(random)
    const y = correlation * before + Math.sqrt(1 - correlation ** 2) * normal(random)
    arms[unit % 2]!.add(10 + y, before)
  }
  const moments = arms.map((arm) => arm.moments())
  const form = { ratio: false, covariate: true }
  const theta = thetaOf(moments, form)
  const sum = (theta_: number): number =>
    moments.reduce((all, arm) => all + levelOf(arm, form, theta_).variance / arm.n, 0)
  return sum(theta) / ((1 - correlation ** 2) * sum(0))
}

export const CORRELATIONS = [0.3, 0.5, 0.7, 0.9]

export const proof: Proof = {
  summary: 'false successes of experiments that are looked at 20 times, and what a covariate is worth',
  run({ seed, number, log }) {
    const runs = number('runs', 10_000)
    const found = nullRuns(runs, seed)
    const percent = (count: number): string => `${((100 * count) / runs).toFixed(2)} %`
    log(`${runs} null experiments, ${ROWS} rows a user, ${LOOKS} looks:`)
    log(
      `  sequential ${percent(found.sequential)} false, one fixed test looked at each time ${percent(found.fixed)}`,
    )
    const broken: string[] = []
    if (found.sequential / runs > ALPHA)
      broken.push(`${percent(found.sequential)} false under sequential looks`)
    for (const [index, correlation] of CORRELATIONS.entries()) {
      const share = covariateShare(correlation, 200_000, seed + index)
      log(
        `  covariate with r = ${correlation}: variance ${share.toFixed(4)} of (1 - r squared) times the plain one`,
      )
      if (Math.abs(share - 1) > 0.02) broken.push(`r = ${correlation}: ${share.toFixed(4)}`)
    }
    return Promise.resolve(broken)
  },
}
