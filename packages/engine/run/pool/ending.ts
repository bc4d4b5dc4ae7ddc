/** How a task ended, the reason that the death of its process shows, and the result of a run that ended so. */
import type { JobErrorCode } from '@assay/model/errors'
import type { Results, RunResult, Task } from '../protocol.ts'

/** `died`: the process ended by itself; `memory`: it reported a failed allocation; `killed`: somebody ended it by SIGKILL. */
export type Ending<Kind extends Task['kind']> =
  | { kind: 'result'; result: Results[Kind] }
  | { kind: 'fault'; message: string }
  | { kind: 'died'; memory: boolean; killed?: boolean; detail: string }
  | { kind: 'stopped' }
  | { kind: 'timed_out'; after_ms: number }
  /** The texts of the task could not be read. */
  | { kind: 'unread'; error: unknown }

const MEMORY_SIGNS =
  /heap out of memory|std::bad_alloc|out of memory|Cannot allocate memory|allocation failed/i
/** The exit code of bubblewrap if the process within its walls was killed. */
const KILLED_WITHIN = 137
/**
 * What unshare of util-linux writes in that case. It tries to end by the same signal, and cannot give SIGKILL its
 * default action.
 */
const UNSHARE_KILLED = /^unshare: sigprocmask unblock failed/m

export function death(
  code: number | null,
  signal: NodeJS.Signals | null,
  output: string,
): Ending<Task['kind']> {
  const killed = signal === 'SIGKILL' || code === KILLED_WITHIN || UNSHARE_KILLED.test(output)
  const memory = !killed && MEMORY_SIGNS.test(output)
  const how = signal === null ? `with code ${code}` : `by ${signal}`
  const last = output.trim().split('\n').slice(-5).join(' ')
  return {
    kind: 'died',
    memory,
    killed,
    detail: `The analysis process ended ${how}.${last ? ` ${last}` : ''}`,
  }
}

export function failed(code: JobErrorCode, detail: string): RunResult {
  return { status: 'failed', error: { code, detail } }
}

/** Returns the result of a run. Throws if the texts of the task could not be read. */
export function resultOf(ending: Ending<Task['kind']>): RunResult {
  switch (ending.kind) {
    case 'result':
      return ending.result as RunResult
    case 'stopped':
      return { status: 'stopped' }
    case 'timed_out':
      return failed(
        'timed_out',
        `The analysis took longer than ${ending.after_ms / 1000} s (limits.timeout).`,
      )
    case 'unread':
      throw ending.error
    case 'fault':
      return { status: 'crashed', detail: ending.message }
    case 'died':
      return ending.memory
        ? failed('memory_exceeded', 'The analysis needed more memory than limits.memory allows.')
        : { status: 'crashed', detail: ending.detail }
  }
}
