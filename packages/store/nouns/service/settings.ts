/** Values that are set for the whole store. */
import type { Reader, Routine, Writer } from '../../rows.ts'
import { statement } from '../../statement.ts'
import { by } from '../../tables/table.ts'
import { SETTINGS } from '../../tables/workspaces/settings.ts'

const INSERT = SETTINGS.insert(SETTINGS.columns, 'ON CONFLICT DO NOTHING')
const REPLACE = SETTINGS.upsert()
const FIND = SETTINGS.select(by('key'))

const BYTES = statement<{ bytes: number }>(
  {
    sqlite: 'SELECT page_count * page_size AS bytes FROM pragma_page_count, pragma_page_size',
    postgres: 'SELECT pg_database_size(current_database()) AS bytes',
  },
  { bytes: 'bigint' },
)

/** Returns the bytes of the database on disk, without its log. */
export function* databaseBytes(from: Reader): Routine<number> {
  return (yield* from.find(BYTES))!.bytes
}

export function* keepOnce(tx: Writer, key: string, value: string): Routine<string> {
  yield* tx.run(INSERT, { key, value })
  return (yield* tx.find(FIND, { key }))!.value
}

export function* getKept(from: Reader, key: string): Routine<string | null> {
  return (yield* from.find(FIND, { key }))?.value ?? null
}

export function* replaceKept(tx: Writer, input: { key: string; value: string }): Routine<void> {
  yield* tx.run(REPLACE, input)
}
