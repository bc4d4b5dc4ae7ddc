/** Collections of insights, and their entries: insights, or series that show their newest run. */
import {
  COLLECTIONS_MOST,
  type Collection,
  type CollectionFollower,
  HELD_MOST,
} from '@assay/model/collection'
import { AppError, notFound } from '@assay/model/errors'
import type { Page } from '../../contract/page.ts'
import { listOf } from '../../list.ts'
import type { Reader, Routine, Writer } from '../../rows.ts'
import { both, statement } from '../../statement.ts'
import type { Input } from '../../store.ts'
import {
  COLLECTION_ITEMS,
  COLLECTIONS,
  type CollectionItemRow,
  type CollectionRow,
} from '../../tables/jobs/collections.ts'
import { by } from '../../tables/table.ts'
import { admitOneMore, type Cap } from '../workspace-lock.ts'

const FOLLOWERS_MOST = 1000

const SHOWN = COLLECTIONS.except('workspace_id', 'pins')
const OF_ID = by('collection_id', 'workspace_id')
const FIND = COLLECTIONS.select(`${OF_ID} AND NOT pins`, SHOWN)
const LOCK = COLLECTIONS.select(`${OF_ID} FOR NO KEY UPDATE`)
const LIST = listOf(COLLECTIONS, {
  columns: SHOWN,
  id: 'collection_id',
  always: 'pins = false',
  filters: { collection_ids: 'collection_id = ANY (:collection_ids)' },
  // A workspace has few collections.
  indexed: [['workspace_id', 'collection_ids'], ['workspace_id']],
})
const CAP: Cap = {
  others: statement(
    'SELECT count(*) AS count FROM collections WHERE workspace_id = :workspace_id AND pins = false',
  ),
  most: COLLECTIONS_MOST,
  what: 'collections',
}
const INSERT = COLLECTIONS.insert(COLLECTIONS.columns, 'ON CONFLICT DO NOTHING')
const UPDATE = COLLECTIONS.update(['name', 'description', 'updated_at'], OF_ID)
const DELETE = COLLECTIONS.delete(`${OF_ID} AND NOT pins`)
export const FORGET_PINS = COLLECTIONS.delete(`${by('workspace_id', 'user_id')} AND pins`)

const HELD = COLLECTION_ITEMS.select(by('collection_id', 'workspace_id'), ['item_id', 'newest'])
const HOLDING = COLLECTION_ITEMS.select('WHERE workspace_id = :workspace_id AND item_id = ANY (:item_ids)', [
  'collection_id',
])
const PUT = COLLECTION_ITEMS.insert(COLLECTION_ITEMS.columns, 'ON CONFLICT DO NOTHING')
const TAKE = COLLECTION_ITEMS.delete(`${by('collection_id', 'workspace_id')} AND item_id = ANY (:item_ids)`)
const THERE = statement<{ insight_id: string }>(
  'SELECT insight_id FROM insight_cards WHERE workspace_id = :workspace_id AND insight_id = ANY (:insight_ids)',
)
const NEWEST = statement<{ series: string; insight_id: string | null }>(
  both(
    (database) => `SELECT given.value AS series, (
      SELECT insight_id FROM insight_cards WHERE workspace_id = :workspace_id AND series = given.value
      ORDER BY created_at DESC, insight_id DESC LIMIT 1) AS insight_id
    FROM ${database === 'sqlite' ? 'json_each(:series)' : 'unnest(:series::text[])'} AS given${database === 'sqlite' ? '' : ' (value)'}`,
  ),
)
/** `resolved`: the variables as the run read them. A period has its days there. */
const SOURCE = statement<{
  series: string
  template_id: string
  variables: Record<string, unknown>
  resolved: Record<string, unknown> | null
}>(
  `SELECT series, jobs.template_id, jobs.variables, body -> 'lineage' -> 'variables' AS resolved
   FROM insight_cards JOIN jobs USING (assignment_id) JOIN insights ON insights.insight_id = insight_cards.insight_id
   WHERE insight_cards.insight_id = :insight_id AND insight_cards.workspace_id = :workspace_id`,
  { variables: 'json', resolved: 'json' },
)
// Most held series belong to pins, which nobody follows. So the search begins with the followed collections.
const FOLLOWED = statement<CollectionFollower>(
  `SELECT webhook_id, variables FROM webhook_follows CROSS JOIN collection_items
   WHERE webhook_follows.workspace_id = :workspace_id AND followed >= 'collection:' AND followed < 'collection;'
     AND collection_id = substr(followed, ${'collection:'.length + 1})
     AND collection_items.workspace_id = webhook_follows.workspace_id AND template_id = :template_id AND newest
   ORDER BY followed, webhook_id, item_id LIMIT ${FOLLOWERS_MOST}`,
  { variables: 'json' },
)

interface Key {
  workspace_id: string
  collection_id: string
}

/** Returns the ids of the insights that the collection shows. */
export function* heldInsights(
  from: Reader,
  { workspace_id, collection_id = '' }: { workspace_id: string; collection_id?: string | undefined },
): Routine<string[]> {
  const items = yield* from.all(HELD, { workspace_id, collection_id })
  const series = items.filter(({ newest }) => newest).map(({ item_id }) => item_id)
  const found = series.length === 0 ? [] : yield* from.all(NEWEST, { workspace_id, series })
  const own = items.filter(({ newest }) => !newest).map(({ item_id }) => item_id)
  return [...new Set([...own, ...found.flatMap(({ insight_id }) => insight_id ?? [])])]
}

