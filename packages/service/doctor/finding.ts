/** The result of checking one part of a service. */

export type State = 'ok' | 'warning' | 'failed' | 'unused'

export interface Finding {
  /** "store", "mail", "connection crm". */
  part: string
  state: State
  /** The state of the part, in a sentence. */
  says: string
  /** What the operator can do; null: nothing. */
  remedy: string | null
}

export const ok = (part: string, says: string): Finding => ({ part, state: 'ok', says, remedy: null })
/** The part is not in use. */
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

/** "1.2 GB" */
export function sizeOf(bytes: number): string {
  if (bytes >= 1e9) return `${(bytes / 1e9).toFixed(1)} GB`
  return bytes >= 1e6 ? `${(bytes / 1e6).toFixed(1)} MB` : `${Math.ceil(bytes / 1e3)} kB`
}
