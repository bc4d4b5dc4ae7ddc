/**
 * Requests of an analysis process to a language model. The parent asks the model; its address and key never reach the
 * process.
 */
import { createHash } from 'node:crypto'
import { INSTRUCTIONS, type Narrated, type Narration, promptOf } from '../printing/narrative.ts'
import { answerOrAbort } from './connection-requests.ts'
import type { FromChild, NarrationRequest } from './protocol.ts'

/** Asks the model on the parent's side. It never rejects: a request without an answer is `missing`. */
export type Narrator = (
  request: NarrationRequest,
  /** `within_ms`: the time that the job has left for the request. */
  limits: { workspace_id: string; signal: AbortSignal; within_ms: number },
) => Promise<Narrated>

export interface AnsweredNarration {
  narration: Narration
  narrated: Narrated
  /** Present if a model wrote the text; else null. */
  lineage: { blocks: string[]; model: string; prompt_sha256: string } | null
}

/** Returns one answer for each narration, in order. Rejects if the signal is aborted. */
export type Narrate = (narrations: readonly Narration[], signal: AbortSignal) => Promise<AnsweredNarration[]>

export interface NarrationClient {
  narrate: Narrate
  receive(narrated: Narrated[]): void
}

/** The side of the analysis process, for one task. */
export function createNarrationClient(id: number, send: (message: FromChild) => void): NarrationClient {
  let waiting: ((narrated: Narrated[]) => void) | undefined
  return {
    receive: (narrated) => waiting?.(narrated),
    async narrate(narrations, signal) {
      if (narrations.length === 0) return []
      const requests = narrations.map((one) => ({ instructions: INSTRUCTIONS, prompt: promptOf(one) }))
      const narrated = await answerOrAbort<Narrated[]>(signal, (resolve) => {
        waiting = resolve
        send({ type: 'narrate', id, requests })
      })
      return narrations.map((narration, index) => answered(narration, narrated[index]!, requests[index]!))
    },
  }
}

function answered(
  narration: Narration,
  narrated: Narrated,
  { instructions, prompt }: NarrationRequest,
): AnsweredNarration {
  const prompt_sha256 = createHash('sha256').update(`${instructions}\n${prompt}`).digest('hex')
  const { blocks } = narration
  const lineage = 'text' in narrated ? { blocks, model: narrated.model, prompt_sha256 } : null
  return { narration, narrated, lineage }
}
