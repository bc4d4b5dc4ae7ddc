/**
 * Reads commits and pushes branches, one at a time, in a thread of its own. The thread stays open, because its start
 * takes half a second.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import path from 'node:path'
import { Worker } from 'node:worker_threads'
import { KeyedSemaphore } from '@assay/net/semaphore'
import type { Proposed, ProposeInput } from './propose-change.ts'
import type { Pull, PullInput } from './pull-commit.ts'

const THREAD = path.join(import.meta.dirname, `pull-thread${path.extname(import.meta.filename)}`)
const PULL_MS = 120_000
const MEMORY_MB = 512

export type ThreadTask = { kind: 'pull'; input: PullInput } | { kind: 'propose'; input: ProposeInput }

export interface Puller {
  pull(input: Omit<PullInput, 'gitdir'>, signal: AbortSignal): Promise<Pull>
  propose(input: Omit<ProposeInput, 'gitdir'>, signal: AbortSignal): Promise<Proposed | Unreached>
  close(): Promise<void>
}

/** Makes the puller. `tempRoot`: the folder for the objects of a commit while it is read. */
export function createPuller(tempRoot: string): Puller {
  const oneByOne = new KeyedSemaphore()
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

  function work<Answer>(
    taskIn: (gitdir: string) => ThreadTask,
    signal: AbortSignal,
  ): Promise<Answer | Unreached> {
    return oneByOne.run('thread', 1, async () => {
      const gitdir = await mkdtemp(path.join(tempRoot, 'git-'))
      try {
        const answer = await ask<Answer>(begun(), taskIn(gitdir), signal)
        if (!isStopped(answer)) return answer
        await end()
        return { unreached: answer.stopped }
      } finally {
        await rm(gitdir, { recursive: true, force: true })
      }
    })
  }

  return {
    pull: (input, signal) => work((gitdir) => ({ kind: 'pull', input: { ...input, gitdir } }), signal),
    propose: (input, signal) => work((gitdir) => ({ kind: 'propose', input: { ...input, gitdir } }), signal),
    close: end,
  }
}

interface Unreached {
  unreached: string
}

interface Stopped {
  stopped: string
}

const isStopped = (answer: unknown): answer is Stopped =>
  typeof answer === 'object' && answer !== null && 'stopped' in answer

/**
 * Sends the task to the thread. `stopped` means that the signal was aborted and the thread may still work on the
 * task.
 */
function ask<Answer>(
  thread: Worker,
  task: ThreadTask,
  signal: AbortSignal,
): Promise<Answer | Unreached | Stopped> {
  const late = AbortSignal.timeout(PULL_MS)
  const stop = AbortSignal.any([signal, late])
  const { promise, resolve } = Promise.withResolvers<Answer | Unreached | Stopped>()
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
  thread.postMessage(task)
  return promise.finally(() => {
    stop.removeEventListener('abort', stopped)
    thread.off('message', resolve).off('error', failed).off('exit', ended)
  })
}
