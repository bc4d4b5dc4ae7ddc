/** The types of the parts of tar-stream that backups use. The library ships no types. */
import { createRequire } from 'node:module'
import type { Readable, Writable } from 'node:stream'

interface Header {
  name: string
  size: number
  mode?: number
}

export interface Pack extends Readable {
  entry(header: Header, done: (error?: Error | null) => void): Writable
  finalize(): void
}

export type Entry = Readable & { header: Header }

interface Extract extends Writable {
  [Symbol.asyncIterator](): AsyncIterator<Entry>
}

interface TarStream {
  pack(): Pack
  extract(): Extract
}

export const { pack, extract } = createRequire(import.meta.url)('tar-stream') as TarStream
