/** The columns of the lines that say how uploads are read. */
import type { FileDialectKey } from '../../contract/workspaces/file-dialects.ts'
import { Table } from '../table.ts'

export interface FileDialectRow extends FileDialectKey {
  lines: string[]
  updated_at: string
}

export const FILE_DIALECTS = new Table<FileDialectRow>('file_dialects', ['workspace_id', 'path'], {
  workspace_id: 'text',
  path: 'text',
  lines: 'json',
  updated_at: 'time',
})
