/** Shows the data of a draft: each column with its type and its role in the draft, above the first rows. */
import type { DraftView } from '@assay/client'
import type { Cell, Column, Table } from '@assay/model/insight'
import { useQuery } from '@tanstack/react-query'
import { api } from '../../api.ts'
import { Fault } from '../fault.tsx'
import type { DraftOf } from './draft-notes.tsx'

const SHOWN = 8

const TYPE_WORDS: Partial<Record<Column['type'], string>> = {
  integer: 'whole number',
  decimal: 'number',
  boolean: 'yes or no',
  timestamp: 'date and time',
}

const ROLE_WORDS: Record<DraftView['columns'][number]['role'], string> = {
  time: 'the time',
  measure: 'a measure',
  dimension: 'divides groups',
  identifier: 'names rows',
  event: 'an event',
  other: 'not used',
  unclear: 'asked above',
}

/** Returns the `sources` of a front matter, with the lines that say how a file is read. */
function sourcesIn(source: string): string {
  const [, front = ''] = /^---\n([\s\S]*?)\n---/.exec(source) ?? []
  return /^sources:.*(?:\n[ \t].*)*/m.exec(front)?.[0] ?? ''
}

function templateOf(of: DraftOf, source: string): string {
  const query = 'table' in of ? `select * from ${of.table} limit ${SHOWN}` : ''
  const sources =
    'table' in of
      ? `sources: ${JSON.stringify({ data: { connection: of.connection, query } })}`
      : sourcesIn(source)
  return `---\nlineage: none\n${sources}\n---\n\n\`\`\`sql shown\nselect * from data limit ${SHOWN}\n\`\`\`\n\n# Rows\n`
}

const cellText = (cell: Cell): string =>
  cell === null ? '' : typeof cell === 'object' ? JSON.stringify(cell) : String(cell)

function Shown({ table, columns }: { table: Table; columns: DraftView['columns'] }) {
  const role = new Map(columns.map((column) => [column.name, column]))
  return (
    <figure className="table">
      <div className="scroll" role="group" aria-label="First rows" tabIndex={0}>
        <table className="dense">
          <thead>
            <tr>
              {table.columns.map(({ name, type }) => {
                const known = role.get(name)
                return (
                  <th key={name} scope="col" title={known && `${ROLE_WORDS[known.role]}: ${known.reason}`}>
                    {name}
                    <div className="small">
                      {TYPE_WORDS[type] ?? type}
                      {known && (
                        <>
                          {', '}
                          {ROLE_WORDS[known.role]}
                          {!known.sure && known.role !== 'unclear' && ', not sure'}
                        </>
                      )}
                    </div>
                  </th>
                )
              })}
            </tr>
          </thead>
          <tbody>
            {table.rows.map((row, nth) => (
              // Rows have no id.
              // biome-ignore lint/suspicious/noArrayIndexKey: the order of the rows does not change
              <tr key={nth}>
                {row.map((cell, column) => (
                  <td key={table.columns[column]!.name}>{cellText(cell)}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </figure>
  )
}

export function DraftRows({ of, draft }: { of: DraftOf; draft: DraftView }) {
  const source = templateOf(of, draft.source)
  const query = useQuery({
    queryKey: ['draft', 'rows', source],
    queryFn: async () => {
      const { tables } = await api().templates.preview({ source })
      return (tables as Record<string, Table>).shown!
    },
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  })
  return (
    <details className="facts" open>
      <summary>
        The data: {draft.rows.toLocaleString('en')} {draft.rows === 1 ? 'row' : 'rows'},{' '}
        {draft.columns.length} {draft.columns.length === 1 ? 'column' : 'columns'}
      </summary>
      {query.isPending && <p className="waiting">Reading the first rows…</p>}
      {query.isError && <Fault error={query.error} />}
      {query.data && <Shown table={query.data} columns={draft.columns} />}
    </details>
  )
}
