/** Shows the metadata: names and texts of the user's choice that a job and its events carry. */
import { type MetadataRow, metadataFault } from '../../drafts/metadata.ts'
import { TextField } from '../field.tsx'
import { RowFields } from '../lists/row-fields.tsx'

interface MetadataProps {
  rows: MetadataRow[]
  /** The faults by path: "metadata", or "metadata.NAME". */
  faults: Record<string, string>
  onChange(rows: MetadataRow[]): void
}

export function MetadataFields({ rows, faults, onChange }: MetadataProps) {
  return (
    <RowFields
      legend="Metadata"
      hint="Your own names and texts, which the job and its events carry."
      fault={faults.metadata}
      rows={rows}
      fresh={{ name: '', value: '' }}
      add="Add metadata"
      onChange={onChange}
    >
      {(row, set, index) => (
        <>
          <TextField
            label={`Name ${index + 1}`}
            value={row.name}
            fault={metadataFault(rows, index)}
            onChange={({ target }) => set({ name: target.value })}
          />
          <TextField
            label={`Text ${index + 1}`}
            value={row.value}
            fault={row.name.trim() === '' ? undefined : faults[`metadata.${row.name.trim()}`]}
            onChange={({ target }) => set({ value: target.value })}
          />
        </>
      )}
    </RowFields>
  )
}
