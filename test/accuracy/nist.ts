/**
 * Compares the certified values of NIST's Statistical Reference Datasets with those of describe, regression and anova.
 */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { anova } from '../../packages/engine/methods/anova.ts'
import { describe } from '../../packages/engine/methods/describe.ts'
import { regression } from '../../packages/engine/methods/regression.ts'
import { columnsOf, outcomeOf } from '../../packages/engine/methods/relation-fixture.ts'
import { digits, type Figure } from './figure.ts'

type Certified = Record<string, number>

interface Nist {
  univariate: Record<string, { values: number[] | string; certified: Certified; limit: Certified }>
  regression: Record<
    string,
    {
      y: number[]
      x: Record<string, number[]>
      degree: number
      intercept: boolean
      certified: {
        estimates: number[]
        std_errors: number[]
        residual_sd: number
        r_squared: number
        f: number | null
      }
    }
  >
  anova: Record<
    string,
    {
      groups?: number[]
      values?: number[]
      generated?: { offset: number; replicates: number }
      certified: Certified
      limit: Certified
    }
  >
}

const SOURCE = 'NIST StRD'
const nist = JSON.parse(readFileSync(path.join(import.meta.dirname, 'nist.json'), 'utf8')) as Nist

export async function nistFigures(): Promise<Figure[]> {
  return [...(await univariate()), ...(await linear()), ...(await variance())]
}

async function univariate(): Promise<Figure[]> {
  const found: Figure[] = []
  for (const [set, { values, certified, limit }] of Object.entries(nist.univariate)) {
    const v = typeof values === 'string' ? Array.from(values, Number) : values
    const outcome = await outcomeOf(describe, await columnsOf({ v }), { value: 'v' })
    for (const name of ['mean', 'sd', 'autocorrelation']) {
      const figure = limited('describe', set, name, certified[name]!, outcome[name], limit[name]!)
      found.push(set === 'PiDigits' ? { ...figure, source: 'the digits of pi, by mpmath' } : figure)
    }
  }
  return found
}

/** A published table, the analysis of it, and the certified values by the names of the outcome. */
export interface NistTable {
  set: string
  method: 'describe' | 'regression' | 'anova'
  columns: Record<string, readonly number[]>
  options: Record<string, unknown>
  expected: Certified
  /** The digits that the data allow as doubles. */
  limit: Certified
}

/** Returns every set except the largest of anova, whose ten thousand rows show what the smaller ones show. */
export function nistTables(): NistTable[] {
  const found: NistTable[] = []
  for (const [set, { values, certified, limit }] of Object.entries(nist.univariate)) {
    const v = typeof values === 'string' ? Array.from(values, Number) : values
    const { mean, sd } = certified as { mean: number; sd: number }
    found.push({
      set,
      method: 'describe',
      columns: { v },
      options: { value: 'v' },
      expected: { mean, sd },
      limit,
    })
  }
  for (const [set, { y, x, degree, intercept, certified }] of Object.entries(nist.regression)) {
    const terms = Object.keys(x).flatMap((column) =>
      Array.from({ length: degree }, (_, index) => ({ column, power: index + 1 })),
    )
    const { residual_sd, r_squared } = certified
    const estimates = certified.estimates.map((value, index): [string, number] => [
      `estimate ${index}`,
      value,
    ])
    const expected = { ...Object.fromEntries(estimates), residual_sd, r_squared }
    const options = { y: 'y', x: terms, intercept }
    found.push({ set, method: 'regression', columns: { y, ...x }, options, expected, limit: {} })
  }
  for (const [set, { groups, values, generated, certified, limit }] of Object.entries(nist.anova)) {
    if ((generated?.replicates ?? 0) > 201) continue
    const { g, v } = generated ? simonLesage(generated) : { g: groups!, v: values! }
    const options = { value: 'v', by: 'g' }
    found.push({ set, method: 'anova', columns: { g, v }, options, expected: certified, limit })
  }
  return found
}

/** Makes a figure that must be within half a digit of what the data allow as doubles. */
function limited(
  of: string,
  set: string,
  name: string,
  expected: number,
  got: unknown,
  limit: number,
): Figure {
  const figure = { of, case: set, name, expected, got: got as number, source: SOURCE, least: limit - 0.5 }
  return limit < 14.8 ? { ...figure, limit } : { ...figure, least: 14 }
}

async function linear(): Promise<Figure[]> {
  const found: Figure[] = []
  for (const [set, { y, x, degree, intercept, certified }] of Object.entries(nist.regression)) {
    const terms = Object.keys(x).flatMap((column) =>
      Array.from({ length: degree }, (_, index) => ({ column, power: index + 1 })),
    )
    const outcome = await outcomeOf(regression, await columnsOf({ y, ...x }), { y: 'y', x: terms, intercept })
    const coefficients = outcome.coefficients as { estimate: number; std_error: number }[]
    const common = { of: 'regression', case: set, source: SOURCE, least: 13 }
    const worst = (expected: number[], got: number[]) => {
      const pairs = expected.map((value, index) => ({ expected: value, got: got[index]! }))
      return pairs.toSorted((a, b) => digits(a) - digits(b))[0]!
    }
    found.push(
      {
        ...common,
        name: 'worst coefficient',
        ...worst(
          certified.estimates,
          coefficients.map((one) => one.estimate),
        ),
      },
      {
        ...common,
        name: 'worst standard error',
        ...worst(
          certified.std_errors,
          coefficients.map((one) => one.std_error),
        ),
      },
      { ...common, name: 'residual sd', expected: certified.residual_sd, got: outcome.residual_sd as number },
      { ...common, name: 'R-squared', expected: certified.r_squared, got: outcome.r_squared as number },
    )
    if (certified.f !== null)
      found.push({ ...common, name: 'F', expected: certified.f, got: outcome.f as number })
  }
  return found
}

async function variance(): Promise<Figure[]> {
  const found: Figure[] = []
  for (const [set, { groups, values, generated, certified, limit }] of Object.entries(nist.anova)) {
    const { g, v } = generated ? simonLesage(generated) : { g: groups!, v: values! }
    const outcome = await outcomeOf(anova, await columnsOf({ g, v }), { value: 'v', by: 'g' })
    for (const name of ['ss_between', 'ss_within', 'f', 'r_squared', 'residual_sd']) {
      found.push(limited('anova', set, name, certified[name]!, outcome[name], limit[name]!))
    }
  }
  return found
}

/**
 * Returns the sets of Simon and Lesage: nine cells, each its mean and then 0.1 below and above it in turn, above an
 * offset.
 */
function simonLesage({ offset, replicates }: { offset: number; replicates: number }): {
  g: number[]
  v: number[]
} {
  const g: number[] = []
  const v: number[] = []
  for (const [cell, tenth] of [4, 3, 5, 3, 5, 3, 5, 3, 5].entries()) {
    for (let replicate = 0; replicate < replicates; replicate++) {
      g.push(cell + 1)
      const step = replicate === 0 ? 0 : replicate % 2 === 1 ? -1 : 1
      v.push(Number(`${offset}.${tenth + step}`))
    }
  }
  return { g, v }
}
