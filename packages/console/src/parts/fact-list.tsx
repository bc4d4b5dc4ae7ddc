/** What a thing is set to: its id, to be copied, and the rest by name. */
import { Copy } from './show.tsx'

export function FactList({ noun, id, rows }: { noun: string; id: string; rows: [string, string][] }) {
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
