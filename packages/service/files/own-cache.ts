/** The copies of fetched files that one workspace uses. No other workspace reads or writes them. */
import path from 'node:path'
import type { RemoteRoots } from '@assay/model/file'

export function ownCache(remote: RemoteRoots, workspace_id: string): RemoteRoots {
  return { ...remote, cache: path.join(remote.cache, workspace_id) }
}
