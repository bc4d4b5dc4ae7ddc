/**
 * Counts false claims and found effects on simulated series whose truth is known, with the rules by which the methods over
 * time decide. `--series N` of each process and length (1,000), `--anomalies N`, `--coverage N` and `--claims N` (compare,
 * regression, correlation; `--of NAME` one of them) likewise; 0 leaves a part out. `--longest N` bounds the lengths of
 * forecasts. `--write 1`
 * writes what was run into docs/calibration.md. `--shard K --shards N` runs every Nth process.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { calendarSeasons } from '../packages/engine/series/calendar-seasons.ts'
import { levelChanges } from '../packages/engine/series/level-changes.ts'
import { judgeLine } from '../packages/engine/series/line.ts'
import { findSeasons } from '../packages/engine/series/seasons.ts'
import { claimFaults } from './calibration/claims.ts'
import { COVERED, type Covered, runCoverage } from './calibration/coverage.ts'
import { PAGE, percent, writePart } from './calibration/page.ts'
import { EFFECTS, PROCESSES, type Process, type Random, randomFrom, STEPS } from './calibration/processes.ts'
import { type Alarms, runAlarms, type SpikePower, spikePower } from './calibration/spikes.ts'
import type { Proof } from './main.ts'

export const METHODS = ['trend', 'seasonality', 'changepoints'] as const
export type Method = (typeof METHODS)[number]
const LENGTHS = [36, 60, 200, 730]
const ALPHA = 0.05
/** At most this share of false claims in any cell, and over all cells of a method. */
const MOST_IN_A_CELL = 0.07
const MOST_OVER_ALL = 0.05
const SIZES = [1, 2, 3]
/** Of fewer values a forecast says that its range is unsure. */
const LEAST_PROMISED = 24

export interface Cell {
  process: string
  n: number
  series: number
  /** False claims; null where a claim does not count. */
  false_claims: Record<Method, number | null>
  /** Series whose season was found; null where there is none, or less than two cycles of it. */
  found: number | null
}

/** A tenth of the rows, without the first and the last. */
function withoutGaps(random: Random, n: number): number[] {
  const rows = Array.from({ length: n }, (_, row) => row)
  return rows.filter((row) => row === 0 || row === n - 1 || random() > 0.1)
}

export function runCell(process: Process, n: number, series: number, seed: number): Cell {
  const random = randomFrom(seed)
  const claims: Record<Method, number> = { trend: 0, seasonality: 0, changepoints: 0 }
  const candidates = calendarSeasons(STEPS[process.step])
  // As `findSeasons` asks: two years are 730 days.
  const enough = process.season !== null && n >= 2 * Math.floor(process.season)
  let found = 0
  for (let count = 0; count < series; count++) {
    const whole = process.make(random, n)
    const rows = process.gaps ? withoutGaps(random, n) : whole.map((_, row) => row)
    const values = rows.map((row) => whole[row]!)
    const seasons = findSeasons(values, rows, candidates)
    const right = seasons.filter(
      ({ period }) => process.season !== null && Math.abs(period / process.season - 1) < 0.02,
    )
    if (seasons.length > right.length) claims.seasonality += 1
    if (right.length > 0) found += 1
    if ((judgeLine(values, rows, seasons)?.p ?? 1) < ALPHA) claims.trend += 1
    if (levelChanges(values, rows, seasons).length > 0) claims.changepoints += 1
  }
  const counted = (method: Method): number | null =>
    process.uncounted?.includes(method) ? null : claims[method]
  return {
    process: process.name,
    n,
    series,
    false_claims: {
      trend: counted('trend'),
      seasonality: counted('seasonality'),
      changepoints: counted('changepoints'),
    },
    found: enough ? found : null,
  }
}

interface Power {
  effect: string
  size: number
  n: number
  share: number
}

function powerOf(series: number, seed: number): Power[] {
  const rows = (n: number): number[] => Array.from({ length: n }, (_, row) => row)
  const tests = {
    slope: (values: number[]) => (judgeLine(values, rows(values.length), [])?.p ?? 1) < ALPHA,
    shift: (values: number[]) => levelChanges(values, rows(values.length), []).length > 0,
  }
  return LENGTHS.slice(0, 3).flatMap((n) =>
    (['slope', 'shift'] as const).flatMap((effect) =>
      SIZES.map((size) => {
        const random = randomFrom(seed)
        let hits = 0
        for (let count = 0; count < series; count++)
          if (tests[effect](EFFECTS[effect](random, n, size))) hits += 1
        return { effect, size, n, share: hits / series }
      }),
    ),
  )
}

/** The share of false claims of a method over its cells, and its worst cell. */
export function sharesOf(cells: readonly Cell[], method: Method): { all: number; worst: number } {
  const shares = cells.flatMap(({ false_claims, series }) => {
    const claims = false_claims[method]
    return claims === null ? [] : [claims / series]
  })
  return { all: shares.reduce((sum, share) => sum + share, 0) / shares.length, worst: Math.max(...shares) }
}

