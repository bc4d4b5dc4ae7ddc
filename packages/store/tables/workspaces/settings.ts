/** The columns of values that are set once for the whole store. */
import { Table } from '../table.ts'

export const SETTINGS = new Table<{ key: string; value: string }>('settings', ['key'], {
  key: 'text',
  value: 'text',
})
