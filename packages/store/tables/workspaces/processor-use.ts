/** The columns of the processor time of workspaces. */
import type { ProcessorUse } from '../../contract/jobs/processor-use.ts'
import { Table } from '../table.ts'

export const PROCESSOR_USE = new Table<ProcessorUse>('processor_use', ['workspace_id', 'hour'], {
  workspace_id: 'text',
  hour: 'text',
  ms: 'bigint',
})
