/** Imports the readers of a CSV, a thousand a call, and shows what was written and what does not fit, by line. */

import { ClientError } from '@assay/client'
import {
  type ReaderFault,
  ReaderFileError,
  type ReaderRow,
  readersIn,
  refusedLines,
} from '@assay/model/reader-file'
import { READERS_PUT_MOST } from '@assay/model/reader-limits'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { api } from '../../api.ts'
import { READERS } from '../../drafts/readers.ts'
import { Fault } from '../../parts/fault.tsx'
import { TextField } from '../../parts/field.tsx'

/** The most bytes of a file. A hundred thousand readers with a few attributes take less. */
const FILE_MOST = 64_000_000
const SHOWN_FAULTS = 20

interface Imported {
  created: number
  replaced: number
  /** The number of rows that were not written. */
  left: number
  faults: readonly ReaderFault[]
  /** The reason why the service wrote no more, if it is not a fault of a line. */
  error: unknown
}

async function putAll(rows: readonly ReaderRow[]): Promise<Imported> {
  const done = { created: 0, replaced: 0 }
  for (let at = 0; at < rows.length; at += READERS_PUT_MOST) {
    const some = rows.slice(at, at + READERS_PUT_MOST)
    try {
      const put = await api().readers.putMany({ readers: some.map(({ reader }) => reader) })
      done.created += put.created
      done.replaced += put.replaced
    } catch (error) {
      const faults = refusedLines(error instanceof ClientError ? (error.problem?.errors ?? []) : [], some)
      return { ...done, left: rows.length - at, faults, error: faults.length > 0 ? null : error }
    }
  }
  return { ...done, left: 0, faults: [], error: null }
}

async function importFile(file: File): Promise<Imported> {
  const nothing = { created: 0, replaced: 0, left: 0, error: null }
  if (file.size > FILE_MOST)
    return { ...nothing, faults: [{ line: null, message: 'The file is larger than 64 MB: divide it.' }] }
  try {
    return await putAll(readersIn(await file.text()))
  } catch (error) {
    if (error instanceof ReaderFileError) return { ...nothing, faults: error.faults }
    throw error
  }
}

const readers = (count: number): string =>
  count === 1 ? 'one reader' : `${count.toLocaleString('en')} readers`

function Outcome({ created, replaced, left, faults, error }: Imported) {
  const failed = faults.length > 0 || error !== null
  return (
    <div className={failed ? 'fault' : 'notice'} role={failed ? 'alert' : 'status'}>
      <p>
        {created + replaced === 0
          ? 'Nothing was written.'
          : `Written: ${readers(created)} made, ${replaced.toLocaleString('en')} replaced.`}
        {left > 0 &&
          created + replaced > 0 &&
          ` The last ${left.toLocaleString('en')} rows were not: the file can be imported again.`}
      </p>
      {faults.length > 0 && (
        <ul>
          {faults.slice(0, SHOWN_FAULTS).map(({ line, message }) => (
            <li key={`${line} ${message}`}>
              {line !== null && <strong>Line {line}: </strong>}
              {message}
            </li>
          ))}
          {faults.length > SHOWN_FAULTS && <li>And {faults.length - SHOWN_FAULTS} more.</li>}
        </ul>
      )}
      {error !== null && <Fault error={error} />}
    </div>
  )
}

export function ReaderImport() {
  const cache = useQueryClient()
  const reading = useMutation({
    mutationFn: importFile,
    onSettled: () => cache.invalidateQueries({ queryKey: [READERS] }),
  })
  return (
    <>
      <TextField
        label="Import a CSV"
        hint={
          <>
            The first line names the columns: <code>reader_id</code>, and <code>name</code>,{' '}
            <code>email</code>, <code>user_id</code> where there are any. Every other column is an attribute:
            a text, or what its heading says after a colon (<code>level:number</code>,{' '}
            <code>active:boolean</code>, <code>teams:list</code> with <code>;</code> between the texts).
            Readers with the same id are replaced, others stay.
          </>
        }
        type="file"
        accept=".csv,.tsv,.txt,text/csv"
        disabled={reading.isPending}
        onChange={({ target }) => {
          const file = target.files?.[0]
          if (file) reading.mutate(file)
          // The input is reset, so that the same file can be chosen again after a correction.
          target.value = ''
        }}
      />
      {reading.isPending && <p role="status">Importing…</p>}
      {reading.isError && <Fault error={reading.error} />}
      {reading.data && <Outcome {...reading.data} />}
    </>
  )
}
