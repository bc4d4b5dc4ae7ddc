/** Shows a chart as the shared page does. It answers the pointer and the keyboard, and has a table of its numbers. */
import { useEffect, useRef, useState } from 'react'
import { answerCharts } from '../../answer.ts'
import type { DrawnChart } from '../../insights.ts'
import { BlockLink } from './block-link.tsx'
import { useInsightContext } from './insight-context.ts'
import { Rows } from './rows.tsx'

function Numbers({ chart }: { chart: DrawnChart }) {
  const insight = useInsightContext()
  const table = insight?.tables[chart.block]
  const [opened, setOpened] = useState(false)
  if (!insight) return null
  return (
    <details className="numbers" onToggle={({ currentTarget }) => setOpened(opened || currentTarget.open)}>
      <summary>The numbers behind it</summary>
      {opened && table && (
        <Rows table={table} block={chart.block} label={`Numbers behind ${chart.title || chart.id}`} />
      )}
      <p>
        <BlockLink insight_id={insight.insight_id} block={chart.block} />
      </p>
    </details>
  )
}

export function ChartFigure({ chart }: { chart: DrawnChart }) {
  const place = useRef<HTMLDivElement>(null)
  useEffect(() => (place.current ? answerCharts(place.current) : undefined), [chart])
  return (
    <div className="chart-part">
      {/* The service lets nothing but drawing through (svg-guard.ts), and the policy of the page lets nothing run. */}
      <div ref={place} dangerouslySetInnerHTML={{ __html: chart.figure }} />
      <Numbers chart={chart} />
    </div>
  )
}
