/** Changes many rows in transactions of a bounded size, so that no other write waits for all of them. */

/** The most rows that one transaction changes. */
export const STEP = 1000

/** Repeats a step until it finds fewer rows than it may take. Returns the total. */
export async function inSteps(step: (most: number) => Promise<number>): Promise<number> {
  let total = 0
  for (;;) {
    const count = await step(STEP)
    total += count
    if (count < STEP) return total
  }
}

/** Repeats a step until it finds no row. */
export async function untilDone(step: (most: number) => Promise<number>): Promise<void> {
  while ((await step(STEP)) > 0);
}
