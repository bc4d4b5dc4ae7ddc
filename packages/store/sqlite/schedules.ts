/** Schedules. A claim works out what is due, a settle makes the jobs and moves to the next due time in one transaction. */

import { iso } from '@assay/model/clock'
import { AppError } from '@assay/model/errors'
import { uuidFor } from '@assay/model/ids'
import type { Job } from '@assay/model/job'
import {
  afterRuns,
  changesTiming,
  NO_COUNTS,
  nextDue,
  planRuns,
  type Schedule,
  type ScheduleRun,
  scheduleFailedData,
} from '@assay/model/schedule'
import type { TemplateSource } from '@assay/model/template'
import { CLAIM_MS, type ClaimedSchedule, type NewSchedule } from '../contract/schedules.ts'
import type { Input, Page } from '../store.ts'
import type { Connection } from './connection.ts'
import { writeEvent } from './events.ts'
import { createJob, queueJob } from './jobs.ts'
import { newestFirst } from './page.ts'

type Json = 'variables' | 'metadata' | 'counts' | 'last_run' | 'last_error'

interface ScheduleRow extends Omit<Schedule, Json | 'paused'> {
  variables: string
  metadata: string
  counts: string
  last_run: string | null
  last_error: string | null
  paused: number
  claim_at: string | null
}

function toSchedule(from: ScheduleRow): Schedule {
  const { claim_at: _, ...row } = from
  return {
    ...row,
    paused: row.paused === 1,
    variables: JSON.parse(row.variables) as Schedule['variables'],
    metadata: JSON.parse(row.metadata) as Schedule['metadata'],
    counts: JSON.parse(row.counts) as Schedule['counts'],
    last_run: row.last_run === null ? null : (JSON.parse(row.last_run) as Schedule['last_run']),
    last_error: row.last_error === null ? null : (JSON.parse(row.last_error) as Schedule['last_error']),
  }
}

interface ScheduleKey {
  workspace_id: string
  schedule_id: string
}

export function getSchedule(connection: Connection, key: ScheduleKey): Schedule | null {
  const row = connection.one<ScheduleRow>(
    'SELECT * FROM schedules WHERE schedule_id = ? AND workspace_id = ?',
    key.schedule_id,
    key.workspace_id,
  )
  return row ? toSchedule(row) : null
}

/** It may be claimed once it is due. */
function save(connection: Connection, schedule: Schedule): void {
  connection.run(
    `INSERT INTO schedules (schedule_id, workspace_id, user_id, name, template_id, variables, cron, time_zone,
       starts_at, ends_at, missed, missed_limit, overlap, paused, presence_name, priority, metadata, counts, last_run,
       last_error, next_due_at, claim_at, revision, created_at, updated_at)
     VALUES (:schedule_id, :workspace_id, :user_id, :name, :template_id, :variables, :cron, :time_zone, :starts_at,
       :ends_at, :missed, :missed_limit, :overlap, :paused, :presence_name, :priority, :metadata, :counts, :last_run,
       :last_error, :next_due_at, :next_due_at, :revision, :created_at, :updated_at)
     ON CONFLICT DO UPDATE SET name = excluded.name, template_id = excluded.template_id,
       variables = excluded.variables, cron = excluded.cron, time_zone = excluded.time_zone,
       starts_at = excluded.starts_at, ends_at = excluded.ends_at, missed = excluded.missed,
       missed_limit = excluded.missed_limit, overlap = excluded.overlap, paused = excluded.paused,
       presence_name = excluded.presence_name, priority = excluded.priority, metadata = excluded.metadata,
       counts = excluded.counts, last_run = excluded.last_run, last_error = excluded.last_error,
       next_due_at = excluded.next_due_at, claim_at = excluded.claim_at, revision = excluded.revision,
       updated_at = excluded.updated_at`,
    {
      ...schedule,
      paused: Number(schedule.paused),
      variables: JSON.stringify(schedule.variables),
      metadata: JSON.stringify(schedule.metadata),
      counts: JSON.stringify(schedule.counts),
      last_run: schedule.last_run && JSON.stringify(schedule.last_run),
      last_error: schedule.last_error && JSON.stringify(schedule.last_error),
    },
  )
}

export function createSchedule(connection: Connection, input: NewSchedule): Schedule {
  const known = getSchedule(connection, input)
  if (known) return known
  const taken = connection.one('SELECT 1 FROM schedules WHERE schedule_id = ?', input.schedule_id)
  if (taken) throw new AppError('name_taken', `There is already a schedule ${input.schedule_id}.`)
  const at = connection.now()
  const schedule: Schedule = {
    ...input,
    counts: NO_COUNTS,
    last_run: null,
    last_error: null,
    next_due_at: nextDue(input, at),
    revision: 1,
    created_at: at,
    updated_at: at,
  }
  save(connection, schedule)
  return schedule
}

