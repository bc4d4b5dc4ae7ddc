/** The page of the connections of the workspace: kind, address and state of each. */

import type { ConnectionView } from '@assay/model/connection'
import { KINDS } from '@assay/model/connection-kinds'
import { Link } from '@tanstack/react-router'
import { api } from '../../api.ts'
import { placeOf } from '../../connections.ts'
import { ConnectionTest } from '../../parts/connections/connection-test.tsx'
import { ListTable } from '../../parts/lists/list-table.tsx'
import { Paged, usePaged } from '../../parts/lists/paged.tsx'
import { Empty } from '../../parts/page.tsx'
import { Curl } from '../../parts/text/curl.tsx'
import { duration, size } from '../../words/durations.ts'

function Row({ connection }: { connection: ConnectionView }) {
  const { name, kind, description, limits, origin } = connection
  return (
    <tr>
      <td>
        <Link to="/system/connections/$name" params={{ name }}>
          {name}
        </Link>
        {description !== null && <div className="small">{description}</div>}
      </td>
      <td>{KINDS[kind].title}</td>
      <td>
        <code>{placeOf(connection)}</code>
      </td>
      <td className="small">
        {duration(limits.timeout_seconds * 1000)}, {limits.rows.toLocaleString('en')} rows,{' '}
        {size(limits.bytes)}, {limits.concurrent} at a time
      </td>
      <td>{origin === 'file' ? 'settings file' : 'here'}</td>
      <td>
        <ConnectionTest small name={name} />
      </td>
    </tr>
  )
}

const create = (
  <Link className="button" to="/system/connections/new">
    New connection
  </Link>
)

function None() {
  return (
    <Empty title="No connection yet">
      <p>A template reads from a database, a web server or a bucket over a connection.</p>
      {create}
      <Curl
        method="POST"
        path="/connections"
        body={{
          name: 'warehouse',
          kind: 'postgresql',
          options: { host: 'db.example.com', database: 'shop', user: 'assay_reader' },
          secrets: { password: '…' },
        }}
      />
    </Empty>
  )
}

export function ConnectionsPage() {
  const query = usePaged(['connections'], (cursor) => api().connections.list(cursor ? { cursor } : {}))
  return (
    <section>
      <h2>Connections</h2>
      <Paged query={query} empty={<None />}>
        {(connections) => (
          <>
            {connections.some(({ origin }) => origin === 'file') ? (
              <p className="notice">
                The connections come from the file that ASSAY_CONNECTIONS names: change them there and restart
                the service.
              </p>
            ) : (
              <p>{create}</p>
            )}
            <ListTable columns={['Name', 'Kind', 'Leads to', 'Limits of a query', 'Kept', 'Try']}>
              {connections.map((connection) => (
                <Row key={connection.name} connection={connection} />
              ))}
            </ListTable>
          </>
        )}
      </Paged>
    </section>
  )
}
