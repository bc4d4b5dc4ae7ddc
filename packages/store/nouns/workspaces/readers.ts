/** Readers: the people for whom personal insights are made. */
import { AppError } from '@assay/model/errors'
import { READERS_MOST, readerMailId, type StoredReader } from '@assay/model/readers'
import type { Page } from '../../contract/page.ts'
import { decodeCursor, encodeCursor } from '../../cursor.ts'
import type { Reader, Routine, Transaction, Writer } from '../../rows.ts'
import type { Input } from '../../store.ts'
import { by } from '../../tables/table.ts'
import { READERS } from '../../tables/workspaces/readers.ts'
import { deleteWebhook } from '../webhooks/webhooks.ts'
import { LOCK_WORKSPACE } from '../workspace-lock.ts'

const OF_ID = by('workspace_id', 'reader_id')
const OF_IDS = 'WHERE workspace_id = :workspace_id AND reader_id = ANY (:reader_ids)'
const FIND = READERS.select(OF_ID)
const FIND_SOME = READERS.select(`${OF_IDS} ORDER BY reader_id`)
const FIND_OF_USER = READERS.select(by('workspace_id', 'user_id'))
const LOCK = READERS.select(`${OF_ID} FOR UPDATE`)
const LIST = READERS.select(
  'WHERE workspace_id = :workspace_id AND reader_id > :after ORDER BY reader_id LIMIT :most',
)
const COUNT = READERS.sql<{ count: number }>(
  'SELECT count(*) AS count FROM readers WHERE workspace_id = :workspace_id',
)
const WRITE = READERS.upsert(READERS.columns, ['created_at'])
/** Takes the users from the readers first, because two readers of one call may swap their users. */
const FREE_USERS = READERS.sql(`UPDATE readers SET user_id = NULL ${OF_IDS} AND user_id IS NOT NULL`)
const TAKEN = READERS.select(
  'WHERE workspace_id = :workspace_id AND user_id = ANY (:user_ids) ORDER BY reader_id LIMIT 1',
  ['reader_id', 'user_id'],
)
export const FORGET_USER = READERS.sql(
  'UPDATE readers SET user_id = NULL WHERE workspace_id = :workspace_id AND user_id = :user_id',
)
const DELETE = READERS.delete(OF_ID)

interface Key {
  workspace_id: string
  reader_id: string
}

/** Cancels mail that waits for the reader's former address. */
function* endMail(tx: Transaction, { workspace_id, reader_id, email }: StoredReader): Routine<void> {
  if (email === null) return
  yield* deleteWebhook(tx, { workspace_id, webhook_id: readerMailId(workspace_id, reader_id, email) })
}

export function* putReaders(
  tx: Transaction,
  { workspace_id, readers }: Input<'putReaders'>,
): Routine<{ created: number; replaced: number }> {
  yield* tx.find(LOCK_WORKSPACE, { workspace_id })
  const reader_ids = readers.map(({ reader_id }) => reader_id)
  const present = yield* tx.all(FIND_SOME, { workspace_id, reader_ids })
  const replaced = present.length
  const created = readers.length - replaced
  const { count } = created > 0 ? (yield* tx.find(COUNT, { workspace_id }))! : { count: 0 }
  if (count + created > READERS_MOST)
    throw new AppError(
      'conflict',
      `The workspace would have ${count + created} readers; at most ${READERS_MOST} are kept: delete those who read nothing.`,
    )
  const addresses = new Map(readers.map(({ reader_id, email }) => [reader_id, email]))
  for (const before of present)
    if (before.email !== addresses.get(before.reader_id)) yield* endMail(tx, before)
  yield* tx.run(FREE_USERS, { workspace_id, reader_ids })
  const user_ids = readers.flatMap(({ user_id }) => user_id ?? [])
  const taken = user_ids.length === 0 ? undefined : yield* tx.find(TAKEN, { workspace_id, user_ids })
  if (taken)
    throw new AppError(
      'name_taken',
      `The user ${taken.user_id} is the reader ${taken.reader_id} already: a user is one reader at most.`,
    )
  const rows = readers.map(
    (reader): StoredReader => ({ ...reader, workspace_id, created_at: tx.now, updated_at: tx.now }),
  )
  // In the order of their keys, so that no two transactions wait for each other.
  yield* tx.writeAll(
    WRITE,
    rows.toSorted((one, other) => (one.reader_id < other.reader_id ? -1 : 1)),
  )
  return { created, replaced }
}

export function* getReader(from: Reader, key: Key): Routine<StoredReader | null> {
  return (yield* from.find(FIND, key)) ?? null
}

/** Returns the reader under the locks that a put takes. */
export function* lockReader(tx: Writer, key: Key): Routine<StoredReader | null> {
  yield* tx.find(LOCK_WORKSPACE, key)
  return (yield* tx.find(LOCK, key)) ?? null
}

export function readersAfter(from: Reader, input: Input<'readersAfter'>): Routine<StoredReader[]> {
  return from.all(LIST, { ...input, most: input.limit })
}

export function findReaders(from: Reader, input: Input<'findReaders'>): Routine<StoredReader[]> {
  return from.all(FIND_SOME, input)
}

export function* findReaderOf(from: Reader, input: Input<'findReaderOf'>): Routine<StoredReader | null> {
  return (yield* from.find(FIND_OF_USER, input)) ?? null
}

export function* listReaders(from: Reader, query: Input<'listReaders'>): Routine<Page<StoredReader>> {
  const { workspace_id, limit, cursor } = query
  const [after] = cursor === undefined ? [''] : decodeCursor(READERS.name, cursor, ['string'])
  const rows = yield* from.all(LIST, { workspace_id, after, most: limit + 1 })
  const items = rows.slice(0, limit)
  const last = rows.length > limit ? items.at(-1) : undefined
  return { items, next_cursor: last ? encodeCursor(READERS.name, [last.reader_id]) : null }
}

export function* deleteReader(tx: Transaction, key: Key): Routine<boolean> {
  const present = yield* tx.find(FIND, key)
  if (present) yield* endMail(tx, present)
  return (yield* tx.run(DELETE, key)) > 0
}
