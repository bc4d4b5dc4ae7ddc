/** Shows sets of variables as rows, each with its faults or its job. */
import { type ReactNode, useState } from 'react'
import type { VariableSets } from '../../drafts/variable-sets.ts'
import { textOf } from '../../values.ts'
import { CheckField } from '../field.tsx'
import { PORTION, ShowMore } from '../lists/show-more.tsx'

export interface SetFault {
  path: string
  message: string
}

/** Returns the variable of a fault: "origin" for "items.3.template_vars.origin". */
function variableOf({ path }: SetFault): string {
  return path.replace(/^items\.\d+\.(template_vars\.)?/, '').split('.')[0]!
}

interface SetTableProps extends VariableSets {
  label: string
  /** The faults by row; empty until they are known. */
  faults: readonly (readonly SetFault[])[]
  /** Renders the cell of a row without a fault. */
  good(index: number): ReactNode
}

export function SetTable({ label, columns, sets, faults, good }: SetTableProps) {
  const [most, setMost] = useState(PORTION)
  const [onlyFaults, setOnlyFaults] = useState(false)
  const faulty = faults.filter((own) => own.length > 0).length
  const rows = sets
    .map((set, index) => ({ set, index, own: faults[index] ?? [] }))
    .filter(({ own }) => !onlyFaults || own.length > 0)
  return (
    <figure className="table">
      {faulty > 0 && faulty < sets.length && (
        <CheckField
          label="Only rows with faults"
          checked={onlyFaults}
          onChange={({ target }) => setOnlyFaults(target.checked)}
        />
      )}
      <div className="scroll" role="group" aria-label={label} tabIndex={0}>
        <table className="dense sets">
          <thead>
            <tr>
              <th scope="col">Row</th>
              <th scope="col">Outcome</th>
              {columns.map((name) => (
                <th scope="col" key={name}>
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, most).map(({ set, index, own }) => (
              <tr key={index}>
                <th scope="row">{index + 1}</th>
                <td className="outcome">
                  {own.length === 0
                    ? good(index)
                    : own.map((fault) => (
                        <div key={fault.path + fault.message} className="field-fault">
                          {fault.message}
                        </div>
                      ))}
                </td>
                {columns.map((name) => (
                  <td
                    key={name}
                    className={own.some((fault) => variableOf(fault) === name) ? 'wrong' : undefined}
                  >
                    {textOf(set[name])}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <ShowMore most={most} rows={rows.length} onMore={setMost} />
    </figure>
  )
}
