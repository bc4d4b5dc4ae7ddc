/** Receives webhooks on this machine: keeps the bytes as they arrive, verifies them, and answers. */
import type { IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { SignatureError, verify } from '@assay/model/signature'

export interface Received {
  method: string
  headers: IncomingHttpHeaders
  body: Buffer
  /** True if the signature holds; null if there is no secret to verify with. */
  verified: boolean | null
  /** Why the signature does not hold; null if it does. */
  fault: string | null
}

export interface Receiver {
  url: string
  close(): Promise<void>
}

export interface ReceiverOptions {
  host?: string
  port?: number
  secret?: () => string | null
  /** Returns the status that the sender gets. */
  onRequest(received: Received): Promise<number> | number
}

const MOST_BYTES = 1024 * 1024

function check(
  headers: IncomingHttpHeaders,
  body: Buffer,
  secret: string | null,
): Pick<Received, 'verified' | 'fault'> {
  if (secret === null) return { verified: null, fault: null }
  try {
    verify({ headers, body, secret })
    return { verified: true, fault: null }
  } catch (error) {
    if (!(error instanceof SignatureError)) throw error
    return { verified: false, fault: error.message }
  }
}

export async function startReceiver({
  host = '127.0.0.1',
  port = 0,
  secret = () => null,
  onRequest,
}: ReceiverOptions): Promise<Receiver> {
  // The module is imported here. If an ECMAScript module imports it statically, Node also loads its browser's fetch
  // (2.4 MB of heap).
  const { createServer } = await import('node:http')
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    let bytes = 0
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes <= MOST_BYTES) chunks.push(chunk)
      else if (!response.headersSent) response.writeHead(413).end()
    })
    request.on('end', () => {
      if (bytes > MOST_BYTES) return
      const body = Buffer.concat(chunks)
      const { method = '', headers } = request
      void (async () => onRequest({ method, headers, body, ...check(headers, body, secret()) }))().then(
        (status) => response.writeHead(status).end(),
        () => response.writeHead(500).end(),
      )
    })
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
  const { port: taken } = server.address() as AddressInfo
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${taken}/`,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
