/**
 * The page of readers: the persons for whom personal templates are run, each with the attributes that choose her rows.
 */

import type { ReaderView } from '@assay/client'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../../api.ts'
import { READERS, shown } from '../../drafts/readers.ts'
import { AskFirst } from '../../parts/ask-first.tsx'
import { ListTable } from '../../parts/lists/list-table.tsx'
import { Paged, usePaged } from '../../parts/lists/paged.tsx'
import { Empty } from '../../parts/page.tsx'
import { UserName } from '../../parts/user-name.tsx'
import { below } from '../address.ts'
import { ReaderForm } from './reader-form.tsx'
import { ReaderImport } from './reader-import.tsx'

const COLUMNS = ['Reader', 'Name', 'Mail address', 'Attributes', 'User', 'Action']

function Remove({ reader: { reader_id } }: { reader: ReaderView }) {
  const cache = useQueryClient()
  return (
    <AskFirst
      look="small"
      label="Delete"
      of={reader_id}
      title={`Delete the reader “${reader_id}”?`}
      description="The reader’s insights stay, for admins alone. Jobs that have not begun end without an insight, and schedules over readers leave the reader out."
      action="Delete the reader"
      act={() => api().readers.delete(reader_id)}
      onDone={() => cache.invalidateQueries({ queryKey: [READERS] })}
    />
  )
}

function Attributes({ attributes }: Pick<ReaderView, 'attributes'>) {
  const all = Object.entries(attributes)
  if (all.length === 0) return '–'
  return all.map(([name, value]) => (
    <div key={name}>
      {name}: {shown(value)}
    </div>
  ))
}

function Row({ reader }: { reader: ReaderView }) {
  const [editing, setEditing] = useState(false)
  const { reader_id, name, email, user_id, attributes } = reader
  if (editing)
    return (
      <tr>
        <td colSpan={COLUMNS.length}>
          <ReaderForm reader={reader} onDone={() => setEditing(false)} />
        </td>
      </tr>
    )
  return (
    <tr>
      <td>
        <code>{reader_id}</code>
      </td>
      <td>{name}</td>
      <td>{email ?? '–'}</td>
      <td>
        <Attributes attributes={attributes} />
      </td>
      <td>{user_id === null ? '–' : <UserName user_id={user_id} />}</td>
      <td>
        <button
          type="button"
          className="button quiet small"
          aria-label={`Change ${reader_id}`}
          onClick={() => setEditing(true)}
        >
          Change
        </button>
        <Remove reader={reader} />
      </td>
    </tr>
  )
}

function NoReader() {
  return (
    <Empty title="No reader yet">
      <p>
        A reader is a person who gets a report of her own rows: the region where she sells, the team that she
        leads. A template whose source has a rule such as <code>rows: region = $reader.region</code> is run
        for each of them, and its insight is hers alone. Add one above, or import a CSV.
      </p>
      <p>
        <a href={below('/docs#/Readers')}>Readers in the API reference</a>
      </p>
    </Empty>
  )
}

export function ReadersPage() {
  const [adding, setAdding] = useState(false)
  const query = usePaged([READERS, 'pages'], (cursor) => api().readers.list(cursor ? { cursor } : {}))
  return (
    <section>
      <h2>Readers</h2>
      {adding ? (
        <ReaderForm onDone={() => setAdding(false)} />
      ) : (
        <p>
          <button type="button" className="button primary" onClick={() => setAdding(true)}>
            Add a reader
          </button>
        </p>
      )}
      <ReaderImport />
      <Paged query={query} empty={<NoReader />}>
        {(readers) => (
          <ListTable columns={COLUMNS}>
            {readers.map((reader) => (
              <Row key={reader.reader_id} reader={reader} />
            ))}
          </ListTable>
        )}
      </Paged>
    </section>
  )
}
