/**
 * Forecasts series that no setting was chosen on: every sixth of the 756 quarterly series of the M3 competition
 * (Makridakis and Hibon, Int. J. Forecasting 16, 2000), beside published forecasts of them by ARIMA and ETS with
 * intervals of 80 %. The last eight quarters are withheld, as in the competition.
 */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { METHODS } from '../../packages/engine/methods/catalog.ts'
import { columnsOf, outcomeOf } from '../../packages/engine/methods/relation-fixture.ts'

const HORIZON = 8
const PERIOD = 4

interface Forecast {
  mean: number[]
  low: number[]
  high: number[]
}

interface Published {
  known: number[]
  kept: number[]
  ARIMA: Forecast
  ETS: Forecast
}

export interface FreshScore {
  method: string
  smape: number
  mase: number
  median_mase: number
  /** The share of the withheld values that lie in the 80 % interval; null for a method without one. */
  within_80: number | null
}

const read = (): { source: string; series: Record<string, Published> } =>
  JSON.parse(readFileSync(path.join(import.meta.dirname, 'm3-quarterly.json'), 'utf8')) as ReturnType<
    typeof read
  >

async function ours({ known }: Published): Promise<Forecast> {
  const table = await columnsOf({ step: known.map((_, index) => index), value: known })
  const options = { time: 'step', value: 'value', horizon: HORIZON, period: PERIOD }
  const { points } = await outcomeOf(METHODS.forecast!, table, options)
  const pick = (name: string): number[] => (points as Record<string, number>[]).map((point) => point[name]!)
  return { mean: pick('value'), low: pick('low_80'), high: pick('high_80') }
}

function seasonalNaive({ known }: Published): Forecast {
  const mean = Array.from({ length: HORIZON }, (_, ahead) => known.at((ahead % PERIOD) - PERIOD)!)
  return { mean, low: [], high: [] }
}

const average = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length

function scoreOf(method: string, all: readonly (readonly [Published, Forecast])[]): FreshScore {
  const each = all.map(([{ known, kept }, { mean, low, high }]) => {
    const scale = average(known.slice(PERIOD).map((value, index) => Math.abs(value - known[index]!)))
    const errors = kept.map((value, ahead) => Math.abs(value - mean[ahead]!))
    return {
      smape: average(
        errors.map((error, ahead) => (200 * error) / (Math.abs(kept[ahead]!) + Math.abs(mean[ahead]!))),
      ),
      mase: average(errors) / scale,
      held: average(kept.map((value, ahead) => Number(value >= low[ahead]! && value <= high[ahead]!))),
    }
  })
  const mases = each.map(({ mase }) => mase).toSorted((a, b) => a - b)
  return {
    method,
    smape: average(each.map(({ smape }) => smape)),
    mase: average(mases),
    median_mase: (mases[Math.floor((mases.length - 1) / 2)]! + mases[Math.ceil((mases.length - 1) / 2)]!) / 2,
    within_80: all[0]![1].low.length > 0 ? average(each.map(({ held }) => held)) : null,
  }
}

export async function freshScores(): Promise<FreshScore[]> {
  const series = Object.values(read().series)
  const own: [Published, Forecast][] = []
  for (const one of series) own.push([one, await ours(one)])
  const of = (forecast: (one: Published) => Forecast) =>
    series.map((one): [Published, Forecast] => [one, forecast(one)])
  return [
    scoreOf('`forecast`', own),
    scoreOf(
      'ETS (published)',
      of(({ ETS }) => ETS),
    ),
    scoreOf(
      'ARIMA (published)',
      of(({ ARIMA }) => ARIMA),
    ),
    scoreOf('seasonal naive of the quarter', of(seasonalNaive)),
  ]
}

/** Returns a section of docs/forecasts.md. */
export function freshPart(scores: readonly FreshScore[]): string {
  const { source, series } = read()
  const rows = scores.map(
    ({ method, smape, mase, median_mase, within_80 }) =>
      `| ${method} | ${smape.toFixed(2)} | ${mase.toFixed(3)} | ${median_mase.toFixed(3)} | ${within_80 === null ? '' : `${(100 * within_80).toFixed(0)} of 100`} |`,
  )
  return `
## Series that no setting was searched for on

${Object.keys(series).length} quarterly series of the M3 competition, the last ${HORIZON} quarters kept back. No value of a setting was searched for on them. But they are no longer unseen: when
they were first computed \`forecast\` had sMAPE 9.95, MASE 1.208, median MASE 0.835 and 74 of 100. Since then the forms of smoothing are weighed, its drift is
not taken as known, and a change of level must hold without its farthest value; these changes were made for the simulated series of
[calibration.md](calibration.md), with the results below in sight. The forecasts by ETS and ARIMA and their 80 % intervals are published (${source}).

| method | sMAPE | MASE | median MASE | in the 80 % interval |
|---|--:|--:|--:|--:|
${rows.join('\n')}
`
}
