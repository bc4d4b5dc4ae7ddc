/** The page of one schedule: its next due times, the counts of earlier ones, its jobs and its settings. */

import type { ScheduleView } from '@assay/model/schedule'
import { Link, useParams } from '@tanstack/react-router'
import { api, useMay } from '../../api.ts'
import { unmadeWords } from '../../names.ts'
import { JobTable } from '../../parts/jobs/job-table.tsx'
import { Told } from '../../parts/jobs/tell-fields.tsx'
import { useTemplateTitle } from '../../parts/jobs/template-title.ts'
import { NamedValues } from '../../parts/lists/fact-list.tsx'
import { Paged, usePaged } from '../../parts/lists/paged.tsx'
import { Empty, Loaded, Page } from '../../parts/page.tsx'
import { ReadersOf } from '../../parts/readers/schedule-readers.tsx'
import { ScheduleActions } from '../../parts/schedules/schedule-actions.tsx'
import { useSchedule } from '../../parts/schedules/schedule-name.tsx'
import { DueTime, failedLast, Rhythm, ScheduleState } from '../../parts/schedules/schedule-show.tsx'
import { Copy, Time } from '../../parts/show.tsx'
import { UserName } from '../../parts/user-name.tsx'
import { below } from '../address.ts'

const REFRESH_MS = 5_000
const SHOWN_JOBS = 10

const MISSED_WORDS = {
  skip: () => 'not run',
  once: () => 'one run, for the latest',
  all: (limit: number) => `one run each, for the latest ${limit}`,
} as const
const OVERLAP_WORDS = {
  queue: 'queue another job',
  skip: 'skip the due time',
} as const

function Trouble({ schedule }: { schedule: ScheduleView }) {
  const { last_error, time_zone, paused } = schedule
  if (last_error === null || !failedLast(schedule)) return null
  const known = last_error.code !== 'missed'
  return (
    <div className={known ? 'fault' : 'notice'} role="status">
      <p>
        <strong>{unmadeWords(last_error.code)}</strong> at{' '}
        <DueTime at={last_error.scheduled_for} time_zone={time_zone} />: {last_error.detail}
      </p>
      {last_error.errors.length > 0 && (
        <ul>
          {last_error.errors.map(({ path, message }) => (
            <li key={`${path}${message}`}>
              <code>{path}</code>: {message}
            </li>
          ))}
        </ul>
      )}
      <p>
        {known
          ? 'Change the variables of the schedule or its template so that they fit, then run the schedule now.'
          : 'Run the schedule now if the missed run is still needed. To run missed due times in future, edit the schedule and change “Missed due times”.'}{' '}
        {known && <a href={below(`/docs/errors#${last_error.code}`)}>More about this error</a>}
        {!paused && ' The schedule continues at its next due time.'}
      </p>
    </div>
  )
}

function Next({ schedule: { next_runs, paused, time_zone } }: { schedule: ScheduleView }) {
  return (
    <section>
      <h2>Next</h2>
      {next_runs.length === 0 ? (
        <p>
          {paused
            ? 'The schedule is paused. It has no due time until it is resumed, and due times of the pause are not run later.'
            : 'The schedule has ended: it has no more due times.'}
        </p>
      ) : (
        <ol className="due">
          {next_runs.map((at) => (
            <li key={at}>
              <DueTime at={at} time_zone={time_zone} />{' '}
              <span className="small">
                <Time at={at} />
              </span>
            </li>
          ))}
        </ol>
      )}
    </section>
  )
}

function Counts({ schedule: { counts } }: { schedule: ScheduleView }) {
  const rows: [string, number][] = [
    ['made into jobs', counts.made],
    ['failed', counts.failed],
    ['missed', counts.missed],
    ['skipped: the earlier job had not ended', counts.overlapped],
  ]
  return (
    <section>
      <h2>Due times so far</h2>
      <dl className="numbers-row">
        {rows.map(([name, count]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{count.toLocaleString('en')}</dd>
          </div>
        ))}
      </dl>
    </section>
  )
}

function Jobs({ schedule_id }: { schedule_id: string }) {
  const query = usePaged(
    ['jobs', 'list', { schedule_id, limit: SHOWN_JOBS }],
    async () => ({ ...(await api().jobs.list({ schedule_id, limit: SHOWN_JOBS })), next_cursor: null }),
    REFRESH_MS,
  )
  return (
    <section>
      <h2>Its jobs</h2>
      <Paged
        query={query}
        empty={
          <Empty title="None yet">
            <p>The first job is created at the next due time, or when you run the schedule by hand.</p>
          </Empty>
        }
      >
        {(jobs) => (
          <>
            <JobTable jobs={jobs} caption={`The latest ${SHOWN_JOBS} jobs at most.`} />
            <p className="more">
              <Link to="/jobs" search={{ schedule: schedule_id }}>
                All jobs of this schedule
              </Link>
            </p>
          </>
        )}
      </Paged>
    </section>
  )
}

function TemplateLink({ template_id }: { template_id: string }) {
  return (
    <Link to="/templates/$template_id" params={{ template_id }} search={{}}>
      {useTemplateTitle(template_id)}
    </Link>
  )
}

function Settings({ schedule }: { schedule: ScheduleView }) {
  const { schedule_id, template_id, starts_at, ends_at, missed, missed_limit, overlap } = schedule
  const values = Object.entries(schedule.template_vars)
  const metadata = Object.entries(schedule.metadata)
  return (
    <section>
      <h2>Settings</h2>
      <dl>
        <dt>Schedule</dt>
        <dd>
          <code>{schedule_id}</code> <Copy text={schedule_id} />
        </dd>
        <dt>Template</dt>
        <dd>
          <TemplateLink template_id={template_id} />
        </dd>
        <NamedValues values={[...values, ...metadata]} />
        <ReadersOf schedule={schedule} />
        <dt>From, until</dt>
        <dd>
          {starts_at === null ? 'its creation' : <Time at={starts_at} exact />},{' '}
          {ends_at === null ? 'for ever' : <Time at={ends_at} exact />}
        </dd>
        <dt>Missed due times</dt>
        <dd>{MISSED_WORDS[missed](missed_limit)}</dd>
        <dt>While an earlier job has not ended</dt>
        <dd>{OVERLAP_WORDS[overlap]}</dd>
        <dt>Told of each run</dt>
        <dd>
          <Told notify={schedule.notify} />
        </dd>
        <dt>Receiver name</dt>
        <dd>{schedule.presence_name ?? 'none: all webhooks are notified'}</dd>
        <dt>Priority</dt>
        <dd>{schedule.priority}</dd>
        <dt>Created by</dt>
        <dd>
          <UserName user_id={schedule.user_id} />, <Time at={schedule.created_at} />
        </dd>
      </dl>
    </section>
  )
}

export function SchedulePage() {
  const { schedule_id } = useParams({ from: '/shell/schedules/$schedule_id' })
  const analyst = useMay('analyst')
  const query = useSchedule(schedule_id)
  return (
    <Page
      title={query.data?.name ?? 'Schedule'}
      trail={<Link to="/schedules">Schedules</Link>}
      lead={query.data && <Rhythm schedule={query.data} />}
      actions={analyst && query.data && <ScheduleActions schedule={query.data} />}
    >
      <Loaded query={query}>
        {(schedule) => (
          <>
            <p>
              <ScheduleState schedule={schedule} />
            </p>
            <Trouble schedule={schedule} />
            <Next schedule={schedule} />
            <Counts schedule={schedule} />
            <Jobs schedule_id={schedule_id} />
            <Settings schedule={schedule} />
          </>
        )}
      </Loaded>
    </Page>
  )
}
