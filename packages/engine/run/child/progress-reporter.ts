/** Sends progress to the parent at most five times a second: the present step and DuckDB's progress within it. */
import type { Progress } from '@assay/model/job'

const EVERY_MS = 200

export interface Reporter {
  note(progress: Progress): void
  end(): void
}

/** `percent` is the progress of the running query, 0 to 100; null if unknown. */
export function createReporter(send: (progress: Progress) => void, percent: () => number | null): Reporter {
  let latest: Progress | null = null
  let told = ''
  const timer = setInterval(() => {
    if (!latest) return
    const within = (percent() ?? 0) / Math.max(1, latest.steps)
    const now = { ...latest, percent: Math.min(100, Math.floor(latest.percent + within)) }
    const text = JSON.stringify(now)
    if (text === told) return
    told = text
    send(now)
  }, EVERY_MS)
  return {
    note(progress) {
      latest = progress
    },
    end() {
      clearInterval(timer)
    },
  }
}
