/** Erasing a user's jobs from the store. */
export interface ErasureStore {
  /**
   * Makes one step of erasing the jobs of a user from the workspace. Reads at most `limit` rows from the cursor on.
   * Cancels a job that has not ended, then deletes it with its insight, its deliveries, their attempts and bodies,
   * and its events. A repeated step continues with the rest.
   */
  eraseUser(input: {
    workspace_id: string
    user_id: string
    cursor?: string | undefined
    limit: number
  }): Promise<{ jobs: number; events: number; next_cursor: string | null }>
}
