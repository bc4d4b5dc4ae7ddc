/** Operations on links to collections. link-page.ts serves what they open. */

import { notFound } from '@assay/model/errors'
import { CollectionLink, LINK_SECONDS, linkAddress } from '@assay/model/link'
import { Type } from '@assay/model/schema'
import { hashToken, newLinkSecret } from '../../runtime/secrets.ts'
import { Id, LIMIT_DEFAULT, pageOf, pageQuery } from '../http/fields.ts'
import { operation } from '../http/operation.ts'
import { requireCollection } from '../insights/collections.ts'
import { LinkEnd } from './links.ts'

const CollectionPath = Type.Object({ collection_id: Id })

export const createCollectionLink = operation({
  name: 'createCollectionLink',
  tag: 'Links',
  audit: 'link.create',
  summary: 'Make a link to a collection',
  description:
    'Anyone with the address reads the insights that the collection holds then, but for those of readers, without a token until the link expires or is revoked. Only this answer has the address; the service keeps a hash of it.',
  scope: 'analyst',
  params: CollectionPath,
  body: LinkEnd,
  replies: {
    201: {
      description: 'The link, with its address',
      schema: Type.Object(
        {
          ...CollectionLink.properties,
          url: Type.String({
            description: 'Absolute if ASSAY_PUBLIC_URL is set, otherwise from the root of the service',
          }),
        },
        { title: 'CollectionLinkWithAddress' },
      ),
    },
  },
  errors: ['not_found', 'conflict'],
  async handle({ services, principal, params, body, id, reply }) {
    const { workspace_id, user_id } = principal
    const secret = newLinkSecret()
    const link = await services.store.createCollectionLink({
      link_id: id,
      workspace_id,
      user_id,
      ...params,
      label: body.label ?? null,
      lifetime_ms: (body.expires_in ?? LINK_SECONDS.usual) * 1000,
      link_hash: hashToken(secret),
    })
    return reply
      .code(201)
      .header('location', `/v1alpha/collections/${link.collection_id}/links`)
      .send({ ...link, url: linkAddress(secret, services.config.publicUrl) })
  },
})

export const listCollectionLinks = operation({
  name: 'listCollectionLinks',
  tag: 'Links',
  summary: 'List the links of a collection, newest first',
  description:
    'Openings are counted with a delay of about a second. Expired links stay in the list until they are deleted.',
  scope: 'viewer',
  params: CollectionPath,
  query: pageQuery({}),
  replies: {
    200: { description: 'A page of links, without their addresses', schema: pageOf(CollectionLink) },
  },
  errors: ['not_found'],
  async handle({ services, principal, params, query }) {
    await requireCollection(services, principal, params.collection_id)
    const { workspace_id } = principal
    return services.store.listCollectionLinks({ limit: LIMIT_DEFAULT, ...query, ...params, workspace_id })
  },
})

export const deleteCollectionLink = operation({
  name: 'deleteCollectionLink',
  tag: 'Links',
  audit: 'link.delete',
  summary: 'Revoke a link to a collection',
  description: 'Takes effect at once.',
  scope: 'analyst',
  params: Type.Object({ collection_id: Id, link_id: Id }),
  replies: { 204: { description: 'The link is revoked' } },
  errors: ['not_found'],
  async handle({ services, principal, params, reply }) {
    const { workspace_id } = principal
    if (!(await services.store.deleteCollectionLink({ workspace_id, ...params })))
      throw notFound('link', params.link_id)
    return reply.code(204).send()
  },
})
