/** The caps of workspaces, by the counts of their lanes: one writer, so they are exact. */
import { queueFull } from '../caps.ts'
import type { Connection } from './connection.ts'

/** Refuses (`queue_full`) where the workspace may not have so many more jobs queued. */
export function requireRoom(connection: Connection, workspace_id: string, more = 1): void {
  const room = connection.one<{ most: number | null; queued: number | null }>(
    `SELECT coalesce(max_queued, ?) AS most, (SELECT queued FROM job_counts WHERE job_counts.workspace_id = workspaces.workspace_id) AS queued
     FROM workspaces WHERE workspace_id = ?`,
    connection.caps.max_queued,
    workspace_id,
  )
  if (room && room.most !== null && (room.queued ?? 0) + more > room.most) throw queueFull(room.most)
}
