/** Values that are set once for the whole store. */
import type { Connection } from './connection.ts'

export function keepOnce(connection: Connection, key: string, value: string): string {
  connection.run('INSERT INTO settings (key, value) VALUES (?, ?) ON CONFLICT DO NOTHING', key, value)
  return connection.one<{ value: string }>('SELECT value FROM settings WHERE key = ?', key)!.value
}
