/** The columns of events. */
import type { Event } from '@assay/model/event'
import { Table } from '../table.ts'

export interface EventRow extends Event {
  seq: number
  workspace_id: string
}

export const EVENTS = new Table<EventRow>('events', ['seq'], {
  seq: 'bigint',
  event_id: 'text',
  workspace_id: 'text',
  type: 'text',
  timestamp: 'time',
  data: 'json',
})

/** Returns the job of an event; null for an event of no job. */
export function assignmentOf({ data }: EventRow): string | null {
  return (data as { assignment_id?: string }).assignment_id ?? null
}
