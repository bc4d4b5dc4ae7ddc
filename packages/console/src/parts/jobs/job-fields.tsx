/**
 * Shows the options of a job besides its variables: the subscriptions to notify, receiver name, priority and metadata.
 */
import { type MetadataRow, metadataOf } from '../../drafts/metadata.ts'
import { TextField } from '../field.tsx'
import { MetadataFields } from './metadata-fields.tsx'
import { TellFields, TellReader } from './tell-fields.tsx'

export interface JobDraft {
  /** The ids of the subscriptions to notify. */
  notify: string[]
  presence_name: string
  priority: string
  metadata: MetadataRow[]
}

export const FIRST_JOB: JobDraft = { notify: [], presence_name: '', priority: '', metadata: [] }

/** Returns the options as the API takes them. Empty ones are left out. */
export function jobSettings({ notify, presence_name, priority, metadata: rows }: JobDraft): {
  notify?: string[]
  presence_name?: string
  priority?: number
  metadata?: Record<string, string>
} {
  const metadata = metadataOf(rows)
  return {
    ...(notify.length === 0 ? {} : { notify }),
    ...(presence_name.trim() === '' ? {} : { presence_name: presence_name.trim() }),
    ...(priority.trim() === '' ? {} : { priority: Number(priority) }),
    ...(Object.keys(metadata).length === 0 ? {} : { metadata }),
  }
}

/** Tells whether a field of this form shows the fault of this path. */
export function isOfJobFields(path: string): boolean {
  return /^(notify|presence_name|priority|metadata)(\.|$)/.test(path)
}

interface JobFieldsProps {
  draft: JobDraft
  faults: Record<string, string>
  /**
   * The subscriptions that may be notified: anybody's, only those of the reader of a personal run, or none because
   * each reader is notified anyway.
   */
  tells?: 'anybody' | 'reader' | 'nobody'
  onChange(changed: Partial<JobDraft>): void
}

export function JobFields({ draft, faults, tells = 'anybody', onChange }: JobFieldsProps) {
  const folded = Object.keys(faults).some((path) => isOfJobFields(path) && !path.startsWith('notify'))
  const told = { chosen: draft.notify, faults, onChange: (notify: string[]) => onChange({ notify }) }
  return (
    <>
      {tells === 'anybody' && <TellFields {...told} />}
      {tells === 'reader' && <TellReader {...told} />}
      <details open={draft.metadata.length > 0 || folded || undefined}>
        <summary>Receiver name, priority, metadata</summary>
        <TextField
          label="Receiver name"
          hint="Notifies only the webhooks with this name, and the subscriptions with it. Empty: all webhooks, and no subscription. The API calls it presence_name."
          fault={faults.presence_name}
          value={draft.presence_name}
          onChange={({ target }) => onChange({ presence_name: target.value })}
        />
        <TextField
          label="Priority"
          hint="From -100 to 100; higher runs first."
          inputMode="numeric"
          fault={faults.priority}
          value={draft.priority}
          onChange={({ target }) => onChange({ priority: target.value })}
        />
        <MetadataFields
          rows={draft.metadata}
          faults={faults}
          onChange={(metadata) => onChange({ metadata })}
        />
      </details>
    </>
  )
}
