/** Pins insights for the signed-in user, who alone sees the pins, and reads the collections of all. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { api, useIsLimited } from '../../api.ts'

const MOST = 200
const KEY = ['insights', 'pinned']
export const COLLECTIONS_KEY = ['collections']

/** Returns the pinned cards; undefined until they are known, and for users who may not pin. */
export function usePinned() {
  const limited = useIsLimited()
  return useQuery({
    queryKey: KEY,
    queryFn: () => api().insights.list({ pinned_by: 'me', limit: MOST }),
    enabled: !limited,
    staleTime: 60_000,
  }).data?.items
}

/** Pins an insight. `newest`: pins the series, which always shows its newest run. */
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

/** A star that pins the insight, or removes the pin. */
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

/** Returns the newest 200 collections. */
export function useCollections() {
  return useQuery({
    queryKey: COLLECTIONS_KEY,
    queryFn: () => api().collections.list({ limit: MOST }),
    staleTime: 30_000,
  }).data?.items
}
