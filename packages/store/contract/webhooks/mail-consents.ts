/** What the store promises of mail addresses: whether their owners were asked, agreed, or left. Kept with the workspace. */
export interface MailConsent {
  asked_at: string | null
  confirmed_at: string | null
  /** When the owner last unsubscribed from something. */
  left_at: string | null
}

export interface MailConsentStore {
  /** Those of which something is known. */
  findMailConsents(input: {
    workspace_id: string
    address_hashes: string[]
  }): Promise<(MailConsent & { address_hash: string })[]>
  /**
   * Notes that these are asked at `at`, but for those who were asked at `before` or later. Answers with the hashes of the
   * others: of all that want to ask an owner at once only one does.
   */
  claimMailQuestions(input: {
    workspace_id: string
    address_hashes: string[]
    at: string
    before: string
  }): Promise<string[]>
  /** Writes the times that are given; the others stay. */
  noteMailConsents(input: {
    workspace_id: string
    address_hashes: string[]
    note: Partial<MailConsent>
  }): Promise<void>
}
