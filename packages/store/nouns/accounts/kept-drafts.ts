/** Kept drafts: texts of templates and metrics that their authors have not published. */
import { AppError } from '@assay/model/errors'
import {
  DRAFT_CHARACTERS,
  DRAFTS_KEPT,
  type KeptDraft,
  type KeptDraftWithSource,
} from '@assay/model/kept-draft'
import type { Page } from '../../contract/page.ts'
import { listOf } from '../../list.ts'
import type { Reader, Routine, Writer } from '../../rows.ts'
import type { Input } from '../../store.ts'
import { KEPT_DRAFTS } from '../../tables/accounts/kept-drafts.ts'
import { by } from '../../tables/table.ts'
import { LOCK_WORKSPACE } from '../workspace-lock.ts'

const SHOWN = KEPT_DRAFTS.except('workspace_id', 'source')
const OF_ID = by('workspace_id', 'draft_id')
const FIND = KEPT_DRAFTS.select(OF_ID, KEPT_DRAFTS.except('workspace_id'))
const LOCK = KEPT_DRAFTS.select(`${OF_ID} FOR UPDATE`, KEPT_DRAFTS.except('workspace_id'))
const LOCK_OWN = KEPT_DRAFTS.select(
  `${by('workspace_id', 'kind', 'name', 'user_id')} FOR UPDATE`,
  KEPT_DRAFTS.except('workspace_id'),
)
const LIST = listOf(KEPT_DRAFTS, {
  columns: SHOWN,
  id: 'draft_id',
  filters: { user_id: null, kind: null, name: null },
  indexed: [['workspace_id']],
})
const DELETE = KEPT_DRAFTS.delete(OF_ID)
const KEEP = KEPT_DRAFTS.insert<KeptDraft>(
  KEPT_DRAFTS.columns,
  `ON CONFLICT (workspace_id, kind, name, user_id)
     DO UPDATE SET source = excluded.source, updated_at = excluded.updated_at
   RETURNING ${KEPT_DRAFTS.list(SHOWN)}`,
)
const OTHERS = KEPT_DRAFTS.sql<{ count: number; length: number }>(
  `SELECT CAST(count(*) AS integer) AS count, CAST(coalesce(sum(length(source)), 0) AS integer) AS length
   FROM kept_drafts WHERE workspace_id = :workspace_id
     AND NOT (kind = :kind AND name = :name AND user_id = :user_id)`,
)
const END = KEPT_DRAFTS.delete(by('workspace_id', 'kind', 'name', 'source'))

/** Deletes the drafts of a user who is deleted. */
export const FORGET_DRAFTS = KEPT_DRAFTS.delete(by('workspace_id', 'user_id'))

export function* keepDraft(tx: Writer, input: Input<'keepDraft'>): Routine<KeptDraft> {
  yield* tx.find(LOCK_WORKSPACE, input)
  const { count, length } = (yield* tx.find(OTHERS, input))!
  if (count >= DRAFTS_KEPT)
    throw new AppError(
      'conflict',
      `The workspace keeps ${DRAFTS_KEPT} drafts: publish or delete some, then keep more.`,
    )
  if (length + input.source.length > DRAFT_CHARACTERS)
    throw new AppError(
      'conflict',
      `The drafts of the workspace would have ${length + input.source.length} characters together; at most ${DRAFT_CHARACTERS} are kept: publish or delete some.`,
    )
  return (yield* tx.find(KEEP, { ...input, created_at: tx.now, updated_at: tx.now }))!
}

export function* getKeptDraft(from: Reader, key: Input<'getKeptDraft'>): Routine<KeptDraftWithSource | null> {
  return (yield* from.find(FIND, key)) ?? null
}

/**
 * Returns the draft under the lock that keeping one takes. `id`: the id of a draft, or the kind, the name and the
 * author of one, with blanks between them.
 */
export function* lockDraft(
  tx: Writer,
  workspace_id: string,
  id: string,
): Routine<KeptDraftWithSource | null> {
  yield* tx.find(LOCK_WORKSPACE, { workspace_id })
  const [kind, name, ...author] = id.split(' ')
  const found =
    name === undefined
      ? yield* tx.find(LOCK, { workspace_id, draft_id: id })
      : yield* tx.find(LOCK_OWN, { workspace_id, kind, name, user_id: author.join(' ') })
  return found ?? null
}

export function listKeptDrafts(from: Reader, query: Input<'listKeptDrafts'>): Routine<Page<KeptDraft>> {
  return LIST.page(from, query)
}

export function* deleteKeptDraft(tx: Writer, key: Input<'deleteKeptDraft'>): Routine<boolean> {
  return (yield* tx.run(DELETE, key)) > 0
}

/** Deletes the drafts of a text that is published now, whoever publishes it. A draft that was changed since stays. */
export function* endDrafts(
  tx: Writer,
  published: Pick<KeptDraftWithSource, 'kind' | 'name' | 'source'> & { workspace_id: string },
): Routine<void> {
  yield* tx.run(END, published)
}
