/** A list in pages, with a button for more. */

import type { Page } from '@assay/client'
import { type QueryKey, useInfiniteQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Fault } from '../fault.tsx'

export function usePaged<Item>(
  key: QueryKey,
  load: (cursor: string | undefined) => Promise<Page<Item>>,
  refetchInterval?: number,
) {
  return useInfiniteQuery({
    queryKey: key,
    queryFn: ({ pageParam }) => load(pageParam),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_cursor ?? undefined,
    refetchInterval: refetchInterval ?? false,
  })
}

interface PagedProps<Item> {
  query: ReturnType<typeof usePaged<Item>>
  empty: ReactNode
  children(items: Item[]): ReactNode
}

export function Paged<Item>({ query, empty, children }: PagedProps<Item>) {
  if (query.error && !query.data) return <Fault error={query.error} onRetry={() => void query.refetch()} />
  if (!query.data)
    return (
      <p className="waiting" role="status">
        Loading…
      </p>
    )
  const items = query.data.pages.flatMap((page) => page.items)
  if (items.length === 0 && !query.hasNextPage) return <>{empty}</>
  return (
    <>
      {items.length === 0 ? <p role="status">No match among the newest rows.</p> : children(items)}
      {query.hasNextPage && (
        <p className="more">
          <button
            type="button"
            className="button"
            disabled={query.isFetchingNextPage}
            onClick={() => void query.fetchNextPage()}
          >
            {items.length === 0 ? 'Look further back' : 'Show more'}
          </button>
        </p>
      )}
    </>
  )
}
