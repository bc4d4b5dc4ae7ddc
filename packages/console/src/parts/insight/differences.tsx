/** The differences of two insights of one template: variables and facts. */
import type { Insight } from '../../insights.ts'
import { textOf } from '../../values.ts'

interface Difference {
  name: string
  now: string
  other: string
}

function shown(value: unknown): string {
  const label = (value as { label?: unknown } | null)?.label
  return typeof label === 'string' ? label : textOf(value) || '–'
}

export function differencesOf(insight: Insight, earlier: Insight): Difference[] {
  const valuesOf = ({ lineage, facts }: Insight): Map<string, string> =>
    new Map([
      ...Object.entries(lineage.variables).map(([name, value]) => [name, shown(value)] as const),
      ...facts.map(({ name, text }) => [name, text] as const),
      ['version of the template', lineage.template_version] as const,
    ])
  const [now, other] = [valuesOf(insight), valuesOf(earlier)]
  return [...new Set([...now.keys(), ...other.keys()])]
    .map((name) => ({ name, now: now.get(name) ?? '–', other: other.get(name) ?? '–' }))
    .filter((difference) => difference.now !== difference.other)
}

export function Differences({ insight, earlier }: { insight: Insight; earlier: Insight }) {
  const differences = differencesOf(insight, earlier)
  if (differences.length === 0)
    return <p className="notice">Both runs have the same variables, and their facts are the same.</p>
  return (
    <figure className="table">
      <table>
        <caption>What differs</caption>
        <thead>
          <tr>
            <th scope="col">Variable or fact</th>
            <th scope="col">This run</th>
            <th scope="col">The other run</th>
          </tr>
        </thead>
        <tbody>
          {differences.map(({ name, now, other }) => (
            <tr key={name}>
              <td>{name}</td>
              <td>{now}</td>
              <td>{other}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </figure>
  )
}
