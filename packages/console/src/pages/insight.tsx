/** The page of an insight, alone or beside an earlier one of the same template. */
import { Link, useParams, useSearch } from '@tanstack/react-router'
import { type Insight, useInsight } from '../insights.ts'
import { Compare } from '../parts/comparison/compare.tsx'
import { Differences } from '../parts/comparison/differences.tsx'
import { Download } from '../parts/insight/download.tsx'
import { InsightArticle } from '../parts/insight/insight.tsx'
import { ReadBy } from '../parts/insight/read-by.tsx'
import { Share } from '../parts/insight/share.tsx'
import { useTemplateTitle } from '../parts/jobs/template-title.ts'
import { Keep } from '../parts/library/keep.tsx'
import { Loaded, useTitle } from '../parts/page.tsx'
import { ForReader } from '../parts/readers/reader.tsx'
import { FollowInsight } from '../parts/receivers/follow.tsx'
import { Copy, Time } from '../parts/show.tsx'
import { SERVICE } from './address.ts'

function Head({ insight, level }: { insight: Insight; level: 1 | 2 }) {
  const Title = `h${level}` as const
  const { reader } = insight.lineage
  const template = useTemplateTitle(insight.template_id)
  return (
    <header className="insight-head">
      <Title className="insight-title">{insight.title}</Title>
      <p className="small">
        <Time at={insight.created_at} exact /> ·{' '}
        <Link to="/templates/$template_id" params={{ template_id: insight.template_id }} search={{}}>
          {template}
        </Link>{' '}
        ·{' '}
        <Link to="/jobs/$assignment_id" params={{ assignment_id: insight.assignment_id }}>
          the job
        </Link>
        {reader && (
          <>
            {' '}
            · <ForReader reader_id={reader.id} />
          </>
        )}
      </p>
    </header>
  )
}

function Tools({ insight, beside }: { insight: Insight; beside: string | undefined }) {
  return (
    <div className="tools">
      <div className="actions">
        <Compare insight={insight} beside={beside} />
        <Copy look="" label="Copy the address" text={`${SERVICE}/insights/${insight.insight_id}`} />
        <Keep insight_id={insight.insight_id} />
        <FollowInsight insight={insight} />
        <Share noun="insight" id={insight.insight_id} />
        <Download insight={insight} />
        <button type="button" className="button on-paper" onClick={() => window.print()}>
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
      {query.data === undefined && query.error && <h1>Insight</h1>}
      <Loaded query={query}>
        {(insight) => (
          <>
            <Tools insight={insight} beside={beside} />
            {beside === undefined ? (
              <InsightArticle
                insight={insight}
                head={<Head insight={insight} level={1} />}
                foot={<ReadBy insight={insight} />}
              />
            ) : (
              <Both insight={insight} beside={beside} />
            )}
          </>
        )}
      </Loaded>
    </div>
  )
}
