/**
 * Receives what an analysis process sends. A process that somebody has taken over may send anything, and Node's own
 * reader throws where nobody catches: at text that is no JSON, at a part of its own protocol that nobody asked for. So
 * whatever is wrong ends that process, and nothing else.
 */
import type { ChildProcess } from 'node:child_process'
import type { FromChild } from '../protocol.ts'

/** The most bytes of one task. A result has some megabytes, and V8 makes no text of more. */
const BYTES_MOST = 500_000_000
/** The most messages a second. A process reports its progress five times a second. */
const MESSAGES_MOST = 5000
const SECOND = 1000

export interface Channel {
  /** Begins to count anew, for the next task. */
  reset(): void
}

interface Listener {
  /** Returns monotonic milliseconds. */
  now(): number
  /** Takes a message. Whatever it throws is a fault of the message. */
  onMessage(message: FromChild): void
  /** Called once, with the reason why the process can no longer be trusted. */
  onBroken(reason: string): void
}

interface Handle {
  onread: (this: unknown, bytes: ArrayBuffer | undefined) => void
}

/** Returns Node's side of the channel; undefined where a later version of Node has none of this name. */
function handleOf(process_: ChildProcess): Handle | undefined {
  const symbol = Object.getOwnPropertySymbols(process_).find((one) => one.description === 'kChannelHandle')
  const handle = symbol && (process_ as unknown as Record<symbol, Partial<Handle> | undefined>)[symbol]
  return typeof handle?.onread === 'function' ? (handle as Handle) : undefined
}

/** A part of Node's own protocol, such as the answer of a process that it has received a socket. */
interface Internal {
  cmd?: unknown
}

export function listenTo(process_: ChildProcess, { now, onMessage, onBroken }: Listener): Channel {
  let broken = false
  let bytes = 0
  let messages = 0
  let since = now()

  function breakOff(reason: string): void {
    if (broken) return
    broken = true
    onBroken(`The analysis process is not trusted any more: ${reason}.`)
  }

  /** Runs a step. Whatever it throws breaks the channel off. */
  function guarded(step: () => void): void {
    if (broken) return
    try {
      step()
    } catch (error) {
      breakOff(`it sent what nobody understands (${(error as Error).message.slice(0, 200)})`)
    }
  }

  function count(): void {
    if (now() - since >= SECOND) [messages, since] = [0, now()]
    messages += 1
    if (messages > MESSAGES_MOST) breakOff(`it sent more than ${MESSAGES_MOST} messages in a second`)
  }

  const handle = handleOf(process_)
  if (handle !== undefined) {
    const { onread } = handle
    handle.onread = function read(part): void {
      bytes += part?.byteLength ?? 0
      if (bytes > BYTES_MOST) breakOff(`it sent more than ${BYTES_MOST} bytes for one task`)
      // The end of the channel is read even then.
      if (part === undefined) onread.call(this, part)
      else guarded(() => onread.call(this, part))
    }
  }
  for (const own of process_.listeners('internalMessage')) {
    process_.off('internalMessage', own as () => void)
    process_.on('internalMessage', (message: Internal, given?: { close?(): void }) => {
      count()
      // It is sent sockets, and sends none.
      if (given !== undefined || message.cmd === 'NODE_HANDLE') {
        given?.close?.()
        return breakOff('it sent a handle')
      }
      guarded(() => own.call(process_, message, given))
    })
  }
  process_.on('message', (message) => {
    count()
    guarded(() => {
      if (typeof message !== 'object' || message === null) throw new TypeError('it is no message')
      onMessage(message as FromChild)
    })
  })
  return {
    reset() {
      bytes = 0
    },
  }
}
