/** Returns a value once it has not changed for a while, for requests while a user types. */
import { useEffect, useState } from 'react'

export function useSettled<Value>(value: Value, after_ms: number): Value {
  const [settled, setSettled] = useState(value)
  const key = JSON.stringify(value)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(JSON.parse(key) as Value), after_ms)
    return () => clearTimeout(timer)
  }, [key, after_ms])
  return settled
}
