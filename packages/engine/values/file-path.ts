/**
 * What a `file` may look like, before any disk is asked. The engine resolves it below the workspace's data folder and
 * refuses links that lead out; what is refused here can never be right.
 */

const MAX_PATH = 1000

const BUCKET = /^s3:\/\/([a-z_][a-z0-9_-]{0,62})\/(.+)$/s

/** "s3://NAME/KEY" names a connection and what it holds. */
export function bucketPath(file: string): { connection: string; file: string } | null {
  const [, connection, key] = BUCKET.exec(file) ?? []
  return connection && key ? { connection, file: key } : null
}

/** Whether a `file`, as the template has it, is an address: its host stands there in full, and no variable can move it. */
export function isAddress(file: string): boolean {
  return /^https:\/\//i.test(file)
}

/** Null where the address may be asked for, else a sentence that says why not. */
export function vetAddressText(file: string): string | null {
  if (!/^https:\/\/[^/?#{}\s@\\]+\/./i.test(file) || !URL.canParse(file.split('{')[0]!))
    return 'An address must name its host and a file in full: https://HOST/PATH, variables only in the path.'
  return /\p{Cc}/u.test(file) ? 'An address must not hold control characters.' : null
}

/** Null where the path can be used, else a sentence that says why not. Globs are allowed. */
export function vetPath(path: string): string | null {
  if (path === '' || path.trim() !== path) return 'A path must not be empty or have blanks at its ends.'
  if (path.length > MAX_PATH) return `A path may have at most ${MAX_PATH} characters.`
  if (/\p{Cc}/u.test(path)) return 'A path must not hold control characters.'
  if (path.includes('\\')) return 'A path must use "/" between folders.'
  if (path.startsWith('/') || path.startsWith('~')) return 'A path must be relative to the data folder.'
  if (/^[A-Za-z][A-Za-z0-9+.-]*:/.test(path)) {
    return 'A path must lie below the data folder; only https:// and s3:// are addresses of sources.'
  }
  const steps = path.split('/')
  if (steps.includes('..')) return 'A path must not hold "..".'
  return steps.some((step) => step === '' || step === '.') ? 'A path must not hold empty steps or ".".' : null
}
