/** False claims of methods that answer through a relation: what they grade as firm or likely on simulated rows. */
import { METHODS } from '../../packages/engine/methods/catalog.ts'
import { columnsOf, outcomeOf } from '../../packages/engine/methods/relation-fixture.ts'
import { normal, PROCESSES, type Process, type Random, randomFrom } from './processes.ts'

export const JUDGED = ['compare', 'regression', 'correlation'] as const
export type Judged = (typeof JUDGED)[number]

/** `x` and `y` are two runs of the same process, independent of each other. */
const OPTIONS: Record<Judged, Record<string, unknown>> = {
  compare: { time: 'day', value: 'y', period: 'day' },
  regression: { y: 'y', x: ['x'] },
  correlation: { values: ['x', 'y'] },
}

/** Two runs of these share a season or a step: they do go together. */
const SHARED = /season|level shift/u

export function countsFor(method: Judged, process: Process): boolean {
  return method === 'compare' ? process.step === 'day' : !SHARED.test(process.name)
}

export interface Claims {
  method: Judged
  process: string
  n: number
  series: number
  false_claims: number
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

/** A tenth of the rows of a process with gaps, without the first and the last, is left out. */
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
): Promise<Claims> {
  const random = randomFrom(seed)
  let found = 0
  for (let count = 0; count < series; count++) {
    const x = process.make(random, n)
    const y = process.make(random, n)
    if (await claims(method, rowsOf(process, random, n), x, y)) found += 1
  }
  return { method, process: process.name, n, series, false_claims: found }
}

export interface Hits {
  method: Judged
  effect: string
  n: number
  share: number
}

/** How often what is there is claimed: a last day that is 3 to 8 standard deviations off, a correlation of 0.3 and 0.5. */
export async function hitsOf(method: Judged, n: number, series: number, seed: number): Promise<Hits[]> {
  const sizes = method === 'compare' ? [3, 5, 8] : [0.3, 0.5]
  const noise = PROCESSES.find(({ name }) => name === 'white noise')!
  const hits: Hits[] = []
  for (const size of sizes) {
    const random = randomFrom(seed)
    let found = 0
    for (let count = 0; count < series; count++) {
      const x = noise.make(random, n)
      const y =
        method === 'compare'
          ? noise.make(random, n).map((value, row) => value + (row === n - 1 ? size : 0))
          : x.map((value) => size * value + Math.sqrt(1 - size * size) * normal(random))
      if (await claims(method, rowsOf(noise, random, n), x, y)) found += 1
    }
    const effect =
      method === 'compare' ? `a last day ${size} standard deviations up` : `a correlation of ${size}`
    hits.push({ method, effect, n, share: found / series })
  }
  return hits
}
