/**
 * Bounds the answers that clients have not read yet. The bytes of an answer stay in memory until its client has taken
 * them, and a client may take as long as it likes. So a workspace, or readers without a token on one network, may have
 * only so many bytes waiting on this node, and an answer that is read too slowly is cut off.
 */
import type { ServerResponse } from 'node:http'
import { AppError } from '@assay/model/errors'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { callerNetwork } from '../http/client-address.ts'

/** The bytes of an answer that is counted. Smaller ones mostly fit into the buffers of a connection. */
const LEAST_BYTES = 64_000
/** The milliseconds that every answer has, and the bytes a second at which its client must read the rest. */
const LEAST_MS = 60_000
const BYTES_PER_SECOND = 20_000
const RETRY_SECONDS = 5

export interface HeldAnswers {
  /**
   * Counts an answer until its connection has taken it. Bytes that several answers share count once. Throws
   * `workspace_busy` if the owner has too many bytes waiting.
   */
  hold(owner: string, payload: string | Buffer, raw: ServerResponse): void
  /** Returns the bytes of an owner that wait. */
  bytes(owner: string): number
}

const megabytes = (bytes: number): string => `${Math.round(bytes / 1e6)} MB`

/** `most`: the most bytes of one owner. */
export function createHeldAnswers(most: number): HeldAnswers {
  const waiting = new Map<string, number>()
  /** The number of answers that send these bytes. */
  const senders = new Map<Buffer, number>()

  function count(owner: string, by: number): void {
    const bytes = (waiting.get(owner) ?? 0) + by
    if (bytes === 0) waiting.delete(owner)
    else waiting.set(owner, bytes)
  }

  /** Counts one more sender of these bytes. Returns true if there was none. */
  function begin(payload: Buffer): boolean {
    const before = senders.get(payload) ?? 0
    senders.set(payload, before + 1)
    return before === 0
  }

  function end(payload: Buffer): void {
    const left = senders.get(payload)! - 1
    if (left === 0) senders.delete(payload)
    else senders.set(payload, left)
  }

  return {
    bytes: (owner) => waiting.get(owner) ?? 0,
    hold(owner, payload, raw) {
      const { length } = payload
      if (length < LEAST_BYTES) return
      const isShared = typeof payload !== 'string' && senders.has(payload)
      const held = waiting.get(owner) ?? 0
      // A single answer may be larger than the cap: it has passed the caps of what it shows.
      if (!isShared && held > 0 && held + length > most)
        throw new AppError(
          'workspace_busy',
          `Answers of ${megabytes(held)} wait on this node until the clients of the workspace read them, and ${megabytes(most)} may: read those first, or close their connections.`,
          { retryAfter: RETRY_SECONDS },
        )
      const counted = typeof payload === 'string' || begin(payload) ? length : 0
      count(owner, counted)
      const late = setTimeout(() => raw.destroy(), LEAST_MS + (1000 * length) / BYTES_PER_SECOND)
      late.unref()
      raw.once('close', () => {
        clearTimeout(late)
        count(owner, -counted)
        if (typeof payload !== 'string') end(payload)
      })
    },
  }
}

/** Makes the hook. It comes last, so that it sees the bytes that are sent. */
export function holdAnswers(held: HeldAnswers) {
  return (
    request: FastifyRequest,
    reply: FastifyReply,
    payload: unknown,
    done: (error: Error | null, payload?: unknown) => void,
  ): void => {
    // A problem is short, and an answer that was refused must not be refused again.
    if (typeof payload !== 'string' && !Buffer.isBuffer(payload)) return done(null, payload)
    try {
      held.hold(request.principal?.workspace_id ?? `readers ${callerNetwork(request)}`, payload, reply.raw)
      done(null, payload)
    } catch (error) {
      done(error as Error)
    }
  }
}
