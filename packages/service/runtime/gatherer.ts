/**
 * Gathers values by key and writes them together after a pause. A killed process loses the values since the last
 * write.
 */
import type { Clock } from '@assay/model/clock'

export interface Gatherer<Value> {
  /** Keeps a value under the key. `join` makes it from the value that is already kept, if any. */
  note(key: string, join: (before: Value | undefined) => Value): void
  /** Writes the remaining values. */
  close(): Promise<void>
}

/** Makes a gatherer. `write` handles its own errors. */
export function createGatherer<Value>(
  clock: Clock,
  every_ms: number,
  write: (values: Value[]) => Promise<void>,
): Gatherer<Value> {
  const stopping = new AbortController()
  let noted = new Map<string, Value>()
  let writing: Promise<void> | null = null

  async function writeNow(): Promise<void> {
    const values = [...noted.values()]
    noted = new Map()
    if (values.length > 0) await write(values)
  }
  async function writeLater(): Promise<void> {
    await clock.sleep(every_ms, stopping.signal)
    writing = null
    await writeNow()
  }

  return {
    note(key, join) {
      noted.set(key, join(noted.get(key)))
      writing ??= writeLater()
    },
    async close() {
      stopping.abort()
      await writing
      await writeNow()
    },
  }
}
