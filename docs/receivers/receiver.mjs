// A webhook receiver in JavaScript (Node 18 or newer) without dependencies.
//
//   WEBHOOK_KEY=whsec_... PORT=9000 node receiver.mjs
//
// WEBHOOK_KEY is the signing_secret (whsec_...) or, of a webhook with "signature": "v1a", its public_key (whpk_...).
import { createHmac, createPublicKey, timingSafeEqual, verify as verifyEd25519 } from 'node:crypto'
import { createServer } from 'node:http'

const TOLERANCE = 300 // seconds, both ways
const LARGEST = 1024 * 1024

function fits(key, content, entry) {
  const [version, base64 = ''] = entry.split(',')
  const signature = Buffer.from(base64, 'base64')
  const raw = Buffer.from(key.slice(key.indexOf('_') + 1), 'base64')
  if (version === 'v1' && key.startsWith('whsec_')) {
    const expected = createHmac('sha256', raw).update(content).digest()
    return signature.length === expected.length && timingSafeEqual(signature, expected)
  }
  if (version === 'v1a' && key.startsWith('whpk_')) {
    const der = Buffer.concat([Buffer.from('302a300506032b6570032100', 'hex'), raw])
    return verifyEd25519(null, content, createPublicKey({ key: der, format: 'der', type: 'spki' }), signature)
  }
  return false
}

/** `body` is the Buffer as received: a body that went through JSON or a string may be another one. */
export function isGenuine(key, headers, body, now = Date.now() / 1000) {
  const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures } = headers
  if (!id || !/^\d+$/.test(timestamp ?? '') || !signatures) return false
  if (Math.abs(now - Number(timestamp)) > TOLERANCE) return false
  const content = Buffer.concat([Buffer.from(`${id}.${timestamp}.`), body])
  return signatures.split(' ').some((entry) => fits(key, content, entry))
}

const key = process.env.WEBHOOK_KEY
if (!/^(whsec|whpk)_/.test(key ?? ''))
  throw new Error('Set WEBHOOK_KEY to the whsec_... or whpk_... of the webhook.')
const seen = new Set() // in real life a table with a unique column: ids must outlive a restart

const server = createServer(async (request, response) => {
  const chunks = []
  let size = 0
  for await (const chunk of request) {
    size += chunk.length
    if (size > LARGEST) return response.writeHead(413).end()
    chunks.push(chunk)
  }
  const body = Buffer.concat(chunks)
  if (!isGenuine(key, request.headers, body)) return response.writeHead(401).end()
  response.writeHead(204).end() // answer first: only a 2xx within 15 seconds counts
  const id = request.headers['webhook-id']
  const again = seen.has(id)
  seen.add(id)
  if (!again) console.log(`${id} ${JSON.parse(body).type}`)
})
server.listen(Number(process.env.PORT ?? 9000), '127.0.0.1', () => {
  console.log(`listening on http://127.0.0.1:${server.address().port}`)
})
