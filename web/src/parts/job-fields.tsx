/** What a job may be given besides its variables, wherever jobs are made: who is told of it, and how soon it runs. */
import { TextField } from './field.tsx'

export interface JobDraft {
  presence_name: string
  priority: string
}

/** As the API takes it; what is empty is left out. */
export function jobSettings({ presence_name, priority }: JobDraft): {
  presence_name?: string
  priority?: number
} {
  return {
    ...(presence_name.trim() === '' ? {} : { presence_name: presence_name.trim() }),
    ...(priority.trim() === '' ? {} : { priority: Number(priority) }),
  }
}

interface JobFieldsProps {
  draft: JobDraft
  faults: Record<string, string>
  onChange(changed: Partial<JobDraft>): void
}

export function JobFields({ draft, faults, onChange }: JobFieldsProps) {
  return (
    <details open={'presence_name' in faults || 'priority' in faults || undefined}>
      <summary>Who is told, and how soon it runs</summary>
      <TextField
        label="Presence name"
        hint="Only webhooks of this name are told; left empty, all are."
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
    </details>
  )
}
