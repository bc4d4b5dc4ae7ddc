/**
 * Admission and order of the pool's tasks. `size` is the number of jobs at a time.
 * - Jobs and previews share `size` processes, and two if `size` is one, so that one is always left to jobs. Jobs come first.
 * - Previews run at most `max_running` at a time per workspace.
 * - One process more is for small tasks: one can always run, and one of another workspace beside it, since the first may wait long for a database that
 *   is silent. A second one of the same workspace runs only while another process stays free.
 * - A workspace that runs more than its share of the processors pauses with previews and small tasks while others run or wait (shares.ts).
 * - Within each queue the workspaces are served in turn (fair-queue.ts). The readers of a workspace's links have a turn of their own.
 */
import { availableParallelism } from 'node:os'
import { AppError } from '@assay/model/errors'
import { FairQueue } from './fair-queue.ts'
import { Shares } from './shares.ts'

export type QueueName = 'job' | 'preview' | 'small'

const QUEUES: readonly QueueName[] = ['job', 'preview', 'small']

export interface Usage {
  owner: string
  /** The queue; `reader` for small tasks of readers of links. */
  queue: QueueName | 'reader'
  state: 'running' | 'waiting'
  count: number
}

export interface Schedulable {
  queue: QueueName
  /** The workspace of the item. */
  owner: string
  /** The previews of this owner that may run at a time; null for no limit of its own. */
  max_running?: number | null
  /** True if the item is for a reader of a link. */
  reader?: boolean
}

/** The suffix of a reader's lane. No id of a workspace ends with it. */
const READERS = '\n'

/** Returns the lane in which an item waits: that of its workspace, or that of the workspace's readers. */
const laneOf = ({ owner, reader }: Schedulable): string => (reader ? owner + READERS : owner)

function usageOf(queue: QueueName, state: Usage['state'], [lane, count]: [string, number]): Usage {
  return lane.endsWith(READERS)
    ? { owner: lane.slice(0, -READERS.length), queue: 'reader', state, count }
    : { owner: lane, queue, state, count }
}

/**
 * The most tasks of a workspace that may wait on one node. A form requests the choices of all its variables at once.
 */
export const MOST_QUEUED = { preview: 8, small: 16 }

const RETRY_SECONDS = 10
const NAMES = { preview: 'previews', small: 'checks, descriptions, drawings and tests of connections' }

/** Returns the number of processes that jobs and previews share. */
const sharedBy = (size: number): number => Math.max(2, size)

/**
 * The most processes of a pool that runs `size` jobs at a time. It is one more than run at a time. A process serves one
 * workspace, so the next one starts while the others still work.
 */
export const processesOf = (size: number): number => sharedBy(size) + 2

/** Makes the refusal. `cap`: the name of the cap in docs/operating/limits.md. */
function busy(queue: 'preview' | 'small', cap: string, most: number): AppError {
  return new AppError(
    'workspace_busy',
    `The workspace has too many ${NAMES[queue]} under way on this node (${cap}: ${most}): wait until one of them has ended.`,
    { retryAfter: RETRY_SECONDS },
  )
}

export class Scheduler<Item extends Schedulable> {
  readonly #size: number
  readonly #queues: Record<QueueName, FairQueue<Item>> = {
    job: new FairQueue(),
    preview: new FairQueue(),
    small: new FairQueue(),
  }
  readonly #running: Record<QueueName, number> = { job: 0, preview: 0, small: 0 }
  /** The number of running items of each lane, by queue. */
  readonly #lanes: Record<QueueName, Map<string, number>> = {
    job: new Map(),
    preview: new Map(),
    small: new Map(),
  }

  readonly #shares: Shares<Item>

  /** `now` returns milliseconds by a clock that is never set back. */
  constructor(size: number, now: () => number, processors = availableParallelism()) {
    this.#size = size
    this.#shares = new Shares(processors, now)
  }

  get waiting(): number {
    return Object.values(this.#queues).reduce((sum, queue) => sum + queue.length, 0)
  }

  /** Tells whether an item of this owner runs or waits. */
  isActive(owner: string): boolean {
    return this.#shares.has(owner)
  }

  /** Returns the running and waiting items, by owner and queue. */
  usage(): Usage[] {
    return QUEUES.flatMap((queue) => [
      ...[...this.#lanes[queue]].map((one) => usageOf(queue, 'running', one)),
      ...this.#queues[queue].counts().map((one) => usageOf(queue, 'waiting', one)),
    ])
  }

  /** Throws `workspace_busy` if the owner may not queue another item of this kind. Jobs are always admitted. */
  admit(item: Item, max_queued: number | null = null): void {
    const { queue, max_running = null } = item
    const lane = laneOf(item)
    if (queue === 'job') return
    if (queue === 'preview' && max_running === 0) throw busy(queue, 'max_running', 0)
    const queued = this.#queues[queue]
    const room = MOST_QUEUED[queue]
    const own = max_queued !== null && max_queued < room
    const most = own ? max_queued : room
    const waiting = queued.count(lane)
    if (waiting < most) return
    // An item that begins at once does not wait.
    if (waiting === 0 && queued.length === 0 && this.#canRun(item)) return
    throw busy(queue, own ? 'max_queued' : `${queue === 'preview' ? 'previews' : 'checks'} waiting`, most)
  }

  add(item: Item): void {
    this.#queues[item.queue].add(laneOf(item), item)
    this.#shares.wait(item, 1)
  }

  /** Removes an item that waits. Returns false if it does not wait any more. */
  remove(item: Item): boolean {
    const found = this.#queues[item.queue].remove(laneOf(item), item)
    if (found) this.#shares.wait(item, -1)
    return found
  }

  clear(): Item[] {
    const all = Object.values(this.#queues).flatMap((queue) => queue.clear())
    for (const item of all) this.#shares.wait(item, -1)
    return all
  }

  /** Returns the item to run next; null if none may run now. It waits until `begin`. */
  next(): Item | null {
    for (const name of QUEUES) {
      const found = this.#queues[name].next((item) => this.#canRun(item))
      if (found) return found.item
    }
    return null
  }

  begin(item: Item): void {
    this.#queues[item.queue].take(laneOf(item), item)
    this.#shares.begin(item)
    this.#shares.wait(item, -1)
    this.#count(item, 1)
  }

  end(item: Item): void {
    this.#shares.end(item)
    this.#count(item, -1)
  }

  /** Returns the milliseconds after which `next` may return an item that pauses now; null if none does. */
  get nextRest(): number | null {
    return this.#shares.nextRest
  }

  #canRun(item: Item): boolean {
    const { queue, owner, max_running = null } = item
    const { job, preview, small } = this.#running
    const shared = sharedBy(this.#size)
    if (queue !== 'job' && this.#shares.restOf(owner) > 0) return false
    if (queue === 'small')
      return (
        small === 0 ||
        (small === 1 && !this.#runsSmall(owner)) ||
        (this.#queues.job.length === 0 && job + preview + small < shared)
      )
    if (job + preview >= shared) return false
    if (queue === 'job') return job < this.#size
    return preview < shared - 1 && (this.#lanes.preview.get(laneOf(item)) ?? 0) < (max_running ?? Infinity)
  }

  #runsSmall(owner: string): boolean {
    return this.#lanes.small.has(owner) || this.#lanes.small.has(owner + READERS)
  }

  #count(item: Item, by: 1 | -1): void {
    const lane = laneOf(item)
    this.#running[item.queue] += by
    const lanes = this.#lanes[item.queue]
    const left = (lanes.get(lane) ?? 0) + by
    if (left === 0) lanes.delete(lane)
    else lanes.set(lane, left)
  }
}
