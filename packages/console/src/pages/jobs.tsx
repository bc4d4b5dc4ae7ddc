/** The page of the jobs, newest first. The filters are in the address. */

import { ENDINGS } from '@assay/model/job'
import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { api, useMay } from '../api.ts'
import { JOB_STATUSES } from '../names.ts'
import { SelectField, TextField } from '../parts/field.tsx'
import { BatchProgress } from '../parts/jobs/batch-progress.tsx'
import { JobTable } from '../parts/jobs/job-table.tsx'
import { RetryFailed } from '../parts/jobs/retry-failed.tsx'
import { Paged, usePaged } from '../parts/lists/paged.tsx'
import { Empty, Page } from '../parts/page.tsx'
import { ScheduleName } from '../parts/schedules/schedule-name.tsx'

const REFRESH_MS = 5_000

/** The choices of the filter: the ways in which a job ended, and the other states. */
const STATES = [
  ...JOB_STATUSES.filter((status) => status !== 'canceled').map((status) => ({
    value: status,
    label: status,
  })),
  { value: 'either', label: 'failed or canceled' },
  { value: 'failed', label: 'failed' },
  { value: 'canceled', label: 'canceled by a person' },
  { value: 'skipped', label: 'skipped by its condition' },
]

function dayStart(day: string | undefined): string | undefined {
  return day === undefined ? undefined : new Date(`${day}T00:00:00`).toISOString()
}

function Filters() {
  const search = useSearch({ from: '/shell/jobs' })
  const navigate = useNavigate({ from: '/jobs' })
  const set = (name: keyof typeof search, value: string): void => {
    void navigate({ search: (old) => ({ ...old, [name]: value || undefined }), replace: true })
  }
  const setState = (value: string): void => {
    const ending = ENDINGS.find((one) => one === value)
    const status = value === 'either' ? 'canceled' : JOB_STATUSES.find((one) => one === value && !ending)
    void navigate({ search: (old) => ({ ...old, status, ending }), replace: true })
  }
  const templates = useQuery({ queryKey: ['templates'], queryFn: () => api().templates.list() }).data ?? []
  const known = templates.map(({ template_id, title }) => ({ value: template_id, label: title }))
  // A template may be deleted while its jobs stay.
  const gone =
    search.template === undefined || known.some(({ value }) => value === search.template)
      ? []
      : [{ value: search.template, label: search.template }]
  return (
    <div className="filters" role="search">
      <SelectField
        label="State"
        value={search.ending ?? (search.status === 'canceled' ? 'either' : (search.status ?? ''))}
        onChange={({ target }) => setState(target.value)}
        options={[{ value: '', label: 'Any' }, ...STATES]}
      />
      <SelectField
        label="Template"
        value={search.template ?? ''}
        onChange={({ target }) => set('template', target.value)}
        options={[{ value: '', label: 'Any' }, ...known, ...gone]}
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

/** Names the schedule or batch that the list is limited to, with a link to all jobs. */
function Origin() {
  const { schedule, batch } = useSearch({ from: '/shell/jobs' })
  if (schedule === undefined && batch === undefined) return null
  return (
    <div className="notice">
      {schedule !== undefined && (
        <p>
          Only jobs that the schedule <ScheduleName schedule_id={schedule} /> created.
        </p>
      )}
      {batch !== undefined && <BatchProgress batch_id={batch} />}
      <p>
        <Link from="/jobs" to="/jobs" search={(old) => ({ ...old, schedule: undefined, batch: undefined })}>
          Show all jobs
        </Link>
      </p>
    </div>
  )
}

export function JobsPage() {
  const { status, ending, template, schedule, batch, after, before } = useSearch({ from: '/shell/jobs' })
  const analyst = useMay('analyst')
  const filter = {
    // An old address may hold both filters.
    job_status: ending ? undefined : status,
    ending,
    template_id: template,
    schedule_id: schedule,
    batch_id: batch,
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
      <Origin />
      <Filters />
      <Paged
        query={query}
        empty={
          Object.values(filter).every((value) => value === undefined) ? (
            <Empty title="No job yet">
              <p>
                <Link to="/templates">Choose a template and run it</Link>.
              </p>
            </Empty>
          ) : (
            <Empty title="No job fits these filters">
              <p>
                <Link to="/jobs">Show all jobs</Link>, or{' '}
                <Link to="/templates">choose a template and run it</Link>.
              </p>
            </Empty>
          )
        }
      >
        {(jobs) => (
          <>
            {ending === 'failed' && analyst && <RetryFailed jobs={jobs} />}
            <JobTable jobs={jobs} caption="The list refreshes by itself." />
          </>
        )}
      </Paged>
    </Page>
  )
}
