/** False alarms of `anomalies` on simulated series, and spikes found, beside generalised ESD at the same share of false alarms. */
import { generalisedEsd } from '../../packages/engine/numeric/outliers.ts'
import { calendarSeasons } from '../../packages/engine/series/calendar-seasons.ts'
import { levelChanges } from '../../packages/engine/series/level-changes.ts'
import { findSeasons, seasonColumns } from '../../packages/engine/series/seasons.ts'
import { findSpikes } from '../../packages/engine/series/spikes/spikes.ts'
import { EFFECTS, PROCESSES, type Process, randomFrom, STEPS } from './processes.ts'

const ALPHA = 0.05
const VALUES_A_LEVEL = 20
export const SPIKES = [1, 2, 3, 5, 8]

export interface Alarms {
  process: string
  n: number
  series: number
  false_alarms: number
  /** The farthest value of each series by ESD's statistic. */
  statistics: number[]
}

/** Looks for spikes as the method does: beside the seasons and changes of level that it finds. */
function alarmOf(values: readonly number[], rows: readonly number[], process: Process): boolean {
  const seasons = findSeasons(values, rows, calendarSeasons(STEPS[process.step]))
  const levels = levelChanges(values, rows, seasons).slice(0, Math.floor(values.length / VALUES_A_LEVEL))
  const beside = [
    ...seasons.flatMap(({ period }) => seasonColumns(rows, period)),
    ...levels.map(({ index }) => values.map((_, row) => (row < index ? 0 : 1))),
  ]
  return (
    findSpikes(values, rows, beside, Math.max(1, Math.floor(values.length / 10)), ALPHA).spikes.length > 0
  )
}

export function runAlarms(process: Process, n: number, series: number, seed: number): Alarms {
  const random = randomFrom(seed)
  let alarms = 0
  const statistics: number[] = []
  for (let count = 0; count < series; count++) {
    const whole = process.make(random, n)
    const rows = whole
      .map((_, row) => row)
      .filter((row) => !process.gaps || row === 0 || row === n - 1 || random() > 0.1)
    const values = rows.map((row) => whole[row]!)
    if (alarmOf(values, rows, process)) alarms += 1
    statistics.push(generalisedEsd(values, 1, ALPHA).steps[0]?.statistic ?? 0)
  }
  return { process: process.name, n, series, false_alarms: alarms, statistics }
}

export interface SpikePower {
  n: number
  size: number
  share: number
  /** Of ESD, at the threshold that gives as many false alarms over the processes. */
  esd: number
}

/** Spikes in white noise; the threshold of ESD is the one at which it raises as many false alarms as ours over `alarms`. */
export function spikePower(alarms: readonly Alarms[], n: number, series: number, seed: number): SpikePower[] {
  const cells = alarms.filter((cell) => cell.n === n)
  const ours = cells.reduce((sum, { false_alarms }) => sum + false_alarms, 0)
  const all = cells.flatMap(({ statistics }) => statistics).toSorted((a, b) => b - a)
  const threshold = all[ours] ?? Number.POSITIVE_INFINITY
  const noise = PROCESSES.find(({ name }) => name === 'white noise')!
  return SPIKES.map((size) => {
    const random = randomFrom(seed)
    let found = 0
    let esd = 0
    for (let count = 0; count < series; count++) {
      const values = EFFECTS.spike(random, n, size)
      if (
        alarmOf(
          values,
          values.map((_, row) => row),
          noise,
        )
      )
        found += 1
      if (generalisedEsd(values, 1, ALPHA).steps[0]!.statistic > threshold) esd += 1
    }
    return { n, size, share: found / series, esd: esd / series }
  })
}
