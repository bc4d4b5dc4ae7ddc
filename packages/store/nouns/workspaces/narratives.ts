/** Answers of language models. */
import type { NarrativeKey } from '../../contract/workspaces/narratives.ts'
import type { Reader, Routine, Writer } from '../../rows.ts'
import { by } from '../../tables/table.ts'
import { NARRATIVES } from '../../tables/workspaces/narratives.ts'

const FIND = NARRATIVES.select(by('workspace_id', 'hash'), ['text'])
const INSERT = NARRATIVES.insert(NARRATIVES.columns, 'ON CONFLICT DO NOTHING')

export function* getNarrative(from: Reader, key: NarrativeKey): Routine<string | null> {
  return (yield* from.find(FIND, key))?.text ?? null
}

export function* keepNarrative(tx: Writer, input: NarrativeKey & { text: string }): Routine<string> {
  yield* tx.run(INSERT, { ...input, created_at: tx.now })
  return (yield* getNarrative(tx, input))!
}
