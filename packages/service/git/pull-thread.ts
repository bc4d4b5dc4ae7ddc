/** The thread that reads commits. Unpacking takes the processor, and must not hold up the requests of the service. */
import { parentPort } from 'node:worker_threads'
import { type Pull, type PullInput, pullCommit } from './pull-commit.ts'
import { pullFault } from './pull-fault.ts'

async function answer(input: PullInput): Promise<void> {
  const pulled: Pull = await pullCommit(input).catch((error: unknown) => ({ unreached: pullFault(error) }))
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  parentPort!.postMessage(pulled)
}

parentPort!.on('message', (input: PullInput) => void answer(input))
