/** The table of a list: column names over rows. A column that is false is left out. */
import type { ReactNode } from 'react'

interface Options {
  columns: readonly (string | false)[]
  caption?: string
  /** The rows. */
  children: ReactNode
}

export function ListTable({ columns, caption, children }: Options) {
  return (
    <table className="list">
      {caption !== undefined && <caption className="small">{caption}</caption>}
      <thead>
        <tr>
          {columns.map(
            (name) =>
              name !== false && (
                <th key={name} scope="col">
                  {name}
                </th>
              ),
          )}
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  )
}