export function listSchedules(connection: Connection, query: Input<'listSchedules'>): Page<Schedule> {
  return newestFirst<ScheduleRow, Schedule>(
    connection,
    { name: 'schedules', table: 'schedules', id: 'schedule_id', indexed: [['workspace_id = ?']] },
    query,
    {
      'workspace_id = ?': query.workspace_id,
      'template_id = ?': query.template_id,
      'user_id = ?': query.user_id,
      'paused = ?': query.paused === undefined ? undefined : Number(query.paused),
    },
    toSchedule,
  )
}

export function updateSchedule(connection: Connection, input: Input<'updateSchedule'>): Schedule | null {
  const present = getSchedule(connection, input)
  if (!present) return null
  const now = connection.now()
  const revision = present.revision + 1
  const changed: Schedule = { ...present, ...input.patch, revision, updated_at: now }
  if (changesTiming(present, changed)) changed.next_due_at = nextDue(changed, now)
  save(connection, changed)
  return changed
}

export function deleteSchedule(connection: Connection, key: ScheduleKey): boolean {
  const { schedule_id, workspace_id } = key
  const deleted = connection.run(
    'DELETE FROM schedules WHERE schedule_id = ? AND workspace_id = ?',
    schedule_id,
    workspace_id,
  )
  return deleted > 0
}

export function claimSchedules(connection: Connection, input: { limit: number }): ClaimedSchedule[] {
  const now = connection.now()
  const rows = connection.all<ScheduleRow>(
    'SELECT * FROM schedules WHERE claim_at <= ? ORDER BY claim_at, schedule_id LIMIT ?',
    now,
    input.limit,
  )
  return rows.map((row) => {
    connection.run(
      'UPDATE schedules SET claim_at = ? WHERE schedule_id = ?',
      iso(Date.parse(now) + CLAIM_MS),
      row.schedule_id,
    )
    const schedule = toSchedule(row)
    return { schedule, plan: planRuns({ ...schedule, next_due_at: row.next_due_at! }, now) }
  })
}

function hasUnfinished(connection: Connection, schedule_id: string): boolean {
  return Boolean(
    connection.one(
      'SELECT 1 FROM jobs WHERE schedule_id = ? AND schedule_id IS NOT NULL AND finished_at IS NULL LIMIT 1',
      schedule_id,
    ),
  )
}

interface Made {
  template: TemplateSource
  variables: Record<string, unknown>
}

function makeJob(
  connection: Connection,
  schedule: Schedule,
  { template, variables }: Made,
  job: { assignment_id: string; scheduled_for: string | null },
): Job {
  const { workspace_id, user_id, presence_name, priority, metadata, schedule_id } = schedule
  const made = createJob(connection, {
    ...job,
    workspace_id,
    user_id,
    template,
    variables,
    presence_name,
    priority,
    metadata,
    schedule_id,
  })
  return made.job_status === 'draft' ? queueJob(connection, made) : made
}

function fail(connection: Connection, schedule: Schedule): void {
  const { workspace_id, presence_name, last_error } = schedule
  const data = scheduleFailedData(schedule, last_error!)
  const job = { assignment_id: null, presence_name, skipped: null }
  writeEvent(connection, { workspace_id, type: 'schedule.failed', at: connection.now(), data, job })
}

export function settleSchedule(connection: Connection, input: Input<'settleSchedule'>): boolean {
  const row = connection.one<ScheduleRow>(
    'SELECT * FROM schedules WHERE schedule_id = ? AND revision = ?',
    input.schedule_id,
    input.revision,
  )
  if (!row) return false
  const schedule = toSchedule(row)
  const { plan, outcome } = input
  const created_at = connection.now()
  const made: ScheduleRun[] = []
  let overlapped = 0
  const material = outcome !== null && !('error' in outcome) ? outcome : null
  for (const scheduled_for of material ? plan.times : []) {
    if (schedule.overlap === 'skip' && hasUnfinished(connection, schedule.schedule_id)) overlapped += 1
    else {
      const assignment_id = uuidFor(Date.parse(scheduled_for), `${schedule.schedule_id} ${scheduled_for}`)
      makeJob(connection, schedule, material!, { assignment_id, scheduled_for })
      made.push({ assignment_id, scheduled_for, created_at })
    }
  }
  const fault = outcome !== null && 'error' in outcome ? outcome.error : null
  const after = afterRuns(schedule, { plan, made, overlapped, fault }, created_at)
  save(connection, { ...after, revision: schedule.revision + 1 })
  if (fault && plan.times.length > 0) fail(connection, after)
  return true
}

export function runSchedule(connection: Connection, input: Input<'runSchedule'>): Job | null {
  const schedule = getSchedule(connection, input)
  if (!schedule) return null
  const { assignment_id } = input
  const job = makeJob(connection, schedule, input, { assignment_id, scheduled_for: null })
  const last_run = { assignment_id, scheduled_for: null, created_at: job.created_at }
  connection.run(
    'UPDATE schedules SET last_run = ? WHERE schedule_id = ?',
    JSON.stringify(last_run),
    schedule.schedule_id,
  )
  return job
}
