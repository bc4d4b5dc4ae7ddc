/**
 * The thread that reads commits and writes branches. Unpacking takes the processor, and must not hold up the requests of the
 * service.
 */
import { parentPort } from 'node:worker_threads'
import { proposeChange } from './propose-change.ts'
import type { ThreadTask } from './pull.ts'
import { pullCommit } from './pull-commit.ts'
import { pullFault } from './pull-fault.ts'

async function answer(task: ThreadTask): Promise<void> {
  const done = task.kind === 'pull' ? pullCommit(task.input) : proposeChange(task.input)
  const found = await done.catch((error: unknown) => ({ unreached: pullFault(error) }))
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  parentPort!.postMessage(found)
}

parentPort!.on('message', (task: ThreadTask) => void answer(task))
