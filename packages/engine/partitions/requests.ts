/**
 * Carries the requests of an analysis process for the kept days of metrics. The parent keeps them, for the workspace
 * whose task it is.
 */

import { answerOrAbort } from '../run/connection-requests.ts'
import type { FromChild, ToChild } from '../run/protocol.ts'
import { type KeptSeries, NOTHING_KEPT, type PartitionKeeper } from './keeper.ts'

export type PartitionRequest = Extract<FromChild, { type: 'find' | 'keep' }>
type Kept = Extract<ToChild, { type: 'kept' }>['kept']

export interface PartitionClient {
  keeper: PartitionKeeper
  receive(kept: Kept): void
}

/** Makes the side of the analysis process, for one task. */
export function createPartitionClient(
  id: number,
  send: (message: FromChild) => void,
  signal: AbortSignal,
): PartitionClient {
  let waiting: ((kept: Kept) => void) | undefined
  const ask = (message: PartitionRequest): Promise<Kept> =>
    answerOrAbort<Kept>(signal, (resolve) => {
      waiting = resolve
      send(message)
    })
  return {
    receive: (kept) => waiting?.(kept),
    keeper: {
      find: async (wanted) => (await ask({ type: 'find', id, wanted })) as KeptSeries,
      async keep(days) {
        const { refused } = (await ask({ type: 'keep', id, days })) as { refused: string | null }
        return refused
      },
    },
  }
}

/**
 * Answers on the side of the parent. Never rejects: days that cannot be found are read, and days that cannot be kept
 * are not kept.
 */
export async function answerPartitions(
  request: PartitionRequest,
  keeper: PartitionKeeper | undefined,
): Promise<Kept> {
  if (request.type === 'find')
    return keeper ? keeper.find(request.wanted).catch(() => NOTHING_KEPT) : { ...NOTHING_KEPT, others: null }
  if (!keeper) return { refused: 'Nothing is kept here.' }
  const away = (): string => 'Nothing is kept: the store cannot be reached.'
  return { refused: await keeper.keep(request.days).catch(away) }
}
