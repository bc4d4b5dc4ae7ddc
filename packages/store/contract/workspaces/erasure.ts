/** What the store promises of erasing. */
export interface ErasureStore {
  /**
   * The next step of erasing all that jobs of a user have left in the workspace: looks at no more than `limit` rows from
   * the cursor on. A job that has not ended is canceled first; with a job go its insight, its deliveries, their attempts
   * and bodies, and then its events. A step that is repeated finds what is left.
   */
  eraseUser(input: {
    workspace_id: string
    user_id: string
    cursor?: string | undefined
    limit: number
  }): Promise<{ jobs: number; events: number; next_cursor: string | null }>
}
