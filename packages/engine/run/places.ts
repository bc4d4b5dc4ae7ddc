/**
 * Who works next in the pool's `size + 1` places. Jobs come first, up to `size` with the previews. Previews leave one of
 * these to jobs where there are two or more, and of one workspace no more run than its `max_running`. One small task
 * always has a place; a second only where another stays free. Within each kind the workspaces take turns.
 */
import { AppError } from '@assay/model/errors'
import { FairLine } from './fair-line.ts'

export type Work = 'job' | 'preview' | 'small'

export interface Placed {
  work: Work
  owner: string
  /** Of a preview: how many of its owner's may run at a time. Null: as many as there are places. */
  max_running?: number | null
}

/** How many of a workspace may wait on one node. A form asks for the choices of all its variables at once. */
export const MOST_WAITING = { preview: 8, small: 16 }

const RETRY_SECONDS = 10
const NAMES = { preview: 'previews', small: 'checks, descriptions, drawings and tests of connections' }

/** `cap`: the name under which people find it in docs/operating.md. */
function busy(work: 'preview' | 'small', cap: string, most: number): AppError {
  return new AppError(
    'workspace_busy',
    `The workspace has as many ${NAMES[work]} on this node as it may (${cap}: ${most}): wait until one of them has ended.`,
    { retryAfter: RETRY_SECONDS },
  )
}

export class Places<Item extends Placed> {
  readonly #size: number
  readonly #lines: Record<Work, FairLine<Item>> = {
    job: new FairLine(),
    preview: new FairLine(),
    small: new FairLine(),
  }
  readonly #running: Record<Work, number> = { job: 0, preview: 0, small: 0 }
  /** How many previews of each owner run. */
  readonly #previews = new Map<string, number>()

  constructor(size: number) {
    this.#size = size
  }

  get waiting(): number {
    return Object.values(this.#lines).reduce((sum, line) => sum + line.length, 0)
  }

  /** Throws `workspace_busy` where the owner may not have another of this kind waiting. */
  vet({ work, owner, max_running = null }: Item, max_queued: number | null = null): void {
    if (work === 'job') return
    if (work === 'preview' && max_running === 0) throw busy(work, 'max_running', 0)
    const line = this.#lines[work]
    const room = MOST_WAITING[work]
    const own = max_queued !== null && max_queued < room
    const most = own ? max_queued : room
    const waiting = line.count(owner)
    if (waiting < most) return
    // One that begins at once waits for nobody.
    if (waiting === 0 && line.length === 0 && this.#has(work, max_running, owner)) return
    throw busy(work, own ? 'max_queued' : `${work === 'preview' ? 'previews' : 'checks'} waiting`, most)
  }

  add(item: Item): void {
    this.#lines[item.work].add(item.owner, item)
  }

  /** False: it does not wait any more. */
  remove(item: Item): boolean {
    return this.#lines[item.work].remove(item.owner, item)
  }

  clear(): Item[] {
    return Object.values(this.#lines).flatMap((line) => line.clear())
  }

  /** The one that works next; null: nobody that waits may. It waits until it begins. */
  next(): Item | null {
    for (const work of ['job', 'preview', 'small'] as const) {
      const found = this.#lines[work].next((item) => this.#has(work, item.max_running ?? null, item.owner))
      if (found) return found.item
    }
    return null
  }

  begin(item: Item): void {
    this.#lines[item.work].take(item.owner, item)
    this.#count(item, 1)
  }

  end(item: Item): void {
    this.#count(item, -1)
  }

  /** Whether there is a place for another of this kind and owner. */
  #has(work: Work, max_running: number | null, owner: string): boolean {
    const { job, preview, small } = this.#running
    if (work === 'small')
      return small === 0 || (this.#lines.job.length === 0 && job + preview + small < this.#size)
    if (job + preview >= this.#size) return false
    if (work === 'job') return true
    return (
      preview < Math.max(1, this.#size - 1) && (this.#previews.get(owner) ?? 0) < (max_running ?? Infinity)
    )
  }

  #count({ work, owner }: Item, by: 1 | -1): void {
    this.#running[work] += by
    if (work !== 'preview') return
    const left = (this.#previews.get(owner) ?? 0) + by
    if (left === 0) this.#previews.delete(owner)
    else this.#previews.set(owner, left)
  }
}
