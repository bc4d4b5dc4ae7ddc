/** The actions of a schedule: run now, pause, resume, edit, delete. */

import type { ScheduleView } from '@assay/model/schedule'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { api } from '../../api.ts'
import { Confirm } from '../dialog.tsx'
import { Fault } from '../fault.tsx'

function useActs({ schedule_id, paused }: ScheduleView) {
  const cache = useQueryClient()
  const navigate = useNavigate()
  const refresh = async (): Promise<void> => {
    await cache.invalidateQueries({ queryKey: ['schedule', schedule_id] })
    await cache.invalidateQueries({ queryKey: ['schedules'] })
  }
  const run = useMutation({
    mutationFn: () => api().schedules.runNow(schedule_id),
    onSuccess: async (job) => {
      cache.setQueryData(['job', job.assignment_id], job)
      void refresh()
      await navigate({ to: '/jobs/$assignment_id', params: { assignment_id: job.assignment_id } })
    },
  })
  const toggle = useMutation({
    mutationFn: () => api().schedules.update(schedule_id, { paused: !paused }),
    onSuccess: refresh,
  })
  const remove = useMutation({
    mutationFn: () => api().schedules.delete(schedule_id),
    onSuccess: async () => {
      await navigate({ to: '/schedules' })
      cache.removeQueries({ queryKey: ['schedule', schedule_id] })
      await cache.invalidateQueries({ queryKey: ['schedules'] })
    },
  })
  return { run, toggle, remove }
}

export function ScheduleActions({ schedule }: { schedule: ScheduleView }) {
  const { run, toggle, remove } = useActs(schedule)
  const [asking, setAsking] = useState(false)
  const { schedule_id, name, paused } = schedule
  const failed = [run, toggle].find(({ isError }) => isError)
  return (
    <>
      <button type="button" className="button" disabled={run.isPending} onClick={() => run.mutate()}>
        Run now
      </button>
      <button type="button" className="button" disabled={toggle.isPending} onClick={() => toggle.mutate()}>
        {paused ? 'Resume' : 'Pause'}
      </button>
      <Link className="button" to="/schedules/$schedule_id/edit" params={{ schedule_id }}>
        Edit
      </Link>
      <button type="button" className="button quiet" onClick={() => setAsking(true)}>
        Delete
      </button>
      {failed && <Fault error={failed.error} />}
      <Confirm
        title={`Delete “${name}”?`}
        description="The schedule creates no more jobs. Its jobs and their insights stay."
        action="Delete the schedule"
        open={asking}
        request={remove}
        onClose={() => setAsking(false)}
        onConfirm={() => remove.mutate()}
      />
    </>
  )
}
