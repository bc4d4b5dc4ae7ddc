/**
 * Encrypts and decrypts files in the format of age (https://age-encryption.org/v1, specified at
 * https://c2sp.org/age), so that the program age opens them too. It supports X25519 recipients only.
 */
import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createPrivateKey,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  hkdfSync,
  type KeyObject,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto'
import { Transform, type TransformCallback } from 'node:stream'
import { decodeBech32, encodeBech32 } from './bech32.ts'

/** A file that cannot be opened. The message says why. */
export class AgeError extends Error {}

const VERSION = 'age-encryption.org/v1'
const X25519 = `${VERSION}/X25519`
const KEY_BYTES = 32
const FILE_KEY_BYTES = 16
const NONCE_BYTES = 16
const CHUNK_BYTES = 65_536
const TAG_BYTES = 16
/** The most bytes of a header. It has some hundred bytes for each recipient. */
const HEADER_MOST = 1 << 20
/** The bytes before a public key in DER (RFC 8410). */
const PUBLIC_DER = Buffer.from('302a300506032b656e032100', 'hex')
const PRIVATE_DER = Buffer.from('302e020100300506032b656e04220420', 'hex')

const unpadded = (bytes: Buffer): string => bytes.toString('base64').replace(/=+$/, '')
const publicKey = (raw: Buffer): KeyObject =>
  createPublicKey({ key: Buffer.concat([PUBLIC_DER, raw]), format: 'der', type: 'spki' })
const privateKey = (raw: Buffer): KeyObject =>
  createPrivateKey({ key: Buffer.concat([PRIVATE_DER, raw]), format: 'der', type: 'pkcs8' })
const rawPublic = (key: KeyObject): Buffer =>
  Buffer.from(createPublicKey(key).export({ format: 'der', type: 'spki' })).subarray(-KEY_BYTES)
const derived = (secret: Buffer, salt: Buffer, info: string): Buffer =>
  Buffer.from(hkdfSync('sha256', secret, salt, info, KEY_BYTES))

/** Returns the 32 bytes of "age1..."; null for any other text. */
export function parseRecipient(text: string): Buffer | null {
  const bytes = decodeBech32('age', text)
  return bytes?.length === KEY_BYTES ? bytes : null
}

/**
 * Returns the secret keys of a file as age-keygen writes it: one a line, beside comments. Throws AgeError if it holds
 * none.
 */
export function parseIdentities(text: string): Buffer[] {
  const lines = text.split('\n').map((line) => line.trim())
  const keys = lines
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => {
      const bytes = decodeBech32('age-secret-key-', line)
      if (bytes?.length !== KEY_BYTES)
        throw new AgeError('holds a line that is not a secret key (AGE-SECRET-KEY-1...)')
      return bytes
    })
  if (keys.length === 0) throw new AgeError('holds no secret key (AGE-SECRET-KEY-1...)')
  return keys
}

/** Makes a new pair of keys. The recipient is the public key. */
export function newIdentity(): { identity: string; recipient: string } {
  const { privateKey: made } = generateKeyPairSync('x25519')
  const raw = Buffer.from(made.export({ format: 'der', type: 'pkcs8' })).subarray(-KEY_BYTES)
  return {
    identity: encodeBech32('age-secret-key-', raw).toUpperCase(),
    recipient: encodeBech32('age', rawPublic(made)),
  }
}

function chacha(key: Buffer, nonce: Buffer) {
  return [key, nonce, { authTagLength: TAG_BYTES }] as const
}

function sealed(key: Buffer, nonce: Buffer, plain: Buffer): Buffer {
  const cipher = createCipheriv('chacha20-poly1305', ...chacha(key, nonce))
  return Buffer.concat([cipher.update(plain), cipher.final(), cipher.getAuthTag()])
}

/** Opens sealed bytes. Returns null if the key is another one or the bytes were changed. */
function opened(key: Buffer, nonce: Buffer, bytes: Buffer): Buffer | null {
  if (bytes.length < TAG_BYTES) return null
  const decipher = createDecipheriv('chacha20-poly1305', ...chacha(key, nonce))
  decipher.setAuthTag(bytes.subarray(-TAG_BYTES))
  try {
    return Buffer.concat([decipher.update(bytes.subarray(0, -TAG_BYTES)), decipher.final()])
  } catch {
    return null
  }
}

const NO_NONCE = Buffer.alloc(12)

/** Returns the nonce of a chunk from its number and whether it is the last. */
function chunkNonce(number: number, last: boolean): Buffer {
  const nonce = Buffer.alloc(12)
  nonce.writeUIntBE(number, 5, 6)
  nonce[11] = last ? 1 : 0
  return nonce
}

function stanzaFor(recipient: Buffer, fileKey: Buffer): string {
  const { privateKey: ephemeral } = generateKeyPairSync('x25519')
  const share = rawPublic(ephemeral)
  const shared = diffieHellman({ privateKey: ephemeral, publicKey: publicKey(recipient) })
  const wrap = derived(shared, Buffer.concat([share, recipient]), X25519)
  // The body has 43 characters, and a line may have 64.
  return `-> X25519 ${unpadded(share)}\n${unpadded(sealed(wrap, NO_NONCE, fileKey))}\n`
}

const macOf = (fileKey: Buffer, header: string): Buffer =>
  createHmac('sha256', derived(fileKey, Buffer.alloc(0), 'header'))
    .update(header)
    .digest()

