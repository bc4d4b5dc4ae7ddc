/**
 * A load generator on loopback: keep-alive connections that each send the next request when the last is answered. It
 * reads only the length of an answer, so that it is never the slower side. The work of a more expensive client
 * (autocannon, undici) would be part of both figures and move their ratio towards 1.
 */
import { connect, type Socket } from 'node:net'

export interface Ask {
  method: 'GET' | 'POST'
  path: string
  body?: string
}

export interface LoadOptions {
  url: string
  connections: number
  headers?: Record<string, string>
  /** Returns the next request, or null to stop. */
  next(): Ask | null
  /** Called with the body of each answer. */
  onBody?: (body: string) => void
}

export interface Load {
  requests: number
  seconds: number
}

const END = Buffer.from('\r\n\r\n')

function wire(ask: Ask, host: string, headers: string): Buffer {
  const body = ask.body ?? ''
  const length =
    ask.method === 'POST'
      ? `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n`
      : ''
  return Buffer.from(`${ask.method} ${ask.path} HTTP/1.1\r\nhost: ${host}\r\n${headers}${length}\r\n${body}`)
}

/**
 * Returns the answer at the front of the buffer: its status, its end and its body. Returns null if it is not complete
 * yet.
 */
function answerIn(data: Buffer): { status: number; end: number; body: Buffer } | null {
  const head = data.indexOf(END)
  if (head < 0) return null
  const text = data.toString('latin1', 0, head)
  const match = /\r\ncontent-length: *(\d+)/i.exec(text)
  if (!match) throw new Error(`An answer without a length:\n${text}`)
  const end = head + 4 + Number(match[1])
  return data.length < end
    ? null
    : { status: Number(text.slice(9, 12)), end, body: data.subarray(head + 4, end) }
}

function oneConnection(options: LoadOptions, onAnswer: () => void): Promise<void> {
  const { hostname, port, host } = new URL(options.url)
  const headers = Object.entries(options.headers ?? {})
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')
  return new Promise((resolve, reject) => {
    const socket: Socket = connect({ host: hostname, port: Number(port), noDelay: true })
    let data: Buffer = Buffer.alloc(0)
    let last: { ask: Ask; bytes: Buffer } | null = null
    const sendNext = (): void => {
      const ask = options.next()
      if (ask === null) {
        socket.end()
        resolve()
        return
      }
      if (last?.ask !== ask) last = { ask, bytes: wire(ask, host, headers) }
      socket.write(last.bytes)
    }
    socket.on('connect', sendNext)
    socket.on('error', reject)
    socket.on('data', (chunk) => {
      data = data.length === 0 ? chunk : Buffer.concat([data, chunk])
      const answer = answerIn(data)
      if (answer === null) return
      if (answer.status < 200 || answer.status > 299) {
        socket.destroy()
        reject(
          new Error(
            `${last!.ask.method} ${last!.ask.path} was answered ${answer.status}: ${answer.body.toString()}`,
          ),
        )
        return
      }
      options.onBody?.(answer.body.toString())
      data = data.subarray(answer.end)
      onAnswer()
      sendNext()
    })
  })
}

/** Sends requests until `next` returns null. */
export async function sendAll(options: LoadOptions): Promise<Load> {
  const began = performance.now()
  let requests = 0
  await Promise.all(
    Array.from({ length: options.connections }, () =>
      oneConnection(options, () => {
        requests += 1
      }),
    ),
  )
  return { requests, seconds: (performance.now() - began) / 1000 }
}

/** Sends requests for `seconds`. Returns the requests a second. */
export async function requestRate(options: LoadOptions, seconds: number): Promise<number> {
  const until = performance.now() + seconds * 1000
  const next = (): Ask | null => (performance.now() < until ? options.next() : null)
  const load = await sendAll({ ...options, next })
  return load.requests / load.seconds
}