function page(cells: readonly Cell[], power: readonly Power[], series: number, seed: number): string {
  const table = (method: Method): string[] => {
    const processes = [...new Set(cells.map(({ process }) => process))]
    const { all, worst } = sharesOf(cells, method)
    return [
      `## ${method}`,
      '',
      `False claims: ${percent(all)} over all cells, ${percent(worst)} in the worst.`,
      '',
      `| process | ${LENGTHS.map((n) => `n = ${n}`).join(' | ')} |`,
      `|---|${LENGTHS.map(() => '--:|').join('')}`,
      ...processes.map((process) => {
        const row = LENGTHS.map((n) => {
          const cell = cells.find((one) => one.process === process && one.n === n)
          const claims = cell?.false_claims[method] ?? null
          return cell === undefined || claims === null ? 'not counted' : percent(claims / cell.series)
        })
        return `| ${process} | ${row.join(' | ')} |`
      }),
      '',
    ]
  }
  const found = cells.filter((cell) => cell.found !== null)
  return [
    '# Calibration',
    '',
    `<!-- Made by "npm run proof -- calibration --series ${series} --anomalies 0 --coverage 0 --claims 0 --seed ${seed} --write 1". -->`,
    '',
    'How often a method claims what is not there, on simulated series with known truth, and how often it finds what is. A claim is',
    'what a method states at its 5 %: a direction of `trend`, a period of `seasonality`, a point of `changepoints`.',
    '',
    'What counts as false:',
    '',
    '- `trend`: any direction on noise, on a random walk and on a season. On a level shift, and on part of a yearly wave, a direction',
    '  is not counted.',
    '- `seasonality`: any period on noise, on a random walk and on a level shift, and a period that is not the one there.',
    '- `changepoints`: any point on noise, on a random walk and on a weekly season. On a level shift, and on a yearly wave, not counted.',
    '- `anomalies`: any point on any of the processes, since none holds a spike. A spike that is put in is true.',
    '- `forecast`: not a claim; counted is how many of the twelve values to come lie in the interval.',
    '',
    `Of trend, seasonality and changepoints ${series} series a cell. Days are simulated except where a process says weeks or months. The aim is at most 5 % over the cells of a method and at most`,
    '7 % in any cell.',
    '',
    ...METHODS.flatMap(table),
    '## Seasons that are there',
    '',
    'At least two whole cycles of it.',
    '',
    '| process | n | found |',
    '|---|--:|--:|',
    ...found.map((cell) => `| ${cell.process} | ${cell.n} | ${percent(cell.found! / cell.series)} |`),
    '',
    '## Power',
    '',
    'A slope that rises by 1, 2 and 3 standard deviations over the whole series, and a level shift of as many after 60 % of it, in',
    'normal noise.',
    '',
    '| effect | size | n | found |',
    '|---|--:|--:|--:|',
    ...power.map(({ effect, size, n, share }) => `| ${effect} | ${size} | ${n} | ${percent(share)} |`),
    '',
  ].join('\n')
}

const shareOf = ({ false_alarms, series }: Alarms): number => false_alarms / series

function alarmsPage(alarms: readonly Alarms[], power: readonly SpikePower[], command: string): string[] {
  const shares = alarms.map(shareOf)
  const processes = [...new Set(alarms.map(({ process }) => process))]
  return [
    '## anomalies',
    '',
    `<!-- ${command} -->`,
    '',
    `Any point on any of these processes is false: none holds a spike. In days, hours, weeks and months as named. Of ${alarms[0]?.series} series a cell.`,
    '',
    `False alarms: ${percent(shares.reduce((sum, share) => sum + share, 0) / shares.length)} over all cells, ${percent(Math.max(...shares))} in the worst.`,
    '',
    `| process | ${LENGTHS.map((n) => `n = ${n}`).join(' | ')} |`,
    `|---|${LENGTHS.map(() => '--:|').join('')}`,
    ...processes.map((process) => {
      const row = LENGTHS.map((n) => alarms.find((cell) => cell.process === process && cell.n === n))
      return `| ${process} | ${row.map((cell) => (cell ? percent(shareOf(cell)) : 'not run')).join(' | ')} |`
    }),
    '',
    'A spike of so many standard deviations in normal noise, beside generalised ESD whose threshold is raised until it raises as',
    'many false alarms over these processes.',
    '',
    '| n | spike | found | ESD |',
    '|--:|--:|--:|--:|',
    ...power.map(({ n, size, share, esd }) => `| ${n} | ${size} | ${percent(share)} | ${percent(esd)} |`),
    '',
  ]
}