export function* createCollection(tx: Writer, input: Input<'createCollection'>): Routine<Collection> {
  const known = yield* tx.find(FIND, input)
  if (known) return known
  yield* admitOneMore(tx, input, CAP)
  const row: CollectionRow = { ...input, pins: false, created_at: tx.now, updated_at: tx.now }
  yield* tx.run(INSERT, row)
  const made = yield* tx.find(FIND, input)
  if (!made) throw new AppError('name_taken', `There is already a collection ${input.collection_id}.`)
  return made
}

export function* getCollection(from: Reader, key: Key): Routine<Collection | null> {
  return (yield* from.find(FIND, key)) ?? null
}

export function* listCollections(from: Reader, input: Input<'listCollections'>): Routine<Page<Collection>> {
  const { insight_id, collection_ids: of, ...query } = input
  const only = (collection_ids: readonly string[]) =>
    LIST.page(from, { ...query, collection_ids } as typeof query)
  if (insight_id === undefined) return yield* of ? only(of) : LIST.page(from, query)
  const { workspace_id } = query
  const item_ids = yield* itemsOf(from, { workspace_id, insight_id })
  const holding = yield* from.all(HOLDING, { workspace_id, item_ids })
  const found = new Set(holding.map(({ collection_id }) => collection_id))
  return yield* only([...found].filter((id) => of?.includes(id) ?? true))
}

/** Returns the forms in which a collection may hold the insight: itself, or its series. */
function* itemsOf(from: Reader, key: { workspace_id: string; insight_id: string }): Routine<string[]> {
  const source = yield* from.find(SOURCE, key)
  return source ? [key.insight_id, source.series] : [key.insight_id]
}

export function* lockCollection(tx: Writer, key: Key): Routine<CollectionRow | null> {
  const row = yield* tx.find(LOCK, key)
  return row && !row.pins ? row : null
}

export function* updateCollection(
  tx: Writer,
  { patch, ...key }: Input<'updateCollection'>,
): Routine<Collection | null> {
  const row = yield* lockCollection(tx, key)
  if (!row) return null
  const { name = row.name, description = row.description } = patch
  yield* tx.run(UPDATE, { ...key, name, description, updated_at: tx.now })
  return (yield* tx.find(FIND, key)) ?? null
}

export function* deleteCollection(tx: Writer, key: Key): Routine<boolean> {
  return (yield* tx.run(DELETE, key)) > 0
}

function isPeriod(value: unknown): boolean {
  const parts = value as { start?: unknown; end?: unknown; label?: unknown } | null
  return (
    typeof value === 'object' &&
    [parts?.start, parts?.end, parts?.label].every((part) => typeof part === 'string')
  )
}

/** Returns the variables that all runs of the series share. */
function lasting(
  variables: Record<string, unknown>,
  resolved: Record<string, unknown> | null,
): Record<string, unknown> {
  return Object.fromEntries(Object.entries(variables).filter(([name]) => !isPeriod(resolved?.[name])))
}

/** Removes entries whose insight is gone, or whose series has no run left. */
function* dropGone(
  tx: Writer,
  { workspace_id, collection_id }: Key,
  items: readonly Held[],
): Routine<number> {
  const insight_ids = items.filter(({ newest }) => !newest).map(({ item_id }) => item_id)
  const there = new Set((yield* tx.all(THERE, { workspace_id, insight_ids })).map((row) => row.insight_id))
  const series = items.filter(({ newest }) => newest).map(({ item_id }) => item_id)
  const empty = (yield* tx.all(NEWEST, { workspace_id, series })).filter((row) => row.insight_id === null)
  const item_ids = [...insight_ids.filter((id) => !there.has(id)), ...empty.map((row) => row.series)]
  return item_ids.length === 0 ? 0 : yield* tx.run(TAKE, { workspace_id, collection_id, item_ids })
}
type Held = Pick<CollectionItemRow, 'item_id' | 'newest'>

export function* addToCollection(tx: Writer, input: Input<'addToCollection'>): Routine<void> {
  const { workspace_id, collection_id, insight_id, newest, user_id, pins } = input
  const times = { created_at: tx.now, updated_at: tx.now }
  if (pins) yield* tx.run(INSERT, { ...input, name: 'Pinned', description: null, ...times })
  const collection = yield* tx.find(LOCK, input)
  if (collection?.pins !== pins) throw notFound('collection', collection_id)
  const source = yield* tx.find(SOURCE, input)
  if (!source) throw notFound('insight', insight_id)
  const { series, template_id, variables, resolved } = source
  const item_id = newest ? series : insight_id
  const items = yield* tx.all(HELD, input)
  if (items.some((item) => item.item_id === item_id)) return
  if (items.length >= HELD_MOST && (yield* dropGone(tx, input, items)) === 0)
    throw new AppError('conflict', `The collection holds ${HELD_MOST} insights: take some out first.`)
  yield* tx.run(PUT, {
    collection_id,
    item_id,
    workspace_id,
    newest,
    template_id,
    variables: newest ? lasting(variables, resolved) : {},
    user_id,
    created_at: tx.now,
  } satisfies CollectionItemRow)
}

export function* removeFromCollection(tx: Writer, input: Input<'removeFromCollection'>): Routine<boolean> {
  const collection = yield* tx.find(LOCK, input)
  if (collection?.pins !== input.pins) return false
  const item_ids = yield* itemsOf(tx, input)
  return (yield* tx.run(TAKE, { ...input, item_ids })) > 0
}

export function* collectionFollowers(
  from: Reader,
  input: Input<'collectionFollowers'>,
): Routine<CollectionFollower[]> {
  return yield* from.all(FOLLOWED, input)
}
