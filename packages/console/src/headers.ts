/**
 * Headers of a webhook between their form and the service. A value that is no secret is shown and edited; of a secret only
 * a fingerprint is known, so a row without a new value leaves it as it is. Pure.
 */
import type { WebhookView } from '@assay/model/webhook'

export interface HeaderDraft {
  name: string
  value: string
  public: boolean
  /** What the service shows of it; null: it is not there yet. */
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

/** Whether its value is a secret that is kept and stays as it is. */
export function staysSecret({ value, public: open, kept }: HeaderDraft): boolean {
  return kept !== null && value === '' && !open
}

/** Whether it is to be sent; a row that nobody has filled in is not. */
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

/** By name, as the service takes it: what was changed, in the order of the rows, then what was taken away. */
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
    // A header that was taken away and given anew is only changed.
    ...gone.filter(({ name }) => !taken.has(name.toLowerCase())).map(({ name }) => ({ name, value: null })),
  ]
}

/** The faults of what was sent, by the rows that are shown ("headers.0.name"). */
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
