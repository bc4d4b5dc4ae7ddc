/**
 * The page of a table, which is an upload or a table of a database: its columns with their types and roles, its first
 * rows, what can be read in two ways, and the ways on to a report and a metric.
 */
import { Link, useSearch } from '@tanstack/react-router'
import { useMay } from '../api.ts'
import { DraftNotes, type DraftOf, useDraftOf } from '../parts/drafts/draft-notes.tsx'
import { DraftRows } from '../parts/drafts/table-rows.tsx'
import { Empty, Loaded, Page } from '../parts/page.tsx'

function Look({ of }: { of: DraftOf }) {
  return (
    <Loaded query={useDraftOf(of)}>
      {(draft) => (
        <>
          <DraftNotes of={of} draft={draft} at="/data" />
          <DraftRows of={of} draft={draft} />
        </>
      )}
    </Loaded>
  )
}

function Trail({ of }: { of: DraftOf }) {
  if ('file' in of) return <Link to="/files">Files</Link>
  return (
    <>
      <Link to="/system/connections">Connections</Link>
      {' / '}
      <Link to="/system/connections/$name" params={{ name: of.connection }}>
        {of.connection}
      </Link>
    </>
  )
}

function Next({ of }: { of: DraftOf }) {
  const metric = 'file' in of ? { file: of.file } : of
  return (
    <>
      <Link className="button primary" to="/templates/new" search={of}>
        Make a report
      </Link>
      <Link className="button" to="/metric/new" search={metric}>
        Define a metric
      </Link>
    </>
  )
}

export function DataPage() {
  const { file, lines = '', connection, table } = useSearch({ from: '/shell/data' })
  const analyst = useMay('analyst')
  const of: DraftOf | null =
    file !== undefined
      ? { file, lines }
      : connection !== undefined && table !== undefined
        ? { connection, table }
        : null
  if (of === null)
    return (
      <Page title="Data">
        <Empty title="The address names no table">
          <Link to="/files">All files</Link>
        </Empty>
      </Page>
    )
  return (
    <Page
      title={'file' in of ? of.file.replace(/^.*\//, '') : of.table}
      wide
      trail={<Trail of={of} />}
      actions={analyst && <Next of={of} />}
    >
      {analyst ? (
        <Look of={of} />
      ) : (
        <Empty title="The rows are for those who make reports">They have the scope analyst.</Empty>
      )}
    </Page>
  )
}
