/**
 * Checks that the search for causes names what was planted and nothing else. A cause counts if its whole combination is
 * named. Each option sets the size of a part; 0 leaves the part out.
 *
 * - `--instances N` (200) of each of the sets S and L of RiskLoc (causes/instances.ts), and `--nulls N` (1,000) in
 *   which nothing happened.
 * - `--power N` (100) tables of each kind: how large a change must be to be found (causes/power.ts).
 * - `--sums N` (200) of each kind and shape: how often a cause of a sum is named if nothing happened
 *   (causes/sum-nulls.ts).
 * - `--ratios N` (1,000) of each kind and shape: the same for ratios (causes/rate-nulls.ts).
 * - `--scans N` (300) tables of each kind: how often a scan of a ratio reports an event (causes/rates.ts).
 * - `--forecasts N` (30) tables of each period: how often a cause is named beside a forecast if nothing happened
 *   (causes/forecasts.ts).
 *
 * `--seed N` sets the seed. `--from N` begins instances, sums, ratios and scans at the Nth, so that a long run can be
 * done in parts.
 */
import { searchCauses } from '../packages/engine/causes/search.ts'
import { randomFrom } from './calibration/processes.ts'
import { forecastTable } from './causes/forecasts.ts'
import { instanceOf, SETTINGS, type Setting } from './causes/instances.ts'
import { powerTable } from './causes/power.ts'
import { namedInRates } from './causes/rate-nulls.ts'
import { scanTable } from './causes/rates.ts'
import { namedInSums } from './causes/sum-nulls.ts'
import type { Proof } from './main.ts'

export interface Score {
  instances: number
  /** The number of causes that were planted and named. */
  right: number
  /** The number of causes that were named and not planted. */
  wrong: number
  /** The number of causes that were planted and not named. */
  missed: number
  /** The number of instances in which any cause was named. */
  named: number
  f1: number
}

export function scoreOf(
  setting: Setting,
  instances: number,
  seed: number,
  planted: boolean,
  first = 0,
): Score {
  const score = { instances, right: 0, wrong: 0, missed: 0, named: 0 }
  for (let index = first; index < first + instances; index++) {
    const { leaves, truth } = instanceOf(setting, randomFrom(seed * 100_003 + index), planted)
    const { causes } = searchCauses(leaves, { depth: setting.sizes.length, q: 0.005, factor: 1 })
    const should = new Set(truth.map(String))
    const is = new Set(causes.map(({ where }) => String(where)))
    const right = [...is].filter((name) => should.has(name)).length
    score.right += right
    score.wrong += is.size - right
    score.missed += should.size - right
    score.named += is.size > 0 ? 1 : 0
  }
  const { right, wrong, missed } = score
  return { ...score, f1: (2 * right) / (2 * right + wrong + missed) }
}

const LEAST_F1 = { S: 0.8, L: 0.85 }
const MOST_FALSE = 0.01
/**
 * The largest share of tables of sums of one kind and shape with a named cause, even if values of a column vary
 * together.
 */
const MOST_SHARED = 0.05
/** The largest share of tables with a cause named beside a forecast. Two of thirty may be chance. */
const MOST_FORECAST = 0.07
/** The largest share of tables of a kind in which one part fell but the fall is reported as spread over all parts. */
const MOST_WRONG = 0.05
/** The largest share of tables of rates without an effect that have an event, which `alpha` promises. */
const MOST_EVENTS = 0.05

export const proof: Proof = {
  summary: 'causes named by drivers on instances with known ones, and on instances with none',
  async run({ seed, number, log }) {
    const broken: string[] = []
    const instances = number('instances', 200)
    const first = number('from', 0)
    for (const name of instances > 0 ? (['S', 'L'] as const) : []) {
      const score = scoreOf(SETTINGS[name], instances, seed, true, first)
      const { right, wrong, missed, f1 } = score
      const precision = (right / (right + wrong)).toFixed(3)
      const recall = (right / (right + missed)).toFixed(3)
      log(
        `${name}: ${score.instances} instances, ${right} causes named, ${wrong} falsely, ${missed} missed: F1 ${f1.toFixed(3)}, precision ${precision}, recall ${recall}`,
      )
      if (f1 < LEAST_F1[name]) broken.push(`F1 on ${name} is ${f1.toFixed(3)}, below ${LEAST_F1[name]}`)
    }
    const nulls = number('nulls', 1000)
    const { named } = scoreOf(SETTINGS.S, nulls, seed + 1, false, first)
    log(`nothing planted: a cause named in ${named} of ${nulls} instances`)
    if (named > MOST_FALSE * nulls)
      broken.push(`a cause is named in ${named} of ${nulls} instances without one`)
    const tables = number('power', 100)
    const { rows, wrong } = tables > 0 ? powerTable(tables, seed) : { rows: [], wrong: 0 }
    for (const row of rows) log(row)
    if (wrong > MOST_WRONG) broken.push(`a change of one part is told as one of all in ${100 * wrong} %`)
    const sums = namedInSums(number('sums', 200), seed, first)
    for (const row of sums.rows) log(row)
    if (sums.most > MOST_SHARED)
      broken.push(`a cause of a sum is named in ${100 * sums.most} % of tables without one`)
    const ratios = namedInRates(number('ratios', 1000), seed, first)
    for (const row of ratios.rows) log(row)
    if (ratios.most > MOST_FALSE)
      broken.push(`a cause of a ratio is named in ${100 * ratios.most} % of tables without one`)
    const scans = await scanTable(number('scans', 300), seed, first)
    for (const row of scans.rows) log(row)
    if (scans.most > MOST_EVENTS)
      broken.push(`a scan tells of an event in ${100 * scans.most} % of tables without one`)
    const forecasts = await forecastTable(number('forecasts', 30), seed)
    for (const row of forecasts.rows) log(row)
    if (forecasts.most > MOST_FORECAST)
      broken.push(`a cause is named beside a forecast in ${100 * forecasts.most} % of tables without one`)
    return broken
  },
}
