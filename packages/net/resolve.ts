/**
 * Resolves names so that a name that hangs does not delay others. The system's resolver uses a pool of a few threads
 * that the whole process shares, and a dead name occupies one for many seconds. So each name has at most one query at
 * a time, answers and failures are cached for a few seconds, and names that failed or were slow share two threads.
 * The system's resolver is used because it reads hosts files and search lists. Cached answers are vetted at each
 * connect.
 */
import { lookup } from 'node:dns/promises'
import { KeyedSemaphore } from './semaphore.ts'

/** Returns all addresses of a name, as canonical text. Rejects with an error that has a `code`. */
export type Resolve = (host: string) => Promise<string[]>

export interface ResolverOptions {
  /** Resolves a name by the system. Tests replace it. */
  ask?: Resolve
  /** Returns the time in milliseconds. */
  now?: () => number
}

/** Milliseconds for which an answer or a failure is cached. */
export const REMEMBERED = 5000
/** Milliseconds after which a name counts as slow. */
const SLOW = 1000
const SLOW_AT_ONCE = 2
const NAMES_MOST = 10_000

interface Known {
  answer: Promise<string[]>
  /** The time of the answer; null before it. */
  at: number | null
  suspect: boolean
}

async function askSystem(host: string): Promise<string[]> {
  const answers = await lookup(host, { all: true })
  return answers.map(({ address }) => address)
}

export function createResolver({
  ask = askSystem,
  now = () => performance.now(),
}: ResolverOptions = {}): Resolve {
  const known = new Map<string, Known>()
  const semaphore = new KeyedSemaphore()

  function start(host: string, suspect: boolean): Known {
    const begun = now()
    const answer = suspect ? semaphore.run('slow', SLOW_AT_ONCE, () => ask(host)) : ask(host)
    const entry: Known = { answer, at: null, suspect: false }
    const settled = (failed: boolean): void => {
      entry.at = now()
      entry.suspect = failed || entry.at - begun > SLOW
    }
    answer.then(
      () => settled(false),
      () => settled(true),
    )
    return entry
  }

  return (host) => {
    const found = known.get(host)
    if (found && (found.at === null || now() - found.at < REMEMBERED)) return found.answer
    if (known.size >= NAMES_MOST) known.clear()
    const entry = start(host, found?.suspect ?? false)
    known.set(host, entry)
    return entry.answer
  }
}
