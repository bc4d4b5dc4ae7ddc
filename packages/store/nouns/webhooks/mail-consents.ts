/** Consents of the owners of mail addresses. */
import type { Reader, Routine, Writer } from '../../rows.ts'
import type { Input } from '../../store.ts'
import { MAIL_CONSENTS, type MailConsentRow } from '../../tables/webhooks/mail-consents.ts'

const FIND = MAIL_CONSENTS.select(
  'WHERE workspace_id = :workspace_id AND address_hash = ANY (:address_hashes)',
  MAIL_CONSENTS.except('workspace_id'),
)
const NOTE = MAIL_CONSENTS.insert(
  MAIL_CONSENTS.columns,
  `ON CONFLICT (workspace_id, address_hash) DO UPDATE SET asked_at = coalesce(excluded.asked_at, mail_consents.asked_at),
     confirmed_at = coalesce(excluded.confirmed_at, mail_consents.confirmed_at),
     left_at = coalesce(excluded.left_at, mail_consents.left_at)`,
)
const CLAIM = MAIL_CONSENTS.insert<{ address_hash: string }>(
  ['workspace_id', 'address_hash', 'asked_at'],
  `ON CONFLICT (workspace_id, address_hash) DO UPDATE SET asked_at = excluded.asked_at
     WHERE mail_consents.asked_at IS NULL OR mail_consents.asked_at < :before
   RETURNING address_hash`,
)

export function findMailConsents(
  from: Reader,
  input: Input<'findMailConsents'>,
): Routine<Omit<MailConsentRow, 'workspace_id'>[]> {
  return from.all(FIND, input)
}

export function noteMailConsents(
  tx: Writer,
  { workspace_id, address_hashes, note }: Input<'noteMailConsents'>,
): Routine<void> {
  // In the order of their keys, so that no two transactions wait for each other.
  const rows = address_hashes.toSorted().map((address_hash) => ({ workspace_id, address_hash, ...note }))
  return tx.writeAll(NOTE, rows)
}

export function* claimMailQuestions(
  tx: Writer,
  { workspace_id, address_hashes, at: asked_at, before }: Input<'claimMailQuestions'>,
): Routine<string[]> {
  const claimed: string[] = []
  for (const address_hash of address_hashes.toSorted()) {
    const row = yield* tx.find(CLAIM, { workspace_id, address_hash, asked_at, before })
    if (row) claimed.push(row.address_hash)
  }
  return claimed
}
