/** Counts the secrets of a store by the keys that sealed them, and seals them anew by the first key. */
import type { CopySource } from '@assay/store/copy'
import type { Resealing, Store } from '@assay/store/store'
import { type SecretBox, sealedBy } from '../runtime/secrets.ts'
import { CHECK, leaveHashKeys, sealCheck } from './key-check.ts'
import { type SealedRow, sealedRows } from './sealed-texts.ts'

/** An object with secrets that must be entered again, because no key opens them. */
export interface LostSecret {
  kind: 'webhook' | 'subscription' | 'connection'
  workspace_id: string
  /** The id of the webhook or subscription, or the name of the connection. */
  id: string
  /**
   * The parts that are lost, such as "the header x-key", "the signing secret", "its readers" or "the secret
   * password".
   */
  what: string[]
}

export interface SecretCounts {
  /** The number of sealed texts by the id of their key. */
  keys: Record<string, number>
  /** The number of them that a key other than the first opens. */
  older: number
  /** The objects with texts that no key opens. */
  lost: LostSecret[]
  /** The number of answers to idempotency keys that no key opens. */
  lost_answers: number
}

function lostOf({ kind, workspace_id, id, texts }: SealedRow, box: SecretBox): LostSecret | null {
  const what = texts.filter(({ sealed }) => !box.holdsKeyOf(sealed)).map((text) => text.what)
  return kind === 'answer' || what.length === 0 ? null : { kind, workspace_id, id, what: [...new Set(what)] }
}

/** Counts every sealed text without opening it. */
export async function countSecrets(
  source: CopySource,
  box: SecretBox,
  options: { answers?: boolean } = {},
): Promise<SecretCounts> {
  const counts: SecretCounts = { keys: {}, older: 0, lost: [], lost_answers: 0 }
  for await (const rows of sealedRows(source, options))
    for (const row of rows) {
      for (const { sealed } of row.texts) {
        const key = sealedBy(sealed)
        counts.keys[key] = (counts.keys[key] ?? 0) + 1
        if (key !== box.first && box.holdsKeyOf(sealed)) counts.older += 1
        if (row.kind === 'answer' && !box.holdsKeyOf(sealed)) counts.lost_answers += 1
      }
      const lost = lostOf(row, box)
      if (lost) counts.lost.push(lost)
    }
  return counts
}

const BATCH = 200

function resealing({ table, key, texts }: SealedRow, box: SecretBox): Resealing | null {
  const older = texts.filter(({ sealed }) => sealedBy(sealed) !== box.first && box.holdsKeyOf(sealed))
  if (older.length === 0) return null
  return {
    table,
    key,
    texts: older.map(({ sealed, context }) => ({
      from: sealed,
      to: box.seal(box.open(sealed, context), context),
    })),
  }
}

/**
 * Seals by the first key what other keys of the box have sealed, in steps. A row that changes meanwhile stays as it
 * is. The next call completes an interrupted step. Resolves with the number of changed rows.
 */
export async function resealAll(store: Store, source: CopySource, box: SecretBox): Promise<number> {
  let count = 0
  for await (const rows of sealedRows(source)) {
    const older = rows.flatMap((row) => resealing(row, box) ?? [])
    for (let from = 0; from < older.length; from += BATCH)
      count += await store.reseal(older.slice(from, from + BATCH))
  }
  await leaveHashKeys(box, store)
  await store.replaceKept({ key: CHECK, value: sealCheck(box) })
  return count
}
