/**
 * Shows the headers that a webhook sends with every request. Values are secrets, shown only while they are entered,
 * unless public.
 */
import { type HeaderDraft, NEW_HEADER, staysSecret } from '../../drafts/headers.ts'
import { CheckField, TextField } from '../field.tsx'
import { RowFields } from '../lists/row-fields.tsx'

interface HeaderProps {
  headers: HeaderDraft[]
  /** The faults by row, such as "headers.0.name". */
  faults: Record<string, string>
  onChange(headers: HeaderDraft[]): void
}

export function HeaderFields({ headers, faults, onChange }: HeaderProps) {
  return (
    <RowFields
      legend="Headers"
      hint="Sent with every request. Values are stored encrypted and never shown again, unless you mark them as no secret."
      fault={faults.headers}
      rows={headers}
      fresh={NEW_HEADER}
      add="Add a header"
      onChange={onChange}
    >
      {(header, set, index) => (
        <>
          <TextField
            label={`Name ${index + 1}`}
            value={header.name}
            readOnly={header.kept !== null}
            fault={faults[`headers.${index}.name`]}
            onChange={({ target }) => set({ name: target.value })}
          />
          <TextField
            label={`Value ${index + 1}`}
            type={header.public ? 'text' : 'password'}
            autoComplete="off"
            placeholder={header.kept !== null && !header.public ? `${header.kept}: stays` : undefined}
            value={header.value}
            fault={faults[`headers.${index}.value`]}
            onChange={({ target }) => set({ value: target.value })}
          />
          <CheckField
            label={`Row ${index + 1} is no secret: show it`}
            checked={header.public}
            // A stored secret cannot be shown, so it must be entered again.
            disabled={staysSecret(header)}
            onChange={({ target }) => set({ public: target.checked })}
          />
        </>
      )}
    </RowFields>
  )
}
