/**
 * Seals secrets for the store: AES-256-GCM under the first key of the list, each text bound to its use (`context`) and
 * bearing the id of its key, so that keys can be rotated: "v1.KEYID.IV.CIPHERTEXT+TAG" in base64url.
 */
import {
  createCipheriv,
  createDecipheriv,
  createHash,
  hkdfSync,
  randomBytes,
  scrypt,
  timingSafeEqual,
} from 'node:crypto'
import { promisify } from 'node:util'

export class SecretError extends Error {}

export class SecretBox {
  readonly #keys = new Map<string, Buffer>()
  readonly #first: string

  constructor(keys: Buffer[]) {
    if (keys.length === 0) throw new SecretError('A secret key is needed.')
    const ids = keys.map((key) => {
      const id = createHash('sha256').update('assay key id').update(key).digest('hex').slice(0, 8)
      this.#keys.set(id, Buffer.from(hkdfSync('sha256', key, '', 'assay secrets', 32)))
      return id
    })
    this.#first = ids[0]!
  }

  seal(plain: string, context: string): string {
    const iv = randomBytes(12)
    const cipher = createCipheriv('aes-256-gcm', this.#keys.get(this.#first)!, iv)
    cipher.setAAD(Buffer.from(context))
    const sealed = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final(), cipher.getAuthTag()])
    return `v1.${this.#first}.${iv.toString('base64url')}.${sealed.toString('base64url')}`
  }

  /** 256 bits of one purpose, in base64url: not stored, but made again as long as the first key is the same. */
  derive(purpose: string): string {
    const key = this.#keys.get(this.#first)!
    return Buffer.from(hkdfSync('sha256', key, '', `assay derived ${purpose}`, 32)).toString('base64url')
  }

  open(sealed: string, context: string): string {
    const [version, id, iv, body] = sealed.split('.')
    const key = this.#keys.get(id ?? '')
    if (version !== 'v1' || !iv || !body) throw new SecretError('A sealed text has an unknown form.')
    if (!key)
      throw new SecretError(`A secret was sealed with key ${id}, which ASSAY_SECRET_KEY does not hold.`)
    const bytes = Buffer.from(body, 'base64url')
    const decipher = createDecipheriv('aes-256-gcm', key, Buffer.from(iv, 'base64url'))
    decipher.setAAD(Buffer.from(context))
    decipher.setAuthTag(bytes.subarray(-16))
    try {
      return Buffer.concat([decipher.update(bytes.subarray(0, -16)), decipher.final()]).toString('utf8')
    } catch (error) {
      throw new SecretError(`A sealed text was changed or belongs elsewhere (${context}).`, { cause: error })
    }
  }
}

/** The first 8 hex digits of the SHA-256: enough to compare, useless to guess from. */
export function fingerprint(value: string): string {
  return createHash('sha256').update(value).digest('hex').slice(0, 8)
}

/** Tokens have 256 random bits, so one SHA-256 is enough to keep them. */
export function hashToken(token: string): string {
  return createHash('sha256').update(token).digest('hex')
}

export function newToken(): string {
  return `assay_${randomBytes(32).toString('base64url')}`
}

/** The secret part of a link's address: as good as a token, and it stands in an address as it is. */
export function newLinkSecret(): string {
  return randomBytes(32).toString('base64url')
}

const scryptAsync = promisify<
  string,
  Buffer,
  number,
  { N: number; r: number; p: number; maxmem: number },
  Buffer
>(scrypt)
const COST = { N: 2 ** 15, r: 8, p: 1, maxmem: 64 * 2 ** 20 }
let last: Promise<unknown> = Promise.resolve()

/** One at a time: each holds one of the few threads of libuv's pool for a tenth of a second, and commits need one, too. */
function derive(password: string, salt: Buffer, cost: typeof COST): Promise<Buffer> {
  const derived = last.then(() => scryptAsync(password.normalize('NFC'), salt, 32, cost))
  last = derived.catch(() => undefined)
  return derived
}

/** "scrypt$N$r$p$SALT$HASH" (OWASP's second choice of parameters, 32 MiB). */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(16)
  const hash = await derive(password, salt, COST)
  return ['scrypt', COST.N, COST.r, COST.p, salt.toString('base64url'), hash.toString('base64url')].join('$')
}

/** Takes the same time whether the user exists or not: pass null for one that does not. */
export async function verifyPassword(password: string, stored: string | null): Promise<boolean> {
  const [, N, r, p, salt, hash] = (
    stored ?? `scrypt$${COST.N}$${COST.r}$${COST.p}$AAAAAAAAAAAAAAAAAAAAAA$`
  ).split('$')
  const cost = { N: Number(N), r: Number(r), p: Number(p), maxmem: COST.maxmem }
  const found = await derive(password, Buffer.from(salt ?? '', 'base64url'), cost)
  const wanted = Buffer.from(hash ?? '', 'base64url')
  return wanted.length === found.length && timingSafeEqual(found, wanted) && stored !== null
}
