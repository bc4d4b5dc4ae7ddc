/**
 * The answers of the hottest path, jobs/status, as text, for as long as nothing was committed since: many clients poll,
 * few writes happen. On SQLite only, where every commit is this process's own; elsewhere it keeps nothing.
 */
import type { Store } from '../store/store.ts'

const MOST = 2000

export interface Statuses {
  get(workspace_id: string, assignment_id: string): string | undefined
  /** `revision`: the store's when the job was read. */
  keep(workspace_id: string, assignment_id: string, revision: number | null, text: string): void
}

export function createStatuses(store: Pick<Store, 'revision'>): Statuses {
  const kept = new Map<string, string>()
  let of: number | null = null
  return {
    get(workspace_id, assignment_id) {
      return of !== null && of === store.revision ? kept.get(`${workspace_id} ${assignment_id}`) : undefined
    },
    keep(workspace_id, assignment_id, revision, text) {
      if (revision === null || revision !== store.revision) return
      if (of !== revision || kept.size >= MOST) kept.clear()
      of = revision
      kept.set(`${workspace_id} ${assignment_id}`, text)
    },
  }
}
