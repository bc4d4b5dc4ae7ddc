/** Draws the figure of an insight over its periods, as a line without axes. Its end is the insight itself. */
import type { InsightCard } from '@assay/client'
import { linePoints } from '../../words/change.ts'

const WIDTH = 120
const HEIGHT = 28
/** The pixels for the dot at the end. */
const EDGE = 4

export function Sparkline({ card }: { card: InsightCard }) {
  const { figure, history } = card
  if (!figure || history.length < 2) return null
  const points = linePoints(
    history.map(({ value }) => value),
    WIDTH,
    HEIGHT,
  )
  const [x, y] = points.at(-1)!
  const label = `${figure.label} over ${history.length} periods, now ${figure.text}`
  return (
    <svg
      className="sparkline"
      role="img"
      aria-label={label}
      viewBox={`${-EDGE} ${-EDGE} ${WIDTH + 2 * EDGE} ${HEIGHT + 2 * EDGE}`}
    >
      <polyline points={points.map((point) => point.join()).join(' ')} />
      <circle cx={x} cy={y} r={3} />
    </svg>
  )
}
