/** Uploads: what templates name as `uploads/PATH`. */
import type { StoredFile } from '@assay/model/file'
import { type Json, type Page, type PageInput, type Send, segment } from './http.ts'

/** An upload with the columns that an analysis finds in it. */
export type NewFile = StoredFile & { sha256: string; columns: { name: string; type: string }[] }

/** `ifMatch`: only where the file that is there has this ETag; `ifNew`: only where none is there. */
export interface PutOptions {
  ifMatch?: string
  ifNew?: boolean
  signal?: AbortSignal
}

export interface ReadOptions {
  /** The first and the last byte, counted from 0. */
  range?: [first: number, last: number]
  signal?: AbortSignal
}

export function fileCalls(send: Send, json: Json) {
  const at = (path: string) => `/files/${path.split('/').map(segment).join('/')}`
  return {
    list: (query: PageInput & { prefix?: string } = {}) =>
      json<Page<StoredFile>>('GET', '/files', { query: { ...query } }),
    /** A blob (`fs.openAsBlob`, an `<input type="file">`) is sent as it is read, never whole in memory. */
    put: (path: string, content: Blob | Uint8Array<ArrayBuffer> | string, options: PutOptions = {}) =>
      json<NewFile>('PUT', at(path), {
        bytes: typeof content === 'string' ? new TextEncoder().encode(content) : content,
        headers: { 'if-match': options.ifMatch, 'if-none-match': options.ifNew ? '*' : undefined },
        signal: options.signal,
      }),
    /** The answer with the bytes as its body, to be read as a stream or whole. */
    read: (path: string, { range, signal }: ReadOptions = {}): Promise<Response> =>
      send('GET', at(path), {
        accept: '*/*',
        headers: { range: range && `bytes=${range[0]}-${range[1]}` },
        signal,
      }),
    delete: async (path: string, { ifMatch }: { ifMatch?: string } = {}): Promise<void> => {
      await send('DELETE', at(path), { headers: { 'if-match': ifMatch } })
    },
  }
}
