/** The actions of a job in its state: run, cancel, run again with the same or other variables, delete. */

import type { JobView } from '@assay/model/job'
import { useMutation } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { api, queryClient, useMay } from '../../api.ts'
import { hasEnded } from '../../live.ts'
import { AskFirst } from '../ask-first.tsx'
import { Fault } from '../fault.tsx'
import { runAgain } from './run-again.ts'

/** Refreshes the lists, and the batch, because one whose other jobs have ended does not refresh by itself. */
async function refreshLists(): Promise<void> {
  await Promise.all(['jobs', 'batch'].map((key) => queryClient.invalidateQueries({ queryKey: [key] })))
}

function useActs(job: JobView) {
  const { assignment_id } = job
  const navigate = useNavigate()
  const keep = (moved: JobView): void => {
    queryClient.keep(['job', moved.assignment_id], moved)
    void refreshLists()
  }
  const run = useMutation({ mutationFn: () => api().jobs.run(assignment_id), onSuccess: keep })
  const cancel = useMutation({ mutationFn: () => api().jobs.cancel(assignment_id), onSuccess: keep })
  const again = useMutation({
    mutationFn: () => runAgain(job),
    onSuccess: async (made) => {
      keep(made)
      await navigate({ to: '/jobs/$assignment_id', params: { assignment_id: made.assignment_id } })
    },
  })
  const leave = async (): Promise<void> => {
    await navigate({ to: '/jobs', search: {} })
    queryClient.removeQueries({ queryKey: ['job', assignment_id] })
    await refreshLists()
  }
  return { run, cancel, again, leave }
}

export function JobActions({ job }: { job: JobView }) {
  const { run, cancel, again, leave } = useActs(job)
  const analyst = useMay('analyst')
  const ended = hasEnded(job.job_status)
  const failed = [run, cancel, again].find(({ isError }) => isError)
  if (!analyst) return null
  return (
    <>
      {job.job_status === 'draft' && (
        <button
          type="button"
          className="button primary"
          disabled={run.isPending}
          onClick={() => run.mutate()}
        >
          Run
        </button>
      )}
      {!ended && (
        <button type="button" className="button" disabled={cancel.isPending} onClick={() => cancel.mutate()}>
          Cancel
        </button>
      )}
      {ended && (
        <>
          <button type="button" className="button" disabled={again.isPending} onClick={() => again.mutate()}>
            Run again
          </button>
          <Link
            className="button"
            to="/templates/$template_id"
            params={{ template_id: job.template_id }}
            search={{ job: job.assignment_id }}
          >
            Change and run
          </Link>
          <AskFirst
            look="quiet"
            label="Delete"
            title="Delete this job?"
            description="Its insight and its deliveries are deleted, too. Links to the insight then open nothing."
            action="Delete the job"
            act={() => api().jobs.delete(job.assignment_id)}
            onDone={leave}
          />
        </>
      )}
      {failed && <Fault error={failed.error} />}
    </>
  )
}
