/** The options of a job besides its variables: presence name, priority and metadata. */
import { type MetadataRow, metadataOf } from '../../drafts/metadata.ts'
import { TextField } from '../field.tsx'
import { MetadataFields } from './metadata-fields.tsx'

export interface JobDraft {
  presence_name: string
  priority: string
  metadata: MetadataRow[]
}

export const FIRST_JOB: JobDraft = { presence_name: '', priority: '', metadata: [] }

/** The options as the API takes them; empty ones are left out. */
export function jobSettings({ presence_name, priority, metadata: rows }: JobDraft): {
  presence_name?: string
  priority?: number
  metadata?: Record<string, string>
} {
  const metadata = metadataOf(rows)
  return {
    ...(presence_name.trim() === '' ? {} : { presence_name: presence_name.trim() }),
    ...(priority.trim() === '' ? {} : { priority: Number(priority) }),
    ...(Object.keys(metadata).length === 0 ? {} : { metadata }),
  }
}

/** Whether a field of this form shows the fault of this path. */
export function isOfJobFields(path: string): boolean {
  return /^(presence_name|priority|metadata)(\.|$)/.test(path)
}

interface JobFieldsProps {
  draft: JobDraft
  faults: Record<string, string>
  onChange(changed: Partial<JobDraft>): void
}

export function JobFields({ draft, faults, onChange }: JobFieldsProps) {
  return (
    <details open={draft.metadata.length > 0 || Object.keys(faults).some(isOfJobFields) || undefined}>
      <summary>Presence name, priority, metadata</summary>
      <TextField
        label="Presence name"
        hint="Notifies only the webhooks with this name, and the subscriptions with it; empty notifies all webhooks."
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
      <MetadataFields rows={draft.metadata} faults={faults} onChange={(metadata) => onChange({ metadata })} />
    </details>
  )
}
