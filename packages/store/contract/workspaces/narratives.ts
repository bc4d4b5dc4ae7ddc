/** What language models answered, kept by content for as long as events are. */
export interface NarrativeKey {
  workspace_id: string
  /** SHA-256 of the model and all that it was asked. */
  hash: string
}

export interface NarrativeStore {
  getNarrative(key: NarrativeKey): Promise<string | null>
  /** The first one stays: answers with what is kept. */
  keepNarrative(input: NarrativeKey & { text: string }): Promise<string>
}
