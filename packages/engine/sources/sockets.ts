/**
 * Opens the sockets of this process. An analysis process cannot dial: its parent vets the target, dials it and hands
 * the socket over (run/socket-requests.ts). Other processes dial here, by the same rules.
 */
import type { Socket } from 'node:net'
import { dialVetted } from '@assay/net/dial'
import { parseTargets } from '@assay/net/target'

export interface SocketWanted {
  /** The connection that needs the socket; null for an address of a template, or for uploads in a bucket. */
  connection: string | null
  host: string
  port: number
  /** The targets that are allowed. The parent of an analysis process knows them itself and ignores these. */
  targets: readonly string[]
}

/**
 * Opens a socket. Rejects with BlockedError, ResolveError, or an error with a `code`. The socket is connected and
 * paused.
 */
export type OpenSocket = (wanted: SocketWanted) => Promise<Socket>

let current: OpenSocket = ({ host, port, targets }) =>
  dialVetted({ host: host.toLowerCase(), port, targets: parseTargets(targets) })

/** Sets how all sockets of this process are opened. */
export function openSocketsWith(open: OpenSocket): void {
  current = open
}

export const openSocket: OpenSocket = (wanted) => current(wanted)
