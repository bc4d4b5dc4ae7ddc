/** One schedule: its next due times, the counts of earlier ones, its jobs and its settings. */

import type { ScheduleView } from '@assay/model/schedule'
import { Link, useParams } from '@tanstack/react-router'
import { api, useMay } from '../../api.ts'
import { JobTable } from '../../parts/jobs/job-table.tsx'
import { NamedValues } from '../../parts/lists/fact-list.tsx'
import { Paged, usePaged } from '../../parts/lists/paged.tsx'
import { Empty, Loaded, Page } from '../../parts/page.tsx'
import { ScheduleActions } from '../../parts/schedules/schedule-actions.tsx'
import { useSchedule } from '../../parts/schedules/schedule-name.tsx'
import { DueTime, failedLast, Rhythm, ScheduleState } from '../../parts/schedules/schedule-show.tsx'
import { Copy, Time } from '../../parts/show.tsx'
import { UserName } from '../../parts/user-name.tsx'

const REFRESH_MS = 5_000
const SHOWN_JOBS = 10

const MISSED_WORDS = {
  skip: () => 'are left out',
  once: () => 'are made up for by one run, for the latest',
  all: (limit: number) => `are made up for by a run each, the latest ${limit}`,
} as const
const OVERLAP_WORDS = {
  queue: 'the next one is queued all the same',
  skip: 'the due time is passed over',
} as const

function Trouble({ schedule }: { schedule: ScheduleView }) {
  const { last_error, time_zone, paused } = schedule
  if (last_error === null || !failedLast(schedule)) return null
  const known = last_error.code !== 'missed'
  return (
    <div className={known ? 'fault' : 'notice'} role="status">
      <p>
        <strong>
          <code>{last_error.code}</code>
        </strong>{' '}
        at <DueTime at={last_error.scheduled_for} time_zone={time_zone} />: {last_error.detail}
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
          ? 'Edit the schedule or its template until they fit each other again, then run it now.'
          : 'Run it now if what was missed is still wanted, or let the schedule make up for it: edit what it does about missed runs.'}{' '}
        {known && <a href={`/docs/errors#${last_error.code}`}>More about this error</a>}
        {!paused && ' It goes on at its next due time.'}
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
            ? 'It is paused: nothing is due until it is resumed, and nothing of the pause is made up for.'
            : 'It has ended: no due time lies ahead.'}
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
    ['passed over: one still ran', counts.overlapped],
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
      <h2>Jobs that it made</h2>
      <Paged
        query={query}
        empty={
          <Empty title="None yet">
            <p>The first comes at the next due time, or when the schedule is run by hand.</p>
          </Empty>
        }
      >
        {(jobs) => (
          <>
            <JobTable jobs={jobs} caption={`The latest, ${SHOWN_JOBS} at most.`} />
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
          <Link to="/templates/$template_id" params={{ template_id }} search={{}}>
            {template_id}
          </Link>
        </dd>
        <NamedValues values={[...values, ...metadata]} />
        <dt>From, until</dt>
        <dd>
          {starts_at === null ? 'its making' : <Time at={starts_at} exact />},{' '}
          {ends_at === null ? 'for ever' : <Time at={ends_at} exact />}
        </dd>
        <dt>Missed due times</dt>
        <dd>{MISSED_WORDS[missed](missed_limit)}</dd>
        <dt>While one still runs</dt>
        <dd>{OVERLAP_WORDS[overlap]}</dd>
        <dt>Presence name</dt>
        <dd>{schedule.presence_name ?? 'none: all webhooks are told'}</dd>
        <dt>Priority</dt>
        <dd>{schedule.priority}</dd>
        <dt>Made by</dt>
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
