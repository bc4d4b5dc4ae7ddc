/** Headers that a webhook sends with every request. Values are secrets: they are shown only while they are typed. */
import { TextField } from './field.tsx'

export interface HeaderDraft {
  name: string
  value: string
}

interface HeaderProps {
  headers: HeaderDraft[]
  faults: Record<string, string>
  onChange(headers: HeaderDraft[]): void
}

export function HeaderFields({ headers, faults, onChange }: HeaderProps) {
  const set = (index: number, patch: Partial<HeaderDraft>): void =>
    onChange(headers.map((header, other) => (other === index ? { ...header, ...patch } : header)))
  return (
    <fieldset className="field">
      <legend>Headers</legend>
      <div className="hint">
        Sent with every request, such as an authorization. Kept encrypted, never shown again.
      </div>
      {headers.map((header, index) => (
        // A header in the making has no name yet but its place.
        <div className="row-form" key={`header-${index + 0}`}>
          <TextField
            label={`Name ${index + 1}`}
            value={header.name}
            fault={faults[`headers.${index}.name`]}
            onChange={({ target }) => set(index, { name: target.value })}
          />
          <TextField
            label={`Value ${index + 1}`}
            type="password"
            autoComplete="off"
            value={header.value}
            fault={faults[`headers.${index}.value`]}
            onChange={({ target }) => set(index, { value: target.value })}
          />
          <button
            type="button"
            className="button quiet"
            onClick={() => onChange(headers.filter((_, other) => other !== index))}
          >
            Remove
          </button>
        </div>
      ))}
      <button
        type="button"
        className="button quiet"
        onClick={() => onChange([...headers, { name: '', value: '' }])}
      >
        Add a header
      </button>
    </fieldset>
  )
}
