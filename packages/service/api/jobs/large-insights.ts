/**
 * Reads large insights in turn. Reading one of 10 MB takes tens of milliseconds of the thread that answers every
 * request, and anybody who may read it may ask a hundred times at once.
 */
import type { OneByOne } from '@assay/net/one-by-one'
import type { Store } from '@assay/store/store'

/** The bytes above which an insight is read in turn. Reading a smaller one takes a few milliseconds. */
export const LARGE_BYTES = 500_000

type Of = Parameters<Store['getInsightHead']>[0]

/** Returns the store, and reads large insights one at a time, in turn by workspace. */
export function readsInTurn(store: Store, oneByOne: OneByOne): Store {
  const inTurn = async <Part>(of: Of, read: (of: Of) => Promise<Part>): Promise<Part> => {
    const bytes = await store.insightBytes(of)
    return (bytes ?? 0) < LARGE_BYTES ? read(of) : oneByOne.run(of.workspace_id, () => read(of))
  }
  const own: Pick<Store, 'getInsightHead' | 'getInsightData'> = {
    getInsightHead: (of) => inTurn(of, (one) => store.getInsightHead(one)),
    getInsightData: (of) => inTurn(of, (one) => store.getInsightData(one)),
  }
  // All other methods stay those of the store.
  return Object.assign(Object.create(store) as Store, own)
}
