/** Bounds the output and the time of one rendering. */
import { ValueError } from '../values/value.ts'

/** The most characters and items that filters, ranges and the output make together. */
const MAX_SPENT = 50_000_000
const MAX_MS = 60_000
/** The number of statements between two readings of the clock. */
const STATEMENTS_A_LOOK = 64

const REMEDY = 'Loop over less, or aggregate in SQL.'

export class Budget {
  #left: number
  #statements = 0
  readonly #deadline: number

  constructor({ spent = MAX_SPENT, ms = MAX_MS } = {}) {
    this.#left = spent
    this.#deadline = performance.now() + ms
  }

  /** Adds to the sum. Throws ValueError if it exceeds the bound. */
  spend(count: number): void {
    if (count > 0) this.#left -= count
    if (this.#left < 0) throw new ValueError('Rendering stopped: memory limit exceeded.', REMEDY)
  }

  /** Called for each statement. Throws ValueError after the time. */
  tick(): void {
    if (++this.#statements % STATEMENTS_A_LOOK > 0 || performance.now() < this.#deadline) return
    throw new ValueError('Rendering stopped: time limit exceeded.', REMEDY)
  }
}
