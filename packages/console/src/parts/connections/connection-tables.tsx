/**
 * Lists the tables of a database, each with the ways on to its rows, a report and a metric. The list is read over the
 * connection when it is asked for.
 */
import type { ConnectionView } from '@assay/model/connection'
import type { Table } from '@assay/model/insight'
import { useMutation } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { api } from '../../api.ts'
import { listTemplate } from '../../connections.ts'
import { Fault } from '../fault.tsx'
import { TextField } from '../field.tsx'
import { ListTable } from '../lists/list-table.tsx'

/** More tables than these are filtered by what is typed, which names one at once. */
const SHOWN = 50

async function tablesOf(connection: ConnectionView): Promise<string[]> {
  const { tables } = await api().templates.preview({ source: listTemplate(connection) })
  return (tables as Record<string, Table>).names!.rows.map(([name]) => name as string)
}

function Ways({ of }: { of: { connection: string; table: string } }) {
  return (
    <>
      <Link
        className="button quiet small"
        to="/templates/new"
        search={of}
        aria-label={`Make a report of ${of.table}`}
      >
        Make a report
      </Link>
      <Link
        className="button quiet small"
        to="/metric/new"
        search={of}
        aria-label={`Define a metric of ${of.table}`}
      >
        Define a metric
      </Link>
    </>
  )
}

function TableList({ connection, names }: { connection: string; names: readonly string[] }) {
  return (
    <ListTable columns={['Table', 'Action']}>
      {names.map((table) => (
        <tr key={table}>
          <td>
            <Link to="/data" search={{ connection, table }}>
              {table}
            </Link>
          </td>
          <td>
            <Ways of={{ connection, table }} />
          </td>
        </tr>
      ))}
    </ListTable>
  )
}

export function ConnectionTables({ connection }: { connection: ConnectionView }) {
  const [typed, setTyped] = useState('')
  const load = useMutation({ mutationFn: () => tablesOf(connection) })
  const wanted = typed.trim().toLowerCase()
  const found = (load.data ?? []).filter((name) => name.toLowerCase().includes(wanted))
  // A name that is not in the list, as of a table that only some may list, can still be read.
  const named = typed.trim() !== '' && !found.includes(typed.trim()) ? [typed.trim()] : []
  return (
    <section aria-label="Tables">
      <h2>Its tables</h2>
      <div className="row-form">
        <TextField
          label="Table"
          hint="Such as orders, or sales.orders. Its first 10,000 rows are looked at."
          value={typed}
          onChange={({ target }) => setTyped(target.value)}
        />
        <button type="button" className="button" disabled={load.isPending} onClick={() => load.mutate()}>
          {load.isPending ? 'Asking the database…' : 'List the tables'}
        </button>
      </div>
      {load.isError && <Fault error={load.error} />}
      <p className="small" role="status">
        {load.data && countWords(load.data.length, found.length)}
      </p>
      {(found.length > 0 || named.length > 0) && (
        <TableList connection={connection.name} names={[...named, ...found].slice(0, SHOWN)} />
      )}
    </section>
  )
}

function countWords(all: number, found: number): string {
  if (all === 0) return 'The user of the connection sees no table.'
  const words = `${all} ${all === 1 ? 'table' : 'tables'}`
  if (found === all) return all > SHOWN ? `${words}. The first ${SHOWN} are shown.` : `${words}.`
  return `${found} of ${words}.`
}
