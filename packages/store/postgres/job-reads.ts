/**
 * Gathers reads of single jobs. Reads of one pass of the event loop, or that arrive while all questions are under
 * way, become one question. Each question is sent after its reads were requested, so no answer is older than its
 * request. A status poll of many clients costs a fraction of a question each.
 */
import type { Job } from '@assay/model/job'
import type { Database } from '../methods.ts'
import { getJobs } from '../nouns/jobs/jobs.ts'
import type { Store } from '../store.ts'

interface Waiting {
  workspace_id: string
  assignment_id: string
  resolve(job: Job | null): void
  reject(error: unknown): void
}

/** The most questions at once, so that a slow one does not delay all. */
const FLIGHTS_MOST = 3
const IDS_MOST = 100

export function gatherReads(read: Database['read']): Store['getJob'] {
  const waiting: Waiting[] = []
  let flights = 0
  let scheduled = false

  async function ask(asked: Waiting[]): Promise<void> {
    try {
      const ids = [...new Set(asked.map(({ assignment_id }) => assignment_id))]
      const found = await read((from) => getJobs(from, ids))
      const jobs = new Map(found.map((job) => [job.assignment_id, job]))
      for (const { workspace_id, assignment_id, resolve } of asked) {
        const job = jobs.get(assignment_id)
        resolve(job?.workspace_id === workspace_id ? job : null)
      }
    } catch (error) {
      for (const { reject } of asked) reject(error)
    }
    flights -= 1
    depart()
  }

  function depart(): void {
    scheduled = false
    while (waiting.length > 0 && flights < FLIGHTS_MOST) {
      flights += 1
      void ask(waiting.splice(0, IDS_MOST))
    }
  }

  return ({ workspace_id, assignment_id }) =>
    new Promise((resolve, reject) => {
      waiting.push({ workspace_id, assignment_id, resolve, reject })
      if (scheduled) return
      scheduled = true
      setImmediate(depart)
    })
}
