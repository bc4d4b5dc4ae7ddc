/** How people want an upload to be read. Later drafts and uploads of the same path start from it. */
export interface FileDialectKey {
  workspace_id: string
  /** The path of the upload. */
  path: string
}

export interface FileDialectStore {
  /** The lines that say how to read the file; null: nobody has written any. */
  getFileDialect(key: FileDialectKey): Promise<string[] | null>
  /** Replaces the lines. */
  keepFileDialect(input: FileDialectKey & { lines: string[] }): Promise<true>
  /** Deletes the lines. Returns false if there are none. */
  deleteFileDialect(key: FileDialectKey): Promise<boolean>
}
