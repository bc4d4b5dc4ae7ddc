/** Operations on collections of insights. The pins of a user are a collection of their own. */

import {
  COLLECTIONS_MOST,
  Collection,
  CollectionDescription,
  CollectionName,
  HELD_MOST,
  pinsId,
} from '@assay/model/collection'
import { tagOfCollection } from '@assay/model/entity-tag'
import { notFound } from '@assay/model/errors'
import { nullable, Type } from '@assay/model/schema'
import { Id, LIMIT_DEFAULT, pageOf, pageQuery } from '../http/fields.ts'
import { type Call, operation } from '../http/operation.ts'

const CollectionPath = Type.Object({ collection_id: Id })
const HeldPath = Type.Object({ collection_id: Id, insight_id: Id })
const InsightPath = Type.Object({ insight_id: Id })

const Kept = Type.Object({
  newest: Type.Optional(
    Type.Boolean({
      description:
        'Whether the newest run of the same template with the same variables but the period is shown instead (default false)',
    }),
  ),
})

/** Throws a 404 if there is no such collection. */
export async function requireCollection(
  { store }: Call['services'],
  { workspace_id }: Call['principal'],
  collection_id: string,
): Promise<Collection> {
  const found = await store.getCollection({ workspace_id, collection_id })
  if (!found) throw notFound('collection', collection_id)
  return found
}

interface Held {
  collection_id: string
  insight_id: string
  /** True for the collection of the user's pins. */
  pins: boolean
}

async function hold(
  {
    services,
    principal: { workspace_id, user_id },
    body,
    reply,
  }: Call<unknown, unknown, { newest?: boolean }>,
  held: Held,
) {
  const { newest = false } = body
  await services.store.addToCollection({ workspace_id, user_id, ...held, newest })
  return reply.code(204).send()
}

async function letGo({ services, principal: { workspace_id }, reply }: Call, held: Held) {
  const removed = await services.store.removeFromCollection({ workspace_id, ...held })
  if (!removed) throw notFound('insight', held.insight_id)
  return reply.code(204).send()
}

const pinsOf = ({ principal: { workspace_id, user_id }, params }: Call<{ insight_id: string }>): Held => ({
  collection_id: pinsId(workspace_id, user_id),
  ...params,
  pins: true,
})

export const createCollection = operation({
  name: 'createCollection',
  tag: 'Collections',
  audit: 'collection.create',
  summary: 'Make a collection of insights',
  description: `A workspace has up to ${COLLECTIONS_MOST.toLocaleString('en')}. Everyone in the workspace sees it, but of personal insights only their own.`,
  scope: 'analyst',
  body: Type.Object({
    name: CollectionName,
    description: Type.Optional(nullable(CollectionDescription)),
  }),
  replies: { 201: { description: 'The collection', schema: Collection } },
  errors: ['conflict'],
  async handle({ services, principal: { workspace_id, user_id }, body, id, reply }) {
    const { name, description = null } = body
    const made = await services.store.createCollection({
      collection_id: id,
      workspace_id,
      user_id,
      name: name.trim(),
      description,
    })
    const headers = { location: `/v1alpha/collections/${id}`, etag: tagOfCollection(made) }
    return reply.code(201).headers(headers).send(made)
  },
})

export const listCollections = operation({
  name: 'listCollections',
  tag: 'Collections',
  summary: 'List collections, newest first',
  description: 'What one holds is listed by `/v1alpha/insights?collection_id=`.',
  scope: 'viewer',
  query: pageQuery({
    insight_id: Type.Optional(
      Type.String({ format: 'uuid', description: 'Only those that hold this insight or its series' }),
    ),
  }),
  replies: { 200: { description: 'A page of collections', schema: pageOf(Collection) } },
  errors: ['not_found'],
  async handle({ services, principal: { workspace_id }, query }) {
    return services.store.listCollections({ limit: LIMIT_DEFAULT, ...query, workspace_id })
  },
})

