/** Ids: UUIDs of version 7 (RFC 9562), sortable by time and, within a millisecond, by a counter of this process. */
import { hash, randomBytes } from 'node:crypto'

let lastMs = 0
let counter = 0
/** The begin of the ids of `prefixMs`. It is kept, because a request makes four ids within the same millisecond. */
let prefixMs = -1
let prefix = ''

/** The random hexadecimal digits of one id: the variant, 15 more, and the start of the counter. */
const DIGITS = 19
/** The system is asked for the digits of a hundred ids at once. An id allocates a third of what randomUUID() takes. */
const POOL_IDS = 100
let pool = ''
let used = 0

function randomDigits(): string {
  if (used === pool.length) {
    pool = randomBytes((POOL_IDS * DIGITS) / 2).toString('hex')
    used = 0
  }
  used += DIGITS
  return pool.slice(used - DIGITS, used)
}

const VARIANTS = ['8', '9', 'a', 'b']

/** Makes an id. Ids of one millisecond, and ids that are made after the clock was set back, still rise. */
export function uuidv7(now = Date.now()): string {
  const random = randomDigits()
  if (now > lastMs) {
    lastMs = now
    counter = Number.parseInt(random.slice(16), 16) & 0x7ff
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
  const sequence = (0x7000 | counter).toString(16)
  const variant = VARIANTS[Number.parseInt(random.charAt(0), 16) & 3]!
  return `${prefix}${sequence}-${variant}${random.slice(1, 4)}-${random.slice(4, 16)}`
}

/**
 * Makes an id from a time and a name. Every node makes the same one, so a repeated insert is recognized. `order`
 * (below 4096) sorts the ids of one time.
 */
export function uuidFor(ms: number, name: string, order?: number): string {
  const time = ms.toString(16).padStart(12, '0')
  const digest = hash('sha256', name)
  const bits = order === undefined ? digest : order.toString(16).padStart(3, '0') + digest.slice(3)
  const variant = (8 + (Number.parseInt(bits[3]!, 16) & 3)).toString(16)
  return `${time.slice(0, 8)}-${time.slice(8)}-7${bits.slice(0, 3)}-${variant}${bits.slice(4, 7)}-${bits.slice(7, 19)}`
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

export function isUuid(text: string): boolean {
  return UUID.test(text)
}
