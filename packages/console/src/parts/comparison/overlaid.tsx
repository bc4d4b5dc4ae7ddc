/** Shows the charts of both runs drawn into one: this run in colour, the earlier one in grey. */
import { useQuery } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'
import { answerCharts } from '../../answer.ts'
import { api, useIsLimited } from '../../api.ts'

type Charts = Awaited<ReturnType<ReturnType<typeof api>['insights']['overlay']>>['items']

function Drawn({ figure }: { figure: string }) {
  const place = useRef<HTMLDivElement>(null)
  useEffect(() => (place.current ? answerCharts(place.current) : undefined), [figure])
  // The service passes only drawings (svg-guard.ts), and the policy of the page lets no script run.
  return <div ref={place} dangerouslySetInnerHTML={{ __html: figure }} />
}

function Chart({ chart: { figure, appeared, gone } }: { chart: Charts[number] }) {
  return (
    <div className="chart-part">
      <Drawn figure={figure} />
      {appeared.length > 0 && <p className="small">New: {appeared.join(', ')}.</p>}
      {gone.length > 0 && <p className="small">Gone: {gone.join(', ')}.</p>}
    </div>
  )
}

export function OverlaidCharts({ insight_id, earlier_id }: { insight_id: string; earlier_id: string }) {
  const limited = useIsLimited()
  const { data, isLoading } = useQuery({
    queryKey: ['overlay', insight_id, earlier_id],
    queryFn: () => api().insights.overlay(insight_id, earlier_id),
    enabled: !limited,
    staleTime: Number.POSITIVE_INFINITY,
  })
  if (isLoading) return <p className="waiting">Drawing both runs…</p>
  const charts = data?.items ?? []
  if (charts.length === 0) return null
  return (
    <>
      <h2>Charts</h2>
      <div className="overlaid">
        {charts.map((chart) => (
          <Chart key={chart.id} chart={chart} />
        ))}
      </div>
    </>
  )
}
