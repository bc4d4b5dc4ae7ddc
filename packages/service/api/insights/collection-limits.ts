/**
 * Enforces tokens that are limited to collections. They read the insights that the collections show now, and do
 * nothing else. Whatever no collection of the token shows is answered as if it did not exist.
 */
import { AppError, notFound } from '@assay/model/errors'
import type { Principal } from '@assay/model/token'
import type { Store } from '@assay/store/store'
import { invalid } from '../http/validate.ts'

/** How an operation names a collection. `self` means that it shows none. */
type Subject = 'collection' | 'collections' | 'insight' | 'list' | 'self'

const ALLOWED: Readonly<Record<string, Subject>> = {
  listCollections: 'collections',
  getCollection: 'collection',
  listInsights: 'list',
  readResult: 'insight',
  whoAmI: 'self',
  logout: 'self',
}

interface LimitedCall {
  principal: Pick<Principal, 'workspace_id' | 'collections'>
  services: { store: Pick<Store, 'listInsights'> }
  params: unknown
  query: unknown
}

type Fields = Record<string, string | undefined>

/** Throws `forbidden` if a token that is limited to collections may not use the operation of this name. */
export function refuseBeyondCollections(name: string, { collections }: Pick<Principal, 'collections'>): void {
  if (collections === null || Object.hasOwn(ALLOWED, name)) return
  throw new AppError(
    'forbidden',
    `This token is limited to collections (${collections.join(', ')}): it lists and reads their insights.`,
  )
}

/** Tells whether one of the collections shows the insight now. */
async function isShown({ principal, services }: LimitedCall, insight_id: string): Promise<boolean> {
  const { workspace_id, collections } = principal
  const asked = { workspace_id, insight_id, limit: 1, with_history: false }
  for (const collection_id of collections ?? []) {
    const { items } = await services.store.listInsights({ ...asked, collection_id })
    if (items.length > 0) return true
  }
  return false
}

/** Returns the query of a list of insights, which names one of the collections. */
function narrowed(query: Fields, collections: readonly string[]): Fields {
  const { collection_id = collections.length === 1 ? collections[0] : undefined } = query
  if (collection_id === undefined)
    throw invalid([{ path: 'collection_id', message: `must be one of ${collections.join(', ')}` }])
  if (!collections.includes(collection_id)) throw notFound('collection', collection_id)
  return { ...query, collection_id }
}

/**
 * Returns the call with its lists narrowed to the collections of the token. Throws `forbidden` for another operation,
 * and `not_found` for what none of the collections shows.
 */
export async function limitToCollections<Call extends LimitedCall>(name: string, call: Call): Promise<Call> {
  const { collections } = call.principal
  if (collections === null) return call
  refuseBeyondCollections(name, { collections })
  const subject = ALLOWED[name]
  const params = call.params as Fields
  const query = call.query as Fields
  if (subject === 'list') return { ...call, query: narrowed(query, collections) }
  if (subject === 'collections') return { ...call, query: { ...query, collection_ids: collections } }
  if (subject === 'collection' && !collections.includes(params.collection_id!))
    throw notFound('collection', params.collection_id!)
  if (subject === 'insight' && !(await isShown(call, query.insight_id!)))
    throw notFound('insight', query.insight_id!)
  return call
}
