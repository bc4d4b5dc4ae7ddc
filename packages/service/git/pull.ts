/** Pulls commits, one at a time, in a thread of its own. The thread is kept: its start takes half a second of the processor. */
import { mkdtemp, rm } from 'node:fs/promises'
import path from 'node:path'
import { Worker } from 'node:worker_threads'
import type { Pull, PullInput } from './pull-commit.ts'

const THREAD = new URL('./pull-thread.ts', import.meta.url)
const PULL_MS = 120_000
const MEMORY_MB = 512

export interface Puller {
  pull(input: Omit<PullInput, 'gitdir'>, signal: AbortSignal): Promise<Pull>
  close(): Promise<void>
}

/** `tempRoot`: where the objects of a commit lie meanwhile. */
export function createPuller(tempRoot: string): Puller {
  let thread: Worker | null = null

  function begun(): Worker {
    if (thread) return thread
    const made = new Worker(THREAD, { resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB } })
    made.unref()
    // A thread that failed or ended is not used again.
    const forget = (): void => {
      if (thread === made) thread = null
    }
    made.on('error', forget)
    made.on('exit', forget)
    thread = made
    return made
  }

  async function end(): Promise<void> {
    const ended = thread
    thread = null
    await ended?.terminate()
  }

  return {
    async pull(input, signal) {
      const gitdir = await mkdtemp(path.join(tempRoot, 'git-'))
      try {
        const answer = await ask(begun(), { ...input, gitdir }, signal)
        if ('stopped' in answer) await end()
        return 'stopped' in answer ? { unreached: answer.stopped } : answer
      } finally {
        await rm(gitdir, { recursive: true, force: true })
      }
    },
    close: end,
  }
}

/** `stopped`: the thread may still be at work. */
function ask(thread: Worker, input: PullInput, signal: AbortSignal): Promise<Pull | { stopped: string }> {
  const late = AbortSignal.timeout(PULL_MS)
  const stop = AbortSignal.any([signal, late])
  const { promise, resolve } = Promise.withResolvers<Pull | { stopped: string }>()
  const failed = (error: Error): void =>
    resolve({ unreached: `The repository could not be read: ${error.message}` })
  const ended = (): void => resolve({ unreached: 'The thread that read the repository ended.' })
  const stopped = (): void =>
    resolve({
      stopped: late.aborted
        ? `The git server did not send the commit within ${PULL_MS / 60_000} minutes.`
        : 'The service is stopping.',
    })
  thread.once('message', resolve).once('error', failed).once('exit', ended)
  stop.addEventListener('abort', stopped, { once: true })
  if (stop.aborted) stopped()
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  thread.postMessage(input)
  return promise.finally(() => {
    stop.removeEventListener('abort', stopped)
    thread.off('message', resolve).off('error', failed).off('exit', ended)
  })
}
