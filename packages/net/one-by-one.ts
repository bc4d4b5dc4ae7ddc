/**
 * Work that holds up the thread, one piece at a time and in turn by owner. Other requests are answered between two
 * pieces, and an owner waits for at most one piece of each other owner.
 */
import { setImmediate } from 'node:timers/promises'
import { KeyedSemaphore } from './semaphore.ts'

const ALL = 'all'

export class OneByOne {
  readonly #owners = new KeyedSemaphore()
  readonly #all = new KeyedSemaphore()

  run<T>(owner: string, work: () => Promise<T>): Promise<T> {
    // One piece of each owner waits at the second door, so that door sees the owners in turn.
    return this.#owners.run(owner, 1, () =>
      this.#all.run(ALL, 1, async () => {
        await setImmediate()
        return work()
      }),
    )
  }
}
