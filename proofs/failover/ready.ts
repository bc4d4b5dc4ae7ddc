/** Asks each node for /readyz ten times a second. */
import type { ChaosNode } from '../chaos/cluster.ts'

const EVERY_MS = 100
const LATE = 20
/** The milliseconds after which a wait ends so that the proof continues. Such a wait breaks a promise by itself. */
const PATIENCE_MS = 60_000

interface Probe {
  /** The times of the question and of the answer. */
  asked: number
  answered: number
  ready: boolean
  said: string
}

export interface Watch {
  /** Returns the milliseconds of the longest answer within the last seconds. */
  longestOfLate(nodes: ChaosNode[]): number
  /**
   * Resolves with the milliseconds from `since` until each node reports the state: the longest of these nodes, and
   * the last answer.
   */
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

  // A question that waits for its answer delays no other.
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
