/** Shows who read the insight, to admins and to its author. The service takes it from the audit trail. */
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api, useIsLimited, useMay, useMe } from '../../api.ts'
import type { Insight } from '../../insights.ts'
import { Fault } from '../fault.tsx'
import { ListTable } from '../lists/list-table.tsx'
import { Time } from '../show.tsx'
import { UserName } from '../user-name.tsx'

function Readings({ insight_id }: { insight_id: string }) {
  const query = useQuery({
    queryKey: ['readings', insight_id],
    queryFn: () => api().insights.readings(insight_id),
  })
  if (query.error) return <Fault error={query.error} onRetry={() => void query.refetch()} />
  if (!query.data) return <p className="waiting">Loading…</p>
  const { items } = query.data
  if (items.length === 0) return <p>Nobody has read it yet.</p>
  return (
    <ListTable columns={['Reader', 'Last read', 'Times']}>
      {items.map(({ user_id, username, last_at, count }) => (
        <tr key={user_id}>
          <td>
            {username === null ? <UserName user_id={user_id} /> : <span title={user_id}>{username}</span>}
          </td>
          <td>
            <Time at={last_at} />
          </td>
          <td>{count}</td>
        </tr>
      ))}
    </ListTable>
  )
}

export function ReadBy({ insight: { insight_id, assignment_id } }: { insight: Insight }) {
  const admin = useMay('admin')
  const limited = useIsLimited()
  const me = useMe().data
  const job = useQuery({
    queryKey: ['job', assignment_id],
    queryFn: () => api().jobs.status(assignment_id),
  }).data
  const [opened, setOpened] = useState(false)
  const own = job !== undefined && me !== undefined && job.user_id === me.user_id
  if (limited || !(admin || own)) return null
  return (
    <details className="read-by" onToggle={({ currentTarget }) => setOpened(opened || currentTarget.open)}>
      <summary>Who read it</summary>
      <p className="small">
        Users of this workspace, by the audit trail. Share tells how often each link was opened.
      </p>
      {opened && <Readings insight_id={insight_id} />}
    </details>
  )
}
