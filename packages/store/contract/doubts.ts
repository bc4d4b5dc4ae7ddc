/** What a node owns and does not know of: a claim that was committed, and whose answer was lost on the way. */

/** All that the node does know of one kind, run or not yet written; a kind that is not given is left as it is. */
export interface Known {
  node_id: string
  jobs?: readonly { assignment_id: string; attempt: number }[]
  /** Their ids. */
  deliveries?: readonly string[]
}

export interface DoubtStore {
  /**
   * Gives the rest back without a loss: a living node's lease never ends, so nobody else would. Waits for a claim of the
   * node that is still under way.
   */
  giveBackUnknown(known: Known): Promise<{ jobs: number; deliveries: number }>
}
