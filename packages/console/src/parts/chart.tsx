/** An interactive chart with a table of its numbers, for readers who cannot see it. */
import { useEffect, useRef, useState } from 'react'
import type { DrawnChart } from '../insights.ts'
import { BlockLink } from './block-link.tsx'
import { useInsightContext } from './insight-context.ts'
import { Rows } from './rows.tsx'

type State = 'waiting' | 'drawn' | 'failed'

function useDrawing(chart: DrawnChart) {
  const place = useRef<HTMLDivElement>(null)
  const [state, setState] = useState<State>('waiting')
  useEffect(() => {
    let gone = false
    let remove: (() => void) | undefined
    const draw = async (): Promise<void> => {
      const { drawChart } = await import('./vega.ts')
      if (gone || !place.current) return
      remove = await drawChart(place.current, chart)
      if (gone) remove()
      else setState('drawn')
    }
    draw().catch(() => setState('failed'))
    return () => {
      gone = true
      remove?.()
    }
  }, [chart])
  return { place, state }
}

function Numbers({ chart }: { chart: DrawnChart }) {
  const insight = useInsightContext()
  const table = insight?.tables[chart.block]
  const [opened, setOpened] = useState(false)
  if (!insight) return null
  return (
    <details className="numbers" onToggle={({ currentTarget }) => setOpened(opened || currentTarget.open)}>
      <summary>The numbers behind it</summary>
      {opened && table && <Rows table={table} label={`Numbers behind ${chart.title || chart.id}`} />}
      <p>
        <BlockLink insight_id={insight.insight_id} block={chart.block} />
      </p>
    </details>
  )
}

export function ChartFigure({ chart }: { chart: DrawnChart }) {
  const { place, state } = useDrawing(chart)
  const title = chart.title === '' ? `${chart.y.join(', ')} by ${chart.x}` : chart.title
  return (
    <figure className="chart">
      <figcaption>{title}</figcaption>
      <div className={`drawing ${state}`} ref={place} role="img" aria-label={title} />
      {state === 'failed' && chart.svg !== null && (
        <img
          className="drawing-still"
          alt={title}
          src={`data:image/svg+xml;charset=utf-8,${encodeURIComponent(chart.svg)}`}
        />
      )}
      <Numbers chart={chart} />
    </figure>
  )
}
