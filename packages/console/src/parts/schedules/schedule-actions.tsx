/** The actions of a schedule: run now, pause, resume, edit, delete. */

import type { ScheduleView } from '@assay/model/schedule'
import { useMutation } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { api, faultsOf, queryClient } from '../../api.ts'
import { AskFirst } from '../ask-first.tsx'
import { Dialog } from '../dialog.tsx'
import { Fault } from '../fault.tsx'
import { ReaderField } from '../readers/reader.tsx'

function useActs({ schedule_id, paused }: ScheduleView) {
  const navigate = useNavigate()
  const refresh = async (): Promise<void> => {
    await queryClient.invalidateQueries({ queryKey: ['schedule', schedule_id] })
    await queryClient.invalidateQueries({ queryKey: ['schedules'] })
  }
  const run = useMutation({
    mutationFn: (reader_id?: string) =>
      api().schedules.runNow(schedule_id, reader_id === undefined ? {} : { reader_id }),
    onSuccess: async (job) => {
      queryClient.keep(['job', job.assignment_id], job)
      void refresh()
      await navigate({ to: '/jobs/$assignment_id', params: { assignment_id: job.assignment_id } })
    },
  })
  const toggle = useMutation({
    mutationFn: () => api().schedules.update(schedule_id, { paused: !paused }),
    onSuccess: refresh,
  })
  const leave = async (): Promise<void> => {
    await navigate({ to: '/schedules' })
    queryClient.removeQueries({ queryKey: ['schedule', schedule_id] })
    await queryClient.invalidateQueries({ queryKey: ['schedules'] })
  }
  return { run, toggle, leave }
}

/** Runs a schedule over readers by hand, for one of them. */
function RunForReader({ run }: { run: ReturnType<typeof useActs>['run'] }) {
  const [asking, setAsking] = useState(false)
  const [reader_id, setReader] = useState('')
  const fault = faultsOf(run.error).reader_id
  return (
    <>
      <button type="button" className="button" onClick={() => setAsking(true)}>
        Run now
      </button>
      <Dialog title="Run it now for one reader" open={asking} onClose={() => setAsking(false)}>
        <form
          noValidate
          onSubmit={(event) => {
            event.preventDefault()
            run.mutate(reader_id.trim())
          }}
        >
          <ReaderField required value={reader_id} fault={fault} onChange={setReader} />
          {run.isError && fault === undefined && <Fault error={run.error} />}
          <div className="actions">
            <button type="submit" className="button primary" disabled={run.isPending}>
              Run
            </button>
            <button type="button" className="button quiet" onClick={() => setAsking(false)}>
              Cancel
            </button>
          </div>
        </form>
      </Dialog>
    </>
  )
}

export function ScheduleActions({ schedule }: { schedule: ScheduleView }) {
  const { run, toggle, leave } = useActs(schedule)
  const { schedule_id, name, paused } = schedule
  const failed = [...(schedule.readers === null ? [run] : []), toggle].find(({ isError }) => isError)
  return (
    <>
      {schedule.readers === null ? (
        <button
          type="button"
          className="button"
          disabled={run.isPending}
          onClick={() => run.mutate(undefined)}
        >
          Run now
        </button>
      ) : (
        <RunForReader run={run} />
      )}
      <button type="button" className="button" disabled={toggle.isPending} onClick={() => toggle.mutate()}>
        {paused ? 'Resume' : 'Pause'}
      </button>
      <Link className="button" to="/schedules/$schedule_id/edit" params={{ schedule_id }}>
        Edit
      </Link>
      <AskFirst
        look="quiet"
        label="Delete"
        title={`Delete “${name}”?`}
        description="The schedule creates no more jobs. Its jobs and their insights stay."
        action="Delete the schedule"
        act={() => api().schedules.delete(schedule_id)}
        onDone={leave}
      />
      {failed && <Fault error={failed.error} />}
    </>
  )
}
