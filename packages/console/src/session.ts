/**
 * Who is signed in: the token, kept in the storage of this tab's session and nowhere else. A session that the service no
 * longer takes ends here, and the sign-in page says why.
 */
import { useSyncExternalStore } from 'react'

const KEY = 'assay.token'
/** Set where a login made the token: signing out revokes it. A token that was brought along stays good. */
const MADE = 'assay.token.made'
const listeners = new Set<() => void>()
let ended: 'expired' | null = null

export function token(): string | null {
  return sessionStorage.getItem(KEY)
}

/** Why the last session ended, where it was not the user who ended it. */
export function endedBy(): 'expired' | null {
  return ended
}

function tell(): void {
  for (const listener of listeners) listener()
}

export function startSession(value: string, madeByLogin: boolean): void {
  ended = null
  sessionStorage.setItem(KEY, value)
  if (madeByLogin) sessionStorage.setItem(MADE, 'yes')
  else sessionStorage.removeItem(MADE)
  tell()
}

export function isMadeByLogin(): boolean {
  return sessionStorage.getItem(MADE) !== null
}

export function endSession(reason: 'expired' | null = null): void {
  ended = reason
  sessionStorage.removeItem(KEY)
  sessionStorage.removeItem(MADE)
  tell()
}

export function useToken(): string | null {
  return useSyncExternalStore((listener) => {
    listeners.add(listener)
    return () => listeners.delete(listener)
  }, token)
}
