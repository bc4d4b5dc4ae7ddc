/** Work on many rows in transactions of a bounded size, so that nobody waits for all of it. */

/** Rows that one transaction changes. */
export const STEP = 1000

/** Until a step finds fewer than it may take. Answers how many there were. */
export async function inSteps(step: (most: number) => Promise<number>): Promise<number> {
  let total = 0
  for (;;) {
    const count = await step(STEP)
    total += count
    if (count < STEP) return total
  }
}

/** Until a step finds nothing. */
export async function untilDone(step: (most: number) => Promise<number>): Promise<void> {
  while ((await step(STEP)) > 0);
}
