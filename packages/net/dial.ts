/**
 * Opens plain connections to vetted addresses. All addresses of a name are vetted, and exactly a vetted one is dialed. The
 * socket is paused before it connects and nothing is read from it, so that it can be handed to another process.
 */
import { isIP, Socket } from 'node:net'
import { createResolver, type Resolve } from './resolve.ts'
import { type Targets, vetAddress } from './target.ts'
import { BlockedError, ResolveError } from './unreached.ts'

const DIAL_MS = 10_000
/** The most addresses of a name that are tried, one after the other. */
const MOST_TRIED = 4

export interface DialOptions {
  /** The host name in lower case, or a literal address. */
  host: string
  port: number
  targets: Targets
  resolve?: Resolve
  /** The time in milliseconds for all addresses together. */
  timeout_ms?: number
}

let shared: Resolve | undefined

async function addressesOf(host: string, resolve: Resolve): Promise<string[]> {
  if (isIP(host) !== 0) return [host]
  const found = await resolve(host).catch((error: unknown) => {
    throw new ResolveError((error as NodeJS.ErrnoException).code ?? 'EFAILED', error)
  })
  if (found.length === 0) throw new ResolveError('ENODATA')
  return found
}

/** Dials the host. Rejects with BlockedError, ResolveError, or the system's error with a `code`. */
export async function dialVetted({
  host,
  port,
  targets,
  resolve = (shared ??=
    createResolver()),
  timeout_ms = DIAL_MS,
}: DialOptions): Promise<Socket> {
  const addresses = await addressesOf(host, resolve)
  if (!addresses.every((address) => vetAddress(address, host, port, targets)))
    throw new BlockedError('The host is not one that this service may reach.')
  const tried = addresses.slice(0, MOST_TRIED)
  let failure: unknown
  for (const address of tried) {
    try {
      return await connect(address, port, timeout_ms / tried.length)
    } catch (error) {
      failure = error
    }
  }
  throw failure
}

function connect(address: string, port: number, timeout_ms: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = new Socket()
    socket.pause()
    const timer = setTimeout(() => {
      socket.destroy(Object.assign(new Error(`connect ETIMEDOUT ${address}:${port}`), { code: 'ETIMEDOUT' }))
    }, timeout_ms)
    const failed = (error: Error): void => {
      clearTimeout(timer)
      reject(error)
    }
    socket.once('error', failed)
    socket.connect(port, address, () => {
      clearTimeout(timer)
      socket.off('error', failed)
      socket.setNoDelay(true)
      socket.setKeepAlive(true)
      resolve(socket)
    })
  })
}
