/** Values that are set once for the whole store. */
import type { Transaction } from './connection.ts'

export async function keepOnce(tx: Transaction, key: string, value: string): Promise<string> {
  await tx.run('INSERT INTO settings (key, value) VALUES ($1, $2) ON CONFLICT DO NOTHING', key, value)
  const kept = await tx.one<{ value: string }>('SELECT value FROM settings WHERE key = $1', key)
  return kept!.value
}
