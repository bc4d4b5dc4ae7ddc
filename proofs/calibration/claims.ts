/** The part of the calibration over compare, regression and correlation: false claims, what is found, and the page. */
import type { ProofInput } from '../main.ts'
import { type Claims, countsFor, type Hits, hitsOf, JUDGED, type Judged, runClaims } from './outcomes.ts'
import { percent, writePart } from './page.ts'
import { PROCESSES } from './processes.ts'

const MOST_IN_A_CELL = 0.07
const MOST_OVER_ALL = 0.05

const WHAT: Record<Judged, string> = {
  compare:
    'False is a last day that is said to rise or fall by more than usual: nothing happens on it. Processes in days.',
  regression: 'False is a slope that is claimed between two independent runs of a process, in order of days.',
  correlation:
    'False is a correlation that is claimed between two independent runs of a process, in order of days.',
}

export async function claimFaults(
  lengths: readonly number[],
  { seed, number, text, log }: ProofInput,
): Promise<string[]> {
  const series = number('claims', 1000)
  if (series === 0) return []
  const faults: string[] = []
  const only = text('of', '')
  for (const method of JUDGED.filter((one) => only === '' || one === only)) {
    const cells: Claims[] = []
    for (const [index, process] of PROCESSES.entries()) {
      if (!countsFor(method, process)) continue
      for (const n of lengths) {
        const cell = await runClaims(method, process, n, series, seed + 1000 * index + n)
        cells.push(cell)
        log(`${method}, ${process.name}, n = ${n}: ${cell.false_claims} of ${series}`)
      }
    }
    const hits: Hits[] = []
    for (const n of lengths.slice(0, 3)) hits.push(...(await hitsOf(method, n, Math.min(series, 400), seed)))
    const shares = cells.map((cell) => cell.false_claims / cell.series)
    const all = shares.reduce((sum, share) => sum + share, 0) / shares.length
    if (all > MOST_OVER_ALL) faults.push(`${method}: ${percent(all)} false claims over all cells`)
    if (Math.max(...shares) > MOST_IN_A_CELL)
      faults.push(`${method}: ${percent(Math.max(...shares))} false claims in a cell`)
    const command = `npm run proof -- calibration --series 0 --anomalies 0 --coverage 0 --claims ${series} --of ${method} --seed ${seed} --write 1`
    if (number('write', 0) === 1) writePart(part(method, lengths, cells, hits, command))
  }
  return faults
}

function part(
  method: Judged,
  lengths: readonly number[],
  cells: readonly Claims[],
  hits: readonly Hits[],
  command: string,
): string[] {
  const shares = cells.map((cell) => cell.false_claims / cell.series)
  const all = shares.reduce((sum, share) => sum + share, 0) / shares.length
  return [
    `## ${method}`,
    '',
    `<!-- ${command} -->`,
    '',
    `${WHAT[method]} Of ${cells[0]!.series} series a cell.`,
    '',
    `False claims: ${percent(all)} over all cells, ${percent(Math.max(...shares))} in the worst.`,
    '',
    `| process | ${lengths.map((n) => `n = ${n}`).join(' | ')} |`,
    `|---|${lengths.map(() => '--:|').join('')}`,
    ...[...new Set(cells.map(({ process }) => process))].map((process) => {
      const row = lengths.map((n) => cells.find((cell) => cell.process === process && cell.n === n))
      return `| ${process} | ${row.map((cell) => (cell ? percent(cell.false_claims / cell.series) : 'not run')).join(' | ')} |`
    }),
    '',
    'What is there, in normal noise, and how often it is claimed:',
    '',
    '| effect | n | claimed |',
    '|---|--:|--:|',
    ...hits.map(({ effect, n, share }) => `| ${effect} | ${n} | ${percent(share)} |`),
    '',
  ]
}
