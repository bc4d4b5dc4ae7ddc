/** Shows the settings of an object: its id, to copy, and the others by name. */
import type { ReactNode } from 'react'
import { inWords, textOf } from '../../values.ts'
import { Copy } from '../show.tsx'

export function FactList({ noun, id, rows }: { noun: string; id: string; rows: [string, ReactNode][] }) {
  return (
    <dl>
      <dt>{noun}</dt>
      <dd>
        <code>{id}</code> <Copy text={id} />
      </dd>
      {rows.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}

/** Shows variables or metadata by name, as entries of a `dl`. */
export function NamedValues({ values }: { values: readonly (readonly [string, unknown])[] }) {
  return values.map(([name, value]) => (
    <div key={name}>
      <dt title={name}>{inWords(name)}</dt>
      <dd>{textOf(value) || 'not given'}</dd>
    </div>
  ))
}