function coveragePage(covered: readonly Covered[], command: string): string[] {
  return [
    '## forecast',
    '',
    `<!-- ${command} -->`,
    '',
    `The share of the twelve values to come that lie in the intervals, of ${covered[0]?.series} series a cell. The aim is 92 to 98 % in those`,
    'of 95 %. Values of one series are alike: with 100 series a share is uncertain by about two points. Of 12 values no range is promised:',
    'they cannot tell a trend from a change of level, and the forecast says so (`history_short`).',
    '',
    '| process | n | in 95 % | in 80 % |',
    '|---|--:|--:|--:|',
    ...covered.map(
      ({ process, n, within_95, within_80 }) =>
        `| ${process} | ${n} | ${percent(within_95)} | ${percent(within_80)} |`,
    ),
    '',
  ]
}

export const proof: Proof = {
  summary: 'false claims and power of the methods over time, and coverage of forecasts, on simulated series',
  async run(input) {
    const { seed, number, log } = input
    const series = number('series', 1000)
    const shards = number('shards', 1)
    const shard = number('shard', 0)
    const faults = [
      ...alarmFaults(seed, number, log),
      ...coverageFaults(seed, number, log),
      ...(await claimFaults(LENGTHS, input)),
    ]
    if (series === 0) return faults
    const cells: Cell[] = []
    for (const [index, process] of PROCESSES.entries()) {
      if (index % shards !== shard) continue
      for (const n of LENGTHS) {
        const cell = runCell(process, n, series, seed + 1000 * index + n)
        cells.push(cell)
        log(
          `${process.name}, n = ${n}: ${JSON.stringify(cell.false_claims)} of ${series}, found ${cell.found ?? '-'}`,
        )
      }
    }
    const power = powerOf(Math.min(series, 400), seed)
    if (number('write', 0) === 1) {
      const others = readFileSync(PAGE, 'utf8')
        .split(/^(?=## )/mu)
        .filter((part) => /^## (anomalies|forecast|compare|regression|correlation)\n/u.test(part))
      writeFileSync(PAGE, [page(cells, power, series, seed), ...others].join('\n'))
    }
    const claims = METHODS.flatMap((method) => {
      const { all, worst } = sharesOf(cells, method)
      const says: string[] = []
      if (all > MOST_OVER_ALL) says.push(`${method}: ${percent(all)} false claims over all cells`)
      if (worst > MOST_IN_A_CELL) says.push(`${method}: ${percent(worst)} false claims in a cell`)
      return says
    })
    return [...faults, ...claims]
  },
}

type Ask = Parameters<Proof['run']>[0]

function alarmFaults(seed: number, number: Ask['number'], log: Ask['log']): string[] {
  const series = number('anomalies', 1000)
  if (series === 0) return []
  const alarms: Alarms[] = []
  for (const [index, process] of PROCESSES.entries())
    for (const n of LENGTHS) {
      const cell = runAlarms(process, n, series, seed + 1000 * index + n)
      alarms.push(cell)
      log(`anomalies, ${process.name}, n = ${n}: ${cell.false_alarms} of ${series}`)
    }
  const power = LENGTHS.slice(0, 3).flatMap((n) => spikePower(alarms, n, Math.min(series, 400), seed))
  if (number('write', 0) === 1) {
    const command = `npm run proof -- calibration --series 0 --coverage 0 --claims 0 --anomalies ${series} --seed ${seed} --write 1`
    writePart(alarmsPage(alarms, power, command))
  }
  const shares = alarms.map(shareOf)
  const all = shares.reduce((sum, share) => sum + share, 0) / shares.length
  const faults = all > MOST_OVER_ALL ? [`anomalies: ${percent(all)} false alarms over all cells`] : []
  if (Math.max(...shares) > MOST_IN_A_CELL) faults.push('anomalies: too many false alarms in a cell')
  return faults
}

function coverageFaults(seed: number, number: Ask['number'], log: Ask['log']): string[] {
  const series = number('coverage', 200)
  if (series === 0) return []
  const longest = number('longest', 730)
  const lengths = [12, ...LENGTHS].filter((n) => n <= longest)
  const covered: Covered[] = []
  for (const [index, process] of COVERED.entries())
    for (const n of lengths) {
      const cell = runCoverage(process, n, series, seed + 1000 * index + n)
      covered.push(cell)
      log(`forecast, ${process.name}, n = ${n}: ${percent(cell.within_95)} in the 95 % interval`)
    }
  if (number('write', 0) === 1) {
    const command = `npm run proof -- calibration --series 0 --anomalies 0 --claims 0 --coverage ${series} --longest ${longest} --seed ${seed} --write 1`
    writePart(coveragePage(covered, command))
  }
  return covered
    .filter(({ n, within_95 }) => n >= LEAST_PROMISED && (within_95 < 0.92 || within_95 > 0.98))
    .map(({ process, n, within_95 }) => `forecast, ${process}, n = ${n}: ${percent(within_95)}`)
}
