/**
 * Counts the requests of each workspace that stay open: live streams, and status requests that wait. Each holds memory and a
 * connection of this node, so a workspace may have only so many, and one token half of them.
 */
import { AppError } from '@assay/model/errors'
import type { Principal } from '@assay/model/token'

const RETRY_SECONDS = 5

export interface OpenRequests {
  /** The most open requests of one workspace. */
  readonly most: number
  /**
   * Counts a request. Throws `workspace_busy` if the workspace or the token has reached its limit. Returns a function
   * to call once at the end.
   */
  open(principal: Pick<Principal, 'workspace_id' | 'token_id'>): () => void
  /** Returns the number of open requests by workspace. */
  counts(): ReadonlyMap<string, number>
}

function busy(whose: string, most: number): AppError {
  return new AppError(
    'workspace_busy',
    `${whose} has ${most} live streams and waiting requests open on this node, the most that max_streams allows: close some, or ask without wait.`,
    { retryAfter: RETRY_SECONDS },
  )
}

export function createOpenRequests(most: number): OpenRequests {
  const ofToken = new Map<string, number>()
  const ofWorkspace = new Map<string, number>()
  const mostOfToken = Math.ceil(most / 2)
  const add = (counts: Map<string, number>, key: string, by: 1 | -1): void => {
    const count = (counts.get(key) ?? 0) + by
    if (count === 0) counts.delete(key)
    else counts.set(key, count)
  }
  return {
    most,
    open({ workspace_id, token_id }) {
      if ((ofWorkspace.get(workspace_id) ?? 0) >= most) throw busy('The workspace', most)
      if ((ofToken.get(token_id) ?? 0) >= mostOfToken) throw busy('The token', mostOfToken)
      add(ofWorkspace, workspace_id, 1)
      add(ofToken, token_id, 1)
      let isOpen = true
      return () => {
        if (!isOpen) return
        isOpen = false
        add(ofWorkspace, workspace_id, -1)
        add(ofToken, token_id, -1)
      }
    },
    counts: () => ofWorkspace,
  }
}
