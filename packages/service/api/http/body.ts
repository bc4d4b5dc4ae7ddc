/**
 * Reads bodies: JSON, Markdown, YAML and forms, each only where the operation takes it, all UTF-8 and at most 1 MiB. Large
 * ones are read one at a time, in turn by workspace: a client may send the last bytes of a thousand bodies in one moment.
 */
import { isUtf8 } from 'node:buffer'
import { AppError } from '@assay/model/errors'
import type { OneByOne } from '@assay/net/one-by-one'
import { KeyedSemaphore } from '@assay/net/semaphore'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { callerNetwork } from './client-address.ts'
import { ANY_TYPE, BODY_TYPES, type BodyType } from './operation.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    bodyType?: BodyType
    otherBodyType?: BodyType | undefined
  }
  interface FastifyRequest {
    /** Called once the operation has its body, or the request is answered without it. Null where nothing waits for that. */
    bodyTaken: (() => void) | null
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
  if (type === 'application/json' && hasTooMany(bytes))
    return new AppError(
      'payload_too_large',
      `The body has too many values and keys, or a number of more than ${DIGITS_MOST} digits: a body has at most ${VALUES_MOST} values, where a key counts as ${KEY_VALUES}. Divide it over several requests.`,
    )
  return null
}

/** Parses a form. A name that occurs twice becomes a list, which the schema of every form refuses. The object has no prototype. */
function parseForm(text: string): Record<string, unknown> {
  const fields = Object.create(null) as Record<string, unknown>
  for (const [name, value] of new URLSearchParams(text)) fields[name] = name in fields ? [] : value
  return fields
}

/** The most values of one JSON body. Reading them takes about 50 ms of the thread that answers every request. */
const VALUES_MOST = 200_000
/** The number of values that take as long to read as one key. */
const KEY_VALUES = 6
/** The most digits of a number. A longer one takes a tenth of a second to read, and no number needs more. */
const DIGITS_MOST = 1000
const [QUOTE, COMMA, COLON, BRACE, BRACKET, BACKSLASH] = [0x22, 0x2c, 0x3a, 0x7b, 0x5b, 0x5c]
const [ZERO, NINE] = [0x30, 0x39]

/** Returns the index after the text that begins before `from`. */
function endOfText(bytes: Buffer, from: number): number {
  for (let end = bytes.indexOf(QUOTE, from); end >= 0; end = bytes.indexOf(QUOTE, end + 1)) {
    let before = end
    while (bytes[before - 1] === BACKSLASH) before -= 1
    if ((end - before) % 2 === 0) return end
  }
  return bytes.length
}

/** Tells whether JSON has too many values and keys, or too long a number, by one pass over its bytes. */
export function hasTooMany(bytes: Buffer): boolean {
  let values = 0
  let digits = 0
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at]!
    digits = byte >= ZERO && byte <= NINE ? digits + 1 : 0
    if (byte === QUOTE) at = endOfText(bytes, at + 1)
    else if (byte === COLON) values += KEY_VALUES
    else if (byte === COMMA || byte === BRACE || byte === BRACKET) values += 1
    if (values > VALUES_MOST || digits > DIGITS_MOST) return true
  }
  return false
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
  'application/yaml': (text) => text,
  'text/plain': (text) => text,
  'application/x-www-form-urlencoded': parseForm,
  // The operation that accepts a multipart form reads no field of it.
  'multipart/form-data': () => ({}),
}

/** The bytes above which a body is read in turn. Reading a smaller one takes less than a millisecond. */
const LARGE_BYTES = 8192
/**
 * The most large bodies that are read and wait for the store to know their idempotency keys. What is read of a body may
 * take 15 times its bytes.
 */
const WAITING_MOST = 8
const ALL = 'all'

export function addBodyParsers(app: FastifyInstance, oneByOne: OneByOne): void {
  app.removeAllContentTypeParsers()
  const waiting = new KeyedSemaphore()
  for (const type of BODY_TYPES) {
    app.addContentTypeParser<Buffer>(type, { parseAs: 'buffer' }, (request, bytes, done) => {
      const read = (): void => {
        const refused = refusal(type, request, bytes)
        if (refused) {
          request.bodyTaken?.()
          done(refused)
          return
        }
        if (request.headers['idempotency-key'] !== undefined) request.rawBody = bytes
        try {
          done(null, PARSERS[type](bytes.toString('utf8')))
        } catch (error) {
          request.bodyTaken?.()
          done(error as Error)
        }
      }
      if (bytes.length <= LARGE_BYTES) {
        read()
        return
      }
      const owner = request.principal?.workspace_id ?? callerNetwork(request)
      const inTurn = (): Promise<void> => oneByOne.run(owner, async () => read())
      if (request.headers['idempotency-key'] === undefined) {
        void inTurn()
        return
      }
      const untilTaken = async (): Promise<void> => {
        const taken = Promise.withResolvers<void>()
        request.bodyTaken = taken.resolve
        await inTurn()
        await taken.promise
      }
      // One owner has half of the places, so that others find one.
      void waiting.run(`owner ${owner}`, WAITING_MOST / 2, () => waiting.run(ALL, WAITING_MOST, untilTaken))
    })
  }
}

/** Leaves bodies of every type to the operation. */
export function addBodyStream(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, _body, done) => done(null, undefined))
}
