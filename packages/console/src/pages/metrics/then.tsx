/** The page of a metric as it was defined when a job was created, with what has changed since. */
import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { lazy, Suspense } from 'react'
import { api } from '../../api.ts'
import { Loaded, Page } from '../../parts/page.tsx'

const SourceView = lazy(() =>
  import('../../parts/text/editor.tsx').then(({ SourceView }) => ({ default: SourceView })),
)

interface Definitions {
  /** The definition of that time; null if the job does not read the metric. */
  earlier: string | null
  /** The present definition; null if the metric is gone. */
  now: string | null
}

async function compare(metric_id: string, assignment_id: string): Promise<Definitions> {
  const [{ metrics }, now] = await Promise.all([
    api().jobs.template(assignment_id),
    api()
      .metrics.get(metric_id)
      .then(
        ({ source }) => source,
        () => null,
      ),
  ])
  return { earlier: metrics.find((one) => one.metric_id === metric_id)?.source ?? null, now }
}

/** Returns the lines of a text that the other does not have. */
function linesBeyond(text: string, other: string): string[] {
  const known = new Set(other.split('\n').map((line) => line.trimEnd()))
  return text.split('\n').filter((line) => !known.has(line.trimEnd()))
}

function Changed({ earlier, now }: { earlier: string; now: string | null }) {
  if (now === null) return <p>The metric has been deleted since.</p>
  if (now === earlier) return <p>It is the same now.</p>
  const [old, young] = [linesBeyond(earlier, now), linesBeyond(now, earlier)]
  return (
    <>
      <p>It has changed since.</p>
      <dl>
        <dt>Only then</dt>
        <dd>{old.length === 0 ? 'nothing' : <pre>{old.join('\n')}</pre>}</dd>
        <dt>Only now</dt>
        <dd>{young.length === 0 ? 'nothing' : <pre>{young.join('\n')}</pre>}</dd>
      </dl>
    </>
  )
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
      lead={
        <p>
          The definition with which{' '}
          <Link to="/jobs/$assignment_id" params={{ assignment_id }}>
            this job
          </Link>{' '}
          was created.
        </p>
      }
    >
      <Loaded query={query}>
        {({ earlier, now }) =>
          earlier === null ? (
            <p>The job does not read this metric.</p>
          ) : (
            <>
              <Changed earlier={earlier} now={now} />
              <Suspense fallback={<p className="waiting">Loading…</p>}>
                <SourceView source={earlier} label={`Definition of ${metric_id} at that time`} />
              </Suspense>
            </>
          )
        }
      </Loaded>
    </Page>
  )
}
