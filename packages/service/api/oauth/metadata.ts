/** The documents that a client reads first if it knows only the address of the endpoint of agents. */
import { Type } from '@assay/model/schema'
import { SCOPES } from '@assay/model/token'
import { AnyFields } from '../http/fields.ts'
import { operation } from '../http/operation.ts'
import { baseOf, resourceOf } from './addresses.ts'

const replies = { 200: { description: 'The document', schema: Type.Unknown() } } as const

/** The metadata of the protected resource (RFC 9728). */
export const resourceMetadata = operation({
  name: 'resourceMetadata',
  tag: 'Service',
  hidden: true,
  summary: 'Say who gives tokens for the endpoint of agents',
  scope: null,
  query: AnyFields,
  replies,
  handle({ services, request }) {
    const base = baseOf(request, services.config.publicUrl)
    return {
      resource: resourceOf(base),
      authorization_servers: [base],
      // The scopes that most agents need. A client requests others by name.
      scopes_supported: ['viewer', 'analyst'],
      bearer_methods_supported: ['header'],
      resource_name: 'Assay',
    }
  },
})

/** The metadata of the authorization server (RFC 8414, with RFC 9207 and client id metadata documents). */
export const serverMetadata = operation({
  name: 'serverMetadata',
  tag: 'Service',
  hidden: true,
  summary: 'Say how clients get tokens',
  scope: null,
  query: AnyFields,
  replies,
  handle({ services, request }) {
    const base = baseOf(request, services.config.publicUrl)
    return {
      issuer: base,
      authorization_endpoint: `${base}/oauth/authorize`,
      token_endpoint: `${base}/oauth/token`,
      registration_endpoint: `${base}/oauth/register`,
      revocation_endpoint: `${base}/oauth/revoke`,
      scopes_supported: SCOPES,
      response_types_supported: ['code'],
      response_modes_supported: ['query'],
      grant_types_supported: ['authorization_code', 'refresh_token'],
      token_endpoint_auth_methods_supported: ['none'],
      revocation_endpoint_auth_methods_supported: ['none'],
      code_challenge_methods_supported: ['S256'],
      authorization_response_iss_parameter_supported: true,
      client_id_metadata_document_supported: true,
    }
  },
})
