/**
 * The files that are on their way into this node, by workspace: what comes in at the same time shares the room that is
 * left, so that many uploads at once fill a disk no further than one after the other would.
 */
import type { StoredFile } from '@assay/model/file'
import { type Arrival, type Limits, vetQuota } from './files.ts'
import { tooLarge } from './receive.ts'

type Sized = Pick<StoredFile, 'path' | 'bytes'>

/** What others bring meanwhile is looked at again after so many bytes. */
const STEP_BYTES = 4_000_000

export class Arrivals {
  readonly #list: (workspace_id: string) => Promise<readonly Sized[]>
  readonly #coming = new Map<string, Set<Sized>>()

  constructor(list: (workspace_id: string) => Promise<readonly Sized[]>) {
    this.#list = list
  }

  /** `bytes`: as many as the file is said to have, 0 where nothing is said. */
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
        // Some may have been deleted since it was last looked.
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

/** At each path what is there or what is coming, whichever is larger: the one takes the place of the other. */
function together(present: readonly Sized[], coming: ReadonlySet<Sized>, own: Sized): Sized[] {
  const sizes = new Map(present.map(({ path, bytes }) => [path, bytes]))
  for (const { path, bytes } of coming)
    if (path !== own.path) sizes.set(path, Math.max(bytes, sizes.get(path) ?? 0))
  return [...sizes].map(([path, bytes]) => ({ path, bytes }))
}
