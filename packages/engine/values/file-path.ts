/**
 * Checks the text of a `file` before any disk is read. The engine later resolves it below the workspace's data folder and
 * refuses links that lead out.
 */

const MAX_PATH = 1000

const BUCKET = /^s3:\/\/([a-z_][a-z0-9_-]{0,62})\/(.+)$/s

/** Returns the connection and the key in its bucket of "s3://NAME/KEY"; null for other paths. */
export function bucketPath(file: string): { connection: string; file: string } | null {
  const [, connection, key] = BUCKET.exec(file) ?? []
  return connection && key ? { connection, file: key } : null
}

/** Tells whether a `file` of a template is an address. Its host must be written in full, so no variable can change it. */
export function isAddress(file: string): boolean {
  return /^https:\/\//i.test(file)
}

/** Returns null if the address may be requested, else the reason why not. */
export function vetAddressText(file: string): string | null {
  if (!/^https:\/\/[^/?#{}\s@\\]+\/./i.test(file) || !URL.canParse(file.split('{')[0]!))
    return 'An address must name its host and a file in full: https://HOST/PATH, variables only in the path.'
  return /\p{Cc}/u.test(file) ? 'An address must not hold control characters.' : null
}

/** Returns null if the path can be used, else the reason why not. Globs are allowed. */
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
