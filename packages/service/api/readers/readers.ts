/** Operations on readers: the persons for whom personal insights are made, and the attributes that choose their rows. */

import { tagOfReader } from '@assay/model/entity-tag'
import { type FieldError, notFound } from '@assay/model/errors'
import { READERS_PUT_MOST } from '@assay/model/reader-limits'
import { ReaderId, ReaderInput, ReaderView, readerFaults, readerView } from '@assay/model/readers'
import { Type } from '@assay/model/schema'
import { serviceAccount } from '@assay/model/token'
import type { NewReader } from '@assay/store/store'
import type { Static } from 'typebox'
import { LIMIT_DEFAULT, pageOf, pageQuery } from '../http/fields.ts'
import { type Call, operation } from '../http/operation.ts'
import { invalid } from '../http/validate.ts'

const ReaderPath = Type.Object({ reader_id: ReaderId })
const BODY_BYTES = 8 * 1024 * 1024

const NamedReader = Type.Object({ reader_id: ReaderId, ...ReaderInput.properties }, { title: 'NamedReader' })
type NamedReader = Static<typeof NamedReader>

function newReader({ reader_id, name, email, user_id, attributes }: NamedReader): NewReader {
  return {
    reader_id,
    name,
    email: email ?? null,
    user_id: user_id ?? null,
    // readerFaults has checked the attributes.
    attributes: (attributes ?? {}) as NewReader['attributes'],
  }
}

/** Returns a fault for each second reader with the same value of `key`. */
function repeated(readers: readonly NamedReader[], key: 'reader_id' | 'user_id'): FieldError[] {
  const seen = new Set<string>()
  return readers.flatMap((reader, index) => {
    const value = reader[key]
    if (typeof value !== 'string') return []
    if (seen.has(value))
      return [{ path: `readers.${index}.${key}`, message: `stands twice in the list: ${value}` }]
    seen.add(value)
    return []
  })
}

/** Returns the faults of users that do not exist, with their paths. Service accounts have no row of a user. */
async function unknownUsers(
  { services, principal: { workspace_id } }: Pick<Call, 'services' | 'principal'>,
  readers: readonly NamedReader[],
  at: (index: number) => string,
): Promise<FieldError[]> {
  const wanted = readers.map(({ user_id }) => user_id ?? null)
  const user_ids = wanted.filter((id) => id !== null && !id.startsWith(serviceAccount(''))) as string[]
  if (user_ids.length === 0) return []
  const known = new Set(await services.store.findUsers({ workspace_id, user_ids }))
  return wanted.flatMap((id, index) =>
    id === null || known.has(id) || !user_ids.includes(id)
      ? []
      : [
          {
            path: `${at(index)}user_id`,
            message: `names no user of this workspace: ${id}. GET /v1alpha/users ("assay user list") lists their ids`,
          },
        ],
  )
}

export const listReaders = operation({
  name: 'listReaders',
  tag: 'Readers',
  audit: 'reader.read',
  summary: 'List readers by id',
  scope: 'admin',
  query: pageQuery({}),
  replies: { 200: { description: 'A page of readers', schema: pageOf(ReaderView) } },
  async handle({ services, principal: { workspace_id }, query }) {
    const page = await services.store.listReaders({ limit: LIMIT_DEFAULT, ...query, workspace_id })
    return { items: page.items.map(readerView), next_cursor: page.next_cursor }
  },
})

export const getReader = operation({
  name: 'getReader',
  tag: 'Readers',
  audit: 'reader.read',
  summary: 'Read a reader',
  scope: 'admin',
  params: ReaderPath,
  replies: { 200: { description: 'The reader', schema: ReaderView } },
  errors: ['not_found'],
  async handle({ services, principal: { workspace_id }, params: { reader_id }, reply }) {
    const reader = await services.store.getReader({ workspace_id, reader_id })
    if (!reader) throw notFound('reader', reader_id)
    void reply.header('etag', tagOfReader(reader))
    return readerView(reader)
  },
})

export const putReader = operation({
  name: 'putReader',
  tag: 'Readers',
  audit: 'reader.put',
  summary: 'Create or replace a reader',
  description:
    'What is left out is taken away. A run that begins later reads the new attributes. Another `user_id` holds at once on this node and within two seconds on others.',
  scope: 'admin',
  params: ReaderPath,
  body: ReaderInput,
  replies: {
    200: { description: 'The reader was replaced', schema: ReaderView },
    201: { description: 'The reader is new', schema: ReaderView },
  },
  errors: ['conflict', 'name_taken'],
  async handle(call) {
    const { services, principal, params, body, reply } = call
    const { workspace_id } = principal
    const { reader_id } = params
    const reader = { reader_id, ...body }
    const faults = [...readerFaults(body, ''), ...(await unknownUsers(call, [reader], () => ''))]
    if (faults.length > 0) throw invalid(faults)
    const { created } = await services.store.putReaders({ workspace_id, readers: [newReader(reader)] })
    services.tokens.forget()
    const made = await services.store.getReader({ workspace_id, reader_id })
    if (!made) throw notFound('reader', reader_id)
    void reply.header('etag', tagOfReader(made))
    if (created > 0) reply.code(201).header('location', `/v1alpha/readers/${encodeURIComponent(reader_id)}`)
    return readerView(made)
  },
})

export const putReaders = operation({
  name: 'putReaders',
  tag: 'Readers',
  audit: 'reader.put_many',
  summary: `Create or replace up to ${READERS_PUT_MOST.toLocaleString('en')} readers`,
  description:
    'All or none: every fault is answered with its place in the list. Readers that are not named stay.',
  scope: 'admin',
  body: Type.Object({
    readers: Type.Array(NamedReader, { minItems: 1, maxItems: READERS_PUT_MOST }),
  }),
  bodyBytes: BODY_BYTES,
  replies: {
    200: {
      description: 'How many there were',
      schema: Type.Object(
        { created: Type.Integer({ minimum: 0 }), replaced: Type.Integer({ minimum: 0 }) },
        { title: 'ReadersPut' },
      ),
    },
  },
  errors: ['conflict', 'name_taken'],
  async handle(call) {
    const { services, principal, body } = call
    const { readers } = body
    const at = (index: number): string => `readers.${index}.`
    const faults = [
      ...readers.flatMap((reader, index) => readerFaults(reader, at(index))),
      ...repeated(readers, 'reader_id'),
      ...repeated(readers, 'user_id'),
      ...(await unknownUsers(call, readers, at)),
    ]
    if (faults.length > 0) throw invalid(faults)
    const { workspace_id } = principal
    const put = await services.store.putReaders({ workspace_id, readers: readers.map(newReader) })
    services.tokens.forget()
    return put
  },
})

export const deleteReader = operation({
  name: 'deleteReader',
  tag: 'Readers',
  audit: 'reader.delete',
  summary: 'Delete a reader',
  description:
    'The insights of the reader stay, and only admins read them. Jobs that have not begun end with `reader_missing`.',
  scope: 'admin',
  params: ReaderPath,
  replies: { 204: { description: 'The reader is deleted' } },
  errors: ['not_found'],
  async handle({ services, principal: { workspace_id }, params: { reader_id }, reply }) {
    const deleted = await services.store.deleteReader({ workspace_id, reader_id })
    services.tokens.forget()
    if (!deleted) throw notFound('reader', reader_id)
    return reply.code(204).send()
  },
})
