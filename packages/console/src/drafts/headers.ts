/**
 * Converts the headers of a webhook between their form and the service. A public value is shown and can be edited. Of a
 * secret value only the fingerprint is known, so a row without a new value keeps it. Pure.
 */
import type { WebhookView } from '@assay/model/webhook'

export interface HeaderDraft {
  name: string
  value: string
  public: boolean
  /** The value or fingerprint that the service shows; null for a new header. */
  kept: string | null
}

export const NEW_HEADER: HeaderDraft = { name: '', value: '', public: false, kept: null }

export function draftsOf(headers: WebhookView['headers']): HeaderDraft[] {
  return headers.map(({ name, value, public: open }) => ({
    name,
    value: open ? value : '',
    public: open,
    kept: value,
  }))
}

/** Tells whether the row holds a stored secret that is not changed. */
export function staysSecret({ value, public: open, kept }: HeaderDraft): boolean {
  return kept !== null && value === '' && !open
}

/** Tells whether the row is sent. An empty row is not. */
function isChanged(draft: HeaderDraft, present: WebhookView['headers']): boolean {
  if (staysSecret(draft)) return false
  if (draft.kept === null) return draft.name.trim() !== '' || draft.value !== ''
  const before = present.find(({ name }) => name === draft.name)
  return !before?.public || !draft.public || before.value !== draft.value
}

export interface HeaderChange {
  name: string
  value: string | null
  public?: boolean
}

/** Returns the headers as the service takes them: changed ones in the order of the rows, then removed ones. */
export function headerChanges(
  drafts: readonly HeaderDraft[],
  present: WebhookView['headers'] = [],
): HeaderChange[] {
  const gone = present.filter(
    ({ name }) => !drafts.some((draft) => draft.kept !== null && draft.name === name),
  )
  const taken = new Set(drafts.map(({ name }) => name.trim().toLowerCase()))
  return [
    ...drafts
      .filter((draft) => isChanged(draft, present))
      .map(({ name, value, public: open }) => ({
        name: name.trim(),
        value,
        ...(open ? { public: true } : {}),
      })),
    // A header that was removed and entered again is a change.
    ...gone.filter(({ name }) => !taken.has(name.toLowerCase())).map(({ name }) => ({ name, value: null })),
  ]
}

/** Returns the faults of the sent headers ("headers.0.name"), by the rows of the form. */
export function rowFaults(
  faults: Record<string, string>,
  drafts: readonly HeaderDraft[],
  present: WebhookView['headers'] = [],
): Record<string, string> {
  const sent = drafts.flatMap((draft, index) => (isChanged(draft, present) ? [index] : []))
  return Object.fromEntries(
    Object.entries(faults).map(([path, message]) => [
      path.replace(/^headers\.(\d+)/, (_, index) => `headers.${sent[Number(index)] ?? index}`),
      message,
    ]),
  )
}
