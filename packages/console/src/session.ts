/**
 * Tells whether this browser is signed in. The secret is in a cookie that no script can read. The storage holds only a
 * mark (the id of the sign-in), which all tabs see. If the service refuses the cookie the session ends, and the
 * sign-in page says why.
 */
import { useSyncExternalStore } from 'react'
import { BASE } from './pages/address.ts'

/** The key of the mark. It holds the path, because two services below one host have one storage. */
const KEY = `assay.sign-in${BASE}`
const listeners = new Set<() => void>()
let ended: 'expired' | null = null

/** Returns the id of the sign-in; null if nobody is signed in. */
export function signInId(): string | null {
  return localStorage.getItem(KEY)
}

/** Returns why the last session ended; null if the user ended it. */
export function endedBy(): 'expired' | null {
  return ended
}

function tell(): void {
  for (const listener of listeners) listener()
}

/** Follows sign-ins and sign-outs in other tabs. */
export function watchOtherTabs(): void {
  addEventListener('storage', ({ key, oldValue, newValue }) => {
    if (key !== KEY) return
    // Another person has signed in in another tab, so this tab must not show the old user's data.
    if (oldValue !== null && newValue !== null) location.reload()
    tell()
  })
}

export function startSession(sign_in_id: string): void {
  ended = null
  localStorage.setItem(KEY, sign_in_id)
  tell()
}

export function endSession(reason: 'expired' | null = null): void {
  ended = reason
  localStorage.removeItem(KEY)
  tell()
}

export function useSignInId(): string | null {
  return useSyncExternalStore((listener) => {
    listeners.add(listener)
    return () => listeners.delete(listener)
  }, signInId)
}
