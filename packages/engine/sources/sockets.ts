/**
 * The way of this process to the network. An analysis process has none of its own: its parent vets the target, dials it and
 * hands the socket over (run/socket-requests.ts). Elsewhere sockets are dialed here, by the same rules.
 */
import type { Socket } from 'node:net'
import { dialVetted } from '@assay/net/dial'
import { parseTargets } from '@assay/net/target'

export interface SocketWanted {
  /** The connection for which it is wanted; null: an address of a template, or uploads in a bucket. */
  connection: string | null
  host: string
  port: number
  /** Where it may lead. The parent of an analysis process knows this itself and does not ask. */
  targets: readonly string[]
}

/** Rejects with BlockedError, ResolveError, or an error with a `code`. The socket is connected and paused. */
export type OpenSocket = (wanted: SocketWanted) => Promise<Socket>

let current: OpenSocket = ({ host, port, targets }) =>
  dialVetted({ host: host.toLowerCase(), port, targets: parseTargets(targets) })

/** Sets the way for all sockets of this process. */
export function openSocketsWith(open: OpenSocket): void {
  current = open
}

export const openSocket: OpenSocket = (wanted) => current(wanted)
