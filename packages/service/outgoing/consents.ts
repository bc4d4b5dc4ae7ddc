/**
 * Consents of the owners of mail addresses. Before its owner agrees, an address outside the allowed domains gets one question and no
 * other mail. An address whose owner has unsubscribed gets no mail at all, not even that question, until the owner returns by the
 * page of an earlier mail.
 */
import { type Clock, iso } from '@assay/model/clock'
import { isListed } from '@assay/model/outgoing'
import type { Target } from '@assay/model/subscription'
import type { Store } from '@assay/store/store'
import type { SecretBox } from '../runtime/secrets.ts'

/** Milliseconds after which an owner who has not answered may be asked again. */
const ASK_AGAIN_MS = 7 * 86_400_000

/** The times when the owner was asked, agreed and left; null for never. */
export interface Consent {
  asked_at: string | null
  confirmed_at: string | null
  left_at: string | null
}

const UNKNOWN: Consent = { asked_at: null, confirmed_at: null, left_at: null }

export interface ConsentBook {
  store: Pick<Store, 'findMailConsents' | 'noteMailConsents' | 'claimMailQuestions'>
  box: SecretBox
}

/**
 * Returns the name of a mailbox: the address in lower case without what stands behind a plus sign (RFC 5233), so that nobody
 * is asked again and again as ada+1@example.com, ada+2@example.com.
 */
function mailboxOf(address: string): string {
  const [local, domain] = address.toLowerCase().split(/@(?=[^@]*$)/)
  return `${local!.replace(/(?<=.)\+.*/s, '')}@${domain}`
}

/** Tells whether mail to both addresses comes to one person. */
export const isSameMailbox = (a: string, b: string): boolean => mailboxOf(a) === mailboxOf(b)

function hashesOf(box: SecretBox, workspace_id: string, address: string): string[] {
  return box.hashes(`${workspace_id}\n${mailboxOf(address)}`, 'mail address')
}

const later = (a: string | null, b: string | null): string | null =>
  a === null || (b !== null && b > a) ? b : a

/** Returns the known consents by address. */
export async function readConsents(
  { store, box }: ConsentBook,
  workspace_id: string,
  addresses: readonly string[],
): Promise<Map<string, Consent>> {
  if (addresses.length === 0) return new Map()
  const hashes = new Map(addresses.map((address) => [address, hashesOf(box, workspace_id, address)]))
  const address_hashes = [...new Set([...hashes.values()].flat())]
  const found = await store.findMailConsents({ workspace_id, address_hashes })
  const of = new Map(found.map((row) => [row.address_hash, row]))
  return new Map(
    addresses.map((address) => {
      // The hash changes with the key, so all hashes of the address are looked up.
      const rows = hashes.get(address)!.flatMap((hash) => of.get(hash) ?? [])
      const known = rows.reduce<Consent>(
        (all, row) => ({
          asked_at: later(all.asked_at, row.asked_at),
          confirmed_at: later(all.confirmed_at, row.confirmed_at),
          left_at: later(all.left_at, row.left_at),
        }),
        UNKNOWN,
      )
      return [address, known]
    }),
  )
}

/** Records the owners' answers. */
export async function noteConsents(
  { store, box }: Pick<ConsentBook, 'box'> & { store: Pick<Store, 'noteMailConsents'> },
  said: {
    clock: Clock
    workspace_id: string
    addresses: readonly string[]
    what: 'confirmed_at' | 'left_at'
  },
): Promise<void> {
  const { clock, workspace_id, addresses, what } = said
  const address_hashes = addresses.map((address) => hashesOf(box, workspace_id, address)[0]!)
  await store.noteMailConsents({ workspace_id, address_hashes, note: { [what]: iso(clock.now()) } })
}

/** Returns the addresses to ask now, and records the questions. Of several mails at once only one asks an owner. */
export async function claimQuestions(
  { store, box }: ConsentBook,
  { clock, workspace_id, addresses }: { clock: Clock; workspace_id: string; addresses: readonly string[] },
): Promise<string[]> {
  if (addresses.length === 0) return []
  const of = new Map(addresses.map((address) => [hashesOf(box, workspace_id, address)[0]!, address]))
  const now = clock.now()
  const [at, before] = [iso(now), iso(now - ASK_AGAIN_MS)]
  const claimed = await store.claimMailQuestions({ workspace_id, address_hashes: [...of.keys()], at, before })
  return claimed.map((hash) => of.get(hash)!)
}

/** Takes back questions that the mail server did not accept. The next mail asks these owners. */
export async function returnQuestions(
  { store, box }: ConsentBook,
  { workspace_id, addresses }: { workspace_id: string; addresses: readonly string[] },
): Promise<void> {
  if (addresses.length === 0) return
  const address_hashes = addresses.map((address) => hashesOf(box, workspace_id, address)[0]!)
  await store.noteMailConsents({ workspace_id, address_hashes, note: { asked_at: iso(0) } })
}

/** Tells whether the owner's last answer was to leave. */
export function hasLeft({ confirmed_at, left_at }: Consent): boolean {
  return left_at !== null && (confirmed_at === null || confirmed_at < left_at)
}

/** Tells whether an address gets no mail until its owner agrees. */
export function mustAgree(address: string, consent: Consent, domains: readonly string[]): boolean {
  if (hasLeft(consent)) return true
  const domain = address.slice(address.lastIndexOf('@') + 1).toLowerCase()
  return consent.confirmed_at === null && !domains.includes('*') && !isListed(domain, domains)
}

export interface Readers {
  /** The readers who get the mail now. */
  open: string[]
  /** The readers who do not get it, and are asked for consent. */
  ask: string[]
  waiting: { to: string; reason: 'unconfirmed' | 'left' }[]
}

/** Divides the readers of a list at `now`, in milliseconds since 1970. */
export function readersOf(
  { to, unconfirmed = {} }: Target,
  consents: ReadonlyMap<string, Consent>,
  now: number,
): Readers {
  const readers: Readers = { open: [], ask: [], waiting: [] }
  for (const address of to) {
    const since = unconfirmed[address]
    const consent = consents.get(address) ?? UNKNOWN
    if (since === undefined || (consent.confirmed_at !== null && consent.confirmed_at >= since)) {
      readers.open.push(address)
      continue
    }
    const left = hasLeft(consent)
    readers.waiting.push({ to: address, reason: left ? 'left' : 'unconfirmed' })
    const askedBefore = consent.asked_at === null ? Number.NEGATIVE_INFINITY : Date.parse(consent.asked_at)
    if (!left && now - askedBefore >= ASK_AGAIN_MS) readers.ask.push(address)
  }
  return readers
}
