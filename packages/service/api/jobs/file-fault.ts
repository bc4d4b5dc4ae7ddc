/** Why an insight could not be made into a file, as an answer: each cause has its own. */

import { TaskError } from '@assay/engine/run/pool'
import { AppError } from '@assay/model/errors'

/**
 * Returns the answer for what a task ended with. `tooLarge` names another form. An error that is none of the task, such as that of
 * a store that cannot be read, stays itself.
 */
export function fileFault(error: unknown, tooLarge: string): unknown {
  if (!(error instanceof TaskError)) return error
  if (error.isTooLarge) return new AppError('not_acceptable', tooLarge, { cause: error })
  if (error.isStopped)
    return new AppError('stopping', 'The service stopped before the file was made: ask again.', {
      cause: error,
    })
  return new AppError(
    'internal',
    'The file could not be made by a fault of the service: try again, or report the request_id to the operator.',
    { cause: error },
  )
}

/** No process was free, or the file was not made, within the time that a reader waits. */
export function busyWith(what: string, wait_ms: number): AppError {
  const detail = `No process was free to make ${what} within ${wait_ms / 1000} s: ask again.`
  return new AppError('workspace_busy', detail, { retryAfter: 10 })
}
