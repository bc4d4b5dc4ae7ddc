/**
 * Bounds the unfolded size of a pack before isomorphic-git unfolds it. isomorphic-git holds each object in memory, and a pack holds a
 * file of zeros in a thousandth of its size.
 */
import { inflateSync } from 'node:zlib'
import type { GitHttpRequest, GitHttpResponse, HttpClient } from 'isomorphic-git'

/** The most bytes of all objects of a commit together. */
export const UNFOLDED_MOST = 250_000_000

/** The objects are larger than UNFOLDED_MOST bytes. */
export class UnfoldsError extends Error {}

const HEAD = 12
const PACK = Buffer.from('PACK')
const OFS_DELTA = 6
const REF_DELTA = 7
const ID_BYTES = 20

/**
 * Returns the pack within the answer: the first channel of the side band, or the bytes after the lines. Null if there
 * is none.
 */
function packIn(answer: Buffer): Buffer | null {
  const parts: Buffer[] = []
  for (let at = 0; at + 4 <= answer.length; ) {
    if (answer.subarray(at, at + 4).equals(PACK)) return answer.subarray(at)
    const length = Number.parseInt(answer.toString('latin1', at, at + 4), 16)
    if (answer[at + 4] === 1 && length > 5) parts.push(answer.subarray(at + 5, at + length))
    at += Math.max(4, length || 0)
  }
  return parts.length === 0 ? null : Buffer.concat(parts)
}

/** Reads a number in groups of seven bits, the lowest first. Returns it with the index after it. */
function lengthAt(bytes: Buffer, from: number): { value: number; end: number } {
  let [value, at, unit] = [0, from, 1]
  for (; ; at += 1, unit *= 128) {
    const byte = bytes[at]
    if (byte === undefined || unit > 2 ** 49) throw new UnfoldsError()
    value += (byte & 0x7f) * unit
    if (byte < 0x80) return { value, end: at + 1 }
  }
}

function headAt(pack: Buffer, from: number): { type: number; size: number; end: number } {
  const first = pack[from] ?? 0
  const type = (first >> 4) & 7
  const rest = first < 0x80 ? { value: 0, end: from + 1 } : lengthAt(pack, from + 1)
  let { end } = rest
  if (type === REF_DELTA) end += ID_BYTES
  if (type === OFS_DELTA) end = lengthAt(pack, end).end
  return { type, size: (first & 15) + 16 * rest.value, end }
}

/** Throws UnfoldsError if the objects are too large, or larger than the pack declares. */
function vetPack(pack: Buffer): void {
  const objects = pack.readUInt32BE(8)
  let [at, total] = [HEAD, 0]
  for (let nth = 0; nth < objects; nth += 1) {
    const { type, size, end } = headAt(pack, at)
    total += size
    if (total > UNFOLDED_MOST) throw new UnfoldsError()
    const { buffer, engine } = inflateSync(pack.subarray(end), {
      info: true,
      maxOutputLength: Math.max(1, size),
    }) as unknown as { buffer: Buffer; engine: { bytesWritten: number } }
    // A delta declares the size of its result.
    if (type === OFS_DELTA || type === REF_DELTA) total += lengthAt(buffer, lengthAt(buffer, 0).end).value
    if (total > UNFOLDED_MOST) throw new UnfoldsError()
    at = end + engine.bytesWritten
  }
}

/** Returns a client that bounds packs. It reads each answer whole. */
export function bounded(http: HttpClient): HttpClient {
  return {
    async request(asked: GitHttpRequest): Promise<GitHttpResponse> {
      const answer = await http.request(asked)
      if (!asked.url.endsWith('/git-upload-pack') || answer.body === undefined) return answer
      const parts: Uint8Array[] = []
      for await (const part of answer.body as unknown as AsyncIterable<Uint8Array>) parts.push(part)
      const whole = Buffer.concat(parts)
      const pack = packIn(whole)
      try {
        if (pack !== null) vetPack(pack)
      } catch (error) {
        // The pack is damaged, or larger than it declares.
        throw error instanceof UnfoldsError ? error : new UnfoldsError()
      }
      return { ...answer, body: [whole] as unknown as GitHttpResponse['body'] & object }
    },
  }
}
