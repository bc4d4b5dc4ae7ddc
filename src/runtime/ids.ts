/** UUIDs, version 7 (RFC 9562): sortable by time, and within a millisecond by a counter of this process. */
import { hash, randomFillSync } from 'node:crypto'

const pool = Buffer.alloc(4096)
let used = pool.length
let lastMs = 0
let counter = 0
/** The time of `prefixMs` as the id begins with it: made once a millisecond. */
let prefixMs = -1
let prefix = ''

function randomBytes(count: number): Buffer {
  if (used + count > pool.length) {
    randomFillSync(pool)
    used = 0
  }
  used += count
  return pool.subarray(used - count, used)
}

export function uuidv7(now = Date.now()): string {
  const random = randomBytes(10)
  if (now > lastMs) {
    lastMs = now
    counter = ((random[0]! << 8) | random[1]!) & 0x7ff
  } else {
    counter += 1
    if (counter > 0xfff) {
      counter = 0
      lastMs += 1
    }
  }
  if (lastMs !== prefixMs) {
    const time = lastMs.toString(16).padStart(12, '0')
    prefixMs = lastMs
    prefix = `${time.slice(0, 8)}-${time.slice(8)}-7`
  }
  const tail = random.toString('hex', 2)
  const variant = (8 + (random[2]! & 3)).toString(16)
  return `${prefix}${counter.toString(16).padStart(3, '0')}-${variant}${tail.slice(1, 4)}-${tail.slice(4, 16)}`
}

/**
 * The same id for the same moment and name, whoever makes it: what is made twice is one. Those of one moment are sorted
 * by their `place`, below 4096.
 */
export function uuidFor(ms: number, name: string, place?: number): string {
  const time = ms.toString(16).padStart(12, '0')
  const digest = hash('sha256', name)
  const bits = place === undefined ? digest : place.toString(16).padStart(3, '0') + digest.slice(3)
  const variant = (8 + (Number.parseInt(bits[3]!, 16) & 3)).toString(16)
  return `${time.slice(0, 8)}-${time.slice(8)}-7${bits.slice(0, 3)}-${variant}${bits.slice(4, 7)}-${bits.slice(7, 19)}`
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

export function isUuid(text: string): boolean {
  return UUID.test(text)
}
