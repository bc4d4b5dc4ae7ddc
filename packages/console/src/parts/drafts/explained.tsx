/**
 * Shows where a run of a template would compute what: sources that stay in their database or move here, and the
 * statements of the database.
 */
import type { Explained, ExplainedBlock, ExplainedSource } from '@assay/model/explained'
import { useMutation } from '@tanstack/react-query'
import { api } from '../../api.ts'
import { Fault } from '../fault.tsx'
import { PlainTable } from '../plain-table.tsx'
import { Code } from '../text/code.tsx'

const count = (value: number | null): string => value?.toLocaleString('en') ?? ''

interface Question {
  source: string
  values: Record<string, unknown>
  reader: { reader?: Record<string, unknown> }
}

function whereOf({ place, connection, kind }: ExplainedSource): string {
  if (connection === null) return 'files, read here'
  return place === 'database' ? `stays in ${connection} (${kind})` : `moves here from ${connection} (${kind})`
}

/** Shows which days of a metric are kept, and which a run reads. */
function Days({ days }: { days: ExplainedSource['days'] }) {
  if (days === null) return null
  const { kept, reads, doubt } = days
  return (
    <div className="small">
      <p>Days that are kept: {count(kept)}. A run reads</p>
      <ul>
        {reads.map(({ from, until, because }) => (
          <li key={from}>
            {until === null ? `from ${from}` : `${from} to before ${until}`}: {because}
          </li>
        ))}
      </ul>
      {doubt !== null && <p role="status">{doubt}</p>}
    </div>
  )
}

function Sources({ sources }: { sources: readonly ExplainedSource[] }) {
  return (
    <>
      <PlainTable label="Sources" heads={['Source', 'Where', 'Rows that move', 'Bytes, about']}>
        {sources.map((source) => (
          <tr key={source.name}>
            <td>
              <code>{source.name}</code>
            </td>
            <td>
              {whereOf(source)}
              {source.because !== null && <p className="small">{source.because}</p>}
              <Days days={source.days} />
            </td>
            <td className="right">{count(source.rows)}</td>
            <td className="right">{count(source.bytes)}</td>
          </tr>
        ))}
      </PlainTable>
      {sources.map(
        ({ name, refused }) =>
          refused !== null && (
            <div className="fault" role="alert" key={name}>
              <p>A run would be refused. {refused}</p>
            </div>
          ),
      )}
    </>
  )
}

function Asks({ block }: { block: ExplainedBlock }) {
  const { name, method, reads, place, statements, because } = block
  const what = method === null ? 'SQL' : `analysis: ${method}`
  if (place === 'here')
    return (
      <p>
        <code>{name}</code>{' '}
        <span className="small">
          {what} · here, over {reads.join(', ') || 'nothing'}
        </span>
        {because !== null && <span className="small"> · {because}</span>}
      </p>
    )
  return (
    <details className="block">
      <summary>
        <code>{name}</code>
        <span className="small">
          {what} · in the database, statements: {statements.length}
        </span>
      </summary>
      {statements.map(({ sql, rows, bytes }, index) => (
        // Statements have an order and no names.
        // biome-ignore lint/suspicious/noArrayIndexKey: the list is never changed
        <div key={index}>
          <Code text={sql} language="sql" />
          <p className="small">
            Over the sample it answers {count(rows)} {rows === 1 ? 'row' : 'rows'}, {count(bytes)} bytes.
          </p>
        </div>
      ))}
      {because !== null && <p className="small">{because}</p>}
    </details>
  )
}

function Found({ explained }: { explained: Explained }) {
  const { sources, blocks, sample_rows } = explained
  return (
    <>
      {sources.length > 0 && <Sources sources={sources} />}
      {blocks.map((block) => (
        <Asks key={block.name} block={block} />
      ))}
      {blocks.some(({ statements }) => statements.length > 0) && (
        <p className="small">
          A sample has at most {count(sample_rows)} rows. A number in a statement that comes from an earlier
          answer is that of the sample.
        </p>
      )}
    </>
  )
}

/** Explains on demand, since databases count rows for it. */
export function WhatRunsWhere({ given }: { given(): Question }) {
  const asked = useMutation({
    mutationFn: () => {
      const { source, values, reader } = given()
      return api().templates.explain({ source, template_vars: values, ...reader })
    },
  })
  return (
    <section aria-label="What runs where">
      <h2>What runs where</h2>
      <p className="small">
        Which rows stay in their database and what it is asked, and how many rows move here. Databases count
        these and give a sample; the template does not run.
      </p>
      <button type="button" className="button" disabled={asked.isPending} onClick={() => asked.mutate()}>
        Show what runs where
      </button>
      {asked.isError && <Fault error={asked.error} />}
      {asked.data && <Found explained={asked.data} />}
    </section>
  )
}
