/** The page of a metric as it was defined when a job was created, with what has changed since. */
import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { api, orNull } from '../../api.ts'
import { Loaded, Page } from '../../parts/page.tsx'
import { AsItWas, CreatedWith } from '../../parts/text/as-it-was.tsx'

interface Definitions {
  /** The definition of that time; null if the job does not read the metric. */
  earlier: string | null
  /** The present definition; null if the metric is gone. */
  now: string | null
}

async function compare(metric_id: string, assignment_id: string): Promise<Definitions> {
  const [{ metrics }, now] = await Promise.all([
    api().jobs.template(assignment_id),
    orNull(api().metrics.get(metric_id)),
  ])
  return {
    earlier: metrics.find((one) => one.metric_id === metric_id)?.source ?? null,
    now: now?.source ?? null,
  }
}

export function MetricThenPage() {
  const { metric_id, assignment_id } = useParams({ from: '/shell/metric/$metric_id/then/$assignment_id' })
  const query = useQuery({
    queryKey: ['metrics', 'then', metric_id, assignment_id],
    queryFn: () => compare(metric_id, assignment_id),
  })
  return (
    <Page
      title={`${metric_id} as it was`}
      trail={
        <Link to="/metric/$metric_id" params={{ metric_id }}>
          {metric_id}
        </Link>
      }
      lead={<CreatedWith noun="metric" assignment_id={assignment_id} />}
    >
      <Loaded query={query}>
        {({ earlier, now }) =>
          earlier === null ? (
            <p>The job does not read this metric.</p>
          ) : (
            <AsItWas
              noun="metric"
              earlier={earlier}
              now={now}
              label={`Definition of ${metric_id} at that time`}
            />
          )
        }
      </Loaded>
    </Page>
  )
}
