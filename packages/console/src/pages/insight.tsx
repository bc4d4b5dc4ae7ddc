/** The page of an insight, alone or beside an earlier one of the same template. */
import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { api } from '../api.ts'
import { type Insight, useInsight } from '../insights.ts'
import { Differences } from '../parts/insight/differences.tsx'
import { Download } from '../parts/insight/download.tsx'
import { InsightArticle } from '../parts/insight/insight.tsx'
import { Share } from '../parts/insight/share.tsx'
import { Loaded, useTitle } from '../parts/page.tsx'
import { Copy, Time } from '../parts/show.tsx'

function Earlier({ insight, beside }: { insight: Insight; beside: string | undefined }) {
  const { template_id, insight_id } = insight
  const navigate = useNavigate({ from: '/insights/$insight_id' })
  const runs = useQuery({
    queryKey: ['jobs', 'completed', template_id],
    queryFn: () => api().jobs.list({ template_id, job_status: 'completed', limit: 50 }),
  })
  const others = (runs.data?.items ?? []).filter((job) => job.insight_id !== insight_id)
  if (others.length === 0) return null
  return (
    <label className="beside-choice">
      Beside{' '}
      <select
        className="input"
        value={beside ?? ''}
        onChange={({ target }) => void navigate({ search: { beside: target.value || undefined } })}
      >
        <option value="">no other run</option>
        {others.map((job) => (
          <option key={job.insight_id} value={job.insight_id!}>
            the run of {job.created_at.slice(0, 16).replace('T', ' ')} UTC
          </option>
        ))}
      </select>
    </label>
  )
}

function Head({ insight, level }: { insight: Insight; level: 1 | 2 }) {
  const Title = `h${level}` as const
  return (
    <header className="insight-head">
      <Title className="insight-title">{insight.title}</Title>
      <p className="small">
        <Time at={insight.created_at} exact /> ·{' '}
        <Link to="/templates/$template_id" params={{ template_id: insight.template_id }} search={{}}>
          {insight.template_id}
        </Link>{' '}
        ·{' '}
        <Link to="/jobs/$assignment_id" params={{ assignment_id: insight.assignment_id }}>
          the job
        </Link>
      </p>
    </header>
  )
}

function Tools({ insight, beside }: { insight: Insight; beside: string | undefined }) {
  return (
    <div className="tools">
      <Earlier insight={insight} beside={beside} />
      <div className="actions">
        <Copy label="Copy the address" text={`${location.origin}/insights/${insight.insight_id}`} />
        <Share insight_id={insight.insight_id} />
        <Download insight={insight} />
        <button type="button" className="button" onClick={() => window.print()}>
          Print
        </button>
      </div>
    </div>
  )
}

function Both({ insight, beside }: { insight: Insight; beside: string }) {
  const other = useInsight(beside)
  return (
    <Loaded query={other}>
      {(earlier) => (
        <>
          <Differences insight={insight} earlier={earlier} />
          <div className="side-by-side">
            <InsightArticle insight={insight} head={<Head insight={insight} level={2} />} />
            <InsightArticle insight={earlier} head={<Head insight={earlier} level={2} />} />
          </div>
        </>
      )}
    </Loaded>
  )
}

export function InsightPage() {
  const { insight_id } = useParams({ from: '/shell/insights/$insight_id' })
  const { beside } = useSearch({ from: '/shell/insights/$insight_id' })
  const query = useInsight(insight_id)
  useTitle(query.data?.title ?? 'Insight')
  return (
    <div className={beside === undefined ? 'page reading' : 'page reading wide'}>
      <Loaded query={query}>
        {(insight) => (
          <>
            <Tools insight={insight} beside={beside} />
            {beside === undefined ? (
              <InsightArticle insight={insight} head={<Head insight={insight} level={1} />} />
            ) : (
              <>
                <h1>Two runs of {insight.template_id}</h1>
                <Both insight={insight} beside={beside} />
              </>
            )}
          </>
        )}
      </Loaded>
    </div>
  )
}
