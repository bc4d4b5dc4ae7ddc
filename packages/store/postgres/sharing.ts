/** Shares one question among all who ask at the same time. */

/**
 * Returns a function that asks. A caller during a question, or within `holdsMs` milliseconds of its answer, gets the
 * same answer.
 */
export function sharing<T>(holdsMs: number, ask: () => Promise<T>): () => Promise<T> {
  let last: { answer: Promise<T>; until: number } | null = null
  return () => {
    if (last && performance.now() < last.until) return last.answer
    const begun = { answer: ask(), until: Number.POSITIVE_INFINITY }
    last = begun
    const settle = (): void => void (begun.until = performance.now() + holdsMs)
    begun.answer.then(settle, settle)
    return begun.answer
  }
}
