/** What the store promises of the git repository of templates. */
import type { LatestCommit, Repository, RepositoryCommit, RepositoryTree } from '@assay/model/repository'

/** Whoever claims a repository holds it for so long, and may hold it on. */
export const HOLD_MS = 30_000

interface Claim {
  repository_id: string
  /** Of the claim: where another has claimed it since, nothing is written. */
  revision: number
}

/** What a look at the repository found. Only one with a `tree` changes what is served. */
export type Pulled =
  | { unreached: string }
  /** The newest commit has been looked at before. */
  | { unchanged: true }
  | {
      commit: RepositoryCommit
      faults: LatestCommit['faults']
      tree: RepositoryTree | null
      /** Whose the schedules and connections of the tree are. */
      owner: { workspace_id: string; user_id: string }
    }

export interface RepositoryStore {
  /** Keeps the address, and what was taken last. With another address, branch or folder a look is due at once. */
  openRepository(
    input: Pick<Repository, 'repository_id' | 'address' | 'branch' | 'folder'>,
  ): Promise<Repository>
  getRepository(repository_id: string): Promise<Repository | null>
  /** The tree of the commit in `taken`. */
  getRepositoryTree(repository_id: string): Promise<{ commit_id: string; tree: RepositoryTree } | null>
  /** A look is due at once, also at a commit that was refused. False: there is no such repository. */
  askRepository(repository_id: string): Promise<boolean>
  /** For a look at it, where one is due and no other node holds it. `asked` tells whether somebody wanted it. */
  claimRepository(repository_id: string): Promise<Repository | null>
  /** Holds it for another HOLD_MS. False: another node has claimed it. */
  holdRepository(claim: Claim): Promise<boolean>
  /**
   * Writes what the look found, all of it or nothing, and holds it no longer; the next look is due after `every_ms`. With a
   * tree its schedules and connections take the place of those of the tree before. A connection that is there by the API
   * stays as it is; one that leads elsewhere now loses its secrets.
   */
  settleRepository(input: Claim & { every_ms: number; pulled: Pulled }): Promise<boolean>
}
