/**
 * `Idempotency-Key` on a POST, of one user. The first request with a key is carried out; a repeat gets the same status, headers and bytes.
 * The key is stored before the operation runs, with the id of what the operation creates, so that a repeat after a crash
 * creates nothing twice. Answers are stored sealed, because one may hold a secret. Not stored are 429 and 5xx (a repeat
 * runs again, under the same id) and refusals of a body that was not read (400, 413, 415).
 */
import { hash } from 'node:crypto'
import type { Clock } from '@assay/model/clock'
import { AppError } from '@assay/model/errors'
import { uuidv7 } from '@assay/model/ids'
import type { IdempotencyKey, Store } from '@assay/store/store'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from '../../runtime/log.ts'
import { type SecretBox, SecretError } from '../../runtime/secrets.ts'
import { withoutSlash } from './path.ts'
import { invalid } from './validate.ts'

const KEPT_HEADERS = ['content-type', 'etag', 'location', 'www-authenticate'] as const
const SETTLE_TRIES = 60

interface KeptAnswer {
  status: number
  headers: Record<string, string>
  body: string
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The bytes of the body; null if nothing needs them after parsing. */
    rawBody: Buffer | null
    /** The key that this request holds, and the id for what it creates. */
    idempotent: { key: IdempotencyKey; id: string } | null
  }
}

export interface Idempotency {
  /** Stores the key of a first request. Answers a repeat as the first request was answered. */
  begin(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply | undefined>
  /** Stores the answer that is about to be sent. */
  end<Payload>(request: FastifyRequest, reply: FastifyReply, payload: Payload): Promise<Payload>
}

export const answerContext = ({ workspace_id, method, path, key }: IdempotencyKey): string =>
  `idempotency:${workspace_id}:${method}:${path}:${key}`

function keyOf(request: FastifyRequest): IdempotencyKey | null {
  const key = request.headers['idempotency-key']
  if (key === undefined || request.principal === null) return null
  if (typeof key !== 'string' || !/^[\x21-\x7e]{1,255}$/.test(key))
    throw invalid([{ path: 'Idempotency-Key', message: 'must be 1 to 255 visible ASCII characters' }])
  const path = withoutSlash(request.url.split('?', 1)[0]!)
  const { workspace_id, user_id, token_id, templates } = request.principal
  // Keys of different callers are different keys, because the answer may hold a secret, or data that a limited token
  // does not show.
  const caller = templates === null ? user_id : `${user_id} ${token_id}`
  return { workspace_id, method: request.method, path, key: `${caller} ${key}` }
}

interface Parts {
  store: Pick<Store, 'startIdempotent' | 'endIdempotent'>
  secrets: SecretBox
  clock: Clock
  log: Logger
  node_id: string
  stopping: AbortSignal
}

function keptAnswer(reply: FastifyReply, payload: unknown): KeptAnswer {
  const headers: Record<string, string> = {}
  for (const name of KEPT_HEADERS) {
    const value = reply.getHeader(name)
    if (value !== undefined) headers[name] = String(value)
  }
  return { status: reply.statusCode, headers, body: typeof payload === 'string' ? payload : '' }
}

/** Throws `conflict` where the key that sealed the answer is gone. */
function openAnswer(secrets: SecretBox, sealed: string, key: IdempotencyKey): KeptAnswer {
  try {
    return JSON.parse(secrets.open(sealed, answerContext(key))) as KeptAnswer
  } catch (error) {
    if (!(error instanceof SecretError)) throw error
    throw new AppError(
      'conflict',
      'The answer to this Idempotency-Key was sealed by a key that is gone: read what the first request made before you send it with another key.',
      { cause: error },
    )
  }
}

export function createIdempotency({ store, secrets, clock, log, node_id, stopping }: Parts): Idempotency {
  /** Stores the answer in the background, because the store could not be reached when the answer was sent. */
  async function settle(key: IdempotencyKey, answer: string | null): Promise<void> {
    for (let tries = 1; tries <= SETTLE_TRIES && !stopping.aborted; tries += 1) {
      await clock.sleep(1000, stopping)
      try {
        await store.endIdempotent({ ...key, answer })
        return
      } catch (error) {
        log.warn({ err: error, tries }, 'the answer to an idempotency key could not be kept yet')
      }
    }
  }

  return {
    async begin(request, reply) {
      const key = keyOf(request)
      if (key === null) return undefined
      // Throws if the keys of secrets are missing, because the answer could not be sealed.
      secrets.requireKeys()
      const query = request.url.split('?')[1] ?? ''
      const body_hash = hash(
        'sha256',
        Buffer.concat([Buffer.from(`${query}\n`), request.rawBody ?? Buffer.alloc(0)]),
      )
      const start = await store.startIdempotent({ ...key, body_hash, id: uuidv7(), node_id })
      if (start.state === 'mismatch')
        throw new AppError(
          'idempotency_mismatch',
          'This Idempotency-Key came with another body before: use a new key for a new request.',
        )
      if (start.state === 'in_progress')
        throw new AppError(
          'idempotency_in_progress',
          'The first request with this key is still under way: wait.',
          {
            retryAfter: start.retry_after,
          },
        )
      if (start.state === 'new') {
        request.idempotent = { key, id: start.id }
        return undefined
      }
      const answer = openAnswer(secrets, start.answer, key)
      return reply
        .code(answer.status)
        .headers({ ...answer.headers, 'idempotency-replayed': 'true' })
        .send(answer.body)
    },

    async end(request, reply, payload) {
      if (request.idempotent === null) return payload
      const { key } = request.idempotent
      request.idempotent = null
      const kept = keptAnswer(reply, payload)
      const again = kept.status === 429 || kept.status >= 500
      const answer = again ? null : secrets.seal(JSON.stringify(kept), answerContext(key))
      try {
        await store.endIdempotent({ ...key, answer })
      } catch {
        void settle(key, answer)
      }
      return payload
    },
  }
}
