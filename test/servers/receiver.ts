/**
 * A webhook receiver for tests: a real HTTP or HTTPS server on a free port of loopback that keeps what arrives and answers
 * as it is told: well, badly, slowly, or not at all. `next()` awaits the next arrival, so that no test has to sleep.
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { AddressInfo, Server, Socket } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { verify } from '@assay/model/signature'
import { within } from './service.ts'

export interface Arrival {
  method: string
  path: string
  headers: IncomingHttpHeaders
  /** The headers as they were sent: name, value, name, value. */
  rawHeaders: string[]
  body: Buffer
  /** The time of arrival in milliseconds since 1970. */
  at: number
  /** The number of its connection, from 1. */
  connection: number
}

/** Answers one request; `nth` counts the requests of this receiver, from 1. */
export type Mode = (response: ServerResponse, arrival: Arrival, nth: number) => void

export interface Receiver {
  /** The address, such as "http://127.0.0.1:PORT". */
  url: string
  port: number
  /** All requests that arrived, in order. */
  arrivals: Arrival[]
  /** Returns the number of connections made so far, and of those open now. */
  connections(): number
  open(): number
  /** Resolves with the next arrival that no earlier call returned. */
  next(): Promise<Arrival>
  answer(mode: Mode): void
  /** Waits until no connection is open. */
  idle(): Promise<void>
  close(): Promise<void>
}

export interface ReceiverOptions {
  mode?: Mode
  tls?: { key: string; cert: string }
  /** The milliseconds for which an idle connection is kept; by default Node's own. */
  keepAlive?: number
}

const KIB = 1024

/** The ways in which receivers behave. */
export const modes = {
  ok: (body = '', headers: Record<string, string> = {}): Mode => {
    return (response) => response.writeHead(200, headers).end(body)
  },
  status: (status: number, headers: Record<string, string> = {}, body = ''): Mode => {
    return (response) => response.writeHead(status, headers).end(body)
  },
  /** Answers the first `count` requests with the status, the rest with 200. */
  fail: (count: number, status = 500): Mode => {
    return (response, _arrival, nth) => response.writeHead(nth <= count ? status : 200).end()
  },
  hang: (): Mode => () => undefined,
  /** Sends headers at once, then a byte now and then, for ever. */
  drip: (everyMs: number): Mode => {
    return (response) => {
      response.writeHead(200)
      const timer = setInterval(() => response.write('.'), everyMs)
      response.on('close', () => clearInterval(timer))
    }
  },
  big: (bytes: number, status = 200): Mode => {
    return (response) => {
      response.writeHead(status, { 'content-type': 'text/plain' })
      const chunk = Buffer.alloc(64 * KIB, 'x')
      let left = bytes
      const write = (): void => {
        while (left > 0 && !response.destroyed) {
          const part = chunk.subarray(0, Math.min(left, chunk.length))
          left -= part.length
          if (!response.write(part)) {
            response.once('drain', write)
            return
          }
        }
        response.end()
      }
      write()
    }
  },
  /** Sends a TCP RST without an answer. */
  reset: (): Mode => (response) => response.socket?.resetAndDestroy(),
  /** Sends a FIN without an answer. */
  closeWithoutAnswer: (): Mode => (response) => response.socket?.destroy(),
  /** Sends less of the body than was announced. */
  closeEarly: (): Mode => (response) => {
    response.writeHead(200, { 'content-length': '1000' })
    response.write('only this')
    setImmediate(() => response.socket?.destroy())
  },
  redirect: (location: string, status = 302): Mode => modes.status(status, { location }),
  brokenGzip: (): Mode =>
    modes.ok('\u001f\u008b\b\0this is no gzip', { 'content-encoding': 'gzip', 'content-type': 'text/plain' }),
  /** Sends bytes that are not HTTP, or too many of them. */
  raw:
    (text: string): Mode =>
    (response) =>
      response.socket?.end(text),
  /** Answers 200 if the signature fits, else 401. */
  verified: (key: { secret: string } | { publicKey: string }): Mode => {
    return (response, arrival) => {
      try {
        verify({ headers: arrival.headers, body: arrival.body, ...key })
        response.writeHead(200).end()
      } catch (error) {
        response.writeHead(401).end(String(error))
      }
    }
  },
}

