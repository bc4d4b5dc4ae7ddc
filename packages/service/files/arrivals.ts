/**
 * The uploads under way on this node, by workspace. They share the free part of the quota, so that parallel uploads
 * take no more room than sequential ones.
 */
import type { StoredFile } from '@assay/model/file'
import { type Arrival, type Limits, vetQuota } from './files.ts'
import { tooLarge } from './receive.ts'

type Sized = Pick<StoredFile, 'path' | 'bytes'>

/** Bytes after which an upload checks the quota again, because other uploads take room too. */
const STEP_BYTES = 4_000_000

export class Arrivals {
  readonly #list: (workspace_id: string) => Promise<readonly Sized[]>
  readonly #coming = new Map<string, Set<Sized>>()

  constructor(list: (workspace_id: string) => Promise<readonly Sized[]>) {
    this.#list = list
  }

  /** Begins an upload. `bytes`: the announced size, 0 if there is none. Throws `payload_too_large` or `quota_exceeded`. */
  async arrive(workspace_id: string, path: string, bytes: number, limits: Limits): Promise<Arrival> {
    const own = { path, bytes }
    const coming = this.#coming.get(workspace_id) ?? new Set()
    this.#coming.set(workspace_id, coming.add(own))
    let vetted = -1
    const arrival: Arrival = {
      admit: async (came) => {
        own.bytes = Math.max(own.bytes, came)
        if (own.bytes > limits.file) throw tooLarge(limits.file)
        if (own.bytes <= vetted) return
        // The files are listed again, because some may be deleted since the last check.
        const room = vetQuota(together(await this.#list(workspace_id), coming, own), path, own.bytes, limits)
        vetted = Math.min(room, own.bytes + STEP_BYTES)
      },
      end: () => {
        coming.delete(own)
        if (coming.size === 0) this.#coming.delete(workspace_id)
      },
    }
    try {
      await arrival.admit(0)
      return arrival
    } catch (error) {
      arrival.end()
      throw error
    }
  }
}

/** Returns the size at each path: that of the stored file or of an upload under way, whichever is larger. */
function together(present: readonly Sized[], coming: ReadonlySet<Sized>, own: Sized): Sized[] {
  const sizes = new Map(present.map(({ path, bytes }) => [path, bytes]))
  for (const { path, bytes } of coming)
    if (path !== own.path) sizes.set(path, Math.max(bytes, sizes.get(path) ?? 0))
  return [...sizes].map(([path, bytes]) => ({ path, bytes }))
}
