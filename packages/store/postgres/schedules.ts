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
import type { Session, Transaction } from './connection.ts'
import { writeEvent } from './events.ts'
import { createJob, queueJob } from './jobs.ts'
import { newestFirst } from './page.ts'

type ScheduleRow = Schedule & { claim_at: string | null }

function toSchedule(row: ScheduleRow): Schedule {
  const { claim_at: _, ...schedule } = row
  return schedule
}

interface ScheduleKey {
  workspace_id: string
  schedule_id: string
}

async function findSchedule(
  from: Session,
  key: ScheduleKey,
  lock: '' | 'FOR UPDATE' = '',
): Promise<Schedule | null> {
  const row = await from.one<ScheduleRow>(
    `SELECT * FROM schedules WHERE schedule_id = $1 AND workspace_id = $2 ${lock}`,
    key.schedule_id,
    key.workspace_id,
  )
  return row ? toSchedule(row) : null
}

export function getSchedule(from: Session, key: ScheduleKey): Promise<Schedule | null> {
  return findSchedule(from, key)
}

const COLUMNS = [
  'schedule_id',
  'workspace_id',
  'user_id',
  'name',
  'template_id',
  'variables',
  'cron',
  'time_zone',
  'starts_at',
  'ends_at',
  'missed',
  'missed_limit',
  'overlap',
  'paused',
  'presence_name',
  'priority',
  'metadata',
  'counts',
  'last_run',
  'last_error',
  'next_due_at',
  'revision',
  'created_at',
  'updated_at',
] as const
const JSON_COLUMNS: readonly string[] = ['variables', 'metadata', 'counts', 'last_run', 'last_error']
const KEPT: readonly string[] = ['schedule_id', 'workspace_id', 'user_id', 'created_at']
const SAVE = `
  INSERT INTO schedules (${COLUMNS.join(', ')}, claim_at)
  VALUES (${COLUMNS.map((_, index) => `$${index + 1}`).join(', ')}, $${COLUMNS.indexOf('next_due_at') + 1})
  ON CONFLICT (schedule_id) DO UPDATE SET claim_at = excluded.claim_at, ${COLUMNS.filter(
    (name) => !KEPT.includes(name),
  )
    .map((name) => `${name} = excluded.${name}`)
    .join(', ')}`

/** It may be claimed once it is due. */
async function save(tx: Transaction, schedule: Schedule): Promise<void> {
  const values = COLUMNS.map((name) => {
    const value = schedule[name]
    return JSON_COLUMNS.includes(name) && value !== null ? JSON.stringify(value) : value
  })
  await tx.run(SAVE, ...values)
}

export async function createSchedule(tx: Transaction, input: NewSchedule): Promise<Schedule> {
  const known = await findSchedule(tx, input)
  if (known) return known
  const taken = await tx.one('SELECT 1 FROM schedules WHERE schedule_id = $1', input.schedule_id)
  if (taken) throw new AppError('name_taken', `There is already a schedule ${input.schedule_id}.`)
  const at = tx.now
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
  await save(tx, schedule)
  return schedule
}

export function listSchedules(from: Session, query: Input<'listSchedules'>): Promise<Page<Schedule>> {
  return newestFirst<ScheduleRow, Schedule>(
    from,
    { name: 'schedules', table: 'schedules', id: 'schedule_id', indexed: [['workspace_id = ?']] },
    query,
    {
      'workspace_id = ?': query.workspace_id,
      'template_id = ?': query.template_id,
      'user_id = ?': query.user_id,
      'paused = ?': query.paused === undefined ? undefined : String(query.paused),
    },
    toSchedule,
  )
}

export async function updateSchedule(
  tx: Transaction,
  input: Input<'updateSchedule'>,
): Promise<Schedule | null> {
  const present = await findSchedule(tx, input, 'FOR UPDATE')
  if (!present) return null
  const now = tx.now
  const revision = present.revision + 1
  const changed: Schedule = { ...present, ...input.patch, revision, updated_at: now }
  if (changesTiming(present, changed)) changed.next_due_at = nextDue(changed, now)
  await save(tx, changed)
  return changed
}

