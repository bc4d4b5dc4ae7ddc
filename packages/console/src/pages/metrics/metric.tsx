/** The page of one metric: what it counts, its definition, and the way to its review. */
import type { MetricView } from '@assay/client'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate, useParams } from '@tanstack/react-router'
import { Suspense } from 'react'
import { api, useMay } from '../../api.ts'
import { AskFirst } from '../../parts/ask-first.tsx'
import { FactList } from '../../parts/lists/fact-list.tsx'
import { Loaded, Page } from '../../parts/page.tsx'
import { FollowMetric } from '../../parts/receivers/follow.tsx'
import { ORIGINS } from '../../words/origins.ts'
import { lazyPart } from '../load-part.ts'
import { MetricReports } from './reports.tsx'
import { MetricState } from './state.tsx'
import { betterText, keptText, targetText, testsText } from './words.ts'

const SourceView = lazyPart(() => import('../../parts/text/editor.tsx'), 'SourceView')

const withCapital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

function factsOf(metric: MetricView): [string, string][] {
  const facts: [string, string][] = [
    ['Unit', metric.unit ?? ''],
    ['Better', betterText(metric)],
    ['Steps', `${metric.grain}, ${metric.zone}`],
    ['Target', targetText(metric)],
    ['Dimensions', metric.dimensions.join(', ')],
    ['Tests', testsText(metric)],
    ['Events', metric.events.map(({ date, label }) => `${date} ${label}`).join('; ')],
    ['Connection', metric.connections.join(', ')],
    ['Kept days', keptText(metric)],
    ['Version', metric.version],
    ['From', ORIGINS[metric.origin]],
  ]
  return facts.filter(([, value]) => value !== '')
}

function Delete({ metric_id }: { metric_id: string }) {
  const navigate = useNavigate()
  const cache = useQueryClient()
  return (
    <AskFirst
      look="quiet"
      label="Delete"
      title={`Delete ${metric_id}?`}
      description="Jobs that were created with it stay. Templates that name it create no job until it is there again."
      action="Delete the metric"
      act={() => api().metrics.delete(metric_id)}
      onDone={async () => {
        // The page of the metric would request the deleted metric.
        await navigate({ to: '/metric', search: {} })
        await cache.invalidateQueries({ queryKey: ['metrics'] })
      }}
    />
  )
}

function Actions({ metric: { metric_id, label, origin } }: { metric: MetricView }) {
  const publisher = useMay('publisher')
  const analyst = useMay('analyst')
  return (
    <>
      <Link
        className="button primary"
        to="/templates/$template_id"
        params={{ template_id: 'brief' }}
        search={{ metric: metric_id }}
      >
        Review it
      </Link>
      {analyst && (
        <Link className="button" to="/templates/new" search={{ metric: metric_id }}>
          Ask a question
        </Link>
      )}
      <FollowMetric metric_id={metric_id} label={label} />
      {analyst && origin === 'workspace' && (
        <Link className="button" to="/metric/$metric_id/edit" params={{ metric_id }}>
          Edit
        </Link>
      )}
      {publisher && origin === 'workspace' && <Delete metric_id={metric_id} />}
      {analyst && origin !== 'workspace' && (
        <Link className="button" to="/metric/new" search={{ from: metric_id }}>
          Copy and edit
        </Link>
      )}
    </>
  )
}

export function MetricPage() {
  const { metric_id } = useParams({ from: '/shell/metric/$metric_id' })
  const query = useQuery({
    queryKey: ['metrics', 'one', metric_id],
    queryFn: () => api().metrics.get(metric_id),
  })
  return (
    <Page
      title={query.data ? withCapital(query.data.label) : metric_id}
      trail={<Link to="/metric">Metrics</Link>}
      lead={<p>{query.data?.description}</p>}
      actions={query.data && <Actions metric={query.data} />}
    >
      <Loaded query={query}>
        {(metric) => (
          <>
            {metric.kept?.doubt && (
              <div className="fault" role="status">
                <p>Kept days differ: {metric.kept.doubt}</p>
              </div>
            )}
            <MetricState metric={metric} />
            <h2>What it is</h2>
            <FactList noun="Metric" id={metric.metric_id} rows={factsOf(metric)} />
            <MetricReports metric_id={metric.metric_id} />
            <h2>Definition</h2>
            <Suspense fallback={<p className="waiting">Loading…</p>}>
              <SourceView source={metric.source} label={`Definition of ${metric_id}`} />
            </Suspense>
          </>
        )}
      </Loaded>
    </Page>
  )
}
