/** Gives the titles of a template and of its runs, for headings and sentences. */
import type { JobView } from '@assay/model/job'
import { useQuery } from '@tanstack/react-query'
import { api } from '../../api.ts'

const STALE_MS = 30_000
/** The most runs of one template that were made in the same millisecond, as those of a batch are. */
const BESIDE_MOST = 200

/**
 * Returns the title of a run from the list of jobs, because only lists have titles. It changes when the run gets its
 * insight.
 */
export function useRunTitle(job: JobView | undefined): string | undefined {
  return (
    useQuery({
      queryKey: ['jobs', 'title', job?.assignment_id, job?.insight_id],
      queryFn: async () => {
        const { assignment_id, template_id, created_at } = job!
        const [from, to] = [0, 1].map((later) => new Date(Date.parse(created_at) + later).toISOString())
        const beside = { template_id, created_after: from, created_before: to, limit: BESIDE_MOST }
        const { items } = await api().jobs.list(beside)
        return items.find((one) => one.assignment_id === assignment_id)?.title ?? null
      },
      enabled: job !== undefined,
      staleTime: Number.POSITIVE_INFINITY,
    }).data ?? undefined
  )
}

/** Returns the title of a template, or its id until the title is known. */
export function useTemplateTitle(template_id: string | undefined): string | undefined {
  const templates = useQuery({
    queryKey: ['templates'],
    queryFn: () => api().templates.list(),
    enabled: template_id !== undefined,
    staleTime: STALE_MS,
  }).data
  return templates?.find((one) => one.template_id === template_id)?.title ?? template_id
}
