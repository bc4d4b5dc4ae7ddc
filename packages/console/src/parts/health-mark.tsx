/** The mark in the header of every page while the service has a failure. */
import { Link } from '@tanstack/react-router'
import { useIsLimited } from '../api.ts'
import { useTroubles } from '../troubles.ts'

/** Shows the mark. Renders nothing if nothing fails, and for users who may not see failures. */
export function HealthMark() {
  return useIsLimited() ? null : <Mark />
}

function Mark() {
  const { data } = useTroubles()
  if (!data || data.length === 0) return null
  const words = data.length === 1 ? '1 thing fails' : `${data.length} things fail`
  return (
    <Link className="health-mark" to="/health" aria-label={words} title={words}>
      <span aria-hidden="true">▲</span> {data.length}
    </Link>
  )
}
