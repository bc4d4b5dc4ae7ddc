/** Mail addresses of a workspace in the store: whether their owners were asked, agreed, or unsubscribed. */
export interface MailConsent {
  asked_at: string | null
  confirmed_at: string | null
  /** When the owner last unsubscribed from something. */
  left_at: string | null
}

export interface MailConsentStore {
  /** The addresses that the store knows. */
  findMailConsents(input: {
    workspace_id: string
    address_hashes: string[]
  }): Promise<(MailConsent & { address_hash: string })[]>
  /**
   * Records that these owners are asked at `at`, except those who were asked at `before` or later. Answers with the hashes of the
   * recorded ones. Of several nodes that ask an owner at once, only one gets the hash.
   */
  claimMailQuestions(input: {
    workspace_id: string
    address_hashes: string[]
    at: string
    before: string
  }): Promise<string[]>
  /** Writes the given times and keeps the others. */
  noteMailConsents(input: {
    workspace_id: string
    address_hashes: string[]
    note: Partial<MailConsent>
  }): Promise<void>
}
