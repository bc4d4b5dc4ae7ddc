/**
 * The answers of the hottest path, jobs/status, as text, each until its own job changes: many clients poll, few writes
 * happen. On SQLite only, where every write is this process's own and the store tells of each; elsewhere it keeps nothing.
 */
import type { Store } from '../store/store.ts'

const MOST = 4000

export interface Statuses {
  get(workspace_id: string, assignment_id: string): string | undefined
  /** `revision`: the store's when the job was read; what has been committed since is not hidden by an older answer. */
  keep(workspace_id: string, assignment_id: string, revision: number | null, text: string): void
}

export function createStatuses(store: Pick<Store, 'revision' | 'onJobChange'>): Statuses {
  /** The oldest first. */
  const kept = new Map<string, { workspace_id: string; text: string }>()
  const told = store.onJobChange((assignment_id) => kept.delete(assignment_id))
  return {
    get(workspace_id, assignment_id) {
      const answer = kept.get(assignment_id)
      return answer?.workspace_id === workspace_id ? answer.text : undefined
    },
    keep(workspace_id, assignment_id, revision, text) {
      if (!told || revision !== store.revision) return
      kept.set(assignment_id, { workspace_id, text })
      if (kept.size > MOST) kept.delete(kept.keys().next().value!)
    },
  }
}
