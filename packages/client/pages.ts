/** Makes iterators over lists, which yield each item of all pages. */
import { OPERATIONS, type Operations } from './api.generated.ts'
import type { Arguments, Call, CallOptions } from './call.ts'

interface Paged<Item> {
  items: Item[]
  next_cursor: string | null
}

/** The operations that answer one page of a list. */
type ListName = {
  [N in keyof Operations]: Operations[N]['result'] extends Paged<unknown> ? N : never
}[keyof Operations]
type ItemOf<N extends ListName> = Operations[N]['result'] extends Paged<infer Item> ? Item : never

export function createAll(call: Call) {
  /**
   * Returns a function that takes the arguments of the list and yields each item of all its pages. The next page is
   * read when the caller asks for its first item. `limit` is the size of a page.
   */
  return function all<N extends ListName>(name: N) {
    const read = call(name) as (...given: unknown[]) => Promise<Paged<ItemOf<N>>>
    const names = OPERATIONS[name].path.match(/\{\w+\}/g)?.length ?? 0
    return async function* (...given: Arguments<N>): AsyncGenerator<ItemOf<N>, void, undefined> {
      const places: unknown[] = [...given]
      const options = (places.splice(names)[0] ?? {}) as CallOptions & { cursor?: string }
      for (let cursor = options.cursor; ; ) {
        const page = await read(...places, { ...options, cursor })
        yield* page.items
        // A list that goes forward always has a cursor. It stays the same if nothing new has happened.
        if (page.next_cursor === null || page.next_cursor === cursor) return
        cursor = page.next_cursor
      }
    }
  }
}

export type All = ReturnType<typeof createAll>
