/** All events by cursor, and their catalogue. */
import type { Event, EventType } from '@assay/model/event'
import type { Json, Page, PageInput } from './http.ts'

export function eventCalls(json: Json) {
  return {
    /** `order: 'oldest'` goes forward; its `next_cursor` is never null: ask again with it later, none is skipped. */
    list: (query: PageInput & { type?: EventType; order?: 'newest' | 'oldest' } = {}) =>
      json<Page<Event>>('GET', '/events', { query: { ...query } }),
    types: () =>
      json<{ type: EventType; description: string; schema: unknown; example: Omit<Event, 'event_id'> }[]>(
        'GET',
        '/events/types',
      ),
  }
}
