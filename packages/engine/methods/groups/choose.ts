/**
 * Tells whether means may be compared. Each group must look normal (Shapiro-Wilk, p at least 0.05), or have at least 30
 * values and more than 25 times its squared skewness. By that rule a mean is near enough to normal (Cochran, Sampling
 * Techniques, 1977, 2.15). The values of at most 20,000 rows are fetched. Above that number the rule of skewness
 * decides alone.
 */
import { SHAPIRO_MOST, shapiroWilk } from '../../numeric/tests/shapiro-wilk.ts'
import { quoted } from '../../verdicts/words.ts'
import { finite } from '../shared/sentence.ts'
import { type GroupRows, valuesOf } from './rows.ts'

const FETCHED = 20_000
const LARGE = 30

export interface ShapeCheck {
  group: string
  check: string
  statistic: number | null
  p: number | null
  holds: boolean
}

export interface Choice {
  /** Whether tests of means may be used. */
  means: boolean
  checks: ShapeCheck[]
  /** The reason, as the end of a sentence. */
  because: string
}

export async function chooseByShape(rows: GroupRows): Promise<Choice> {
  const values = rows.n <= FETCHED ? await valuesOf(rows) : null
  const checks = rows.groups.map((group, index) => shapeCheck(group.group, group, values?.[index]))
  const odd = checks.filter((one) => !one.holds)
  if (odd.length === 0) {
    const tested = checks.every((one) => one.check === 'Shapiro-Wilk')
    const because = tested
      ? 'the values of every group may be normal'
      : 'every group is normal or large enough for its mean to be'
    return { means: true, checks, because }
  }
  const seen = odd.filter(({ p }) => p !== null)
  const named = ({ group }: ShapeCheck): string => quoted(group)
  const which = odd.length === 1 ? named(odd[0]!) : `${odd.length} groups`
  const because =
    seen.length === 0
      ? `the values of ${which} are too few or too skewed to trust an average`
      : `the values of ${which} are far from normal, and too few to average that out`
  return { means: false, checks, because }
}

export function shapeCheck(
  group: string,
  shape: { n: number; skewness: number | null },
  values: readonly number[] | undefined,
): ShapeCheck {
  const { n, skewness } = shape
  const tested = values && n <= SHAPIRO_MOST ? shapiroWilk(values) : null
  if (tested && tested.p >= 0.05) {
    return { group, check: 'Shapiro-Wilk', statistic: finite(tested.w), p: finite(tested.p), holds: true }
  }
  const enough = skewness !== null && n >= LARGE && n > 25 * skewness ** 2
  if (enough || !tested) {
    return { group, check: 'size against skewness', statistic: skewness, p: null, holds: enough }
  }
  return { group, check: 'Shapiro-Wilk', statistic: finite(tested.w), p: finite(tested.p), holds: false }
}
