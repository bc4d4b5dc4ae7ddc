/**
 * Uploads a file with progress. This one request uses XMLHttpRequest, because `fetch` reports no progress of a request
 * body. A file of the same name is replaced only on request.
 */
import { ClientError, type NewFile, type Problem } from '@assay/client'
import { api } from '../api.ts'
import { below } from '../pages/address.ts'

export interface UploadOptions {
  /** True to replace a file of that name. Otherwise the upload is refused if there is one. */
  replace: boolean
  signal: AbortSignal
  /** The lines that say how the file is read; none are sent if undefined. */
  lines?: string | undefined
  /** Receives the sent share, from 0 to 1. At 1 the service still reads the file. */
  onProgress(share: number): void
}

/** Returns the name in the service's normal form. */
export function uploadPath(folder: string, name: string): string {
  const names = folder
    .trim()
    .replace(/^uploads\//, '')
    .split('/')
    .filter(Boolean)
  return [...names, name].join('/').normalize('NFC')
}

function answerOf(request: XMLHttpRequest): NewFile {
  const body = JSON.parse(request.responseText) as unknown
  if (request.status < 300) return body as NewFile
  const problem = body as Problem
  throw new ClientError(problem.detail, request.status, problem.code, problem)
}

const BROKEN = 'The connection broke before the whole file arrived, and nothing was stored. Send it again.'

function send(
  path: string,
  file: Blob,
  { replace, signal, lines, onProgress }: UploadOptions,
): Promise<NewFile> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest()
    const query = lines === undefined ? '' : `?dialect=${encodeURIComponent(lines)}`
    request.open('PUT', below(`/v1alpha/files/${path.split('/').map(encodeURIComponent).join('/')}${query}`))
    request.setRequestHeader('content-type', 'application/octet-stream')
    if (!replace) request.setRequestHeader('if-none-match', '*')
    request.upload.addEventListener('progress', ({ loaded, total }) =>
      onProgress(loaded / Math.max(total, 1)),
    )
    request.upload.addEventListener('load', () => onProgress(1))
    request.addEventListener('load', () => {
      try {
        resolve(answerOf(request))
      } catch (error) {
        reject(
          error instanceof ClientError
            ? error
            : new ClientError(BROKEN, request.status, 'internal', null, error),
        )
      }
    })
    request.addEventListener('error', () => reject(new ClientError(BROKEN, 0, 'unreachable', null)))
    request.addEventListener('abort', () => reject(signal.reason as Error))
    signal.addEventListener('abort', () => request.abort(), { once: true })
    request.send(file)
  })
}

/** Tells whether a file of that name exists. It is asked before the upload, to save sending the file. */
async function isThere(path: string): Promise<boolean> {
  const { items } = await api().files.list({ prefix: path, limit: 1 })
  return items[0]?.path === path
}

export async function uploadFile(path: string, file: Blob, options: UploadOptions): Promise<NewFile> {
  options.signal.throwIfAborted()
  if (!options.replace && (await isThere(path)))
    throw new ClientError(`${JSON.stringify(path)} exists already.`, 412, 'precondition_failed', null)
  options.signal.throwIfAborted()
  return send(path, file, options)
}
