/**
 * What a `file` may look like, before any disk is asked. The engine resolves it below the workspace's data folder and
 * refuses links that lead out; what is refused here can never be right.
 */

const MAX_PATH = 1000

/** Null where the path can be used, else a sentence that says why not. Globs are allowed. */
export function vetPath(path: string): string | null {
  if (path === '' || path.trim() !== path) return 'A path must not be empty or have blanks at its ends.'
  if (path.length > MAX_PATH) return `A path may have at most ${MAX_PATH} characters.`
  if (/\p{Cc}/u.test(path)) return 'A path must not hold control characters.'
  if (path.includes('\\')) return 'A path must use "/" between folders.'
  if (path.startsWith('/') || path.startsWith('~')) return 'A path must be relative to the data folder.'
  if (/^[A-Za-z][A-Za-z0-9+.-]*:/.test(path)) {
    return 'A path must lie below the data folder; addresses and drives are not read.'
  }
  const steps = path.split('/')
  if (steps.includes('..')) return 'A path must not hold "..".'
  return steps.some((step) => step === '' || step === '.') ? 'A path must not hold empty steps or ".".' : null
}
