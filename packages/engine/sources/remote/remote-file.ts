/** A file of a server, before it is here. */
import type { Wanted } from '@assay/net/download'

/** A file to download; `shown` is its name in lineage and errors. */
export interface RemoteFile extends Wanted {
  shown: string
  /** Its size, where it is known before. */
  bytes?: number
}
