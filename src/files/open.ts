/** From the settings to where uploads lie. */
import path from 'node:path'
import type { Files } from './files.ts'
import { FolderFiles } from './folder.ts'

export interface FilesOptions {
  /** Null: a folder of the home. */
  files: string | null
  home: string
  maxFile: number
  filesQuota: number
}

export function openFiles({ files, home, maxFile, filesQuota }: FilesOptions): Files {
  const limits = { file: maxFile, quota: filesQuota }
  return new FolderFiles(files ?? path.join(home, 'files'), limits)
}
