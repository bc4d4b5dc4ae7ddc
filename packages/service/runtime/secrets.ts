/**
 * Seals secrets for the store by AES-256-GCM with the first key of the list. A sealed text is bound to its use (`context`) and
 * holds the id of its key, so that keys can be rotated: "v1.KEYID.IV.CIPHERTEXT+TAG" in base64url.
 */
import { createCipheriv, createDecipheriv, createHash, createHmac, hkdfSync, randomBytes } from 'node:crypto'
import { AppError } from '@assay/model/errors'

export class SecretError extends Error {}

const TAG_BYTES = 16

/** Returns the id of a key, which sealed texts name. */
export function keyIdOf(key: Buffer): string {
  return createHash('sha256').update('assay key id').update(key).digest('hex').slice(0, 8)
}

/** Returns the id of the key that sealed the text. */
export function sealedBy(sealed: string): string {
  return sealed.split('.')[1] ?? ''
}

export class SecretBox {
  readonly #keys = new Map<string, Buffer>()
  readonly #first: string
  readonly #left = new Map<string, Buffer[]>()
  /**
   * Null if the box has the keys of the store. Otherwise a sentence on what is missing. A locked box seals nothing
   * for the store, because nodes with the right keys could not open it.
   */
  readonly locked: string | null

  constructor(keys: Buffer[], locked: string | null = null) {
    if (keys.length === 0) throw new SecretError('A secret key is needed.')
    const ids = keys.map((key) => {
      const id = keyIdOf(key)
      this.#keys.set(id, Buffer.from(hkdfSync('sha256', key, '', 'assay secrets', 32)))
      return id
    })
    this.#first = ids[0]!
    this.locked = locked
  }

  /** Returns the id of the key that seals. */
  get first(): string {
    return this.#first
  }

  /** Tells whether the box has the key that sealed the text. */
  holdsKeyOf(sealed: string): boolean {
    return this.#keys.has(sealedBy(sealed))
  }

  /** Throws AppError `store_unavailable` while the box is locked. */
  requireKeys(): void {
    if (this.locked !== null) throw new AppError('store_unavailable', this.locked)
  }

  /** Seals a text for the store. Throws AppError `store_unavailable` while the box is locked. */
  seal(plain: string, context: string): string {
    this.requireKeys()
    return this.sealForOthers(plain, context)
  }

  /** Seals a text that a client keeps, such as a cookie. */
  sealForOthers(plain: string, context: string): string {
    const iv = randomBytes(12)
    const cipher = createCipheriv('aes-256-gcm', this.#keys.get(this.#first)!, iv)
    cipher.setAAD(Buffer.from(context))
    const sealed = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final(), cipher.getAuthTag()])
    return `v1.${this.#first}.${iv.toString('base64url')}.${sealed.toString('base64url')}`
  }

  /**
   * Derives 256 bits for a purpose from each key, in base64url. Those of the first key stand first. They are not
   * stored.
   */
  derive(purpose: string): string[] {
    return [...this.#keys.values()].map((key) =>
      Buffer.from(hkdfSync('sha256', key, '', `assay derived ${purpose}`, 32)).toString('base64url'),
    )
  }

  /**
   * Returns keyed hashes of a text for a purpose, by which a text is found that is not stored. There is one for each
   * key; that of the first key stands first.
   */
  hashes(text: string, purpose: string): string[] {
    return this.hashKeys(purpose).map((key) => createHmac('sha256', key).update(text).digest('base64url'))
  }

  /**
   * Returns the keys of these hashes. They open no secret, so the hash key of a removed key may stay in the store.
   */
  hashKeys(purpose: string): Buffer[] {
    const own = [...this.#keys.values()].map((key) =>
      Buffer.from(hkdfSync('sha256', key, '', `assay hash ${purpose}`, 32)),
    )
    return [...own, ...(this.#left.get(purpose) ?? [])]
  }

  /** Adds the hash keys of earlier keys. */
  addHashKeys(purpose: string, keys: readonly Buffer[]): void {
    this.#left.set(purpose, [...keys])
  }

  open(sealed: string, context: string): string {
    const [version, id, iv, body] = sealed.split('.')
    const key = this.#keys.get(id ?? '')
    if (version !== 'v1' || !iv || !body) throw new SecretError('A sealed text has an unknown form.')
    if (!key)
      throw new SecretError(`A secret was sealed with key ${id}, which ASSAY_SECRET_KEY does not hold.`)
    const bytes = Buffer.from(body, 'base64url')
    try {
      const decipher = createDecipheriv('aes-256-gcm', key, Buffer.from(iv, 'base64url'), {
        authTagLength: TAG_BYTES,
      })
      decipher.setAAD(Buffer.from(context))
      decipher.setAuthTag(bytes.subarray(-TAG_BYTES))
      return Buffer.concat([decipher.update(bytes.subarray(0, -TAG_BYTES)), decipher.final()]).toString(
        'utf8',
      )
    } catch (error) {
      throw new SecretError(`A sealed text was changed or belongs elsewhere (${context}).`, { cause: error })
    }
  }
}

/**
 * Parses the keys of a file such as secret.key: 64 hex digits a line, the first seals. Throws SecretError for any
 * other text.
 */
export function parseKeys(text: string): Buffer[] {
  const lines = text.split('\n').map((line) => line.trim())
  const keys = lines.filter((line) => line !== '')
  if (keys.length === 0 || !keys.every((line) => /^[0-9a-f]{64}$/i.test(line)))
    throw new SecretError('A file of secret keys holds 64 hex digits a line.')
  return keys.map((line) => Buffer.from(line, 'hex'))
}

/** Returns the first 8 hex digits of the SHA-256, by which people compare secrets without seeing them. */
export function fingerprint(value: string): string {
  return createHash('sha256').update(value).digest('hex').slice(0, 8)
}

/** Returns the hash under which a token is stored. Tokens have 256 random bits, so one SHA-256 is enough. */
export function hashToken(token: string): string {
  return createHash('sha256').update(token).digest('hex')
}

export function newToken(): string {
  return `assay_${randomBytes(32).toString('base64url')}`
}

/** Makes the secret of a link: 256 random bits in characters that an address may hold. */
export function newLinkSecret(): string {
  return randomBytes(32).toString('base64url')
}
