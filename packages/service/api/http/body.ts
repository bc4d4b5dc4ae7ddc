/** Reads bodies: JSON, Markdown and forms, each only where the operation takes it, all UTF-8 and at most 1 MiB. */
import { isUtf8 } from 'node:buffer'
import { AppError } from '@assay/model/errors'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ANY_TYPE, BODY_TYPES, type BodyType } from './operation.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    bodyType?: BodyType
    otherBodyType?: BodyType | undefined
  }
}

function refusal(type: BodyType, request: FastifyRequest, bytes: Buffer): AppError | null {
  const { bodyType: wanted = 'application/json', otherBodyType } = request.routeOptions.config
  const encoding = request.headers['content-encoding'] ?? 'identity'
  if (encoding.toLowerCase() !== 'identity')
    return new AppError('unsupported_media_type', 'Send the body as it is, without Content-Encoding.')
  if (bytes.length > 0 && type !== wanted && type !== otherBodyType)
    return new AppError('unsupported_media_type', `Send the body with "Content-Type: ${wanted}".`)
  if (!isUtf8(bytes))
    return new AppError('bad_json', 'The body is not UTF-8: encode it so and send it again.')
  return null
}

/** Parses a form. A name that occurs twice becomes a list, which the schema of every form refuses. The object has no prototype. */
function parseForm(text: string): Record<string, unknown> {
  const fields = Object.create(null) as Record<string, unknown>
  for (const [name, value] of new URLSearchParams(text)) fields[name] = name in fields ? [] : value
  return fields
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch (error) {
    throw new AppError('bad_json', `The body is not JSON: ${(error as Error).message}.`, { cause: error })
  }
}

const PARSERS: Record<Exclude<BodyType, typeof ANY_TYPE>, (text: string) => unknown> = {
  'application/json': (text) => (text === '' ? undefined : parseJson(text)),
  'text/markdown': (text) => text,
  'application/x-www-form-urlencoded': parseForm,
  // The operation that accepts it reads no field.
  'multipart/form-data': () => ({}),
}

export function addBodyParsers(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  for (const type of BODY_TYPES) {
    app.addContentTypeParser<Buffer>(type, { parseAs: 'buffer' }, (request, bytes, done) => {
      const refused = refusal(type, request, bytes)
      if (refused) {
        done(refused)
        return
      }
      if (request.headers['idempotency-key'] !== undefined) request.rawBody = bytes
      try {
        done(null, PARSERS[type](bytes.toString('utf8')))
      } catch (error) {
        done(error as Error)
      }
    })
  }
}

/** Leaves bodies of every type to the operation. */
export function addBodyStream(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, _body, done) => done(null, undefined))
}
