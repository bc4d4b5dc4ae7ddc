/** Converts the caps of a workspace to those of its form, and a draft to the change that it makes. Pure. */
import type { Workspace } from '@assay/client'

interface Cap {
  label: string
  hint?: string
  bytes?: true
}

export type CapName = Extract<keyof Workspace, `max_${string}`> | 'rate_limit'

/** The caps in the order of the form. They are a record, so that the compiler requires every cap. */
export const CAPS: Record<CapName, Cap> = {
  max_queued: { label: 'Jobs waiting at a time' },
  max_running: { label: 'Jobs running at a time', hint: '0 holds them in the queue.' },
  max_processor_seconds: {
    label: 'Processor seconds in an hour',
    hint: 'Of its analyses, on all nodes together.',
  },
  max_spill_bytes: { label: 'Disk of its analyses', hint: 'On each node while they run.', bytes: true },
  max_stored_bytes: { label: 'Stored jobs and insights', bytes: true },
  rate_limit: { label: 'Requests a second', hint: 'On each node.' },
  max_file_bytes: { label: 'One upload', bytes: true },
  max_files_bytes: { label: 'All uploads together', bytes: true },
}
export const CAP_NAMES = Object.keys(CAPS) as CapName[]

export const isBytes = (name: CapName): boolean => CAPS[name].bytes === true

const UNITS = { tb: 1e12, gb: 1e9, mb: 1e6, kb: 1e3 } as const

/** Writes bytes as "10 GB" if that is exact, else as the number. */
function bytesText(bytes: number): string {
  const found = Object.entries(UNITS).find(([, unit]) => bytes >= unit && bytes % unit === 0)
  if (!found) return String(bytes)
  const [name, unit] = found
  return `${bytes / unit} ${name === 'kb' ? 'kB' : name.toUpperCase()}`
}

/** Returns the number of a text, or null if the text is not a number. */
function numberOf(name: CapName, typed: string): number | null {
  const [, digits, unit = ''] = /^(\d{1,16}(?:\.\d{1,6})?) ?([kmgt]b)?$/i.exec(typed) ?? []
  if (digits === undefined || (unit !== '' && !isBytes(name))) return null
  const number = Number(digits) * (unit === '' ? 1 : UNITS[unit.toLowerCase() as keyof typeof UNITS])
  return Number.isInteger(number) ? number : null
}

/** The caps as typed. An empty text stands for the cap of every workspace. */
export type CapsDraft = Record<CapName, string>

export function capsDraft(workspace: Workspace): CapsDraft {
  const texts = CAP_NAMES.map((name) => {
    const cap = workspace[name]
    return [name, cap === null ? '' : isBytes(name) ? bytesText(cap) : String(cap)]
  })
  return Object.fromEntries(texts) as CapsDraft
}

export function capFaults(draft: CapsDraft): Record<string, string> {
  const wrong = CAP_NAMES.filter((name) => {
    const typed = draft[name].trim()
    return typed !== '' && numberOf(name, typed) === null
  })
  return Object.fromEntries(
    wrong.map((name) => [
      name,
      isBytes(name)
        ? 'must be bytes such as 500 MB or 2000000, or empty'
        : 'must be a whole number such as 200, or empty',
    ]),
  )
}

/** Returns the caps that differ. Nothing else is sent, so that the audit trail names what was changed. */
export function capsChange(draft: CapsDraft, workspace: Workspace): Partial<Record<CapName, number | null>> {
  const before = capsDraft(workspace)
  const changed = CAP_NAMES.filter((name) => draft[name].trim() !== before[name])
  return Object.fromEntries(
    changed.map((name) => [name, draft[name].trim() === '' ? null : numberOf(name, draft[name].trim())]),
  )
}
