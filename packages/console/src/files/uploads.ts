/**
 * Uploads one file after another: parallel uploads would each be slower, and the first finished file is useful at
 * once. The uploads do not belong to a page, so they continue while other pages are shown.
 */
import type { NewFile } from '@assay/client'
import { onError, queryClient } from '../api.ts'
import { uploadFile, uploadPath } from './upload.ts'

export interface Upload {
  id: number
  path: string
  file: File
  stage: 'waiting' | 'sending' | 'made' | 'failed' | 'canceled'
  /** The sent share, from 0 to 1. */
  share: number
  error: unknown
  made: NewFile | null
  stop: AbortController
}

export type Uploads = ReturnType<typeof createUploads>

export function createUploads() {
  const listeners = new Set<() => void>()
  let uploads: readonly Upload[] = []
  let last: Promise<void> = Promise.resolve()
  let count = 0

  function set(next: readonly Upload[]): void {
    uploads = next
    for (const listener of listeners) listener()
  }
  const change = (id: number, changed: Partial<Upload>): void =>
    set(uploads.map((one) => (one.id === id ? { ...one, ...changed } : one)))

  async function send({ id, path, file, stop }: Upload, replace: boolean, lines?: string): Promise<void> {
    if (stop.signal.aborted) return
    change(id, { stage: 'sending', share: 0, error: null })
    try {
      const onProgress = (share: number): void => change(id, { share })
      const made = await uploadFile(path, file, { replace, lines, signal: stop.signal, onProgress })
      await Promise.all(['files', 'choices'].map((key) => queryClient.invalidateQueries({ queryKey: [key] })))
      change(id, { stage: 'made', made })
    } catch (error) {
      if (stop.signal.aborted) return
      change(id, { stage: 'failed', error })
      onError(error)
    }
  }
  function queue(upload: Upload, replace: boolean, lines?: string): void {
    last = last.then(() => send(upload, replace, lines))
  }
  function cancel({ id, stop }: Upload): void {
    stop.abort(new Error('canceled'))
    change(id, { stage: 'canceled' })
  }
  return {
    list: () => uploads,
    subscribe(listener: () => void): () => void {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    add(folder: string, files: Iterable<File>): void {
      const added = Array.from(files, (file): Upload => {
        count += 1
        const path = uploadPath(folder, file.name)
        const stop = new AbortController()
        return { id: count, path, file, stage: 'waiting', share: 0, error: null, made: null, stop }
      })
      set([...uploads, ...added])
      for (const upload of added) queue(upload, false)
    },
    replace(upload: Upload): void {
      change(upload.id, { stage: 'waiting', error: null })
      queue(upload, true)
    },
    /** Sends the file again with a line that says how it is read. An existing file stays. */
    readWith(upload: Upload, line: string): void {
      change(upload.id, { stage: 'waiting', error: null })
      queue(upload, false, line)
    },
    cancel,
    forget: ({ id }: Upload): void => set(uploads.filter((one) => one.id !== id)),
    /** Cancels the running upload and clears the list. */
    clear(): void {
      for (const upload of uploads) if (isGoing(upload)) cancel(upload)
      set([])
    },
  }
}

export function isGoing({ stage }: Upload): boolean {
  return stage === 'waiting' || stage === 'sending'
}

/** The uploads of the page of files, for the length of the session. */
export const pageUploads = createUploads()
