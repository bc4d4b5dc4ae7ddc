/** A list of rows of fields. Rows can be added and removed. */
import type { ReactNode } from 'react'

interface RowProps<Row> {
  legend: string
  hint: ReactNode
  fault?: string | undefined
  rows: readonly Row[]
  /** The values of a new row, and the label of the button that adds one. */
  fresh: Row
  add: string
  onChange(rows: Row[]): void
  children(row: Row, set: (patch: Partial<Row>) => void, index: number): ReactNode
}

export function RowFields<Row>({ legend, hint, fault, rows, fresh, add, onChange, children }: RowProps<Row>) {
  const set = (index: number, patch: Partial<Row>): void =>
    onChange(rows.map((row, other) => (other === index ? { ...row, ...patch } : row)))
  return (
    <fieldset className="field">
      <legend>{legend}</legend>
      <div className="hint">{hint}</div>
      {fault && (
        <div className="field-fault" role="alert">
          {fault}
        </div>
      )}
      {rows.map((row, index) => (
        // A new row has no name yet, so its index is its key.
        <div className="row-form" key={`row-${index + 0}`}>
          {children(row, (patch) => set(index, patch), index)}
          <button
            type="button"
            className="button quiet"
            aria-label={`Remove row ${index + 1}`}
            onClick={() => onChange(rows.filter((_, other) => other !== index))}
          >
            Remove
          </button>
        </div>
      ))}
      <button type="button" className="button quiet" onClick={() => onChange([...rows, fresh])}>
        {add}
      </button>
    </fieldset>
  )
}
