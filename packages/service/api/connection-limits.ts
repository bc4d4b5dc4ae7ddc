/**
 * Bounds the connections of clients, and the requests that wait on one. Each connection holds a file descriptor and
 * some memory, and anyone may open many without sending a request. What this node needs for its database, its files
 * and its analysis processes is kept free, and one network gets at most half, so that it cannot keep all others out.
 */
import { readFileSync } from 'node:fs'
import type { Server as HttpServer, IncomingMessage, ServerResponse } from 'node:http'
import type { Server, Socket } from 'node:net'
import { HERE } from '@assay/engine/run/pool'
import { AppError } from '@assay/model/errors'
import { uuidv7 } from '@assay/model/ids'
import { networkOf } from '@assay/net/proxies'
import type { Logger } from '../runtime/log.ts'
import { PROBLEM_TYPE, problemHeaders, problemOf } from './http/problem.ts'

/** The bytes of memory of a connection with a request under way. */
const CONNECTION_BYTES = 40_000
/** The shares of the memory and of the descriptors that connections may have. */
const [OF_MEMORY, OF_DESCRIPTORS] = [0.1, 0.6]
const LEAST = 50
const LOG_MS = 60_000

/** Returns how many files this process may have open; infinity where the system does not say. */
function descriptorsHere(): number {
  try {
    const [, soft] = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'latin1')) ?? []
    return soft === undefined ? Number.POSITIVE_INFINITY : Number(soft)
  } catch {
    return Number.POSITIVE_INFINITY
  }
}

/** Returns the most connections of a node. */
export function connectionsHere(
  { memory_bytes }: { memory_bytes: number } = HERE,
  descriptors = descriptorsHere(),
): number {
  const room = Math.min((OF_MEMORY * memory_bytes) / CONNECTION_BYTES, OF_DESCRIPTORS * descriptors)
  return Math.max(LEAST, Math.floor(room))
}

export function limitConnections(
  server: Server,
  most: number,
  { log, now }: { log: Pick<Logger, 'warn'>; now: () => number },
): void {
  const ofNetwork = new Map<string, number>()
  const mostOfNetwork = Math.ceil(most / 2)
  let loggedAt = Number.NEGATIVE_INFINITY
  server.maxConnections = most

  function tell(network: string): void {
    if (now() - loggedAt < LOG_MS) return
    loggedAt = now()
    log.warn({ network, most }, 'connections are refused: too many are open')
  }

  server.prependListener('connection', (socket: Socket) => {
    const network = networkOf(socket.remoteAddress ?? '')
    const count = ofNetwork.get(network) ?? 0
    if (count >= mostOfNetwork) {
      tell(network)
      socket.destroy()
      return
    }
    ofNetwork.set(network, count + 1)
    socket.once('close', () => {
      const left = ofNetwork.get(network)! - 1
      if (left === 0) ofNetwork.delete(network)
      else ofNetwork.set(network, left)
    })
  })
  server.on('drop', (dropped) => tell(dropped?.remoteAddress ?? ''))
}

/**
 * The most requests that a client may send on one connection before it has the answer to the first. Node takes all of
 * them in one go, thousands in a packet, and nobody else is answered meanwhile.
 */
const WAITING_MOST = 16

function refuse(response: ServerResponse, prefix: string): void {
  const error = new AppError(
    'rate_limited',
    `More than ${WAITING_MOST} requests wait for their answers on this connection: read those first, or use several connections.`,
    { retryAfter: 1 },
  )
  const id = uuidv7()
  response.writeHead(429, {
    ...problemHeaders(error),
    'content-type': PROBLEM_TYPE,
    'x-request-id': id,
    connection: 'close',
  })
  response.end(JSON.stringify(problemOf(error, id, prefix)))
}

/** Passes on only so many requests of a connection at a time. Call it once the server has its listener. */
export function limitWaiting(server: HttpServer, prefix: string): void {
  const waiting = new WeakMap<Socket, number>()
  const refused = new WeakSet<Socket>()
  const handlers = server.listeners('request') as ((
    request: IncomingMessage,
    response: ServerResponse,
  ) => void)[]
  server.removeAllListeners('request')
  server.on('request', (request, response) => {
    const { socket } = request
    const count = waiting.get(socket) ?? 0
    // The connection closes with the answer to the first request that is refused.
    if (refused.has(socket)) return
    if (count >= WAITING_MOST) {
      refused.add(socket)
      // The rest of the packet is not even parsed.
      ;(socket as Socket & { parser?: { pause?(): void } }).parser?.pause?.()
      refuse(response, prefix)
      return
    }
    waiting.set(socket, count + 1)
    response.once('close', () => waiting.set(socket, waiting.get(socket)! - 1))
    for (const handle of handlers) handle.call(server, request, response)
  })
}
