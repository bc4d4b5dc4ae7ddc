/** The places from which sources of files are read. */
import type { RemoteRoots, Uploads } from '@assay/model/file'

/** The places where `file:` sources are read: `sample/NAME`, `uploads/PATH`, and all other paths below `data`. */
export interface Roots {
  /** The absolute paths of the shipped tables, by name. */
  sample: Record<string, string>
  data: string | null
  uploads?: Uploads
  remote?: RemoteRoots
  /**
   * Small tables of a test that take the place of sources, by the name of the source. They are files in one folder.
   */
  fixtures?: { folder: string; sources: Record<string, { file: string; columns: Record<string, string> }> }
}
