/**
 * The page of the uploads of the workspace by folder: upload, make a report, download, delete, and the name to use in
 * a template.
 */

import type { StoredFile } from '@assay/model/file'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { api, useMay } from '../api.ts'
import { save } from '../drafts/save.ts'
import { pageUploads } from '../files/uploads.ts'
import { AskFirst } from '../parts/ask-first.tsx'
import { Fault } from '../parts/fault.tsx'
import { TextField } from '../parts/field.tsx'
import { Uploader } from '../parts/files/uploader.tsx'
import { Paged, usePaged } from '../parts/lists/paged.tsx'
import { Empty, Page } from '../parts/page.tsx'
import { Copy, Time } from '../parts/show.tsx'
import { Curl } from '../parts/text/curl.tsx'
import { size } from '../words/durations.ts'

const SHOWN = 200
/** The most files that need no filter. */
const FEW = 8

/** Returns "2024/q1/" for "2024/q1/sales.csv", and an empty text for a file in no folder. */
function folderOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/') + 1)
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}

function byFolder(files: readonly StoredFile[]): [folder: string, files: StoredFile[]][] {
  const folders = new Map<string, StoredFile[]>()
  for (const file of files) {
    const folder = folderOf(file.path)
    folders.set(folder, [...(folders.get(folder) ?? []), file])
  }
  return [...folders].toSorted(([a], [b]) => (a < b ? -1 : 1))
}

function Delete({ file: { path, etag } }: { file: StoredFile }) {
  const cache = useQueryClient()
  return (
    <AskFirst
      label="Delete"
      of={path}
      look="small"
      title={`Delete ${path}?`}
      description="Later jobs that read the file fail, and a job that is reading it may fail. Insights stay."
      action="Delete the file"
      // This deletes only the version that is shown, not one that was uploaded since.
      act={() => api().files.delete(path, { ifMatch: etag })}
      onDone={() =>
        Promise.all(['files', 'choices'].map((key) => cache.invalidateQueries({ queryKey: [key] })))
      }
    />
  )
}

function Download({ file: { path } }: { file: StoredFile }) {
  const load = useMutation({
    mutationFn: async () => save(await (await api().files.read(path)).blob(), nameOf(path)),
  })
  return (
    <>
      <button
        type="button"
        className="button quiet small"
        aria-label={`Download ${path}`}
        disabled={load.isPending}
        onClick={() => load.mutate()}
      >
        {load.isPending ? 'Loading…' : 'Download'}
      </button>
      {load.isError && <Fault error={load.error} />}
    </>
  )
}

function FileRow({ file }: { file: StoredFile }) {
  const analyst = useMay('analyst')
  return (
    <tr>
      <td>
        {analyst ? (
          <Link to="/data" search={{ file: file.file }}>
            {nameOf(file.path)}
          </Link>
        ) : (
          nameOf(file.path)
        )}
      </td>
      <td className="short">
        <span title={`${file.bytes.toLocaleString('en')} bytes`}>{size(file.bytes)}</span>
      </td>
      <td>
        <Time at={file.updated_at} />
      </td>
      <td>
        <code>{file.file}</code> <Copy text={file.file} />
      </td>
      <td>
        {analyst && (
          <Link
            className="button quiet small"
            to="/templates/new"
            search={{ file: file.file }}
            aria-label={`Make a report from ${file.path}`}
          >
            Make a report
          </Link>
        )}
        <Download file={file} />
        {analyst && <Delete file={file} />}
      </td>
    </tr>
  )
}

function FileTable({ files }: { files: readonly StoredFile[] }) {
  return (
    <table className="list">
      <thead>
        <tr>
          <th scope="col">Name</th>
          <th scope="col">Size</th>
          <th scope="col">Changed</th>
          <th scope="col">As a template names it</th>
          <th scope="col">Action</th>
        </tr>
      </thead>
      {byFolder(files).map(([folder, inside]) => (
        <tbody key={folder}>
          <tr className="folder">
            <th scope="rowgroup" colSpan={5}>
              {folder === '' ? (
                'Not in a folder'
              ) : (
                <Link to="/files" search={{ in: folder }}>
                  {folder}
                </Link>
              )}{' '}
              · {inside.length === 1 ? 'one file' : `${inside.length} files`},{' '}
              {size(inside.reduce((sum, { bytes }) => sum + bytes, 0))}
            </th>
          </tr>
          {inside.map((file) => (
            <FileRow key={file.path} file={file} />
          ))}
        </tbody>
      ))}
    </table>
  )
}

/** Shows links to the parent folders. */
function Trail({ prefix }: { prefix: string }) {
  const names = folderOf(prefix).split('/').filter(Boolean)
  if (names.length === 0) return null
  return (
    <nav aria-label="Folders">
      <Link to="/files" search={{}}>
        All files
      </Link>
      {names.map((name, index) => {
        const folder = `${names.slice(0, index + 1).join('/')}/`
        return (
          <span key={folder}>
            {' / '}
            {folder === prefix ? (
              name
            ) : (
              <Link to="/files" search={{ in: folder }}>
                {name}
              </Link>
            )}
          </span>
        )
      })}
    </nav>
  )
}

function PutIn({ prefix }: { prefix: string }) {
  const [typed, setTyped] = useState<string | null>(null)
  const folder = typed ?? folderOf(prefix)
  return (
    <Uploader uploads={pageUploads} folder={folder}>
      <TextField
        label="Into the folder"
        hint="Folders divided by “/”, or empty for none. Missing folders are created."
        placeholder="2024/sales"
        value={folder}
        onChange={({ target }) => setTyped(target.value)}
      />
    </Uploader>
  )
}

function PathFilter({ prefix, onChange }: { prefix: string; onChange(text: string): void }) {
  return (
    <div className="filters" role="search">
      <TextField
        label="Paths that begin with"
        type="search"
        placeholder="2024/"
        value={prefix}
        onChange={({ target }) => onChange(target.value)}
      />
    </div>
  )
}

function NothingHere({ prefix, analyst }: { prefix: string; analyst: boolean }) {
  if (prefix !== '')
    return (
      <Empty title={`No path begins with “${prefix}”`}>
        <p>
          <Link to="/files" search={{}}>
            Show all files
          </Link>
        </p>
      </Empty>
    )
  return (
    <Empty title="No file was uploaded yet">
      <p>Templates can read an uploaded file at once: as a source, and as the value of a file variable.</p>
      {analyst && <Curl path="/files/2024/sales.csv" options="-T sales.csv" />}
    </Empty>
  )
}

export function FilesPage() {
  const { in: prefix = '' } = useSearch({ from: '/shell/files' })
  const navigate = useNavigate({ from: '/files' })
  const analyst = useMay('analyst')
  const query = usePaged(['files', 'list', prefix], (cursor) =>
    api().files.list({ ...(prefix === '' ? {} : { prefix }), cursor, limit: SHOWN }),
  )
  const narrow = (text: string): void => void navigate({ search: { in: text || undefined }, replace: true })
  return (
    <Page
      title="Files"
      wide
      trail={<Trail prefix={prefix} />}
      lead={<p>Your own data, which templates read as sources.</p>}
    >
      {analyst && <PutIn prefix={prefix} />}
      <Paged query={query} empty={<NothingHere prefix={prefix} analyst={analyst} />}>
        {(files) => (
          <>
            {(prefix !== '' || files.length > FEW) && <PathFilter prefix={prefix} onChange={narrow} />}
            <FileTable files={files} />
          </>
        )}
      </Paged>
    </Page>
  )
}
