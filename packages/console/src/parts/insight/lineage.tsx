/** Shows the lineage of an insight, folded: variables, sources, and each block with its SQL and rows. */

import type { BlockLineage, SourceLineage } from '@assay/model/insight'
import { Link } from '@tanstack/react-router'
import { Fragment, type ReactNode, useState } from 'react'
import { blockAnchor, type Insight } from '../../insights.ts'
import { textOf } from '../../values.ts'
import { duration } from '../../words/durations.ts'
import { PlainTable } from '../plain-table.tsx'
import { Time } from '../show.tsx'
import { Code } from '../text/code.tsx'
import { Rows } from './rows.tsx'

const count = (value: number): string => value.toLocaleString('en')

function valueText(value: unknown): string {
  const label = (value as { label?: unknown } | null)?.label
  return typeof label === 'string' ? label : textOf(value) || 'not given'
}

function Sources({ sources }: { sources: SourceLineage[] }) {
  return (
    <PlainTable label="Sources" heads={['Source', 'File', 'Rows', 'Bytes', 'Fingerprint']}>
      {sources.flatMap(({ name, files, rows, remote }) => [
        ...(remote
          ? [
              <tr key={name}>
                <td>
                  <code>{name}</code>
                </td>
                <td title={remote.query}>
                  connection <code>{remote.connection}</code>
                </td>
                <td className="right">{rows === null ? '' : count(rows)}</td>
                <td className="right">{count(remote.bytes)}</td>
                <td />
              </tr>,
            ]
          : []),
        ...files.map((file) => (
          <tr key={`${name}${file.path}`}>
            <td>
              <code>{name}</code>
            </td>
            <td>{file.path}</td>
            <td className="right">{rows === null ? '' : count(rows)}</td>
            <td className="right">{count(file.bytes)}</td>
            <td>
              <code title={file.fingerprint}>{file.fingerprint.slice(0, 26)}…</code>
            </td>
          </tr>
        )),
      ])}
    </PlainTable>
  )
}

interface BlockProps {
  insight: Insight
  block: BlockLineage
  asked: number | undefined
}

function BlockDetails({ insight, block, asked }: BlockProps) {
  const [opened, setOpened] = useState(false)
  const table = insight.tables[block.name]
  const outcome = insight.analyses[block.name]
  return (
    <details
      className="block"
      id={blockAnchor(insight.insight_id, block.name)}
      onToggle={({ currentTarget }) => setOpened(opened || currentTarget.open)}
    >
      <summary>
        <code>{block.name}</code>
        <span className="small">
          {outcome ? `analysis: ${outcome.method}` : `SQL, ${count(block.rows ?? 0)} rows`} ·{' '}
          {duration(block.elapsed_ms)}
        </span>
      </summary>
      {opened && (
        <>
          {block.sql !== null && <Code text={block.sql.trim()} language="sql" />}
          {table && <Rows table={table} block={block.name} label={`Rows of ${block.name}`} asked={asked} />}
          {outcome && <Code text={JSON.stringify(outcome, null, 2)} />}
        </>
      )}
    </details>
  )
}

/** Leads to the template as it was when the job was created. */
function AsOfThen({ insight: { lineage, assignment_id } }: { insight: Insight }) {
  const { template_id } = lineage
  return (
    <Link
      to="/templates/$template_id/then/$assignment_id"
      params={{ template_id, assignment_id }}
      aria-label={`${template_id} as it was then`}
    >
      <code>{template_id}</code>
    </Link>
  )
}

/** Leads to the definitions of the metrics as they were when the job was created. */
function Metrics({ insight: { lineage, assignment_id } }: { insight: Insight }) {
  const { metrics = [] } = lineage
  if (metrics.length === 0) return null
  return (
    <p>
      Metrics as they were then:{' '}
      {metrics.map(({ metric: metric_id }, nth) => (
        <Fragment key={metric_id}>
          {nth > 0 && ', '}
          <Link to="/metric/$metric_id/then/$assignment_id" params={{ metric_id, assignment_id }}>
            <code>{metric_id}</code>
          </Link>
        </Fragment>
      ))}
      .
    </p>
  )
}

interface LineageProps {
  insight: Insight
  /** The index of the row to mark, by block. */
  asked?: ReadonlyMap<string, number>
  /** The content below the heading. */
  children?: ReactNode
}

export function LineageSection({ insight, asked, children }: LineageProps) {
  const { lineage, facts, insight_id } = insight
  const variables = Object.entries(lineage.variables)
  return (
    <details className="computed">
      <summary>
        <h2 id={`computed-${insight_id.slice(-6)}`}>How this was computed</h2>
      </summary>
      <p>
        Template <AsOfThen insight={insight} />, version <code>{lineage.template_version}</code>; Assay{' '}
        {lineage.assay_version} on {lineage.engine}; started <Time at={lineage.started_at} exact />, took{' '}
        {duration(lineage.elapsed_ms)}; periods in {lineage.time_zone}.
      </p>
      <Metrics insight={insight} />
      {children}
      {variables.length > 0 && (
        <PlainTable label="Variables" heads={['Variable', 'Value']}>
          {variables.map(([name, value]) => (
            <tr key={name}>
              <td>
                <code>{name}</code>
              </td>
              <td>{valueText(value)}</td>
            </tr>
          ))}
        </PlainTable>
      )}
      {facts.length > 0 && (
        <PlainTable label="Facts" heads={['Fact', 'As shown', 'Exact value']}>
          {facts.map(({ name, text, value }) => (
            <tr key={name}>
              <td>
                <code>{name}</code>
              </td>
              <td>{text}</td>
              <td>{textOf(value)}</td>
            </tr>
          ))}
        </PlainTable>
      )}
      <Sources sources={lineage.sources} />
      <h3>Blocks</h3>
      <p className="small">In the order of the template. Open one for its SQL and its rows.</p>
      {lineage.blocks.map((block) => (
        <BlockDetails key={block.name} insight={insight} block={block} asked={asked?.get(block.name)} />
      ))}
    </details>
  )
}
