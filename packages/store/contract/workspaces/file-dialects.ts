/** How people said that an upload is read: drafts and uploads of the same path begin with it. */
export interface FileDialectKey {
  workspace_id: string
  /** Of the upload. */
  path: string
}

export interface FileDialectStore {
  /** The lines that say how the file is read; null: nobody has said so. */
  getFileDialect(key: FileDialectKey): Promise<string[] | null>
  /** Keeps the lines in place of earlier ones. */
  keepFileDialect(input: FileDialectKey & { lines: string[] }): Promise<true>
  /** False: there are none. */
  deleteFileDialect(key: FileDialectKey): Promise<boolean>
}
