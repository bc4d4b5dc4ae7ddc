/** Uploads, which templates name as `uploads/PATH`. */
import type { NewFile } from './api.generated.ts'
import type { Call } from './call.ts'
import { type Send, segment } from './http.ts'
import type { All } from './pages.ts'

/**
 * The options of `put`. `ifMatch`: replaces only a file with this ETag. `ifNew`: refuses to replace a file.
 * `dialect`: lines that say how the file is read, such as `bad_rows: skip`; they are kept with the upload.
 */
export interface PutOptions {
  ifMatch?: string
  ifNew?: boolean
  dialect?: readonly string[] | undefined
  signal?: AbortSignal
}

export interface ReadOptions {
  /** The first and the last byte, counted from 0. */
  range?: [first: number, last: number]
  signal?: AbortSignal
}

export function fileCalls(send: Send, call: Call, all: All) {
  const at = (path: string) => `/files/${path.split('/').map(segment).join('/')}`
  return {
    list: call('listFiles'),
    all: all('listFiles'),
    /**
     * Uploads a file. A blob (`fs.openAsBlob`, an `<input type="file">`) is sent as it is read, never whole in
     * memory. The answer has the columns and how the file was read: `dialect`, and `readings` with the doubt of each
     * column that stays text because of it.
     */
    put: async (path: string, body: Blob | Uint8Array<ArrayBuffer> | string, options: PutOptions = {}) => {
      const { ifMatch, ifNew, dialect, signal } = options
      // The service ignores the content type and reads the ending of the name.
      const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body
      const headers = { 'if-match': ifMatch, 'if-none-match': ifNew ? '*' : undefined }
      // An upload has no time limit, because its time depends on its size.
      const query = dialect === undefined ? {} : { dialect: dialect.join('\n') }
      const request = { body: bytes, query, headers, signal, timeoutMs: Number.POSITIVE_INFINITY }
      return (await (await send('PUT', at(path), request)).json()) as NewFile
    },
    /** Resolves with the answer, whose body can be read as a stream or whole. */
    read: async (path: string, { range, signal }: ReadOptions = {}): Promise<Response> =>
      send('GET', at(path), {
        headers: { accept: '*/*', range: range && `bytes=${range[0]}-${range[1]}` },
        signal,
        stream: true,
      }),
    delete: async (path: string, { ifMatch }: { ifMatch?: string } = {}): Promise<void> => {
      await send('DELETE', at(path), { headers: { 'if-match': ifMatch } })
    },
  }
}
