/** Values that are set once for the whole store. */
import type { Routine, Writer } from '../../rows.ts'
import { by } from '../../tables/table.ts'
import { SETTINGS } from '../../tables/workspaces/settings.ts'

const INSERT = SETTINGS.insert(SETTINGS.columns, 'ON CONFLICT DO NOTHING')
const FIND = SETTINGS.select(by('key'))

export function* keepOnce(tx: Writer, key: string, value: string): Routine<string> {
  yield* tx.run(INSERT, { key, value })
  return (yield* tx.find(FIND, { key }))!.value
}
