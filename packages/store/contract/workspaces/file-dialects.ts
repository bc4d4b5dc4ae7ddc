/** The lines that say how an upload is read. Later drafts and uploads of the same path start from them. */
export interface FileDialectKey {
  workspace_id: string
  /** The path of the upload. */
  path: string
}

export interface FileDialectStore {
  /** Returns the lines of the file; null if there are none. */
  getFileDialect(key: FileDialectKey): Promise<string[] | null>
  /** Replaces the lines. */
  keepFileDialect(input: FileDialectKey & { lines: string[] }): Promise<true>
  /** Deletes the lines. Returns false if there are none. */
  deleteFileDialect(key: FileDialectKey): Promise<boolean>
}