export const getCollection = operation({
  name: 'getCollection',
  tag: 'Collections',
  summary: 'Read a collection',
  scope: 'viewer',
  params: CollectionPath,
  replies: { 200: { description: 'The collection', schema: Collection } },
  errors: ['not_found'],
  async handle({ services, principal, params, reply }) {
    const found = await requireCollection(services, principal, params.collection_id)
    void reply.header('etag', tagOfCollection(found))
    return found
  },
})

export const changeCollection = operation({
  name: 'changeCollection',
  tag: 'Collections',
  audit: 'collection.change',
  summary: 'Change the name or the description of a collection',
  scope: 'analyst',
  params: CollectionPath,
  body: Type.Object({
    name: Type.Optional(CollectionName),
    description: Type.Optional(nullable(CollectionDescription)),
  }),
  replies: { 200: { description: 'The collection', schema: Collection } },
  errors: ['not_found'],
  async handle({ services, principal: { workspace_id }, params, body, reply }) {
    const patch = { ...body, ...(body.name === undefined ? {} : { name: body.name.trim() }) }
    const changed = await services.store.updateCollection({ workspace_id, ...params, patch })
    if (!changed) throw notFound('collection', params.collection_id)
    void reply.header('etag', tagOfCollection(changed))
    return changed
  },
})

export const deleteCollection = operation({
  name: 'deleteCollection',
  tag: 'Collections',
  audit: 'collection.delete',
  summary: 'Delete a collection',
  description: 'Its insights stay.',
  scope: 'analyst',
  params: CollectionPath,
  replies: { 204: { description: 'The collection is deleted' } },
  errors: ['not_found'],
  async handle({ services, principal: { workspace_id }, params, reply }) {
    const deleted = await services.store.deleteCollection({ workspace_id, ...params })
    if (!deleted) throw notFound('collection', params.collection_id)
    return reply.code(204).send()
  },
})

export const addToCollection = operation({
  name: 'addToCollection',
  tag: 'Collections',
  audit: 'collection.add',
  summary: 'Put an insight into a collection',
  description: `Nothing changes where it is there already. A collection holds up to ${HELD_MOST}; those of deleted insights make room.`,
  scope: 'analyst',
  params: HeldPath,
  body: Kept,
  replies: { 204: { description: 'The collection holds it' } },
  errors: ['not_found', 'conflict'],
  handle: (call) => hold(call, { ...call.params, pins: false }),
})

export const removeFromCollection = operation({
  name: 'removeFromCollection',
  tag: 'Collections',
  audit: 'collection.remove',
  summary: 'Take an insight out of a collection',
  description: 'With its series, where the collection shows the newest run of it.',
  scope: 'analyst',
  params: HeldPath,
  replies: { 204: { description: 'The collection does not hold it any more' } },
  errors: ['not_found'],
  handle: (call) => letGo(call, { ...call.params, pins: false }),
})

export const pinInsight = operation({
  name: 'pinInsight',
  tag: 'Insights',
  audit: 'insight.pin',
  summary: 'Pin an insight',
  description: `Only you see what you pin: \`/v1alpha/insights?pinned_by=me\` lists it. Up to ${HELD_MOST}.`,
  scope: 'viewer',
  params: InsightPath,
  body: Kept,
  replies: { 204: { description: 'It is pinned' } },
  errors: ['not_found', 'conflict'],
  handle: (call) => hold(call, pinsOf(call)),
})

export const unpinInsight = operation({
  name: 'unpinInsight',
  tag: 'Insights',
  audit: 'insight.unpin',
  summary: 'Unpin an insight',
  description: 'With its series, where the newest run of it was pinned.',
  scope: 'viewer',
  params: InsightPath,
  replies: { 204: { description: 'It is not pinned any more' } },
  errors: ['not_found'],
  handle: (call) => letGo(call, pinsOf(call)),
})
