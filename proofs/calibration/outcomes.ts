/** Counts false claims of methods that read a relation: outcomes that are graded firm or likely on simulated rows. */
import { METHODS } from '../../packages/engine/methods/catalog.ts'
import { columnsOf, outcomeOf } from '../../packages/engine/methods/relation-fixture.ts'
import { normal, PROCESSES, type Process, type Random, randomFrom } from './processes.ts'

export const JUDGED = ['compare', 'regression', 'correlation'] as const
export type Judged = (typeof JUDGED)[number]

/** The options of each method. `x` and `y` are two independent runs of the same process. */
const OPTIONS: Record<Judged, Record<string, unknown>> = {
  compare: { time: 'day', value: 'y', period: 'day' },
  regression: { y: 'y', x: ['x'] },
  correlation: { values: ['x', 'y'] },
}

/** Processes of which two runs share a season or a step, so that a link between them is no false claim. */
const SHARED = /season|level shift/u

export function countsFor(method: Judged, process: Process): boolean {
  return method === 'compare' ? process.step === 'day' : !SHARED.test(process.name)
}

const START = Date.UTC(2020, 0, 1)

async function claims(
  method: Judged,
  rows: readonly number[],
  x: readonly number[],
  y: readonly number[],
): Promise<boolean> {
  const day = rows.map((row) => new Date(START + row * 86_400_000).toISOString().slice(0, 10))
  const at = (values: readonly number[]): number[] => rows.map((row) => values[row]!)
  const table = await columnsOf({ day, x: at(x), y: at(y) }, { day: 'DATE' })
  const { grade } = await outcomeOf(METHODS[method]!, table, OPTIONS[method])
  await table.query(`drop table ${table.relation}`)
  return grade === 'firm' || grade === 'likely'
}

/** Returns the rows of a process. One with gaps lacks a tenth of them, but not the first and the last. */
function rowsOf(process: Process, random: Random, n: number): number[] {
  const rows = Array.from({ length: n }, (_, row) => row)
  return process.gaps ? rows.filter((row) => row === 0 || row >= n - 2 || random() > 0.1) : rows
}

export async function runClaims(
  method: Judged,
  process: Process,
  n: number,
  series: number,
  seed: number,
): Promise<number> {
  const random = randomFrom(seed)
  let found = 0
  for (let count = 0; count < series; count++) {
    const x = process.make(random, n)
    const y = process.make(random, n)
    if (await claims(method, rowsOf(process, random, n), x, y)) found += 1
  }
  return found
}

/** Returns the sizes of effects: of a last day in standard deviations, or of a correlation. */
export const sizesOf = (method: Judged): number[] => (method === 'compare' ? [3, 5, 8] : [0.3, 0.5])

export const effectOf = (method: Judged, size: number): string =>
  method === 'compare' ? `a last day ${size} standard deviations up` : `a correlation of ${size}`

const NOISE = PROCESSES.find(({ name }) => name === 'white noise')!

/** Counts how often an effect in normal noise is claimed. */
export async function runHits(
  method: Judged,
  size: number,
  n: number,
  series: number,
  seed: number,
): Promise<number> {
  const random = randomFrom(seed)
  let found = 0
  for (let count = 0; count < series; count++) {
    const x = NOISE.make(random, n)
    const y =
      method === 'compare'
        ? NOISE.make(random, n).map((value, row) => value + (row === n - 1 ? size : 0))
        : x.map((value) => size * value + Math.sqrt(1 - size * size) * normal(random))
    if (await claims(method, rowsOf(NOISE, random, n), x, y)) found += 1
  }
  return found
}
