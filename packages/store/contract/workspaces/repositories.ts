/** The git repository of templates in the store. */
import type { LatestCommit, Repository, RepositoryCommit, RepositoryTree } from '@assay/model/repository'

/** Milliseconds that a claim of a repository lasts. It can be renewed. */
export const HOLD_MS = 30_000

interface Claim {
  repository_id: string
  /** The revision that was claimed. Nothing is written if another node has claimed the repository since. */
  revision: number
}

/** The result of a look at the repository. Only a result with a `tree` changes what is served. */
export type Pulled =
  | { unreached: string }
  /** The newest commit is the same as at the last look. */
  | { unchanged: true }
  | {
      commit: RepositoryCommit
      faults: LatestCommit['faults']
      tree: RepositoryTree | null
      /** The owner of the tree's schedules and connections. */
      owner: { workspace_id: string; user_id: string }
    }

export interface RepositoryStore {
  /** Keeps the address and the last tree. Another address, branch or folder makes a look due at once. */
  openRepository(
    input: Pick<Repository, 'repository_id' | 'address' | 'branch' | 'folder'>,
  ): Promise<Repository>
  getRepository(repository_id: string): Promise<Repository | null>
  /** Returns the tree of the last accepted commit. */
  getRepositoryTree(repository_id: string): Promise<{ commit_id: string; tree: RepositoryTree } | null>
  /** Makes a look due at once, even at a commit that was refused. Returns false if there is no such repository. */
  askRepository(repository_id: string): Promise<boolean>
  /**
   * Claims a repository whose look is due and that no other node holds. `asked`: somebody asked for the look. Returns
   * null if there is none.
   */
  claimRepository(repository_id: string): Promise<Repository | null>
  /** Renews the claim for HOLD_MS. Returns false if another node has claimed it. */
  holdRepository(claim: Claim): Promise<boolean>
  /**
   * Writes the result of a look, all or nothing, and ends the claim. The next look is due after `every_ms`. The schedules and
   * connections of a tree replace those of the tree before. A connection made by the API stays as it is. One that now leads
   * elsewhere loses its secrets.
   */
  settleRepository(input: Claim & { every_ms: number; pulled: Pulled }): Promise<boolean>
}
