/** The mark in the header of every page while something fails. */
import { Link } from '@tanstack/react-router'
import { useTroubles } from '../troubles.ts'

/** Nothing where nothing fails. */
export function HealthMark() {
  const { data } = useTroubles()
  if (!data || data.length === 0) return null
  const words = data.length === 1 ? '1 thing fails' : `${data.length} things fail`
  return (
    <Link className="health-mark" to="/health" aria-label={words} title={words}>
      <span aria-hidden="true">▲</span> {data.length}
    </Link>
  )
}