/** Makes a self-signed certificate for the given names and addresses. */
export function selfSigned(names: string[] = ['DNS:localhost', 'IP:127.0.0.1']): {
  key: string
  cert: string
} {
  const folder = mkdtempSync(path.join(tmpdir(), 'assay-certificate-'))
  try {
    const [key, cert] = [path.join(folder, 'key.pem'), path.join(folder, 'cert.pem')]
    const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
    const subject = ['-subj', '/CN=receiver', '-addext', `subjectAltName=${names.join(',')}`]
    const args = ['req', '-x509', ...curve, '-days', '2', ...subject, '-keyout', key, '-out', cert]
    execFileSync('openssl', args, { stdio: 'pipe' })
    return { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

/** Listens on a free port of loopback. */
async function listen(server: Server, host: string): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, host, resolve))
  return (server.address() as AddressInfo).port
}

function closeServer(server: Server, sockets: Iterable<Socket>): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve())
    for (const socket of sockets) socket.destroy()
  })
}

export async function startReceiver(options: ReceiverOptions = {}): Promise<Receiver> {
  let mode = options.mode ?? modes.ok()
  let given = 0
  let made = 0
  const arrivals: Arrival[] = []
  const waiting: (() => void)[] = []
  const sockets = new Map<Socket, number>()
  const onIdle: (() => void)[] = []
  const receive = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const arrival: Arrival = {
      method: request.method ?? '',
      path: request.url ?? '',
      headers: request.headers,
      rawHeaders: request.rawHeaders,
      body: await readBody(request),
      at: Date.now(),
      connection: sockets.get(request.socket) ?? 0,
    }
    const nth = arrivals.push(arrival)
    waiting.shift()?.()
    mode(response, arrival, nth)
  }
  const listener = (request: IncomingMessage, response: ServerResponse): void => {
    receive(request, response).catch(() => response.destroy())
  }
  const server = options.tls ? createSecureServer(options.tls, listener) : createServer(listener)
  if (options.keepAlive !== undefined) server.keepAliveTimeout = options.keepAlive
  server.on(options.tls ? 'secureConnection' : 'connection', (socket: Socket) => {
    made += 1
    sockets.set(socket, made)
    socket.on('error', () => undefined)
    socket.on('close', () => {
      sockets.delete(socket)
      if (sockets.size === 0) for (const resolve of onIdle.splice(0)) resolve()
    })
  })
  const port = await listen(server, '127.0.0.1')
  return {
    url: `${options.tls ? 'https' : 'http'}://127.0.0.1:${port}`,
    port,
    arrivals,
    connections: () => made,
    open: () => sockets.size,
    answer(next) {
      mode = next
    },
    async next() {
      const index = given
      given += 1
      if (index >= arrivals.length)
        await within(new Promise<void>((resolve) => waiting.push(resolve)), 'the next request arrives')
      return arrivals[index]!
    },
    async idle() {
      if (sockets.size > 0)
        await within(new Promise<void>((resolve) => onIdle.push(resolve)), 'every connection is closed')
    },
    close: () => closeServer(server, sockets.keys()),
  }
}

/** A trap in place of an internal service: counts connections and answers them. */
export async function startTrap(
  host = '127.0.0.1',
): Promise<{ port: number; connections(): number; close(): Promise<void> }> {
  let made = 0
  const sockets = new Set<Socket>()
  const server = createServer((_request, response) => response.end('the inside'))
  server.on('connection', (socket) => {
    made += 1
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  const port = await listen(server, host)
  return { port, connections: () => made, close: () => closeServer(server, sockets) }
}
