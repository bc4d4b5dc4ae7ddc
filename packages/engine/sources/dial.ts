/**
 * Where a connection may go. Every address that the host's name has is judged, one that is forbidden refuses the name,
 * and exactly an address that was judged is dialed; TLS keeps the name.
 */
import { lookup } from 'node:dns/promises'
import { isIP, Socket } from 'node:net'
import type { OpenConnection } from '@assay/model/connection'
import { parseTargets, vetAddress } from '@assay/net/target'
import { SourceError } from './source.ts'

export const CONNECT_TIMEOUT_MS = 10_000

/** Faults that another address of the same name may not have. */
const UNREACHED = new Set(['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'ETIMEDOUT', 'EADDRNOTAVAIL'])

export interface Dialed {
  address: string
  port: number
  /** Undefined: in clear. */
  tls: { servername?: string; rejectUnauthorized: boolean; ca?: string } | undefined
}

/** Connects to one of the addresses of the connection's `host`, each in turn while none answers. */
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

/** Sends bytes and waits until the other side hangs up, or for as long as may be waited. */
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
