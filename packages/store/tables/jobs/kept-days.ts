/** The columns of series of metrics whose days are kept, and of their days. */
import { Table } from '../table.ts'

export interface KeptSeriesRow {
  workspace_id: string
  series_key: string
  metric: string
  recipe: string
  first_day: string | null
  looked_at: string
  doubt: string | null
  audited_at: string
  used_at: string
}

export interface KeptDayRow {
  workspace_id: string
  series_key: string
  day: string
  statistics: string
  bytes: number
  read_at: string
}

export const KEPT_SERIES = new Table<KeptSeriesRow>('kept_series', ['workspace_id', 'series_key'], {
  workspace_id: 'text',
  series_key: 'text',
  metric: 'text',
  recipe: 'text',
  first_day: 'text?',
  looked_at: 'time',
  doubt: 'text?',
  audited_at: 'time',
  used_at: 'time',
})

export const KEPT_DAYS = new Table<KeptDayRow>('kept_days', ['workspace_id', 'series_key', 'day'], {
  workspace_id: 'text',
  series_key: 'text',
  day: 'text',
  statistics: 'text',
  bytes: 'bigint',
  read_at: 'time',
})
