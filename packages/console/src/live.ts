/**
 * Follows a live job. The job is read once, then followed by server-sent events until it has ended. The events come
 * over fetch, because an EventSource cannot send the token.
 */

import type { JobStatus, JobView } from '@assay/model/job'
import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { api, queryClient } from './api.ts'

export function hasEnded(status: JobStatus): boolean {
  return status === 'completed' || status === 'canceled'
}

/** Returns the status for readers. A job that ended without an insight either was canceled by a person or failed. */
export function shownStatus({ job_status, error }: Pick<JobView, 'job_status' | 'error'>) {
  return error !== null && error.code !== 'canceled_by_user' ? 'failed' : job_status
}

/** Returns the job. `lost`: why the stream ended for good; the job then has its last known state. */
export function useLiveJob(assignment_id: string) {
  const [lost, setLost] = useState<unknown>(null)
  const [round, setRound] = useState(0)
  const query = useQuery({
    queryKey: ['job', assignment_id],
    queryFn: () => api().jobs.status(assignment_id),
  })
  const status = query.data?.job_status
  const moving = status !== undefined && status !== 'draft' && !hasEnded(status)
  useEffect(() => {
    if (!moving) return
    const stop = new AbortController()
    const follow = async (): Promise<void> => {
      for await (const job of api().jobs.watch(assignment_id, stop.signal))
        queryClient.keep(['job', assignment_id], job)
      await Promise.all(['jobs', 'insights'].map((key) => queryClient.invalidateQueries({ queryKey: [key] })))
    }
    follow().catch((error: unknown) => {
      if (!stop.signal.aborted) setLost(error)
    })
    return () => stop.abort()
  }, [assignment_id, moving, round])
  return {
    query,
    lost,
    retry: () => {
      setLost(null)
      setRound((count) => count + 1)
    },
  }
}
