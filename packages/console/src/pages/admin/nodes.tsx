/** The page of the nodes and the queue. */
import { useQuery } from '@tanstack/react-query'
import { api } from '../../api.ts'
import { JOB_WORDS } from '../../names.ts'
import { ListTable } from '../../parts/lists/list-table.tsx'
import { Empty, Loaded } from '../../parts/page.tsx'
import { State, Time } from '../../parts/show.tsx'

const REFRESH_MS = 5_000

function Nodes() {
  const query = useQuery({ queryKey: ['nodes'], queryFn: () => api().nodes(), refetchInterval: REFRESH_MS })
  return (
    <section>
      <h2>Nodes</h2>
      <Loaded query={query}>
        {({ items }) => (
          <ListTable columns={['Node', 'Does', 'Version', 'Started', 'Alive until, unless renewed']}>
            {items.map((node) => (
              <tr key={node.node_id}>
                <td>
                  <code>{node.name}</code>
                </td>
                <td>{node.roles.join(', ')}</td>
                <td>{node.version}</td>
                <td>
                  <Time at={node.started_at} />
                </td>
                <td>
                  <Time at={node.lease_until} />
                </td>
              </tr>
            ))}
          </ListTable>
        )}
      </Loaded>
    </section>
  )
}

function Queue() {
  const query = useQuery({ queryKey: ['queue'], queryFn: () => api().queue(), refetchInterval: REFRESH_MS })
  return (
    <section>
      <h2>Queue</h2>
      <Loaded query={query}>
        {({ jobs, deliveries }) => (
          <>
            <p>
              Deliveries: <strong>{deliveries.due}</strong> to be sent now,{' '}
              <strong>{deliveries.waiting}</strong> wait for their next try.
            </p>
            {jobs.length === 0 ? (
              <Empty title="No job is unfinished">
                <p>A job appears here from its start until its end.</p>
              </Empty>
            ) : (
              <ListTable columns={['Workspace', 'State', 'Jobs', 'Oldest']}>
                {jobs.map(({ workspace_id, job_status, count, oldest_at }) => (
                  <tr key={`${workspace_id} ${job_status}`}>
                    <td>{workspace_id}</td>
                    <td>
                      <State status={job_status} /> <span className="small">{JOB_WORDS[job_status]}</span>
                    </td>
                    <td>{count}</td>
                    <td>
                      <Time at={oldest_at} />
                    </td>
                  </tr>
                ))}
              </ListTable>
            )}
          </>
        )}
      </Loaded>
    </section>
  )
}

export function NodesPage() {
  return (
    <>
      <Nodes />
      <Queue />
    </>
  )
}
