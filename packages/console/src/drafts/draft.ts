/** Keeps the values of an unsent form in this tab's storage, so that they outlive a reload and an expired session. */
import { useCallback, useState } from 'react'

function kept(key: string): unknown {
  const text = sessionStorage.getItem(key)
  if (text === null) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Merges the kept values into the initial ones, because a draft of an earlier console version lacks newer fields. */
export function useDraft<Value extends object>(name: string, first: () => Value) {
  const key = `assay.draft.${name}`
  const [value, setValue] = useState<Value>(() => ({
    ...first(),
    ...(kept(key) as Partial<Value> | undefined),
  }))
  const change = useCallback(
    (next: Value): void => {
      setValue(next)
      try {
        sessionStorage.setItem(key, JSON.stringify(next))
      } catch {
        // A text that is larger than the storage is not kept there.
        sessionStorage.removeItem(key)
      }
    },
    [key],
  )
  const forget = useCallback((): void => sessionStorage.removeItem(key), [key])
  return [value, change, forget] as const
}
