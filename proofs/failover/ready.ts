/** What each node says of itself: /readyz, asked ten times a second. */
import type { ChaosNode } from '../chaos/cluster.ts'

const EVERY_MS = 100
const LATE = 20
/** Longer is a broken promise by itself; the wait ends so that the proof goes on. */
const PATIENCE_MS = 60_000

interface Probe {
  /** When it was asked and answered. */
  asked: number
  answered: number
  ready: boolean
  said: string
}

export interface Watch {
  /** Milliseconds of the longest answer of the last seconds. */
  longestOfLate(nodes: ChaosNode[]): number
  /** Milliseconds from `since` until the node says so: the longest of these nodes, and what the last of them said. */
  until(nodes: ChaosNode[], ready: boolean, since: number): Promise<{ ms: number; said: string }>
  close(): Promise<void>
}

async function probe(node: ChaosNode): Promise<Probe> {
  const asked = performance.now()
  const answer = await fetch(`${node.url}/readyz`, { signal: AbortSignal.timeout(10_000) }).then(
    async (response) => ({ ready: response.status === 200, said: await response.text() }),
    (error: unknown) => ({ ready: false, said: String(error) }),
  )
  return { asked, answered: performance.now(), ...answer }
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

export function watchReadiness(nodes: ChaosNode[]): Watch {
  const last = new Map<string, Probe>()
  const lengths = new Map<string, number[]>()
  async function note(node: ChaosNode): Promise<void> {
    const latest = await probe(node)
    if (latest.asked > (last.get(node.name)?.asked ?? 0)) last.set(node.name, latest)
    lengths.set(node.name, [latest.answered - latest.asked, ...(lengths.get(node.name) ?? [])].slice(0, LATE))
  }

  // One that waits for its answer holds up no other.
  const asked = new Set<Promise<void>>()
  const asking = setInterval(() => {
    for (const node of nodes) {
      const noted: Promise<void> = note(node).finally(() => asked.delete(noted))
      asked.add(noted)
    }
  }, EVERY_MS)

  async function one(node: ChaosNode, ready: boolean, since: number): Promise<{ ms: number; said: string }> {
    while (performance.now() < since + PATIENCE_MS) {
      const latest = last.get(node.name)
      if (latest && latest.asked >= since && latest.ready === ready)
        return { ms: latest.answered - since, said: latest.said }
      await pause(10)
    }
    return { ms: Number.POSITIVE_INFINITY, said: last.get(node.name)?.said ?? '' }
  }

  return {
    longestOfLate: (of) => Math.max(0, ...of.flatMap(({ name }) => lengths.get(name) ?? [])),
    async until(of, ready, since) {
      const told = await Promise.all(of.map((node) => one(node, ready, since)))
      return told.toSorted((a, b) => b.ms - a.ms)[0]!
    },
    async close() {
      clearInterval(asking)
      await Promise.all(asked)
    },
  }
}
