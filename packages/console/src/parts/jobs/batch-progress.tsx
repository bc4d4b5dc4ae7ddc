/** Shows the progress of a batch. */
import { useQuery } from '@tanstack/react-query'
import { api } from '../../api.ts'
import { JOB_STATUSES } from '../../names.ts'
import { Loaded } from '../page.tsx'

const REFRESH_MS = 3_000

export function BatchProgress({ batch_id }: { batch_id: string }) {
  const query = useQuery({
    queryKey: ['batch', batch_id],
    queryFn: () => api().jobs.batch(batch_id),
    // Drafts wait for a user, so they are no reason to refresh.
    refetchInterval: ({ state: { data } }) =>
      data && data.ended + data.counts.draft === data.total ? false : REFRESH_MS,
  })
  return (
    <Loaded query={query}>
      {({ total, ended, counts }) => (
        <div role="status">
          <p>
            {ended} of the {total} jobs of one call have ended (
            {JOB_STATUSES.filter((name) => counts[name] > 0)
              .map((name) => `${counts[name]} ${name}`)
              .join(', ')}
            ).
          </p>
          <progress max={total} value={ended} aria-label="Jobs that have ended">
            {ended} of {total}
          </progress>
        </div>
      )}
    </Loaded>
  )
}
