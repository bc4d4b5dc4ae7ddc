/** Uploads files that are dropped or chosen, one after another, and shows each with its progress and faults. */

import { ClientError, type NewFile } from '@assay/client'
import { type DragEvent, type ReactNode, useId, useState, useSyncExternalStore } from 'react'
import { isGoing, type Upload, type Uploads } from '../../files/uploads.ts'
import { size } from '../../words/durations.ts'
import { Fault } from '../fault.tsx'
import { Copy } from '../show.tsx'
import { ReadingNotes } from './reading-notes.tsx'

/** The endings of the formats of packages/model/file.ts. */
const ENDINGS =
  '.csv,.tsv,.json,.ndjson,.jsonl,.parquet,.avro,.arrow,.arrows,.feather,.ipc,.xlsx,.ods,.gz,.zst'

function isTaken(error: unknown): boolean {
  return error instanceof ClientError && error.code === 'precondition_failed'
}

/** Returns what each offered line does, in words. */
function inWords(line: string): string {
  if (line === 'bad_rows: skip') return 'Leave out such rows, and count them'
  if (line === 'totals: skip') return 'Leave out the row of totals'
  if (line === 'totals: keep') return 'It is a row of the table'
  if (line === 'header: true') return 'The first row names the columns'
  if (line === 'header: false') return 'No row names the columns'
  return /^skip: \d+$/.test(line) ? 'Pass over the lines above' : `Read it with “${line}”`
}

/** Offers the lines that would let a refused file be read. Each button sends the file again with one. */
function Offers({ error, onChoose }: { error: unknown; onChoose(line: string): void }) {
  const faults = error instanceof ClientError ? (error.problem?.errors ?? []) : []
  const lines = faults.flatMap(({ write = [] }) => write)
  if (lines.length === 0) return null
  return (
    <div className="actions">
      {lines.map((line) => (
        <button key={line} type="button" className="button small" title={line} onClick={() => onChoose(line)}>
          {inWords(line)}
        </button>
      ))}
    </div>
  )
}

function Made({ file }: { file: NewFile }) {
  return (
    <p className="small">
      ✓ {size(file.bytes)}, {file.columns.length} columns:{' '}
      {file.columns.map(({ name, type }) => `${name} ${type}`).join(', ')}. A template names it{' '}
      <code>{file.file}</code> <Copy text={file.file} label="Copy the name" />
    </p>
  )
}

interface UploadRowProps {
  upload: Upload
  onCancel(): void
  onReplace(): void
  onChoose(line: string): void
  onForget(): void
}

function UploadRow({ upload, onCancel, onReplace, onChoose, onForget }: UploadRowProps) {
  const { path, file, stage, share, error, made } = upload
  const going = isGoing(upload)
  const percent = Math.floor(share * 100)
  return (
    <li className="upload">
      <div className="upload-head">
        <strong>{path}</strong>
        <span className="small" role="status">
          {stage === 'waiting' && 'waits'}
          {stage === 'sending' &&
            (share < 1 ? `${percent} % of ${size(file.size)}` : 'the service checks the file')}
          {stage === 'made' && 'uploaded'}
          {stage === 'canceled' && 'canceled: nothing is stored'}
          {stage === 'failed' && 'not taken'}
        </span>
        <button
          type="button"
          className="button quiet small"
          aria-label={going ? `Cancel ${path}` : `Dismiss ${path}`}
          onClick={going ? onCancel : onForget}
        >
          {going ? 'Cancel' : 'Dismiss'}
        </button>
      </div>
      {stage === 'sending' && (
        <progress max={100} {...(share < 1 ? { value: percent } : {})} aria-label={`Upload of ${path}`} />
      )}
      {made && <Made file={made} />}
      {made && <ReadingNotes file={made} />}
      {stage === 'failed' &&
        (isTaken(error) ? (
          <p className="notice">
            A file of this name exists. Later jobs would read the new file.{' '}
            <button type="button" className="button small" onClick={onReplace}>
              Replace {path}
            </button>
          </p>
        ) : (
          <>
            <Fault error={error} />
            <Offers error={error} onChoose={onChoose} />
          </>
        ))}
    </li>
  )
}

interface UploaderProps {
  uploads: Uploads
  folder: string
  /** Fields beside the choice of files. */
  children?: ReactNode
}

export function Uploader({ uploads, folder, children }: UploaderProps) {
  const id = useId()
  const [over, setOver] = useState(false)
  const shown = useSyncExternalStore(uploads.subscribe, uploads.list)
  const drop = (event: DragEvent): void => {
    event.preventDefault()
    setOver(false)
    uploads.add(folder, event.dataTransfer.files)
  }
  return (
    <>
      <fieldset
        className={over ? 'drop over' : 'drop'}
        onDragOver={(event) => {
          event.preventDefault()
          setOver(true)
        }}
        onDragLeave={() => setOver(false)}
        onDrop={drop}
      >
        <legend>Upload</legend>
        <div className="drop-files">
          <label htmlFor={id}>Drop files here, or choose them</label>
          <input
            id={id}
            type="file"
            multiple
            accept={ENDINGS}
            aria-describedby={`${id}h`}
            onChange={({ target }) => {
              uploads.add(folder, target.files ?? [])
              // The input is reset, so that the same file can be chosen again after a correction.
              target.value = ''
            }}
          />
          <div className="hint" id={`${id}h`}>
            CSV, TSV, JSON, NDJSON (also .gz and .zst), Parquet, Avro, Arrow, .xlsx or .ods. Each file is
            checked while it arrives.
          </div>
        </div>
        {children}
      </fieldset>
      {shown.length > 0 && (
        <ul className="uploads" aria-label="Uploads">
          {shown.map((upload) => (
            <UploadRow
              key={upload.id}
              upload={upload}
              onCancel={() => uploads.cancel(upload)}
              onReplace={() => uploads.replace(upload)}
              onChoose={(line) => uploads.readWith(upload, line)}
              onForget={() => uploads.forget(upload)}
            />
          ))}
        </ul>
      )}
    </>
  )
}
