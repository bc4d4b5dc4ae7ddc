/** Maps errors of an analysis to the result of the job. */
import type { JobErrorCode } from '@assay/model/errors'
import { TooLarge } from '../duckdb/duckdb.ts'
import { engineFailure } from '../duckdb/engine-error.ts'
import { TemplateFault } from '../language/fault.ts'
import { MethodError } from '../methods/shared/method.ts'
import { UnfitReader } from '../personal/condition.ts'
import { NoRoom } from '../sources/room.ts'
import { SourceError, Stopped } from '../sources/source.ts'
import type { RunResult } from './protocol.ts'

/** Ends the job with this code and sentence. */
export class TaskFailure extends Error {
  readonly code: JobErrorCode

  constructor(code: JobErrorCode, detail: string) {
    super(detail)
    this.code = code
  }
}

/** Where an error happened: 'SQL block "daily"', and its first line in the template. */
export interface Whereabouts {
  what: string
  line: number
}

/** Throws the TaskFailure for an error of DuckDB or of a method at this place, and rethrows all other errors. */
export function failAt(where: Whereabouts, error: unknown): never {
  if (error instanceof TooLarge) {
    const remedy = 'lower limits.rows, or select shorter text'
    throw new TaskFailure(
      'output_too_large',
      `${where.what}, line ${where.line}, gives more text than limits.output allows: ${remedy}.`,
    )
  }
  if (error instanceof MethodError) {
    throw new TaskFailure('analysis_failed', `${where.what}, line ${where.line}: ${error.message}`)
  }
  const failure = engineFailure(error)
  if (failure === null) throw error
  if (failure.kind === 'interrupted') throw new Stopped()
  if (failure.kind === 'memory') {
    throw new TaskFailure(
      'memory_exceeded',
      `${where.what}, line ${where.line}, needed more memory than limits.memory allows.`,
    )
  }
  if (failure.kind === 'spill') {
    throw new TaskFailure(
      'limit_exceeded',
      `${where.what}, line ${where.line}, needed more room on disk than one analysis may have.`,
    )
  }
  const line = where.line + (failure.line ?? 1) - 1
  throw new TaskFailure('analysis_failed', `${where.what}, line ${line}: ${failure.reason}`)
}

/** The result of a job that ended with this error. Unexpected errors are rethrown: they are defects. */
export function resultOf(error: unknown): RunResult {
  if (error instanceof Stopped) return { status: 'stopped' }
  if (error instanceof TaskFailure) return failed(error.code, error.message)
  if (error instanceof NoRoom) return failed('limit_exceeded', error.message)
  if (error instanceof SourceError) return failed('source_unavailable', error.message)
  if (error instanceof UnfitReader) return failed('reader_missing', error.message)
  if (error instanceof TemplateFault) {
    const tooLarge = error.fault.code === 'output_too_large'
    return failed(tooLarge ? 'output_too_large' : 'template_invalid', error.message)
  }
  const failure = engineFailure(error)
  if (failure?.kind === 'interrupted') return { status: 'stopped' }
  if (failure?.kind === 'memory') {
    return failed('memory_exceeded', 'The analysis needed more memory than limits.memory allows.')
  }
  if (failure?.kind === 'spill') {
    return failed('limit_exceeded', 'The analysis needed more room on disk than one analysis may have.')
  }
  if (failure) return failed('analysis_failed', failure.reason)
  throw error
}

function failed(code: JobErrorCode, detail: string): RunResult {
  return { status: 'failed', error: { code, detail } }
}
