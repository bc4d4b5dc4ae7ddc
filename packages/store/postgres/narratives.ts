/** What language models answered. */
import type { NarrativeKey } from '../contract/narratives.ts'
import type { Session, Transaction } from './connection.ts'

export async function getNarrative(
  session: Session,
  { workspace_id, hash }: NarrativeKey,
): Promise<string | null> {
  const kept = await session.one<{ text: string }>(
    'SELECT text FROM narratives WHERE workspace_id = $1 AND hash = $2',
    workspace_id,
    hash,
  )
  return kept?.text ?? null
}

export async function keepNarrative(
  tx: Transaction,
  input: NarrativeKey & { text: string },
): Promise<string> {
  await tx.run(
    'INSERT INTO narratives (workspace_id, hash, text, created_at) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING',
    input.workspace_id,
    input.hash,
    input.text,
    tx.now,
  )
  return (await getNarrative(tx, input))!
}
