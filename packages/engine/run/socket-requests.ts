/**
 * Requests of an analysis process for sockets, since it cannot reach the network itself. The parent decides by what
 * it knows about the task, not by what the process says. A connection that the task has acquired leads to its own
 * host. An address of a template, or uploads in a bucket, lead to hosts that the operator allows.
 */
import type { Socket } from 'node:net'
import type { OpenConnection } from '@assay/model/connection'
import { isListed } from '@assay/model/outgoing'
import { dialVetted } from '@assay/net/dial'
import { parseTargets } from '@assay/net/target'
import { BlockedError, RefusedError, ResolveError } from '@assay/net/unreached'
import type { OpenSocket } from '../sources/sockets.ts'
import { addressOfConnection } from './connection-address.ts'
import type { DialFailure, FromChild, Task } from './protocol.ts'

/** The target of a task. `connection` is null for a download of an address. */
export interface DialWanted {
  connection: string | null
  host: string
}

/** Returns why a workspace may not reach the target, as a sentence, or null if it may. */
export type VetDial = (wanted: DialWanted & { workspace_id: string }) => Promise<string | null>

type DialMessage = Extract<FromChild, { type: 'dial' }>

function failureOf(error: unknown): DialFailure {
  const { message, code = 'EFAILED' } = error as NodeJS.ErrnoException
  if (error instanceof BlockedError) return { kind: 'blocked', message, code }
  if (error instanceof RefusedError) return { kind: 'refused', message, code }
  return { kind: error instanceof ResolveError ? 'unresolved' : 'failed', message, code }
}

function errorOf({ kind, message, code }: DialFailure): Error {
  if (kind === 'blocked') return new BlockedError(message)
  if (kind === 'refused') return new RefusedError(message)
  return kind === 'unresolved' ? new ResolveError(code) : Object.assign(new Error(message), { code })
}

const BLOCKED = 'The host is not one that this service may reach.'

async function leadsTo(connection: OpenConnection, host: string, port: number): Promise<boolean> {
  const own = await addressOfConnection(connection)
  return own !== null && host === own.host && port === own.port
}

/** Returns the targets that a task may reach at the host. `acquired`: the connections that it has asked for. */
async function targetsOf(
  { connection: name, host, port }: DialMessage,
  task: Task,
  acquired: ReadonlyMap<string, OpenConnection>,
): Promise<readonly string[]> {
  if (name !== null) {
    const connection =
      acquired.get(name) ?? (task.kind === 'probe' && task.connection.name === name ? task.connection : null)
    if (!connection || !(await leadsTo(connection, host, port))) throw new BlockedError(BLOCKED)
    return connection.targets
  }
  if (!('roots' in task)) throw new BlockedError(BLOCKED)
  return [...(task.roots.remote?.targets ?? []), ...(task.roots.uploads?.targets ?? [])]
}

/** Tells whether the bucket of uploads is at the host. The bucket is the operator's own. */
function isBucket(task: Task, host: string): boolean {
  const targets = 'roots' in task ? (task.roots.uploads?.targets ?? []) : []
  return isListed(
    host,
    targets.map((target) => target.replace(/:\d+$/, '')),
  )
}

/** Opens a socket on the parent's side. Never rejects. */
export async function dialFor(
  message: DialMessage,
  task: Task,
  acquired: ReadonlyMap<string, OpenConnection>,
  vet?: (wanted: DialWanted) => Promise<string | null>,
): Promise<{ socket: Socket } | { failure: DialFailure }> {
  const host = message.host.toLowerCase()
  try {
    const targets = await targetsOf({ ...message, host }, task, acquired)
    const { port, connection } = message
    if (vet && (connection !== null || !isBucket(task, host))) {
      const refusal = await vet({ connection, host })
      if (refusal !== null) throw new RefusedError(refusal)
    }
    return { socket: await dialVetted({ host, port, targets: parseTargets(targets) }) }
  } catch (error) {
    return { failure: failureOf(error) }
  }
}

/** Opens sockets on the side of the analysis process. */
export interface SocketRequests {
  open: OpenSocket
  receive(call: number, failure: DialFailure | null, socket: Socket | undefined): void
}

/** Makes the requests. `taskId` returns the id of the present task. */
export function createSocketRequests(
  send: (message: FromChild) => void,
  taskId: () => number,
): SocketRequests {
  const waiting = new Map<number, { resolve(socket: Socket): void; reject(error: Error): void }>()
  let calls = 0
  return {
    open({ connection, host, port }) {
      const { promise, resolve, reject } = Promise.withResolvers<Socket>()
      calls += 1
      waiting.set(calls, { resolve, reject })
      send({ type: 'dial', id: taskId(), call: calls, connection, host, port })
      return promise
    },
    receive(call, failure, socket) {
      const waits = waiting.get(call)
      waiting.delete(call)
      if (!waits) socket?.destroy()
      else if (failure) waits.reject(errorOf(failure))
      else if (socket) waits.resolve(socket)
      else waits.reject(Object.assign(new Error('The connection was closed.'), { code: 'ECONNRESET' }))
    },
  }
}
