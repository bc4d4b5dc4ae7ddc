/** How a child comes by what a language model writes: it asks its parent, which alone has the model's address and key. */
import { createHash } from 'node:crypto'
import { INSTRUCTIONS, type Narrated, type Narration, promptOf } from '../printing/narrative.ts'
import type { FromChild, NarrationRequest } from './protocol.ts'

/** The parent's side. Never rejects: an answer that does not come is `missing`. */
export type Narrator = (
  request: NarrationRequest,
  /** `within_ms`: the job has no more time for it. */
  given: { workspace_id: string; signal: AbortSignal; within_ms: number },
) => Promise<Narrated>

export interface Told {
  narration: Narration
  narrated: Narrated
  /** Of what a model wrote. */
  lineage: { blocks: string[]; model: string; prompt_sha256: string } | null
}

/** One answer for each, in their order. Rejects where the signal is aborted. */
export type Narrate = (narrations: readonly Narration[], signal: AbortSignal) => Promise<Told[]>

export interface Narrating {
  narrate: Narrate
  receive(narrated: Narrated[]): void
}

/** The child's side, for one task. */
export function createNarrating(id: number, send: (message: FromChild) => void): Narrating {
  let waiting: ((narrated: Narrated[]) => void) | undefined
  return {
    receive: (narrated) => waiting?.(narrated),
    async narrate(narrations, signal) {
      if (narrations.length === 0) return []
      const requests = narrations.map((one) => ({ instructions: INSTRUCTIONS, prompt: promptOf(one) }))
      const narrated = await new Promise<Narrated[]>((resolve, reject) => {
        signal.throwIfAborted()
        const abort = (): void => reject(signal.reason as Error)
        signal.addEventListener('abort', abort, { once: true })
        waiting = (given) => {
          signal.removeEventListener('abort', abort)
          resolve(given)
        }
        send({ type: 'narrate', id, requests })
      })
      return narrations.map((narration, index) => told(narration, narrated[index]!, requests[index]!))
    },
  }
}

function told(narration: Narration, narrated: Narrated, { instructions, prompt }: NarrationRequest): Told {
  const prompt_sha256 = createHash('sha256').update(`${instructions}\n${prompt}`).digest('hex')
  const { blocks } = narration
  const lineage = 'text' in narrated ? { blocks, model: narrated.model, prompt_sha256 } : null
  return { narration, narrated, lineage }
}