export async function deleteSchedule(tx: Transaction, key: ScheduleKey): Promise<boolean> {
  const { schedule_id, workspace_id } = key
  const deleted = await tx.run(
    'DELETE FROM schedules WHERE schedule_id = $1 AND workspace_id = $2',
    schedule_id,
    workspace_id,
  )
  return deleted > 0
}

/** What another node claims in this moment is passed over. */
export async function claimSchedules(tx: Transaction, input: { limit: number }): Promise<ClaimedSchedule[]> {
  const rows = await tx.all<ScheduleRow>(
    `SELECT * FROM schedules WHERE claim_at <= $1 ORDER BY claim_at, schedule_id LIMIT $2 FOR UPDATE SKIP LOCKED`,
    tx.now,
    input.limit,
  )
  if (rows.length > 0)
    await tx.run(
      'UPDATE schedules SET claim_at = $1 WHERE schedule_id = ANY ($2)',
      iso(Date.parse(tx.now) + CLAIM_MS),
      rows.map(({ schedule_id }) => schedule_id),
    )
  return rows.map((row) => {
    const schedule = toSchedule(row)
    return { schedule, plan: planRuns({ ...schedule, next_due_at: row.next_due_at! }, tx.now) }
  })
}

async function hasUnfinished(tx: Transaction, schedule_id: string): Promise<boolean> {
  return Boolean(
    await tx.one(
      'SELECT 1 FROM jobs WHERE schedule_id = $1 AND schedule_id IS NOT NULL AND finished_at IS NULL LIMIT 1',
      schedule_id,
    ),
  )
}

interface Made {
  template: TemplateSource
  variables: Record<string, unknown>
}

async function makeJob(
  tx: Transaction,
  schedule: Schedule,
  { template, variables }: Made,
  job: { assignment_id: string; scheduled_for: string | null },
): Promise<Job> {
  const { workspace_id, user_id, presence_name, priority, metadata, schedule_id } = schedule
  const made = await createJob(tx, {
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
  return made.job_status === 'draft' ? queueJob(tx, made) : made
}

async function fail(tx: Transaction, schedule: Schedule): Promise<void> {
  const { workspace_id, presence_name, last_error } = schedule
  const data = scheduleFailedData(schedule, last_error!)
  const job = { assignment_id: null, presence_name, skipped: null }
  await writeEvent(tx, { workspace_id, type: 'schedule.failed', at: tx.now, data, job })
}

export async function settleSchedule(tx: Transaction, input: Input<'settleSchedule'>): Promise<boolean> {
  const row = await tx.one<ScheduleRow>(
    'SELECT * FROM schedules WHERE schedule_id = $1 AND revision = $2 FOR UPDATE',
    input.schedule_id,
    input.revision,
  )
  if (!row) return false
  const schedule = toSchedule(row)
  const { plan, outcome } = input
  const created_at = tx.now
  const made: ScheduleRun[] = []
  let overlapped = 0
  const material = outcome !== null && !('error' in outcome) ? outcome : null
  for (const scheduled_for of material ? plan.times : []) {
    if (schedule.overlap === 'skip' && (await hasUnfinished(tx, schedule.schedule_id))) overlapped += 1
    else {
      const assignment_id = uuidFor(Date.parse(scheduled_for), `${schedule.schedule_id} ${scheduled_for}`)
      await makeJob(tx, schedule, material!, { assignment_id, scheduled_for })
      made.push({ assignment_id, scheduled_for, created_at })
    }
  }
  const fault = outcome !== null && 'error' in outcome ? outcome.error : null
  const after = afterRuns(schedule, { plan, made, overlapped, fault }, created_at)
  await save(tx, { ...after, revision: schedule.revision + 1 })
  if (fault && plan.times.length > 0) await fail(tx, after)
  return true
}

export async function runSchedule(tx: Transaction, input: Input<'runSchedule'>): Promise<Job | null> {
  const schedule = await findSchedule(tx, input, 'FOR UPDATE')
  if (!schedule) return null
  const { assignment_id } = input
  const job = await makeJob(tx, schedule, input, { assignment_id, scheduled_for: null })
  const last_run = { assignment_id, scheduled_for: null, created_at: job.created_at }
  await tx.run(
    'UPDATE schedules SET last_run = $1 WHERE schedule_id = $2',
    JSON.stringify(last_run),
    schedule.schedule_id,
  )
  return job
}
