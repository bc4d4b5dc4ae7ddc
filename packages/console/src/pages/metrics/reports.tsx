/** Lists the newest insights that tell of a metric, each with a link to the definition with which it was made. */
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { api } from '../../api.ts'
import { Loaded } from '../../parts/page.tsx'
import { PlainTable } from '../../parts/plain-table.tsx'
import { Time } from '../../parts/show.tsx'

const MOST = 10

export function MetricReports({ metric_id }: { metric_id: string }) {
  const query = useQuery({
    queryKey: ['insights', 'of metric', metric_id],
    queryFn: () => api().insights.list({ metric_id, limit: MOST }),
  })
  return (
    <section aria-label="Reports that tell of it">
      <h2>Reports that tell of it</h2>
      <Loaded query={query}>
        {({ items, next_cursor }) =>
          items.length === 0 ? (
            <p className="small">No report tells of it yet.</p>
          ) : (
            <>
              <PlainTable label="Reports" heads={['Report', 'Made', 'The metric as it was then']}>
                {items.map(({ insight_id, assignment_id, title, created_at }) => (
                  <tr key={insight_id}>
                    <td>
                      <Link to="/insights/$insight_id" params={{ insight_id }} search={{}}>
                        {title}
                      </Link>
                    </td>
                    <td>
                      <Time at={created_at} />
                    </td>
                    <td>
                      <Link
                        to="/metric/$metric_id/then/$assignment_id"
                        params={{ metric_id, assignment_id }}
                        aria-label={`Definition of ${metric_id} in ${title}`}
                      >
                        Definition
                      </Link>
                    </td>
                  </tr>
                ))}
              </PlainTable>
              {next_cursor !== null && (
                <p>
                  <Link to="/insights" search={{ metric: metric_id }}>
                    All reports that tell of it
                  </Link>
                </p>
              )}
            </>
          )
        }
      </Loaded>
    </section>
  )
}
