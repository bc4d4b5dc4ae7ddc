/** Runs stretches of statements in processes of their own, and again without the statements that end one. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type GuardReport, NOTHING } from './report.ts'
import type { Trying } from './stretch.ts'
import type { Stretch } from './try.ts'

/** The number of statements of one process. */
const STRETCH = 25_000

/** Called with the results of some statements; false ends the run. */
type OnPart = (part: GuardReport) => boolean

interface End {
  /** The number of statements whose end was reported. */
  done: number
  /** The last statement that the process tried, and how the process died; null if it completed. */
  ended: { trying: Trying; how: string } | null
}

/** Runs a stretch. `program` replaces stretch.ts in a test. */
async function runStretch(stretch: Stretch, program: string, onPart: OnPart): Promise<End> {
  const folder = await mkdtemp(path.join(tmpdir(), 'assay-guard-'))
  try {
    const child = fork(program, [JSON.stringify(stretch), folder])
    let done = 0
    child.on('message', (part) => {
      done += (part as GuardReport).statements
      if (!onPart(part as GuardReport)) child.kill()
    })
    const [code, signal] = (await once(child, 'close')) as [number | null, string | null]
    if (code === 0 || child.killed) return { done, ended: null }
    const [line] = (await readFile(path.join(folder, 'trying'), 'utf8')).split('\n')
    if (!line) throw new Error(`The process of ${JSON.stringify(stretch)} ended before its first statement.`)
    return { done, ended: { trying: JSON.parse(line) as Trying, how: signal ?? `code ${code}` } }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

const sentence = ({ at, sql, passed }: Trying, how: string): string =>
  `Statement ${at} ended its process (${how}) ${passed ? 'when it ran' : 'when the guard read it'}: ${JSON.stringify(sql)}`

export async function inProcesses(
  { seed, from, to, processes }: Stretch & { processes: number },
  onPart: OnPart,
  program = path.join(import.meta.dirname, 'stretch.ts'),
): Promise<void> {
  let next = from
  const over = new AbortController()
  const told: OnPart = (part) => {
    if (!onPart(part)) over.abort()
    return !over.signal.aborted
  }
  const work = async (): Promise<void> => {
    while (!over.signal.aborted && next < to) {
      let at = next
      const end = Math.min(to, at + STRETCH)
      next = end
      const without: number[] = []
      while (!over.signal.aborted && at < end) {
        const { done, ended } = await runStretch({ seed, from: at, to: end, without }, program, told)
        if (ended === null) break
        at += done
        without.push(ended.trying.at)
        told({ ...NOTHING, ended: [sentence(ended.trying, ended.how)] })
      }
    }
  }
  await Promise.all(Array.from({ length: processes }, work))
}
