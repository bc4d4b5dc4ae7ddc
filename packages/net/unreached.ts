/**
 * The reasons why a host was not reached. They are apart from the guard, so that a process that only reports them
 * loads no HTTP client.
 */

/** The target is not allowed. The message reveals nothing of our network. */
export class BlockedError extends Error {}

/** The workspace may not reach the host, at all or now. The message says why, as a sentence. */
export class RefusedError extends Error {}

/** The name has no address; `code` is the resolver's. */
export class ResolveError extends Error {
  readonly code: string

  constructor(code: string, cause?: unknown) {
    super(`The name could not be resolved (${code}).`, { cause })
    this.code = code
  }
}
