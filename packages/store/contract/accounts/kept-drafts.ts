/** Kept drafts in the store. A user has at most one for each template and each metric. */
import type { DraftKind, KeptDraft, KeptDraftWithSource } from '@assay/model/kept-draft'
import type { Page, PageQuery } from '../page.ts'

export interface KeptDraftStore {
  /** Creates or replaces a draft of the user. Throws `conflict` beyond DRAFTS_KEPT or DRAFT_CHARACTERS. */
  keepDraft(input: {
    /** The id of a new draft. */
    draft_id: string
    workspace_id: string
    kind: DraftKind
    name: string
    user_id: string
    source: string
  }): Promise<KeptDraft>
  getKeptDraft(input: { workspace_id: string; draft_id: string }): Promise<KeptDraftWithSource | null>
  listKeptDrafts(
    query: PageQuery & {
      workspace_id: string
      user_id?: string | undefined
      kind?: DraftKind | undefined
      name?: string | undefined
    },
  ): Promise<Page<KeptDraft>>
  deleteKeptDraft(input: { workspace_id: string; draft_id: string }): Promise<boolean>
}
