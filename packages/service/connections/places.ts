/** Places of which there are only so many by key: who comes too many waits, first come first served. */

interface Line {
  taken: number
  waiting: (() => void)[]
}

export interface Places {
  /** Resolves with how to leave the place; null where none became free in time, or the signal was aborted. */
  take(key: string, most: number, wait_ms: number, signal: AbortSignal): Promise<(() => void) | null>
}

export function createPlaces(): Places {
  const lines = new Map<string, Line>()
  return {
    async take(key, most, wait_ms, signal) {
      const line = lines.get(key) ?? { taken: 0, waiting: [] }
      lines.set(key, line)
      if (line.taken >= most) {
        const free = await waitIn(line, AbortSignal.any([signal, AbortSignal.timeout(wait_ms)]))
        if (!free) return null
      } else line.taken += 1
      let left = false
      return () => {
        if (left) return
        left = true
        // A place that is handed on stays taken.
        const next = line.waiting.shift()
        if (next) next()
        else line.taken -= 1
        if (line.taken === 0 && line.waiting.length === 0) lines.delete(key)
      }
    },
  }
}

function waitIn(line: Line, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    const go = (): void => {
      signal.removeEventListener('abort', giveUp)
      resolve(true)
    }
    const giveUp = (): void => {
      line.waiting = line.waiting.filter((one) => one !== go)
      resolve(false)
    }
    line.waiting.push(go)
    signal.addEventListener('abort', giveUp, { once: true })
    if (signal.aborted) giveUp()
  })
}
