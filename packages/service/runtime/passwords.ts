/** Passwords: hashes by scrypt, and which passwords are refused. */
import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import { AppError } from '@assay/model/errors'
import { COMMON } from './common-passwords.ts'

const scryptAsync = promisify<
  string,
  Buffer,
  number,
  { N: number; r: number; p: number; maxmem: number },
  Buffer
>(scrypt)
const COST = { N: 2 ** 15, r: 8, p: 1, maxmem: 64 * 2 ** 20 }
/** The most keys that wait in a queue: about two seconds of work. */
const WAITING_MOST = 20
/** The most of these of one site, so that it cannot keep all others out. */
const OF_A_SITE_MOST = 10
const RETRY_SECONDS = 3

/**
 * The queue of a password. Logins of known devices, and passwords that admins set, have their own, so that strangers
 * cannot delay them.
 */
export type Asker = 'known' | 'any'

interface Queue {
  last: Promise<unknown>
  /** The sites of those who wait; null where the service itself asks. */
  waiting: (string | null)[]
}

const queues: Record<Asker, Queue> = {
  known: { last: Promise.resolve(), waiting: [] },
  any: { last: Promise.resolve(), waiting: [] },
}

/** Tells whether one more of the site would have to wait too long, or would leave too little room for others. */
function isFull({ waiting }: Queue, site: string | null): boolean {
  const own = site === null ? 0 : waiting.filter((one) => one === site).length
  return waiting.length >= WAITING_MOST || own >= OF_A_SITE_MOST
}

/**
 * Derives the keys of a queue one at a time. Each takes a thread of libuv's pool for a tenth of a second, and commits
 * need a thread too.
 */
async function derive(
  password: string,
  salt: Buffer,
  cost: typeof COST,
  { asker, site }: { asker: Asker; site: string | null },
): Promise<Buffer> {
  const queue = queues[asker]
  if (isFull(queue, site))
    throw new AppError('rate_limited', `Too many logins at once: wait ${RETRY_SECONDS} seconds.`, {
      retryAfter: RETRY_SECONDS,
    })
  queue.waiting.push(site)
  const derived = queue.last.then(() => scryptAsync(password.normalize('NFC'), salt, 32, cost))
  queue.last = derived.catch(() => undefined)
  try {
    return await derived
  } finally {
    queue.waiting.splice(queue.waiting.indexOf(site), 1)
  }
}

/** Hashes a password as "scrypt$N$r$p$SALT$HASH" (OWASP's second choice of parameters, 32 MiB). */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(16)
  const hash = await derive(password, salt, COST, { asker: 'known', site: null })
  return ['scrypt', COST.N, COST.r, COST.p, salt.toString('base64url'), hash.toString('base64url')].join('$')
}

/**
 * Verifies a password. Pass null as `stored` for a user that does not exist, which takes the same time. `site`: where
 * the request comes from. Throws `rate_limited` if too many wait already.
 */
export async function verifyPassword(
  password: string,
  stored: string | null,
  { asker = 'any', site = null }: { asker?: Asker; site?: string | null } = {},
): Promise<boolean> {
  const [, N, r, p, salt, hash] = (
    stored ?? `scrypt$${COST.N}$${COST.r}$${COST.p}$AAAAAAAAAAAAAAAAAAAAAA$`
  ).split('$')
  const cost = { N: Number(N), r: Number(r), p: Number(p), maxmem: COST.maxmem }
  const found = await derive(password, Buffer.from(salt ?? '', 'base64url'), cost, { asker, site })
  const wanted = Buffer.from(hash ?? '', 'base64url')
  return wanted.length === found.length && timingSafeEqual(found, wanted) && stored !== null
}

/** Returns the fault of a password that a user chooses; null if it has none. */
export function passwordFault(password: string, username: string): string | null {
  const plain = password.toLowerCase()
  // Trailing digits and signs add nothing: "password1!" is guessed as soon as "password".
  const word = plain.replace(/[\d\W_]+$/u, '')
  if (COMMON.has(plain) || COMMON.has(word) || /^(.{1,4})\1+$/u.test(plain))
    return 'is one of the first that are guessed: choose a longer one, of several words'
  const name = username.toLowerCase()
  if (name.length >= 4 && plain.includes(name) && plain.length < name.length + 8)
    return 'is hardly more than the name of the user: choose another one'
  return null
}
