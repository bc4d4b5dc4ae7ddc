/** What language models answered. */
import type { NarrativeKey } from '../contract/narratives.ts'
import type { Connection } from './connection.ts'

export function getNarrative(connection: Connection, { workspace_id, hash }: NarrativeKey): string | null {
  const kept = connection.one<{ text: string }>(
    'SELECT text FROM narratives WHERE workspace_id = ? AND hash = ?',
    workspace_id,
    hash,
  )
  return kept?.text ?? null
}

export function keepNarrative(connection: Connection, input: NarrativeKey & { text: string }): string {
  connection.run(
    'INSERT INTO narratives (workspace_id, hash, text, created_at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING',
    input.workspace_id,
    input.hash,
    input.text,
    connection.now(),
  )
  return getNarrative(connection, input)!
}
