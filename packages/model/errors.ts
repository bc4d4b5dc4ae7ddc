/**
 * The closed list of errors. `ERRORS` holds the `code` of HTTP responses; `JOB_ERRORS` the `error.code` of a job that did
 * not complete. docs/errors.md is generated from both, and a test compares them. A published code never changes its meaning.
 */

export interface ErrorRow {
  status: number
  title: string
  retryable: boolean
  remedy: string
}

function row(status: number, title: string, retryable: boolean, remedy: string): ErrorRow {
  return { status, title, retryable, remedy }
}

export const ERRORS = {
  bad_json: row(400, 'The body is not JSON', false, 'Send a body that a JSON parser accepts.'),
  bad_request: row(
    400,
    'The request cannot be read',
    false,
    'Check the request line, the headers and the encoding.',
  ),
  unauthorized: row(
    401,
    'No valid token',
    false,
    'Send "Authorization: Bearer TOKEN" with a token that exists and has not expired.',
  ),
  forbidden: row(
    403,
    'The token may not do this',
    false,
    'Use a token with the scope that the detail names.',
  ),
  not_found: row(404, 'Not found', false, 'Check the id and that the token belongs to the same workspace.'),
  method_not_allowed: row(405, 'Method not allowed', false, 'Use one of the methods in the Allow header.'),
  not_acceptable: row(
    406,
    'The format is not available',
    false,
    'Ask for text/markdown, text/html, application/json, application/pdf or text/csv.',
  ),
  request_timeout: row(
    408,
    'The request did not arrive in time',
    true,
    'Send the whole request within a minute.',
  ),
  conflict: row(
    409,
    'Not possible in this state',
    false,
    'Read the resource again: the detail says which state it is in.',
  ),
  job_final: row(
    409,
    'The job has ended',
    false,
    'Create a new job: a completed or canceled job cannot be run or canceled again.',
  ),
  job_unfinished: row(409, 'The job has not ended', true, 'Cancel the job or wait until it ends.'),
  template_read_only: row(
    409,
    'The template is read-only',
    false,
    'Templates of files and of a repository are changed there; put your own under another id.',
  ),
  metric_read_only: row(
    409,
    'The metric is read-only',
    false,
    'Metrics of files and of a repository are changed there; put your own under another id.',
  ),
  name_taken: row(409, 'The name is taken', false, 'Choose another name, or change the existing one.'),
  idempotency_mismatch: row(
    409,
    'The idempotency key was used for another request',
    false,
    'Use a new Idempotency-Key for a request with another body.',
  ),
  idempotency_in_progress: row(
    409,
    'The first request with this key is under way',
    true,
    'Repeat the request after the seconds in Retry-After.',
  ),
  precondition_failed: row(
    412,
    'The resource is not as the request asks',
    false,
    'Read the resource again, and send its present ETag.',
  ),
  payload_too_large: row(
    413,
    'The body is too large',
    false,
    'Send at most 1 MiB, or 8 MiB to create many jobs in one call. For a file the limit is max_file_bytes of the workspace, else ASSAY_MAX_FILE.',
  ),
  quota_exceeded: row(
    413,
    'The files of the workspace use up its quota',
    false,
    'Delete files that are not needed, or ask the operator for a larger max_files_bytes of the workspace or ASSAY_FILES_QUOTA.',
  ),
  unsupported_media_type: row(
    415,
    'Wrong content type',
    false,
    'Send the Content-Type that the detail names.',
  ),
  range_not_satisfiable: row(
    416,
    'The file has no such bytes',
    false,
    'Ask for a range within the file: Content-Range says how long it is.',
  ),
  invalid: row(422, 'The request is not valid', false, 'Correct every fault listed under errors.'),
  reader_missing: row(
    422,
    'The template needs a reader',
    false,
    'Send the reader_id of a reader who has the attributes that the detail names, or put them first.',
  ),
  preview_failed: row(
    422,
    'The template could not be previewed',
    false,
    'The detail says why. For a preview it begins with the code that a job would end with (see Jobs).',
  ),
  rate_limited: row(429, 'Too many requests', true, 'Wait the seconds in Retry-After.'),
  queue_full: row(429, 'Too many jobs are queued', true, 'Wait until some of the queued jobs have ended.'),
  workspace_busy: row(
    429,
    'Too many requests of the workspace are under way',
    true,
    'Repeat the request after the seconds in Retry-After; the detail names the cap and its value.',
  ),
  header_too_large: row(431, 'The headers are too large', false, 'Send fewer or shorter headers.'),
  internal: row(
    500,
    'A fault of the service',
    true,
    'Try again; if it happens again, report the request_id to the operator.',
  ),
  store_unavailable: row(
    503,
    'The store cannot be reached',
    true,
    'Try again after the seconds in Retry-After.',
  ),
  stopping: row(
    503,
    'The service is stopping',
    true,
    'Try again: another node or the restarted one will answer.',
  ),
} as const satisfies Record<string, ErrorRow>

export type ErrorCode = keyof typeof ERRORS

export const JOB_ERRORS = {
  analysis_failed: 'An SQL block or an analysis failed: the detail names the block, the line and the reason.',
  template_invalid: 'The template has faults: run "assay check" on it.',
  source_unavailable:
    'A data source is missing or cannot be read: the detail says which file or connection, and why.',
  reader_missing:
    'The template shows each reader rows of their own, and the run has no reader, or one that lacks an attribute: run with --reader NAME=VALUE, or send "reader".',
  memory_exceeded: 'The analysis needed more memory than limits.memory: raise it, or aggregate earlier.',
  limit_exceeded:
    'The analysis needed more room on disk than it may have: aggregate or filter earlier, or ask the operator for a larger ASSAY_MAX_SPILL.',
  output_too_large: 'The insight is larger than limits.output: limit the rows that tables and charts show.',
  timed_out: 'The analysis took longer than limits.timeout: raise it, or read less.',
  worker_lost:
    'Three workers died while running the job: look at their logs and at the memory of the machine.',
  canceled_by_user: 'A person canceled the job: create a new one to run it again.',
} as const

export type JobErrorCode = keyof typeof JOB_ERRORS

/** One fault of a request or a template. `path` is a dotted path (`payload.template_vars.origin`). */
export interface FieldError {
  path: string
  message: string
  line?: number
  column?: number
  /** For a file that cannot be read: lines of a source, each of which lets it be read. */
  write?: string[]
}

export interface AppErrorOptions {
  errors?: FieldError[]
  /** The seconds for the header Retry-After. */
  retryAfter?: number
  headers?: Record<string, string>
  cause?: unknown
}

/** An expected refusal, answered with the code's status. `detail` is one sentence with the fault and the remedy. */
export class AppError extends Error {
  readonly code: ErrorCode
  readonly errors: FieldError[] | undefined
  readonly retryAfter: number | undefined
  readonly headers: Record<string, string>

  constructor(code: ErrorCode, detail: string, options: AppErrorOptions = {}) {
    super(detail, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'AppError'
    this.code = code
    this.errors = options.errors
    this.retryAfter = options.retryAfter
    this.headers = options.headers ?? {}
  }

  get status(): number {
    return ERRORS[this.code].status
  }
}

export function notFound(what: string, id: string): AppError {
  return new AppError('not_found', `There is no ${what} ${JSON.stringify(id)} in this workspace.`)
}
