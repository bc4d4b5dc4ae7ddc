/** The page of a job: its live states, its progress, its error with the remedy, and at the end its insight. */

import type { JobView } from '@assay/model/job'
import { Link, useParams } from '@tanstack/react-router'
import { Suspense } from 'react'
import { useIsLimited } from '../api.ts'
import { hasEnded, shownStatus, useLiveJob } from '../live.ts'
import { FAILURES, JOB_WORDS, REMEDIES } from '../names.ts'
import { Fault } from '../parts/fault.tsx'
import { Share } from '../parts/insight/share.tsx'
import { JobActions } from '../parts/jobs/job-actions.tsx'
import { Told, WhyNotTold } from '../parts/jobs/tell-fields.tsx'
import { useRunTitle } from '../parts/jobs/template-title.ts'
import { NamedValues } from '../parts/lists/fact-list.tsx'
import { Loaded, Page } from '../parts/page.tsx'
import { ForReader } from '../parts/readers/reader.tsx'
import { Mend } from '../parts/runs/mend.tsx'
import { Timeline } from '../parts/runs/timeline.tsx'
import { ScheduleName } from '../parts/schedules/schedule-name.tsx'
import { Copy, State, Time } from '../parts/show.tsx'
import { UserName } from '../parts/user-name.tsx'
import { between } from '../words/durations.ts'
import { below } from './address.ts'
import { lazyPart } from './load-part.ts'

const InsightReader = lazyPart(() => import('../parts/insight/insight.tsx'), 'InsightReader')

function Progress({ job }: { job: JobView }) {
  const { percent, step, steps, label } = job.progress
  const running = job.job_status === 'active' || job.job_status === 'executing'
  return (
    <div className="progress" role="status">
      <p>
        <State status={shownStatus(job)} /> {JOB_WORDS[job.job_status]}
        {running && label !== '' && (
          <>
            : step {step} of {steps}, <code>{label}</code>
          </>
        )}
        {job.attempt > 1 && ` (attempt ${job.attempt}: an earlier worker was lost)`}
      </p>
      {!hasEnded(job.job_status) && job.job_status !== 'draft' && (
        <progress max={100} value={percent} aria-label="Progress of the job">
          {percent} %
        </progress>
      )}
    </div>
  )
}

/** The name of the last step, by the state in which a job ended. */
const ENDS: Partial<Record<string, string>> = { canceled: 'Canceled', failed: 'Failed' }

function Steps({ job }: { job: JobView }) {
  const steps = [
    ['Created', job.created_at],
    ['Queued', job.queued_at],
    ['Started', job.started_at],
    [ENDS[shownStatus(job)] ?? 'Completed', job.finished_at],
  ] as const
  return (
    <ol className="steps">
      {steps.map(([name, at]) => (
        <li key={name} className={at === null ? 'open' : name === 'Failed' ? 'failed' : 'done'}>
          <span>{name}</span>
          <span className="small">{at === null ? '–' : <Time at={at} exact />}</span>
        </li>
      ))}
    </ol>
  )
}

/** Shows the schedule or batch that created the job. */
function Origin({ job: { schedule_id, scheduled_for, batch_id } }: { job: JobView }) {
  if (schedule_id !== null)
    return (
      <p>
        Created by the schedule <ScheduleName schedule_id={schedule_id} />
        {scheduled_for === null ? (
          ', run by hand.'
        ) : (
          <>
            , due <Time at={scheduled_for} exact />.
          </>
        )}
      </p>
    )
  if (batch_id === null) return null
  return (
    <p>
      Created in a batch:{' '}
      <Link to="/jobs" search={{ batch: batch_id }}>
        all jobs of the batch
      </Link>
      .
    </p>
  )
}

function WhyNot({ job }: { job: JobView }) {
  if (job.skipped !== null)
    return (
      <p className="notice">
        The job completed without a notification: the template’s <code>deliver_if</code> was not met.
      </p>
    )
  if (job.error === null) return null
  return (
    <div className={job.error.code === 'canceled_by_user' ? 'notice' : 'fault'} role="alert">
      <p>
        <strong>{FAILURES[job.error.code]}.</strong> {job.error.detail}
      </p>
      <p>
        {REMEDIES[job.error.code] ?? ''}{' '}
        <a href={below(`/docs/errors#${job.error.code}`)}>More about this error</a>
      </p>
      <Mend job={job} />
    </div>
  )
}

function Details({ job }: { job: JobView }) {
  const values = Object.entries(job.template_vars)
  const metadata = Object.entries(job.metadata)
  return (
    <details className="facts">
      <summary>Variables and settings</summary>
      <dl>
        <dt>Job</dt>
        <dd>
          <code>{job.assignment_id}</code> <Copy text={job.assignment_id} />
        </dd>
        <dt>Run by</dt>
        <dd>
          <UserName user_id={job.user_id} />
        </dd>
        <dt>Version of the template</dt>
        <dd>
          <Link
            to="/templates/$template_id/then/$assignment_id"
            params={{ template_id: job.template_id, assignment_id: job.assignment_id }}
            aria-label={`${job.template_id} as it was then`}
          >
            <code>{job.template_version}</code>
          </Link>
        </dd>
        <dt>Waited, ran</dt>
        <dd>
          {between(job.queued_at, job.started_at)}, {between(job.started_at, job.finished_at)}
        </dd>
        <dt>Told</dt>
        <dd>
          <Told notify={job.notify} assignment_id={job.assignment_id} />
        </dd>
        <dt>Receiver name</dt>
        <dd>{job.presence_name ?? 'none: all webhooks are notified'}</dd>
        <NamedValues values={[...values, ...metadata]} />
      </dl>
    </details>
  )
}

export function JobPage() {
  const { assignment_id } = useParams({ from: '/shell/jobs/$assignment_id' })
  const { query, lost, retry } = useLiveJob(assignment_id)
  const limited = useIsLimited()
  const template_id = query.data?.template_id
  const name = useRunTitle(query.data) ?? template_id
  return (
    <Page
      title={name === undefined ? 'Job' : `Job: ${name}`}
      trail={
        <>
          <Link to="/jobs">Jobs</Link>
          {template_id !== undefined && (
            <>
              {' / '}
              <Link to="/templates/$template_id" params={{ template_id }} search={{}}>
                {template_id}
              </Link>
            </>
          )}
        </>
      }
      lead={
        query.data && (
          <>
            {query.data.reader_id !== null && (
              <p>
                <ForReader reader_id={query.data.reader_id} />
              </p>
            )}
            <Origin job={query.data} />
          </>
        )
      }
      actions={query.data && <JobActions job={query.data} />}
    >
      <Loaded query={query}>
        {(job) => (
          <>
            <Progress job={job} />
            {lost !== null && <Fault error={lost} onRetry={retry} />}
            <WhyNot job={job} />
            <Steps job={job} />
            {!limited && hasEnded(job.job_status) && (
              <div className="actions">
                {job.insight_id !== null && <Share noun="insight" id={job.insight_id} />}
                <WhyNotTold assignment_id={job.assignment_id} />
              </div>
            )}
            <Timeline job={job} />
            <Details job={job} />
            {job.insight_id !== null && (
              <Suspense fallback={<p className="waiting">Loading the insight…</p>}>
                <InsightReader insight_id={job.insight_id} linked />
              </Suspense>
            )}
          </>
        )}
      </Loaded>
    </Page>
  )
}
