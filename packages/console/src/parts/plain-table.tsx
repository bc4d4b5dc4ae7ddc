/** A small table of text. It scrolls if it is too wide for its place. */
import type { ReactNode } from 'react'

export function PlainTable({
  label,
  heads,
  children,
}: {
  label: string
  heads: string[]
  children: ReactNode
}) {
  return (
    <figure className="table">
      <div className="scroll" role="group" aria-label={label} tabIndex={0}>
        <table>
          <thead>
            <tr>
              {heads.map((head) => (
                <th scope="col" key={head}>
                  {head}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>{children}</tbody>
        </table>
      </div>
    </figure>
  )
}
