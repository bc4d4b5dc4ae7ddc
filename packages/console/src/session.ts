/**
 * The session: the token, kept only in the storage of this tab. If the service refuses it the session ends, and the
 * sign-in page says why.
 */
import { useSyncExternalStore } from 'react'

const KEY = 'assay.token'
/** Set if a login created the token: signing out revokes it. A token that the user entered stays valid. */
const MADE = 'assay.token.made'
const listeners = new Set<() => void>()
let ended: 'expired' | null = null

export function token(): string | null {
  return sessionStorage.getItem(KEY)
}

/** Why the last session ended, unless the user ended it. */
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
