/** Runs the failed jobs of a list again, each as a new job with the same variables. */
import type { JobView } from '@assay/model/job'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { api } from '../../api.ts'
import { Fault } from '../fault.tsx'

/** Requests at once. */
const TOGETHER = 4

async function again({ assignment_id, template_id, template_vars, presence_name, metadata }: JobView) {
  const presence = presence_name === null ? {} : { presence_name }
  // The same key for the same failed job: pressing twice makes no second one.
  const options = { idempotencyKey: `again-${assignment_id}` }
  const id = await api().jobs.create({ template_id, template_vars, metadata, ...presence }, options)
  await api().jobs.run(id)
}

export function RetryFailed({ jobs }: { jobs: readonly JobView[] }) {
  const cache = useQueryClient()
  const retry = useMutation({
    mutationFn: async () => {
      const waiting = [...jobs]
      const worker = async (): Promise<void> => {
        for (let job = waiting.shift(); job; job = waiting.shift()) await again(job)
      }
      await Promise.all(Array.from({ length: TOGETHER }, worker))
      return jobs.length
    },
    onSettled: () => cache.invalidateQueries({ queryKey: ['jobs'] }),
  })
  const words = jobs.length === 1 ? 'Run it again' : `Run these ${jobs.length} again`
  return (
    <div className="actions">
      <button
        type="button"
        className="button"
        disabled={retry.isPending || retry.isSuccess}
        onClick={() => retry.mutate()}
      >
        {words}
      </button>
      {retry.data !== undefined && (
        <span role="status">
          {retry.data === 1 ? 'A new job was' : `${retry.data} new jobs were`} made and run.
        </span>
      )}
      {retry.error && <Fault error={retry.error} />}
    </div>
  )
}
