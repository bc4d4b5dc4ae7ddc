/** Shows a schedule in words: its rhythm and its last run. */

import { ClientError } from '@assay/client'
import type { ScheduleView } from '@assay/model/schedule'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { api, useMay } from '../../api.ts'
import { hasEnded, shownStatus } from '../../live.ts'
import { cronWords } from '../../words/cron.ts'
import { momentIn } from '../../words/zones.ts'
import { State, Time } from '../show.tsx'

const REFRESH_MS = 5_000

/** Shows the expression in words if they are short, the expression, and its time zone. */
export function Rhythm({ schedule: { cron, time_zone } }: { schedule: ScheduleView }) {
  const words = cronWords(cron)
  return (
    <>
      {words !== null && <div className="sentence">{words}</div>}
      <div className={words === null ? undefined : 'small'}>
        <code>{cron}</code> {time_zone}
      </div>
    </>
  )
}

/** Shows a due time in the schedule's time zone. */
export function DueTime({ at, time_zone }: { at: string; time_zone: string }) {
  return (
    <time dateTime={at} title={at}>
      {momentIn(time_zone, at)}
    </time>
  )
}

/** Tells whether the last due time failed and no job was created since. */
export function failedLast({ last_error, last_run }: ScheduleView): boolean {
  return last_error !== null && (last_run === null || last_run.created_at < last_error.at)
}

export function ScheduleState({ schedule }: { schedule: ScheduleView }) {
  if (schedule.paused) return <span className="state">Ⅱ paused</span>
  if (schedule.next_due_at === null) return <span className="state">■ ended</span>
  if (failedLast(schedule)) return <span className="state state-failed">▲ no run the last time</span>
  if (schedule.failing)
    return (
      <span className="state state-failed">
        ▲{' '}
        {schedule.failing.runs === 1
          ? 'the last run failed'
          : `the last ${schedule.failing.runs} runs failed`}
      </span>
    )
  return <span className="state state-completed">✓ goes on</span>
}

export function LastRun({ schedule: { last_run, readers } }: { schedule: ScheduleView }) {
  // Users who are no admins cannot see the jobs of readers.
  const isSeen = useMay('admin') || readers === null
  const assignment_id = last_run?.assignment_id
  const { data, error } = useQuery({
    queryKey: ['job', assignment_id],
    queryFn: () => api().jobs.status(assignment_id!),
    enabled: isSeen && assignment_id !== undefined,
    refetchInterval: ({ state: { data } }) => (data && !hasEnded(data.job_status) ? REFRESH_MS : false),
  })
  if (!last_run || assignment_id === undefined) return <>not run yet</>
  if (!isSeen) return <Time at={last_run.created_at} />
  if (error instanceof ClientError && error.status === 404)
    return (
      <>
        <Time at={last_run.created_at} /> (its job was deleted)
      </>
    )
  return (
    <Link to="/jobs/$assignment_id" params={{ assignment_id }}>
      {data && <State status={shownStatus(data)} />} <Time at={last_run.created_at} />
    </Link>
  )
}
