/** Answers of language models in the store, by a hash of their content. They are kept as long as events. */
export interface NarrativeKey {
  workspace_id: string
  /** The SHA-256 of the model's name and the whole question. */
  hash: string
}

export interface NarrativeStore {
  getNarrative(key: NarrativeKey): Promise<string | null>
  /** Keeps the answer if there is none yet. Returns the kept one. */
  keepNarrative(input: NarrativeKey & { text: string }): Promise<string>
}
