/** Reads a backup part by part, and compares each with the manifest at its end. */
import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { AppError } from '@assay/model/errors'
import { COPIED, type CopiedRow, type CopiedTable } from '@assay/store/copy'
import { VERSION } from '../runtime/version.ts'
import { AgeError, decryptWith } from './age.ts'
import { HEAD, type Head, KEY, MANIFEST, type Manifest, TableDigest, vetHead } from './format.ts'
import { hashing } from './hashing.ts'
import { type Entry, extract } from './tar.ts'

export interface Reading {
  /** The name of the backup in sentences. */
  name: string
  stream: Readable
  /** The secret keys that open an encrypted backup. */
  identities: readonly Buffer[]
  /** The newest migration of this version of Assay. */
  schema: string
}

/** Receives the parts in their order. */
export interface Receiver {
  head(head: Head): Promise<void>
  rows(table: CopiedTable, rows: CopiedRow[]): Promise<void>
  /** Receives an upload. It must read the stream to its end. */
  upload(workspace_id: string, file: string, content: Readable): Promise<void>
  key(text: string): Promise<void>
}

const ENCRYPTED = Buffer.from('age-encryption.org/')
/**
 * The most bytes of a part that is not an upload, since it is read into memory. A batch of rows has some megabytes,
 * one row at most about a hundred.
 */
const PART_MOST = 1e9

/**
 * Reads a backup. Throws AppError `conflict` with a sentence for a backup that is damaged, cut off, or of another
 * version.
 */
export async function readBackup(reading: Reading, receiver: Receiver): Promise<Manifest> {
  const { name, stream, identities } = reading
  try {
    const { encrypted, whole } = await sniffed(stream)
    if (encrypted && identities.length === 0)
      throw new AppError(
        'conflict',
        `${name} is encrypted: give the file of its secret key with --identity FILE.`,
      )
    const archive = extract()
    const unpacking = pipeline([
      whole,
      ...(encrypted ? [decryptWith(identities)] : []),
      createGunzip(),
      archive,
    ])
    // The loop below fails with the same error.
    unpacking.catch(() => undefined)
    const manifest = await readParts(archive, reading, receiver)
    await unpacking
    return manifest
  } catch (error) {
    throw asSentence(name, error)
  }
}

async function sniffed(stream: Readable): Promise<{ encrypted: boolean; whole: Readable }> {
  const chunks = stream[Symbol.asyncIterator]() as AsyncIterator<Buffer>
  const first = await chunks.next()
  const begin = first.done ? Buffer.alloc(0) : first.value
  async function* all() {
    yield begin
    for (let next = await chunks.next(); !next.done; next = await chunks.next()) yield next.value
  }
  return { encrypted: begin.subarray(0, ENCRYPTED.length).equals(ENCRYPTED), whole: Readable.from(all()) }
}

function asSentence(name: string, error: unknown): unknown {
  if (error instanceof AppError) return error
  if (error instanceof AgeError)
    return new AppError('conflict', `${name} ${error.message}.`, { cause: error })
  const { code = '', message } = error as NodeJS.ErrnoException
  if (code === 'ENOENT') return new AppError('not_found', `There is no backup ${name}.`, { cause: error })
  if (
    /^Z_|^ERR_STREAM_PREMATURE/.test(code) ||
    /^(Unexpected end of data|Invalid tar header|Writable stream)/.test(message)
  )
    return damaged(name, error)
  return error
}

function damaged(name: string, cause?: unknown): AppError {
  return new AppError(
    'conflict',
    `${name} is damaged, cut off, or not a backup of assay: take another one.`,
    {
      cause,
    },
  )
}

async function readParts(
  archive: AsyncIterable<Entry>,
  { name, schema }: Reading,
  receiver: Receiver,
): Promise<Manifest> {
  const parts = new Parts(name, receiver, schema)
  for await (const entry of archive) {
    if (parts.manifest) throw damaged(name)
    await parts.read(entry)
  }
  if (!parts.manifest) throw damaged(name)
  parts.vet(parts.manifest)
  return parts.manifest
}

class Parts {
  manifest: Manifest | null = null
  readonly #name: string
  readonly #receiver: Receiver
  readonly #schema: string
  readonly #hashes: Record<string, string> = {}
  readonly #digests = new Map<string, TableDigest>()
  #begun = false

  constructor(name: string, receiver: Receiver, schema: string) {
    this.#name = name
    this.#receiver = receiver
    this.#schema = schema
  }

  async read(entry: Entry): Promise<void> {
    const part = entry.header.name
    if (!this.#begun) return this.#begin(entry)
    const upload = /^uploads\/([^/]+)\/(.+)$/.exec(part)
    if (upload) return this.#upload(entry, upload[1]!, upload[2]!)
    const text = await this.#text(entry)
    const [, tableName] = /^tables\/([a-z_]+)\/\d+\.json$/.exec(part) ?? []
    if (tableName !== undefined) return this.#rows(tableName, text)
    if (part === KEY) return this.#receiver.key(text)
    if (part !== MANIFEST) throw damaged(this.#name)
    delete this.#hashes[part]
    this.manifest = JSON.parse(text) as Manifest
  }

  async #begin(entry: Entry): Promise<void> {
    if (entry.header.name !== HEAD) throw damaged(this.#name)
    const head = JSON.parse(await this.#text(entry)) as Head
    vetHead(head, this.#schema, VERSION)
    this.#begun = true
    await this.#receiver.head(head)
  }

  async #rows(tableName: string, text: string): Promise<void> {
    const table = COPIED.find(({ name }) => name === tableName)
    if (!table) throw damaged(this.#name)
    const rows = JSON.parse(text) as CopiedRow[]
    const digest = this.#digests.get(tableName) ?? new TableDigest(table)
    this.#digests.set(tableName, digest)
    digest.add(rows)
    await this.#receiver.rows(table, rows)
  }

  async #upload(entry: Entry, workspace_id: string, file: string): Promise<void> {
    const hash = createHash('sha256')
    const content = hashing(hash)
    await Promise.all([pipeline(entry, content), this.#receiver.upload(workspace_id, file, content)])
    this.#hashes[entry.header.name] = hash.digest('hex')
  }

  async #text(entry: Entry): Promise<string> {
    if (entry.header.size > PART_MOST) throw damaged(this.#name)
    const hash = createHash('sha256')
    const chunks: Buffer[] = []
    for await (const chunk of entry as AsyncIterable<Buffer>) {
      hash.update(chunk)
      chunks.push(chunk)
    }
    this.#hashes[entry.header.name] = hash.digest('hex')
    return Buffer.concat(chunks).toString('utf8')
  }

  /** Throws if a part is missing, was added, or differs from the one that was written. */
  vet({ parts, tables }: Manifest): void {
    const differing = Object.keys({ ...parts, ...this.#hashes }).find(
      (part) => parts[part] !== this.#hashes[part],
    )
    if (differing !== undefined)
      throw new AppError(
        'conflict',
        `${this.#name} is damaged: ${differing} is not what the manifest says. Take another backup.`,
      )
    for (const table of COPIED) {
      const found = (this.#digests.get(table.name) ?? new TableDigest(table)).sum()
      const { rows, digest } = tables[table.name] ?? { rows: 0, digest: '' }
      if (found.rows !== rows || found.digest !== digest)
        throw new AppError(
          'conflict',
          `${this.#name} is damaged: the table ${table.name} is not what the manifest says. Take another backup.`,
        )
    }
  }
}
