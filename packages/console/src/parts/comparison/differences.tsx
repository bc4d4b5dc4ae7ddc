/**
 * Shows the differences between an insight and an earlier one: figures, findings, and variables other than the period.
 */
import type { ReactNode } from 'react'
import type { Insight } from '../../insights.ts'
import {
  type FindingDifference,
  figureDifferences,
  findingDifferences,
  unequalPeriods,
  variableDifferences,
} from '../../words/differences.ts'
import { PlainTable } from '../plain-table.tsx'
import { Time } from '../show.tsx'
import { OverlaidCharts } from './overlaid.tsx'

function Cells({ heads, label, rows }: { heads: string[]; label: string; rows: (string | null)[][] }) {
  return (
    <PlainTable label={label} heads={heads}>
      {rows.map(([key, ...cells]) => (
        <tr key={key}>
          {cells.map((cell, nth) => (
            <td key={heads[nth]}>{cell ?? '–'}</td>
          ))}
        </tr>
      ))}
    </PlainTable>
  )
}

function Finding({ now, before, change }: Omit<FindingDifference, 'key'>) {
  return (
    <li>
      {change !== null && <span className="finding-change">{change} </span>}
      {now ?? before}
      {now !== null && before !== null && before !== now && (
        <div className="finding-before">Before: {before}</div>
      )}
    </li>
  )
}

function Findings({ findings }: { findings: readonly FindingDifference[] }) {
  return (
    <ul className="findings">
      {findings.map(({ key, ...finding }) => (
        <Finding key={key} {...finding} />
      ))}
    </ul>
  )
}

/** Lists the findings of only one of the runs. */
function Listed({ title, findings }: { title: string; findings: readonly FindingDifference[] }) {
  if (findings.length === 0) return null
  return (
    <>
      <h3>{title}</h3>
      <Findings findings={findings.map((finding) => ({ ...finding, change: null }))} />
    </>
  )
}

function Part({ title, children }: { title: string; children: ReactNode }) {
  return (
    <>
      <h2>{title}</h2>
      {children}
    </>
  )
}

export function Differences({ insight, earlier }: { insight: Insight; earlier: Insight }) {
  const figures = figureDifferences(insight, earlier)
  const findings = findingDifferences(insight, earlier)
  const variables = variableDifferences(insight, earlier)
  const unequal = unequalPeriods(insight, earlier)
  const isThere = ({ now, before }: FindingDifference): boolean => now !== null && before !== null
  const changed = findings.filter((one) => isThere(one) && one.change !== null)
  const appeared = findings.filter(({ before }) => before === null)
  const gone = findings.filter(({ now }) => now === null)
  const kept = findings.filter(({ change }) => change === null)
  return (
    <section className="differences">
      <h1>What changed</h1>
      <p className="small">
        {insight.title} (<Time at={insight.created_at} exact />
        ), beside {earlier.title} (
        <Time at={earlier.created_at} exact />)
      </p>
      {unequal !== null && <p className="notice">{unequal}</p>}
      {figures.length > 0 && (
        <Part title="Figures">
          <Cells
            label="Figures of both runs"
            heads={['Figure', 'This run', 'Before', 'Change']}
            rows={figures.map(({ key, label, now, before, change }) => [key, label, now, before, change])}
          />
        </Part>
      )}
      {findings.length > 0 && (
        <Part title="Findings">
          {changed.length > 0 ? (
            <Findings findings={changed} />
          ) : (
            <p>No finding became surer or less sure, or turned.</p>
          )}
          <Listed title="New" findings={appeared} />
          <Listed title="Gone" findings={gone} />
          {kept.length > 0 && (
            <details>
              <summary>As sure as before: {kept.length}</summary>
              <Findings findings={kept} />
            </details>
          )}
        </Part>
      )}
      <OverlaidCharts insight_id={insight.insight_id} earlier_id={earlier.insight_id} />
      {variables.length > 0 && (
        <Part title="Variables">
          <Cells
            label="Variables that differ"
            heads={['Variable', 'This run', 'Before']}
            rows={variables.map(({ name, now, before }) => [name, name, now, before])}
          />
        </Part>
      )}
      {figures.length + findings.length + variables.length === 0 && (
        <p className="notice">Neither run has figures or findings to compare. Their texts stand below.</p>
      )}
    </section>
  )
}
