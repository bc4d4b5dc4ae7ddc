/** The HTTP client of isomorphic-git over the guarded connector: only vetted addresses, no redirect, and bounded answers. */
import type { Guard } from '@assay/net/guard'
import type { GitHttpRequest, GitHttpResponse, HttpClient } from 'isomorphic-git'

/** The most bytes of one answer. An answer is a compressed commit without its history. */
export const ANSWER_MOST = 50_000_000
const SILENT_MS = 30_000

/** The answer is larger than ANSWER_MOST bytes. */
export class TooLargeError extends Error {}

async function bytesOf(parts: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<Buffer> {
  const found: Uint8Array[] = []
  let length = 0
  for await (const part of parts) {
    length += part.length
    if (length > ANSWER_MOST) throw new TooLargeError()
    found.push(part)
  }
  return Buffer.concat(found)
}

export function gitHttp({ dispatcher }: Guard): HttpClient {
  return {
    async request({ url, method = 'GET', headers = {}, body }: GitHttpRequest): Promise<GitHttpResponse> {
      const { request } = await import('undici')
      const response = await request(url, {
        dispatcher,
        method: method as 'GET' | 'POST',
        headers: { ...headers, 'accept-encoding': 'identity', 'user-agent': 'git/2 (Assay)' },
        headersTimeout: SILENT_MS,
        bodyTimeout: SILENT_MS,
        ...(body ? { body: await bytesOf(body as unknown as AsyncIterable<Uint8Array>) } : {}),
      })
      // The whole answer is read here, so that a broken connection is an error of the request.
      const answer = await bytesOf(response.body as AsyncIterable<Uint8Array>)
      const named = Object.entries(response.headers).map(([name, value]) => [name, String(value)])
      return {
        url,
        method,
        statusCode: response.statusCode,
        statusMessage: '',
        headers: Object.fromEntries(named) as Record<string, string>,
        body: [answer] as unknown as GitHttpResponse['body'] & object,
      }
    },
  }
}
