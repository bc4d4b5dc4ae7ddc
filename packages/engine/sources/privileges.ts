/**
 * Refuses users of a connection who can do more than read. A read-only session does not stop all of it: a superuser's
 * query can read the server's files or reload its settings. Such a user is refused unless the connection says that
 * this is accepted.
 */
import type { OpenConnection } from '@assay/model/connection'
import { SourceError } from './source.ts'

/**
 * Throws SourceError if a privilege is found and not accepted. Each entry of `found` is a part of a sentence, such as
 * "is a superuser".
 */
export function refusePrivileged(
  { name, options }: Pick<OpenConnection, 'name' | 'options'>,
  found: readonly string[],
): void {
  if (found.length === 0 || options.privileged === 'accepted') return
  throw new SourceError(
    `The user "${String(options.user)}" of the connection "${name}" can do more than read: it ${found.join(', ')}. ` +
      'Use a user who can only read, or set the option privileged to accepted.',
  )
}

/** Returns the end of the sentence with which a test of the connection answers. */
export function acceptedPrivileges(found: readonly string[]): string {
  return found.length === 0
    ? ''
    : ` Its user can do more than read, which is accepted: it ${found.join(', ')}.`
}
