/** Reads the parts of a workbook, which is a zip file. Each part is streamed, and its unpacked size is bounded. */
import type { Readable } from 'node:stream'
import { type Entry, openPromise, type ZipFile } from 'yauzl'
import type { SourceFile } from '../files/source-file.ts'
import { SourceError } from '../source.ts'

/** The largest ratio of unpacked to packed bytes, as for packed uploads. */
const RATIO_MOST = 250
/** The unpacked bytes of a part up to which any ratio is accepted. */
const RATIO_FREE = 10_000_000
const PARTS_MOST = 10_000

export class Zip {
  readonly #file: SourceFile
  readonly #zip: ZipFile
  readonly #entries: ReadonlyMap<string, Entry>
  readonly #most: number

  private constructor(file: SourceFile, zip: ZipFile, entries: ReadonlyMap<string, Entry>, most: number) {
    this.#file = file
    this.#zip = zip
    this.#entries = entries
    this.#most = most
  }

  /** Opens a file. `most`: the bytes that a part may have unpacked. Throws SourceError if the file is no zip. */
  static async open(file: SourceFile, most: number): Promise<Zip> {
    let zip: ZipFile | null = null
    try {
      zip = await openPromise(file.real, { autoClose: false, lazyEntries: true })
      const entries = new Map<string, Entry>()
      for await (const entry of zip.eachEntry()) {
        entries.set(entry.fileName, entry)
        if (entries.size > PARTS_MOST) throw new Error(`it has more than ${PARTS_MOST} parts`)
      }
      return new Zip(file, zip, entries, most)
    } catch (error) {
      zip?.close()
      throw unreadable(file, reasonOf(error))
    }
  }

  has(name: string): boolean {
    return this.#entries.has(name)
  }

  /** Gives the unpacked bytes of a part. Throws SourceError if it is missing, broken or larger than it may be. */
  async *read(name: string): AsyncGenerator<Buffer> {
    const entry = this.#entries.get(name)
    if (!entry) throw unreadable(this.#file, `its part ${JSON.stringify(name)} is missing`)
    const { uncompressedSize: bytes, compressedSize: packed } = entry
    if (bytes > this.#most)
      throw unreadable(this.#file, `it is larger than ${this.#most} bytes when it is unpacked`)
    if (bytes > RATIO_FREE && bytes > packed * RATIO_MOST)
      throw unreadable(
        this.#file,
        `it is more than ${RATIO_MOST} times as large when it is unpacked, and more than ${RATIO_FREE} bytes: save it as CSV`,
      )
    try {
      // The stream fails if there are more or fewer bytes than the entry says.
      const stream: Readable = await this.#zip.openReadStreamPromise(entry)
      for await (const piece of stream) yield piece as Buffer
    } catch (error) {
      throw unreadable(this.#file, reasonOf(error))
    }
  }

  close(): void {
    this.#zip.close()
  }
}

export function unreadable(file: Pick<SourceFile, 'path'>, reason: string): SourceError {
  return new SourceError(`${JSON.stringify(file.path)} cannot be read: ${reason}.`)
}

function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error)
  return text.startsWith('it has more') ? text : `it is not a whole workbook (${text.replace(/\.$/, '')})`
}
