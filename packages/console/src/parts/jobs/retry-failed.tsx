/** Runs the failed jobs of a list again, each as a new job with the same variables. */
import type { JobView } from '@assay/model/job'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Fault } from '../fault.tsx'
import { runAgain } from './run-again.ts'

/** The number of requests at once. */
const TOGETHER = 4

export function RetryFailed({ jobs }: { jobs: readonly JobView[] }) {
  const cache = useQueryClient()
  const [done, setDone] = useState<ReadonlySet<string>>(new Set())
  const left = jobs.filter(({ assignment_id }) => !done.has(assignment_id))
  const retry = useMutation({
    mutationFn: async () => {
      const waiting = [...left]
      const worker = async (): Promise<void> => {
        for (let job = waiting.shift(); job; job = waiting.shift()) {
          // The key is the same for the same failed job, so that pressing twice makes no second job.
          await runAgain(job, `again-${job.assignment_id}`)
        }
      }
      await Promise.all(Array.from({ length: TOGETHER }, worker))
      setDone(new Set([...done, ...left.map(({ assignment_id }) => assignment_id)]))
      return left.length
    },
    onSettled: () => cache.invalidateQueries({ queryKey: ['jobs'] }),
  })
  const words = left.length === 1 ? 'Run it again' : `Run these ${left.length} again`
  return (
    <div className="actions">
      {left.length > 0 && (
        <button type="button" className="button" disabled={retry.isPending} onClick={() => retry.mutate()}>
          {words}
        </button>
      )}
      {retry.data !== undefined && (
        <span role="status">
          {retry.data === 1 ? 'A new job was' : `${retry.data} new jobs were`} made and run.
        </span>
      )}
      {retry.error && <Fault error={retry.error} />}
    </div>
  )
}
