/** Shows jobs as rows: template, state and next step of each. */

import type { JobView } from '@assay/model/job'
import { Link } from '@tanstack/react-router'
import { FAILURES } from '../../names.ts'
import { textOf } from '../../values.ts'
import { between } from '../../words/durations.ts'
import { ListTable } from '../lists/list-table.tsx'
import { ShortId, State, Time } from '../show.tsx'
import { UserName } from '../user-name.tsx'

/** The most characters of the variables in a name. */
const NAME_MOST = 60

/**
 * Returns the title of the job's insight, or the title that its template gives such a run. If there is neither,
 * returns the template with the values of the variables.
 */
function runName({ title, template_id, template_vars }: JobView): string {
  if (title !== undefined && title !== null) return title
  const values = Object.values(template_vars)
    .filter((value) => value !== null && value !== '')
    .map(textOf)
    .join(', ')
  if (values === '') return template_id
  return `${template_id}: ${values.length > NAME_MOST ? `${values.slice(0, NAME_MOST)}…` : values}`
}

function JobState({ job: { job_status, error, skipped } }: { job: JobView }) {
  if (error !== null && error.code !== 'canceled_by_user')
    return (
      <>
        <State status="failed" /> <span title={error.detail}>{FAILURES[error.code]}</span>
      </>
    )
  return (
    <>
      <State status={job_status} />
      {error !== null && ' by a person'}
      {skipped !== null && ', skipped by its condition'}
    </>
  )
}

function JobRow({ job }: { job: JobView }) {
  const { assignment_id, template_id, insight_id, error } = job
  return (
    <tr>
      <td>
        <Link to="/jobs/$assignment_id" params={{ assignment_id }}>
          {runName(job)}
        </Link>
        <div className="small">
          {template_id} <ShortId id={assignment_id} />
        </div>
      </td>
      <td>
        <JobState job={job} />
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
