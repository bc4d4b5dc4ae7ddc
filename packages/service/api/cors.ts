/**
 * Lets pages of other sites call the API from a browser (Fetch standard, "CORS protocol"). They send a token of their own: a browser
 * never sends the cookie of a sign-in with such a request, because credentials are not allowed. The other pages of the service stay closed.
 */
import cors from '@fastify/cors'
import type { FastifyInstance } from 'fastify'
import { HEADERS } from './openapi/headers.ts'

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']
/** Seconds for which a browser may remember what it may send. Chromium remembers for two hours at most. */
const REMEMBERED_S = 600

/** Adds the headers of CORS. `origins`: those of ASSAY_CORS_ORIGINS; an empty list allows no site. */
export async function allowOtherSites(app: FastifyInstance, origins: readonly string[]): Promise<void> {
  if (origins.length === 0) return
  const origin = origins.includes('*') ? '*' : origins.map(originPattern)
  await app.register(cors, {
    delegator: ({ url }, done) =>
      done(null, {
        origin: url.startsWith('/v1alpha/') ? origin : false,
        methods: METHODS,
        exposedHeaders: Object.keys(HEADERS),
        maxAge: REMEMBERED_S,
        strictPreflight: false,
      }),
  })
  if (origin === '*') return
  // A handler that sets Vary replaces the value of the plugin, so Vary is set again here.
  app.addHook('onSend', (_request, reply, payload, done) => {
    const vary = reply.getHeader('vary')
    if (typeof vary === 'string' && !/\borigin\b/i.test(vary)) void reply.header('vary', `${vary}, Origin`)
    done(null, payload)
  })
}

/** Returns the pattern of an origin. "*." stands for one or more labels of a host, ":*" for any port. */
function originPattern(origin: string): RegExp {
  const text = origin
    .toLowerCase()
    .replaceAll('.', '\\.')
    .replace('//*\\.', '//(?:[a-z0-9-]+\\.)+')
    .replace(':*', '(?::[0-9]+)?')
  return new RegExp(`^${text}$`)
}
