/**
 * For channel.test.ts: an analysis process that somebody has taken over. It does to its channel what its first argument
 * names, and stays.
 */
import { writeSync } from 'node:fs'
import { createServer } from 'node:net'

interface Pipe {
  fd: number
}

/** Returns the descriptor of the channel, which Node hides from programs. */
function descriptor(): number {
  const symbol = Object.getOwnPropertySymbols(process).find((one) => one.description === 'kChannelHandle')!
  return (process as unknown as Record<symbol, Pipe>)[symbol]!.fd
}

const send = (message: unknown): void => void process.send!(message)
const raw = (text: string): void => {
  for (let at = 0; at < text.length; ) {
    try {
      at += writeSync(descriptor(), text.slice(at, at + 65_536))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error
    }
  }
}

const WAYS: Record<string, () => void> = {
  nothing: () => send({ type: 'ready' }),
  null: () => send(null),
  number: () => send(7),
  'a message without its parts': () => send({ type: 'rows', id: 1 }),
  'no JSON': () => raw('{"type":\n'),
  'an answer that nobody asked for': () => send({ cmd: 'NODE_HANDLE_ACK' }),
  'a refusal that nobody asked for': () => send({ cmd: 'NODE_HANDLE_NACK' }),
  'a handle of no kind': () => raw('{"cmd":"NODE_HANDLE","type":"none"}\n'),
  'a socket': () => {
    const server = createServer().listen(0, '127.0.0.1', () => process.send!({ type: 'ready' }, server))
  },
  'text without end': () => {
    for (;;) raw('x'.repeat(65_536))
  },
  'messages without end': () => {
    for (;;) raw('{"type":"progress","id":1}\n'.repeat(2000))
  },
}

WAYS[process.argv[2]!]!()
setInterval(() => undefined, 1e6)
