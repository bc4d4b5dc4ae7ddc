/** The jobs, newest first, by filters that stand in the address. */
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import type { JobView } from '../../../src/job.ts'
import { api } from '../api.ts'
import { JOB_STATUSES } from '../names.ts'
import { SelectField, TextField } from '../parts/field.tsx'
import { Empty, Page } from '../parts/page.tsx'
import { Paged, usePaged } from '../parts/paged.tsx'
import { ShortId, State, Time } from '../parts/show.tsx'
import { UserName } from '../parts/user-name.tsx'
import { between } from '../times.ts'

const REFRESH_MS = 5_000

function dayStart(day: string | undefined): string | undefined {
  return day === undefined ? undefined : new Date(`${day}T00:00:00`).toISOString()
}

function Filters() {
  const search = useSearch({ from: '/shell/jobs' })
  const navigate = useNavigate({ from: '/jobs' })
  const set = (name: keyof typeof search, value: string): void => {
    void navigate({ search: (old) => ({ ...old, [name]: value || undefined }), replace: true })
  }
  return (
    <div className="filters" role="search">
      <SelectField
        label="State"
        value={search.status ?? ''}
        onChange={({ target }) => set('status', target.value)}
        options={[
          { value: '', label: 'Any' },
          ...JOB_STATUSES.map((status) => ({ value: status, label: status })),
        ]}
      />
      <TextField
        label="Template"
        defaultValue={search.template ?? ''}
        key={search.template}
        placeholder="flight-delays"
        onBlur={({ target }) => set('template', target.value.trim())}
        onKeyDown={(event) => {
          if (event.key === 'Enter') set('template', event.currentTarget.value.trim())
        }}
      />
      <TextField
        label="Created from"
        type="date"
        value={search.after ?? ''}
        onChange={({ target }) => set('after', target.value)}
      />
      <TextField
        label="Created before"
        type="date"
        value={search.before ?? ''}
        onChange={({ target }) => set('before', target.value)}
      />
    </div>
  )
}

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

export function JobsPage() {
  const { status, template, after, before } = useSearch({ from: '/shell/jobs' })
  const filter = {
    job_status: status,
    template_id: template,
    created_after: dayStart(after),
    created_before: dayStart(before),
  }
  const query = usePaged(
    ['jobs', 'list', filter],
    (cursor) => api().jobs.list({ ...filter, cursor, limit: 50 }),
    REFRESH_MS,
  )
  return (
    <Page title="Jobs" wide lead={<p>Each run of a template, newest first.</p>}>
      <Filters />
      <Paged
        query={query}
        empty={
          <Empty title="No job here">
            <p>
              Take filters away, or <Link to="/templates">choose a template and run it</Link>.
            </p>
          </Empty>
        }
      >
        {(jobs) => (
          <table className="list">
            <caption className="small">The list refreshes by itself.</caption>
            <thead>
              <tr>
                <th scope="col">Job</th>
                <th scope="col">State</th>
                <th scope="col">Created</th>
                <th scope="col">Ran for</th>
                <th scope="col">By</th>
                <th scope="col">Then</th>
              </tr>
            </thead>
            <tbody>
              {jobs.map((job) => (
                <JobRow key={job.assignment_id} job={job} />
              ))}
            </tbody>
          </table>
        )}
      </Paged>
    </Page>
  )
}
