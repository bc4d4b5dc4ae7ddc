/** Answers of language models, kept by content, as long as events are. */
export interface NarrativeKey {
  workspace_id: string
  /** SHA-256 of the model's name and the whole question. */
  hash: string
}

export interface NarrativeStore {
  getNarrative(key: NarrativeKey): Promise<string | null>
  /** Keeps the answer if there is none yet. Answers with the kept one. */
  keepNarrative(input: NarrativeKey & { text: string }): Promise<string>
}
