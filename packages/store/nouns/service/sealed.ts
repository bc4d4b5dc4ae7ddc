/** Replaces sealed texts when the key of the secrets changes. */
import type { Resealing, SealedTable } from '../../contract/workspaces/sealed.ts'
import type { Routine, Writer } from '../../rows.ts'
import type { Statement } from '../../statement.ts'
import { by } from '../../tables/table.ts'
import { WEBHOOKS } from '../../tables/webhooks/webhooks.ts'
import { CONNECTIONS } from '../../tables/workspaces/connections.ts'
import { IDEMPOTENCY_KEYS } from '../../tables/workspaces/idempotency-keys.ts'

interface Statements {
  find: Statement<object>
  update: Statement
}

const OF_WEBHOOK = by('webhook_id')
const OF_CONNECTION = by('workspace_id', 'name')
const OF_ANSWER = by('workspace_id', 'method', 'path', 'key')

const TABLES: Record<SealedTable, Statements> = {
  webhooks: {
    find: WEBHOOKS.select(`${OF_WEBHOOK} FOR NO KEY UPDATE`, ['headers', 'secrets', 'target']),
    update: WEBHOOKS.update(['headers', 'secrets', 'target'], OF_WEBHOOK),
  },
  connections: {
    find: CONNECTIONS.select(`${OF_CONNECTION} FOR UPDATE`, ['secrets']),
    update: CONNECTIONS.update(['secrets'], OF_CONNECTION),
  },
  idempotency_keys: {
    find: IDEMPOTENCY_KEYS.select(`${OF_ANSWER} FOR UPDATE`, ['answer']),
    update: IDEMPOTENCY_KEYS.update(['answer'], OF_ANSWER),
  },
}

/** The value with each text replaced by its entry in `texts`. */
function replaced(value: unknown, texts: ReadonlyMap<string, string>): unknown {
  if (typeof value === 'string') return texts.get(value) ?? value
  if (Array.isArray(value)) return value.map((one) => replaced(one, texts))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, replaced(one, texts)]))
}

export function* reseal(tx: Writer, rows: Resealing[]): Routine<number> {
  let count = 0
  const keyOf = ({ table, key }: Resealing): string => `${table} ${JSON.stringify(key)}`
  // Locked in the order of keys, so that no two transactions wait for each other.
  for (const { table, key, texts } of rows.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))) {
    const { find, update } = TABLES[table]
    const present = yield* tx.find(find, key)
    if (!present) continue
    const others = new Map(texts.map(({ from, to }) => [from, to]))
    const changed = replaced(present, others) as object
    if (JSON.stringify(changed) !== JSON.stringify(present))
      count += yield* tx.run(update, { ...key, ...changed })
  }
  return count
}
