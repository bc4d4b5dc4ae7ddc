/** Writes the sentences of compare_groups: headline and evidence. */
import type { Grade } from '@assay/model/insight'
import { type Measure, opening } from '../../verdicts/measure.ts'
import { verbFor } from '../../verdicts/nouns.ts'
import { against, amount, CERTAINTY, changeOf, partNamed } from '../../verdicts/words.ts'
import { count, figure, probability } from '../shared/sentence.ts'
import type { Tested } from './level.ts'
import type { Group, GroupRows } from './rows.ts'

type What = 'level' | 'spread' | 'distribution'

/** Says `Delay is clearly higher in shop "A" than in shop "B", by about 3 minutes on average.` */
export function headline(
  grade: Grade,
  rows: GroupRows,
  { what, tested, measure, by }: { what: What; tested: Tested; measure: Measure; by: string },
): string {
  const name = opening(measure.label)
  const vary = verbFor(measure.label, 'varies', 'vary')
  const two = rows.groups.length === 2
  const between = two
    ? `between ${named(by, rows.groups[0]!)} and ${named(by, rows.groups[1]!)}`
    : `between the ${rows.groups.length} groups`
  const sure = CERTAINTY[grade]
  if (grade === 'unclear') {
    const asked = {
      level: `${measure.label} `,
      spread: `how widely ${measure.label} ${verbFor(measure.label, 'varies', 'vary')} `,
      distribution: `how ${measure.label} ${verbFor(measure.label)} distributed `,
    }
    return `No clear difference in ${asked[what]}${between}.`
  }
  if (what === 'distribution')
    return `${name} ${verbFor(measure.label)} ${sure} distributed differently ${between}.`
  const { high, low } = extremes(rows, what, tested)
  const [up, down] = [named(by, high), named(by, low)]
  if (what === 'spread')
    return two
      ? `${name} ${sure} ${vary} more in ${up} than in ${down}.`
      : `${name} ${sure} ${vary} more in some groups than in others: most in ${up}, least in ${down}.`
  const byMean = ['welch', 'student', 'welch_anova', 'anova', 'paired_t'].includes(tested.test)
  const of = (group: Group): number => (byMean ? group.mean : group.median) * rows.unit
  const size = Math.abs(of(high) - of(low)) / 10
  if (two) {
    const pair = tested.pairs[0]!
    const gap = byMean && pair.estimate !== null ? Math.abs(pair.estimate) : 10 * size
    const half = pair.low === null || pair.high === null ? null : (pair.high - pair.low) / 2
    const { same, text } = against([of(high), of(low)], measure)
    const higher = `${name} ${verbFor(measure.label)} ${sure} higher in ${up} than in ${down}`
    if (byMean)
      return `${higher}, by about ${changeOf(gap, measure, half)} on average${tested.test === 'paired_t' ? '' : same ? `; ${text}` : ` (${text})`}.`
    const middle =
      of(high) > of(low) && tested.test !== 'signed_rank'
        ? `; the middle value is ${amount(of(high), measure, size)} against ${amount(of(low), measure, size)}`
        : ''
    return `${higher}${middle}.`
  }
  const kind = byMean ? 'on average ' : 'middle value '
  return `There is ${sure} a difference in ${measure.label} ${between}: highest in ${up} (${kind}${amount(of(high), measure, size)}), lowest in ${down} (${amount(of(low), measure, size)}).`
}

const named = (by: string, { group }: Group): string => partNamed(by, group)

/** Returns the highest and the lowest group in the quantity that the test compares. */
function extremes(rows: GroupRows, what: What, tested: Tested): { high: Group; low: Group } {
  const [first, second] = rows.groups as [Group, Group]
  if (rows.groups.length === 2 && what === 'level') {
    const up =
      tested.test === 'mann_whitney'
        ? (tested.effect_size ?? 0.5) > 0.5
        : tested.test === 'signed_rank'
          ? (tested.effect_size ?? 0) > 0
          : (tested.pairs[0]!.estimate ?? 0) > 0
    return up ? { high: first, low: second } : { high: second, low: first }
  }
  const ranks = ['kruskal_wallis', 'friedman'].includes(tested.test)
  const of = (group: Group): number =>
    what === 'spread' ? group.squares / (group.n - 1) : ranks ? group.median : group.offset
  const ordered = rows.groups.toSorted((a, b) => of(b) - of(a))
  return { high: ordered[0]!, low: ordered.at(-1)! }
}

export function evidence(
  value: Measure,
  group: Measure,
  { tested, n }: { tested: Tested; n: number },
): string {
  if (tested.p === null && tested.pairs.length === 0)
    return `${count(n, 'value')} of ${value.label} by ${group.label}.`
  const df = [tested.df, tested.df_within].filter((one) => one !== null).map((one) => figure(one))
  const degrees = df.length === 0 ? '' : ` (${df.join(' and ')} degrees of freedom)`
  const statistic = tested.statistic === null ? '' : `: statistic ${figure(tested.statistic)}${degrees}`
  const differing = tested.pairs.filter((pair) => (pair.p_adjusted ?? 1) <= 0.05).length
  const pairs =
    tested.pairs.length > 1 ? `; ${differing} of ${count(tested.pairs.length, 'pair')} differ at 5 %` : ''
  return `${opening(tested.name)} of ${value.label} by ${group.label}${statistic}, ${probability(tested.p)}${pairs}, n = ${count(n, 'value')}.`
}
