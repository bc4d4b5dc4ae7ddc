/**
 * Writes the reports of one process in groups, with the work that must follow them (claims of deliveries, releases).
 * All requests of one pass of the event loop, or that arrive while a group is being written, become one transaction.
 * Alone, each report would wait for the commit of the one before. In a group reports come first, after locks that
 * precede theirs (docs/decisions/0115-one-order-of-locks.md). A group that cannot be written is divided, so that one
 * report harms no other. A claim of jobs is a transaction of its own.
 */
import { AppError } from '@assay/model/errors'
import type { Reports, Write as Work } from '../methods.ts'
import { follow, type Routine, type Transaction as Rows, together } from '../rows.ts'
import type { Transaction } from './connection.ts'

/** The most reports of one transaction. More would hold their locks for too long. */
const GROUP_MOST = 500

type Write = <T>(work: (tx: Transaction) => Promise<T>) => Promise<T>

interface Entry<Report> {
  work: { reports: Report[] } | { follow: Work<unknown>; first: Work<void> } | { alone: Work<unknown> }
  resolve(value: unknown): void
  reject(error: unknown): void
}

/** Returns the first entries whose reports fit into one transaction, at least one entry. */
function firstGroup<Report>(waiting: Entry<Report>[]): Entry<Report>[] {
  let reports = 0
  const isAlone = 'alone' in waiting[0]!.work
  const end = waiting.findIndex(({ work }, index) => {
    reports += 'reports' in work ? work.reports.length : 0
    return index > 0 && (isAlone || 'alone' in work || reports > GROUP_MOST)
  })
  return end < 0 ? waiting : waiting.slice(0, end)
}

/** Wakes the webhooks in the pipeline of the reports, so that the commit waits for nothing else. */
function* wakeSecond(tx: Transaction): Routine<void> {
  yield Promise.resolve()
  yield* tx.wakeNow()
}

function* writeAll<Report>(
  tx: Transaction,
  group: Entry<Report>[],
  writeReports: (tx: Rows, reports: Report[]) => Routine<boolean[]>,
): Routine<unknown[]> {
  const reports = group.flatMap(({ work }) => ('reports' in work ? work.reports : []))
  const firsts = group.flatMap(({ work }) => ('first' in work ? [work.first(tx)] : []))
  const [, written] =
    reports.length > 0
      ? yield* together<[void[], boolean[], void]>(
          together<void[]>(...firsts),
          writeReports(tx, reports),
          wakeSecond(tx),
        )
      : [yield* together<void[]>(...firsts), []]
  const values: unknown[] = []
  for (const { work } of group)
    if ('reports' in work) values.push(written.splice(0, work.reports.length))
    else values.push(yield* 'follow' in work ? work.follow(tx) : work.alone(tx))
  return values
}

export function createWriteGroups<Report>(
  { report: write, claim }: { report: Write; claim: Write },
  writeReports: (tx: Rows, reports: Report[]) => Routine<boolean[]>,
): Reports<Report> {
  let waiting: Entry<Report>[] = []
  let running = false

  async function writeGroup(group: Entry<Report>[]): Promise<void> {
    try {
      const values = await write((tx) => follow(writeAll(tx, group, writeReports)))
      for (const [index, { resolve }] of group.entries()) resolve(values[index])
    } catch (error) {
      const away = error instanceof AppError && error.code === 'store_unavailable'
      if (away || group.length === 1) for (const { reject } of group) reject(error)
      else {
        const half = Math.ceil(group.length / 2)
        await writeGroup(group.slice(0, half))
        await writeGroup(group.slice(half))
      }
    }
  }

  async function run(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve))
    while (waiting.length > 0) {
      const group = firstGroup(waiting)
      waiting = waiting.slice(group.length)
      await writeGroup(group)
    }
    running = false
  }

  function add<T>(work: Entry<Report>['work']): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      waiting.push({ work, resolve: (value) => resolve(value as T), reject })
      if (running) return
      running = true
      void run()
    })
  }

  return {
    report: (reports) => add({ reports }),
    follow: (work, first) => add({ follow: work, first }),
    alone: (work) => add({ alone: work }),
    async beside<T>(work: Work<T>, first: Work<void>) {
      const isBeside = running
      const [, value] = await claim((tx) => follow(together<[void, T]>(first(tx), work(tx))))
      return { value, isBeside }
    },
  }
}
