/** UUIDs, version 7 (RFC 9562): sortable by time, and within a millisecond by a counter of this process. */
import { hash, randomBytes } from 'node:crypto'

const VARIANTS = ['8', '9', 'a', 'b']
/** Random digits: asked of the system and written in hexadecimal for a hundred ids at once. */
const POOL_BYTES = 2048
let digits = ''
let used = 0
let lastMs = 0
let counter = 0
/** The time of `prefixMs` as the id begins with it: made once a millisecond. */
let prefixMs = -1
let prefix = ''

function randomDigits(count: number): string {
  if (used + count > digits.length) {
    digits = randomBytes(POOL_BYTES).toString('hex')
    used = 0
  }
  used += count
  return digits.slice(used - count, used)
}

export function uuidv7(now = Date.now()): string {
  if (now > lastMs) {
    lastMs = now
    counter = Number.parseInt(randomDigits(3), 16) & 0x7ff
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
    prefix = `${time.slice(0, 8)}-${time.slice(8)}-`
  }
  const place = (0x7000 | counter).toString(16)
  const variant = VARIANTS[Number.parseInt(randomDigits(1), 16) & 3]!
  return `${prefix}${place}-${variant}${randomDigits(3)}-${randomDigits(12)}`
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
