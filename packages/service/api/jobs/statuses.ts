/**
 * The answers of the hottest path, jobs/status, as text, each until its own job changes: many clients poll, few writes
 * happen. On SQLite only, where every write is this process's own and the store tells of each; elsewhere it keeps nothing.
 * What is kept was read, and so is durable; a write takes it away before it is committed.
 */
import type { Store } from '@assay/store/store'

const MOST = 4000

export interface Statuses {
  get(workspace_id: string, assignment_id: string): string | undefined
  /** To be called before the job is read. Answers with what keeps the answer, unless the job has changed since. */
  reading(workspace_id: string, assignment_id: string): (text: string) => void
}

interface Answer {
  workspace_id: string
  text: string
}

export function createStatuses(store: Pick<Store, 'onJobChange'>): Statuses {
  /** The oldest first; without an answer while the job is being read. */
  const kept = new Map<string, { answer?: Answer }>()
  const told = store.onJobChange((assignment_id) => kept.delete(assignment_id))

  function placeOf(assignment_id: string): { answer?: Answer } {
    const present = kept.get(assignment_id)
    if (present) return present
    const place = {}
    kept.set(assignment_id, place)
    if (kept.size > MOST) kept.delete(kept.keys().next().value!)
    return place
  }

  return {
    get(workspace_id, assignment_id) {
      const answer = kept.get(assignment_id)?.answer
      return answer?.workspace_id === workspace_id ? answer.text : undefined
    },
    reading(workspace_id, assignment_id) {
      if (!told) return () => undefined
      const place = placeOf(assignment_id)
      return (text) => {
        if (kept.get(assignment_id) === place) place.answer = { workspace_id, text }
      }
    },
  }
}
