/** The result of checking one part of a service. */

export type State = 'ok' | 'warning' | 'failed' | 'unused'

export interface Finding {
  /** The part, such as "store", "mail" or "connection crm". */
  part: string
  state: State
  /** The state of the part, in a sentence. */
  says: string
  /** The remedy for the operator; null if there is none to apply. */
  remedy: string | null
}

export const ok = (part: string, says: string): Finding => ({ part, state: 'ok', says, remedy: null })
/** Makes the finding of a part that is not in use. */
export const unused = (part: string, says: string): Finding => ({ part, state: 'unused', says, remedy: null })
export const warning = (part: string, says: string, remedy: string): Finding => ({
  part,
  state: 'warning',
  says,
  remedy,
})
export const failed = (part: string, says: string, remedy: string): Finding => ({
  part,
  state: 'failed',
  says,
  remedy,
})

/** Returns a number of bytes as text, such as "1.2 GB". */
export function sizeOf(bytes: number): string {
  if (bytes >= 1e9) return `${(bytes / 1e9).toFixed(1)} GB`
  return bytes >= 1e6 ? `${(bytes / 1e6).toFixed(1)} MB` : `${Math.ceil(bytes / 1e3)} kB`
}
