/** Operations on links. link-page.ts serves the page that a link opens. */

import { notFound } from '@assay/model/errors'
import { LINK_SECONDS, Link, linkAddress } from '@assay/model/link'
import { Type } from '@assay/model/schema'
import { hashToken, newLinkSecret } from '../../runtime/secrets.ts'
import { Id, LIMIT_DEFAULT, Name, pageOf, pageQuery } from '../http/fields.ts'
import { type Call, operation } from '../http/operation.ts'

/** The fields that every link takes. */
export const LinkEnd = Type.Object({
  expires_in: Type.Optional(
    Type.Integer({
      minimum: LINK_SECONDS.least,
      maximum: LINK_SECONDS.most,
      description: `Seconds from now (default ${LINK_SECONDS.usual}, seven days)`,
    }),
  ),
  label: Type.Optional(Type.Union([Name, Type.Null()], { description: 'A note for people' })),
})

const InsightPath = Type.Object({ insight_id: Id })

/** Throws a 404 if there is no such insight, and the same 404 for an insight of another workspace. */
async function requireInsight({
  services,
  principal,
  params,
}: Pick<Call<{ insight_id: string }>, 'services' | 'principal' | 'params'>): Promise<void> {
  const { workspace_id } = principal
  const { insight_id } = params
  if (!(await services.store.insightReader({ workspace_id, insight_id })))
    throw notFound('insight', insight_id)
}

export const createLink = operation({
  name: 'createLink',
  tag: 'Links',
  audit: 'link.create',
  summary: 'Make a link to the page of an insight',
  description:
    'Anyone with the address reads this page, and nothing else, without a token until the link expires or is revoked. Only this answer has the address; the service keeps a hash of it.',
  scope: 'analyst',
  params: InsightPath,
  body: Type.Object({
    ...LinkEnd.properties,
    newest: Type.Optional(
      Type.Boolean({
        description:
          'Whether it always opens the newest run of the same template with the same variables but the period (default false)',
      }),
    ),
    rows: Type.Optional(
      Type.Boolean({
        description:
          'Whether its readers see the rows behind the numbers, too: the tables from which the text and its charts come (default false)',
      }),
    ),
  }),
  replies: {
    201: {
      description: 'The link, with its address',
      schema: Type.Object(
        {
          ...Link.properties,
          url: Type.String({
            description: 'Absolute if ASSAY_PUBLIC_URL is set, otherwise from the root of the service',
          }),
        },
        { title: 'LinkWithAddress' },
      ),
    },
  },
  errors: ['not_found', 'conflict'],
  async handle({ services, principal, params, body, id, reply }) {
    const { workspace_id, user_id } = principal
    const secret = newLinkSecret()
    const link = await services.store.createLink({
      link_id: id,
      workspace_id,
      user_id,
      ...params,
      label: body.label ?? null,
      newest: body.newest ?? false,
      rows: body.rows ?? false,
      lifetime_ms: (body.expires_in ?? LINK_SECONDS.usual) * 1000,
      link_hash: hashToken(secret),
    })
    return reply
      .code(201)
      .header('location', `/v1alpha/insights/${link.insight_id}/links`)
      .send({ ...link, url: linkAddress(secret, services.config.publicUrl) })
  },
})

export const listLinks = operation({
  name: 'listLinks',
  tag: 'Links',
  summary: 'List the links of an insight, newest first',
  description:
    'Openings are counted with a delay of about a second. Expired links stay in the list until they are deleted.',
  scope: 'viewer',
  params: InsightPath,
  query: pageQuery({}),
  replies: { 200: { description: 'A page of links, without their addresses', schema: pageOf(Link) } },
  errors: ['not_found'],
  async handle(call) {
    await requireInsight(call)
    const { services, principal, params, query } = call
    const { workspace_id } = principal
    return services.store.listLinks({ limit: LIMIT_DEFAULT, ...query, ...params, workspace_id })
  },
})

export const deleteLink = operation({
  name: 'deleteLink',
  tag: 'Links',
  audit: 'link.delete',
  summary: 'Revoke a link',
  description: 'Takes effect at once.',
  scope: 'analyst',
  params: Type.Object({ insight_id: Id, link_id: Id }),
  replies: { 204: { description: 'The link is revoked' } },
  errors: ['not_found'],
  async handle({ services, principal, params, reply }) {
    const { workspace_id } = principal
    if (!(await services.store.deleteLink({ workspace_id, ...params })))
      throw notFound('link', params.link_id)
    return reply.code(204).send()
  },
})
