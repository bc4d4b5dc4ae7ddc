/** Jobs as rows: template, state and next step of each. */

import type { JobView } from '@assay/model/job'
import { Link } from '@tanstack/react-router'
import { between } from '../../words/durations.ts'
import { ListTable } from '../lists/list-table.tsx'
import { ShortId, State, Time } from '../show.tsx'
import { UserName } from '../user-name.tsx'

function JobRow({ job }: { job: JobView }) {
  const { assignment_id, template_id, insight_id, error } = job
  return (
    <tr>
      <td>
        <Link to="/jobs/$assignment_id" params={{ assignment_id }}>
          {template_id} <ShortId id={assignment_id} />
        </Link>
      </td>
      <td>
        <State status={job.job_status} />
        {error !== null && (
          <>
            {' '}
            <code title={error.detail}>{error.code}</code>
          </>
        )}
      </td>
      <td>
        <Time at={job.created_at} />
      </td>
      <td>{between(job.started_at, job.finished_at)}</td>
      <td>
        <UserName user_id={job.user_id} />
      </td>
      <td>
        {insight_id !== null ? (
          <Link to="/insights/$insight_id" params={{ insight_id }} search={{}}>
            Insight
          </Link>
        ) : (
          error !== null && (
            <Link to="/templates/$template_id" params={{ template_id }} search={{ job: assignment_id }}>
              Change and run
            </Link>
          )
        )}
      </td>
    </tr>
  )
}

export function JobTable({ jobs, caption }: { jobs: JobView[]; caption: string }) {
  return (
    <ListTable columns={['Job', 'State', 'Created', 'Ran for', 'By', 'Then']} caption={caption}>
      {jobs.map((job) => (
        <JobRow key={job.assignment_id} job={job} />
      ))}
    </ListTable>
  )
}
