/** Links to the pages of insights and of collections. */
import { iso } from '@assay/model/clock'
import { AppError, notFound } from '@assay/model/errors'
import { type CollectionLink, LINKS_MOST, type Link } from '@assay/model/link'
import type { Page } from '../../contract/page.ts'
import type { FoundLink } from '../../contract/workspaces/links.ts'
import { listOf } from '../../list.ts'
import type { Reader, Routine, Writer } from '../../rows.ts'
import { statement } from '../../statement.ts'
import type { Input } from '../../store.ts'
import { by } from '../../tables/table.ts'
import { COLLECTION_LINKS, LINKS } from '../../tables/workspaces/links.ts'

const SHOWN = LINKS.except('workspace_id', 'link_hash')
const LIST = listOf(LINKS, { columns: SHOWN, id: 'link_id', indexed: [['workspace_id', 'insight_id']] })

// The lock holds up the deletion of the insight and its other new links, so that all are counted.
const LOCK_INSIGHT = statement(
  'SELECT 1 FROM insights WHERE insight_id = :insight_id AND workspace_id = :workspace_id FOR UPDATE',
)
const COUNT = statement<{ count: number }>(
  'SELECT count(*) AS count FROM links WHERE insight_id = :insight_id AND link_id <> :link_id AND expires_at > :now',
)
const INSERT = LINKS.insert<Link>(
  LINKS.except('opened_count', 'last_opened_at'),
  `ON CONFLICT (link_id) DO UPDATE SET link_hash = excluded.link_hash, expires_at = excluded.expires_at
     WHERE links.insight_id = excluded.insight_id
   RETURNING ${LINKS.list(SHOWN)}`,
)
const FIND = LINKS.select(
  `JOIN workspaces USING (workspace_id) WHERE link_hash = :link_hash AND expires_at > :now AND deleted_at IS NULL`,
  LINKS.except('link_hash'),
)
const NEWEST = statement<{ insight_id: string }>(
  `SELECT later.insight_id FROM insight_cards AS own JOIN insight_cards AS later USING (workspace_id, series)
   WHERE own.insight_id = :insight_id AND workspace_id = :workspace_id
   ORDER BY later.created_at DESC, later.insight_id DESC LIMIT 1`,
)
const MOVE = statement(
  'UPDATE links SET insight_id = :insight_id WHERE link_id = :link_id AND workspace_id = :workspace_id',
)
const DELETE = LINKS.delete(by('link_id', 'insight_id', 'workspace_id'))
// The databases name the greater of two times differently.
const countOpeningsOf = (table: string) =>
  statement({
    sqlite: `UPDATE ${table} SET opened_count = opened_count + :count, last_opened_at = max(coalesce(last_opened_at, ''), :at)
    WHERE link_id = :link_id`,
    postgres: `UPDATE ${table} SET opened_count = opened_count + :count,
    last_opened_at = greatest(last_opened_at, :at::timestamptz) WHERE link_id = :link_id`,
  })
const COUNT_OPENINGS = countOpeningsOf('links')

const COLLECTION_SHOWN = COLLECTION_LINKS.except('workspace_id', 'link_hash')
const LIST_OF_COLLECTION = listOf(COLLECTION_LINKS, {
  columns: COLLECTION_SHOWN,
  id: 'link_id',
  indexed: [['workspace_id', 'collection_id']],
})
const LOCK_COLLECTION = statement(
  'SELECT 1 FROM collections WHERE collection_id = :collection_id AND workspace_id = :workspace_id AND pins = false FOR UPDATE',
)
const COUNT_OF_COLLECTION = statement<{ count: number }>(
  'SELECT count(*) AS count FROM collection_links WHERE collection_id = :collection_id AND link_id <> :link_id AND expires_at > :now',
)
const INSERT_OF_COLLECTION = COLLECTION_LINKS.insert<CollectionLink>(
  COLLECTION_LINKS.except('opened_count', 'last_opened_at'),
  `ON CONFLICT (link_id) DO UPDATE SET link_hash = excluded.link_hash, expires_at = excluded.expires_at
     WHERE collection_links.collection_id = excluded.collection_id
   RETURNING ${COLLECTION_LINKS.list(COLLECTION_SHOWN)}`,
)
const FIND_OF_COLLECTION = COLLECTION_LINKS.select(
  `JOIN workspaces USING (workspace_id) WHERE link_hash = :link_hash AND expires_at > :now AND deleted_at IS NULL`,
  COLLECTION_LINKS.except('link_hash'),
)
const DELETE_OF_COLLECTION = COLLECTION_LINKS.delete(by('link_id', 'collection_id', 'workspace_id'))
const COUNT_OPENINGS_OF_COLLECTION = countOpeningsOf('collection_links')

