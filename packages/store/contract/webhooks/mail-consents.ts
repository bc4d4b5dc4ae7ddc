/** Mail addresses of a workspace in the store: whether their owners were asked, agreed, or unsubscribed. */
export interface MailConsent {
  asked_at: string | null
  confirmed_at: string | null
  /** The time when the owner last unsubscribed from something; null for never. */
  left_at: string | null
}

export interface MailConsentStore {
  /** Returns the addresses that the store knows. */
  findMailConsents(input: {
    workspace_id: string
    address_hashes: string[]
  }): Promise<(MailConsent & { address_hash: string })[]>
  /**
   * Records that these owners are asked at `at`, except those who were asked at `before` or later. Returns the hashes
   * of the recorded ones. Of several nodes that ask an owner at once, only one gets the hash.
   */
  claimMailQuestions(input: {
    workspace_id: string
    address_hashes: string[]
    at: string
    before: string
  }): Promise<string[]>
  /** Writes the given times. The other times stay. */
  noteMailConsents(input: {
    workspace_id: string
    address_hashes: string[]
    note: Partial<MailConsent>
  }): Promise<void>
}
