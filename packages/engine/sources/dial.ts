/** Connects to the host of a connection, over a socket that was vetted and dialed for it; TLS verifies the name. */
import { isIP, type Socket } from 'node:net'
import type { OpenConnection } from '@assay/model/connection'
import { BlockedError, RefusedError, ResolveError } from '@assay/net/unreached'
import { openSocket } from './sockets.ts'
import { SourceError } from './source.ts'

export const CONNECT_TIMEOUT_MS = 10_000

export interface Dialed {
  socket: Socket
  /** The options of TLS; undefined for plain text. */
  tls: { servername?: string; rejectUnauthorized: boolean; ca?: string } | undefined
}

/** Opens a socket to the `host` and `port` of the connection. */
export async function dial(connection: OpenConnection): Promise<Dialed> {
  const { options, name, targets } = connection
  const host = String(options.host).toLowerCase()
  try {
    const socket = await openSocket({ connection: name, host, port: Number(options.port), targets })
    return { socket: dialedAlready(socket, String(options.host)), tls: tlsOptions(connection) }
  } catch (error) {
    throw explained(error, name, host)
  }
}

function explained(error: unknown, name: string, host: string): unknown {
  if (error instanceof ResolveError)
    return new SourceError(`The connection "${name}" cannot be made: the host ${host} has no address.`)
  if (error instanceof RefusedError)
    return new SourceError(`The connection "${name}" cannot be made. ${error.message}`)
  if (error instanceof BlockedError)
    return new SourceError(
      `The connection "${name}" cannot be made: this service may not reach ${host}; an operator can open it with ASSAY_CONNECTION_TARGETS.`,
    )
  const { code, message } = error as NodeJS.ErrnoException
  return code === undefined
    ? error
    : Object.assign(new SourceError(`The connection "${name}" cannot be made: ${message}.`), { code })
}

/**
 * Wraps a connected socket for libraries that call `connect` themselves. Node verifies a certificate for an address by
 * the socket's `_host`.
 */
function dialedAlready(socket: Socket, host: string): Socket {
  const connect = (): Socket => {
    process.nextTick(() => socket.emit('connect'))
    return socket
  }
  return Object.assign(socket, { _host: host, connect })
}

function tlsOptions({ options }: OpenConnection): Dialed['tls'] {
  if (options.tls === 'off') return undefined
  const host = String(options.host)
  return {
    ...(isIP(host) === 0 ? { servername: host } : {}),
    rejectUnauthorized: options.tls !== 'require',
    ...(typeof options.ca === 'string' ? { ca: options.ca } : {}),
  }
}

/** Sends bytes over a socket of its own and waits until the other side closes it, for at most `wait_ms`. Never rejects. */
export async function sendAndWait(connection: OpenConnection, bytes: Buffer, wait_ms: number): Promise<void> {
  const dialed = await dial(connection).catch(() => null)
  if (dialed === null) return
  const { socket } = dialed
  await new Promise<void>((resolve) => {
    socket.setTimeout(wait_ms, () => socket.destroy())
    socket.once('error', () => undefined)
    socket.once('close', () => resolve())
    socket.write(bytes)
    socket.resume()
  })
}
