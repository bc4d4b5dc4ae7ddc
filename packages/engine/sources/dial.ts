/**
 * Connects to the host of a connection. Every address of its name must be allowed, and only a checked address is dialed;
 * TLS verifies the name.
 */
import { lookup } from 'node:dns/promises'
import { isIP, Socket } from 'node:net'
import type { OpenConnection } from '@assay/model/connection'
import { parseTargets, vetAddress } from '@assay/net/target'
import { SourceError } from './source.ts'

export const CONNECT_TIMEOUT_MS = 10_000

/** Errors after which the next address of the name is tried. */
const UNREACHED = new Set(['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'ETIMEDOUT', 'EADDRNOTAVAIL'])

export interface Dialed {
  address: string
  port: number
  /** Undefined for plain text. */
  tls: { servername?: string; rejectUnauthorized: boolean; ca?: string } | undefined
}

/** Tries the addresses of the connection's `host` in turn until one answers. */
export async function dial<Made>(
  connection: OpenConnection,
  connect: (dialed: Dialed) => Promise<Made>,
): Promise<Made> {
  const port = Number(connection.options.port)
  const tls = tlsOptions(connection)
  let failure: unknown
  for (const address of await vettedAddresses(connection, port)) {
    try {
      return await connect({ address, port, tls })
    } catch (error) {
      failure = error
      if (!UNREACHED.has((error as NodeJS.ErrnoException).code ?? '')) break
    }
  }
  throw failure
}

async function vettedAddresses({ options, name, targets }: OpenConnection, port: number): Promise<string[]> {
  const host = String(options.host).toLowerCase()
  const allowed = parseTargets(targets)
  const found = isIP(host) === 0 ? await lookup(host, { all: true }).catch(() => []) : [{ address: host }]
  const addresses = found.map(({ address }) => address)
  if (addresses.length === 0)
    throw new SourceError(`The connection "${name}" cannot be made: the host ${host} has no address.`)
  if (addresses.every((one) => vetAddress(one, host, port, allowed))) return addresses
  throw new SourceError(
    `The connection "${name}" cannot be made: this service may not reach ${host}; an operator can open it with ASSAY_CONNECTION_TARGETS.`,
  )
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

/** Sends bytes and waits until the other side closes the connection, for at most `wait_ms`. */
export function sendAndWait(address: string, port: number, bytes: Buffer, wait_ms: number): Promise<void> {
  return new Promise((resolve) => {
    const socket = new Socket()
    socket.setTimeout(wait_ms, () => socket.destroy())
    socket.once('error', () => undefined)
    socket.once('close', () => resolve())
    socket.connect(port, address, () => socket.write(bytes))
    socket.resume()
  })
}
