/** The type of a file of a server that is not downloaded yet. */
import type { Wanted } from '@assay/net/download'

/** A file to download; `shown` is its name in lineage and errors. */
export interface RemoteFile extends Wanted {
  shown: string
  /** The size in bytes, if it is known before the download. */
  bytes?: number
}