/** Returns a stream that encrypts its bytes to the recipient (32 bytes). */
export function encryptTo(recipient: Buffer): Transform {
  const fileKey = randomBytes(FILE_KEY_BYTES)
  const header = `${VERSION}\n${stanzaFor(recipient, fileKey)}---`
  const nonce = randomBytes(NONCE_BYTES)
  const key = derived(fileKey, nonce, 'payload')
  let number = 0
  let held: Buffer[] = []
  let bytes = 0
  const stream = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      held.push(chunk)
      bytes += chunk.length
      // A chunk is held back until more bytes arrive, because the last chunk must not be empty unless the file is.
      if (bytes > CHUNK_BYTES) {
        const all = Buffer.concat(held)
        let from = 0
        for (; all.length - from > CHUNK_BYTES; from += CHUNK_BYTES)
          this.push(sealed(key, chunkNonce(number++, false), all.subarray(from, from + CHUNK_BYTES)))
        held = [all.subarray(from)]
        bytes = all.length - from
      }
      done()
    },
    flush(done) {
      this.push(sealed(key, chunkNonce(number, true), Buffer.concat(held)))
      done()
    },
  })
  stream.push(Buffer.from(`${header} ${unpadded(macOf(fileKey, header))}\n`))
  stream.push(nonce)
  return stream
}

interface Header {
  /** The text up to the three hyphens, which the MAC covers. */
  text: string
  mac: Buffer
  stanzas: { type: string; args: string[]; body: Buffer }[]
  /** The index of the first byte of the payload. */
  end: number
}

/** Reads the header. Returns null if more bytes are needed. Throws AgeError. */
function readHeader(bytes: Buffer): Header | null {
  const at = bytes.indexOf('\n---')
  const end = at < 0 ? -1 : bytes.indexOf('\n', at + 1)
  if (end < 0) {
    if (bytes.length > HEADER_MOST) throw new AgeError('is not encrypted by age')
    return null
  }
  const lines = bytes.subarray(0, end).toString('latin1').split('\n')
  const last = lines.pop()!
  if (lines.shift() !== VERSION) throw new AgeError('is not encrypted by age')
  const stanzas: Header['stanzas'] = []
  for (const line of lines) {
    const [arrow, type = '', ...args] = line.split(' ')
    if (arrow === '->') stanzas.push({ type, args, body: Buffer.alloc(0) })
    else {
      const stanza = stanzas.at(-1)
      if (!stanza) throw new AgeError('is not encrypted by age')
      stanza.body = Buffer.concat([stanza.body, Buffer.from(line, 'base64')])
    }
  }
  return {
    text: bytes.subarray(0, at + 4).toString('latin1'),
    mac: Buffer.from(last.slice(4), 'base64'),
    stanzas,
    end: end + 1,
  }
}

/** Returns the key of the file. Throws AgeError if no identity opens it. */
function fileKeyOf({ stanzas, text, mac }: Header, identities: readonly Buffer[]): Buffer {
  for (const raw of identities) {
    const identity = privateKey(raw)
    for (const { type, args, body } of stanzas) {
      const share = Buffer.from(args[0] ?? '', 'base64')
      if (type !== 'X25519' || share.length !== KEY_BYTES) continue
      const shared = diffieHellman({ privateKey: identity, publicKey: publicKey(share) })
      const wrap = derived(shared, Buffer.concat([share, rawPublic(identity)]), X25519)
      const fileKey = opened(wrap, NO_NONCE, body)
      if (fileKey === null) continue
      const expected = macOf(fileKey, text)
      if (mac.length !== expected.length || !timingSafeEqual(mac, expected))
        throw new AgeError('is damaged: its header was changed')
      return fileKey
    }
  }
  throw new AgeError('is encrypted to another key: give the file of the secret key that belongs to it')
}

class Opening extends Transform {
  readonly #identities: readonly Buffer[]
  #held = Buffer.alloc(0)
  #header: { fileKey: Buffer } | null = null
  #key: Buffer | null = null
  #number = 0

  constructor(identities: readonly Buffer[]) {
    super()
    this.#identities = identities
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    try {
      this.#held = Buffer.concat([this.#held, chunk])
      this.#begin()
      while (this.#key && this.#held.length > CHUNK_BYTES + TAG_BYTES)
        this.#open(CHUNK_BYTES + TAG_BYTES, false)
      done()
    } catch (error) {
      done(error as Error)
    }
  }

  override _flush(done: TransformCallback): void {
    try {
      if (!this.#key) throw new AgeError('is cut off')
      this.#open(this.#held.length, true)
      done()
    } catch (error) {
      done(error as Error)
    }
  }

  #begin(): void {
    if (this.#key) return
    if (!this.#header) {
      const header = readHeader(this.#held)
      if (header === null) return
      this.#header = { fileKey: fileKeyOf(header, this.#identities) }
      this.#held = this.#held.subarray(header.end)
    }
    if (this.#held.length < NONCE_BYTES) return
    this.#key = derived(this.#header.fileKey, this.#held.subarray(0, NONCE_BYTES), 'payload')
    this.#held = this.#held.subarray(NONCE_BYTES)
  }

  #open(bytes: number, last: boolean): void {
    const plain = opened(this.#key!, chunkNonce(this.#number, last), this.#held.subarray(0, bytes))
    if (plain === null || (last && plain.length === 0 && this.#number > 0))
      throw new AgeError('is damaged or cut off')
    this.#number += 1
    this.#held = this.#held.subarray(bytes)
    this.push(plain)
  }
}

/** Returns a stream that decrypts its bytes. It fails with AgeError, and never yields bytes that were changed. */
export function decryptWith(identities: readonly Buffer[]): Transform {
  return new Opening(identities)
}
