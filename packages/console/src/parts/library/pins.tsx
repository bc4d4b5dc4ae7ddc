/** What the signed-in user pins, which she alone sees, and the collections of all. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { api, useIsLimited } from '../../api.ts'

const MOST = 200
const KEY = ['insights', 'pinned']
export const COLLECTIONS_KEY = ['collections']

/** The cards that are pinned; undefined until they are known, and for who may pin nothing. */
export function usePinned() {
  const limited = useIsLimited()
  return useQuery({
    queryKey: KEY,
    queryFn: () => api().insights.list({ pinned_by: 'me', limit: MOST }),
    enabled: !limited,
    staleTime: 60_000,
  }).data?.items
}

/** `newest`: of the series, always the newest run. */
export function usePin(insight_id: string) {
  const cache = useQueryClient()
  return useMutation({
    mutationFn: (wanted: 'this' | 'newest' | 'no') =>
      wanted === 'no'
        ? api().insights.unpin(insight_id)
        : api().insights.pin(insight_id, { newest: wanted === 'newest' }),
    onSettled: () => cache.invalidateQueries({ queryKey: ['insights'] }),
  })
}

/** A star that pins the insight, or takes the pin away. */
export function PinButton({ insight_id, title }: { insight_id: string; title: string }) {
  const pinned = usePinned()
  const pin = usePin(insight_id)
  if (pinned === undefined) return null
  const isPinned = pinned.some((card) => card.insight_id === insight_id)
  return (
    <button
      type="button"
      className="pin"
      aria-pressed={isPinned}
      aria-label={`Pin ${title}`}
      title={isPinned ? 'Unpin' : 'Pin'}
      disabled={pin.isPending}
      onClick={() => pin.mutate(isPinned ? 'no' : 'this')}
    >
      <span aria-hidden="true">{isPinned ? '★' : '☆'}</span>
    </button>
  )
}

/** The newest 200. */
export function useCollections() {
  return useQuery({
    queryKey: COLLECTIONS_KEY,
    queryFn: () => api().collections.list({ limit: MOST }),
    staleTime: 30_000,
  }).data?.items
}
