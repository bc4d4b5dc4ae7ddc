/**
 * Runs and keeps the cells of the calibration. A cell holds the counts of one process at one length. measured.tsv keeps
 * them, so that a run continues where the last one ended. A series is drawn from the seed, the cell and its number.
 */
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import path from 'node:path'

export type Counts = Record<string, number>

/** One cell to run: a part of the page, a process or an effect, and a length. */
export interface Job {
  part: string
  process: string
  n: number
  run(series: number, seed: number): Counts | Promise<Counts>
}

export interface Cell {
  part: string
  process: string
  n: number
  seed: number
  series: number
  counts: Counts
}

const FILE = path.join(import.meta.dirname, 'measured.tsv')
const HEAD = 'part\tprocess\tn\tseed\tseries\tcounts'
/** The number of series that are run of each cell in a round. */
const ROUND = 50

const keyOf = ({ part, process, n }: Pick<Cell, 'part' | 'process' | 'n'>): string =>
  `${part}\t${process}\t${n}`

/** Reads all kept cells. */
export function readCells(): Cell[] {
  if (!existsSync(FILE)) return []
  const [, ...lines] = readFileSync(FILE, 'utf8').trimEnd().split('\n')
  return lines.map((line) => {
    const [part = '', process = '', n, seed, series, counts = ''] = line.split('\t')
    const each = counts.split(' ').map((one) => one.split('='))
    return {
      part,
      process,
      n: Number(n),
      seed: Number(seed),
      series: Number(series),
      counts: Object.fromEntries(each.map(([what, count]) => [what!, Number(count)])),
    }
  })
}

/** Replaces the kept cells of the same keys. Other cells stay. The file is sorted by part, process and length. */
export function keep(cells: readonly Cell[]): void {
  const all = new Map([...readCells(), ...cells].map((cell) => [keyOf(cell), cell]))
  const rows = [...all.values()]
    .toSorted((a, b) => a.part.localeCompare(b.part) || a.process.localeCompare(b.process) || a.n - b.n)
    .map((cell) => {
      const counts = Object.entries(cell.counts).map(([what, count]) => `${what}=${count}`)
      return [keyOf(cell), cell.seed, cell.series, counts.join(' ')].join('\t')
    })
  // The file is replaced at once, because another shard may read it at any time.
  const own = `${FILE}.${process.pid}`
  writeFileSync(own, `${[HEAD, ...rows].join('\n')}\n`)
  renameSync(own, FILE)
}

/** Returns the seed of one run of a cell (FNV-1a). */
function seedOf(...parts: readonly (string | number)[]): number {
  let hash = 0x811c9dc5
  for (const sign of parts.join('\t')) hash = Math.imul(hash ^ sign.codePointAt(0)!, 0x01000193)
  return hash >>> 0
}

export interface Running {
  seed: number
  /** The number of series that each cell has at the end. */
  series(job: Job): number
  /** Whether counts are read from and kept in the file. */
  kept: boolean
  /** Whether earlier counts are dropped. */
  afresh: boolean
  /** The time at which the run ends, by `performance.now()`. */
  until: number
  log(line: string): void
}

/** Runs the cells in rounds, so that all grow evenly, until each has its series. */
export async function runJobs(jobs: readonly Job[], running: Running): Promise<Cell[]> {
  const { seed, series, kept, afresh, until, log } = running
  const before = new Map((kept && !afresh ? readCells() : []).map((cell) => [keyOf(cell), cell]))
  const cells = jobs.map((job): Cell => {
    const known = before.get(keyOf(job))
    const { part, process, n } = job
    return known?.seed === seed ? known : { part, process, n, seed, series: 0, counts: {} }
  })
  for (let round = ROUND; ; round += ROUND) {
    let open = false
    for (const [place, job] of jobs.entries()) {
      const cell = cells[place]!
      const next = Math.min(round, series(job)) - cell.series
      if (series(job) > Math.max(cell.series, round)) open = true
      if (next <= 0) continue
      if (performance.now() > until) return counted(cells)
      const found = await job.run(next, seedOf(seed, keyOf(job), cell.series))
      for (const [what, count] of Object.entries(found)) cell.counts[what] = (cell.counts[what] ?? 0) + count
      cell.series += next
      if (kept) keep([cell])
    }
    log(`${round} series: ${jobs.length} cells`)
    if (!open) return counted(cells)
  }
}

const counted = (cells: readonly Cell[]): Cell[] => cells.filter(({ series }) => series > 0)