function refuseMore(count: number, what: string): void {
  if (count < LINKS_MOST) return
  throw new AppError('conflict', `The ${what} has ${LINKS_MOST} links: revoke some, or wait until they end.`)
}

export function* createLink(tx: Writer, input: Input<'createLink'>): Routine<Link> {
  if (!(yield* tx.find(LOCK_INSIGHT, input))) throw notFound('insight', input.insight_id)
  const { count } = (yield* tx.find(COUNT, input))!
  refuseMore(count, 'insight')
  const created_at = tx.now
  const expires_at = iso(Date.parse(created_at) + input.lifetime_ms)
  const link = yield* tx.find(INSERT, { ...input, expires_at, created_at })
  if (!link) throw new AppError('name_taken', `There is already a link ${input.link_id}.`)
  return link
}

export function* findLink(from: Reader, link_hash: string): Routine<FoundLink | null> {
  const link = yield* from.find(FIND, { link_hash })
  if (!link) return null
  const newest = link.newest ? yield* from.find(NEWEST, link) : undefined
  return { ...link, opens: newest?.insight_id ?? link.insight_id }
}

export function* moveLink(tx: Writer, input: Input<'moveLink'>): Routine<void> {
  if (yield* tx.find(LOCK_INSIGHT, input)) yield* tx.run(MOVE, input)
}

export function listLinks(from: Reader, query: Input<'listLinks'>): Routine<Page<Link>> {
  return LIST.page(from, query)
}

export function* deleteLink(tx: Writer, input: Input<'deleteLink'>): Routine<boolean> {
  return (yield* tx.run(DELETE, input)) > 0
}

/** Counts openings. It locks in the order of ids, so that nodes that count at once do not wait for each other. */
export function* countOpenings(tx: Writer, openings: Input<'countOpenings'>): Routine<void> {
  for (const opening of openings.toSorted((a, b) => (a.link_id < b.link_id ? -1 : 1)))
    if ((yield* tx.run(COUNT_OPENINGS, opening)) === 0) yield* tx.run(COUNT_OPENINGS_OF_COLLECTION, opening)
}

export function* createCollectionLink(
  tx: Writer,
  input: Input<'createCollectionLink'>,
): Routine<CollectionLink> {
  if (!(yield* tx.find(LOCK_COLLECTION, input))) throw notFound('collection', input.collection_id)
  refuseMore((yield* tx.find(COUNT_OF_COLLECTION, input))!.count, 'collection')
  const created_at = tx.now
  const expires_at = iso(Date.parse(created_at) + input.lifetime_ms)
  const link = yield* tx.find(INSERT_OF_COLLECTION, { ...input, expires_at, created_at })
  if (!link) throw new AppError('name_taken', `There is already a link ${input.link_id}.`)
  return link
}

export function* findCollectionLink(
  from: Reader,
  link_hash: string,
): Routine<(CollectionLink & { workspace_id: string }) | null> {
  return (yield* from.find(FIND_OF_COLLECTION, { link_hash })) ?? null
}

export function listCollectionLinks(
  from: Reader,
  query: Input<'listCollectionLinks'>,
): Routine<Page<CollectionLink>> {
  return LIST_OF_COLLECTION.page(from, query)
}

export function* deleteCollectionLink(tx: Writer, input: Input<'deleteCollectionLink'>): Routine<boolean> {
  return (yield* tx.run(DELETE_OF_COLLECTION, input)) > 0
}
