/** Chooses the file of a variable from the readable files, or uploads it here. */

import type { NewFile } from '@assay/client'
import { useEffect, useRef, useState, useSyncExternalStore } from 'react'
import { useMay } from '../../api.ts'
import { createUploads } from '../../files/uploads.ts'
import { Dialog } from '../dialog.tsx'
import { type FieldParts, TextField } from '../field.tsx'
import { Uploader } from './uploader.tsx'

/** The prefixes of an upload in `file:`, as in packages/model/file.ts. */
const PLACES = [
  ['Uploaded', 'uploads/'],
  ['Samples', 'sample/'],
  ['Data folder', ''],
] as const

function placeOf(file: string): string {
  return PLACES.find(([, beginning]) => file.startsWith(beginning))![0]
}

function UploadDialog({ onClose, onMade }: { onClose(): void; onMade(file: string): void }) {
  const [uploads] = useState(createUploads)
  const [folder, setFolder] = useState('')
  const made = useSyncExternalStore(uploads.subscribe, uploads.list).findLast((upload) => upload.made)?.made
  const told = useRef<NewFile | null>(null)
  useEffect(() => {
    if (!made || told.current === made) return
    told.current = made
    onMade(made.file)
  }, [made, onMade])
  const close = (): void => {
    uploads.clear()
    onClose()
  }
  return (
    <Dialog
      title="Upload a file"
      description="The uploaded file is chosen here and listed under Files."
      open
      onClose={close}
    >
      <TextField
        label="Into the folder"
        placeholder="2024/sales"
        value={folder}
        onChange={({ target }) => setFolder(target.value)}
      />
      <Uploader uploads={uploads} folder={folder} />
      <div className="actions">
        <button type="button" className="button" onClick={close}>
          {made ? 'Use it' : 'Close'}
        </button>
      </div>
    </Dialog>
  )
}

interface FileInputProps {
  parts: FieldParts
  name: string
  required: boolean
  value: string
  choices: readonly string[]
  onChange(value: string): void
}

export function FileInput({ parts, name, required, value, choices, onChange }: FileInputProps) {
  const [uploading, setUploading] = useState(false)
  const analyst = useMay('analyst')
  const known = [...new Set([...choices, ...(value === '' ? [] : [value])])]
  return (
    <div className="file-choice">
      {choices.length === 0 ? (
        <input
          className="input"
          {...parts}
          aria-required={required}
          placeholder="uploads/2024/sales.csv"
          value={value}
          onChange={({ target }) => onChange(target.value)}
        />
      ) : (
        <select className="input" {...parts} value={value} onChange={({ target }) => onChange(target.value)}>
          {(!required || value === '') && <option value="">Not given</option>}
          {PLACES.map(([place]) => {
            const files = known.filter((file) => placeOf(file) === place)
            return files.length === 0 ? null : (
              <optgroup key={place} label={place}>
                {files.map((file) => (
                  <option key={file} value={file}>
                    {file}
                  </option>
                ))}
              </optgroup>
            )
          })}
        </select>
      )}
      {analyst && (
        <button
          type="button"
          className="button"
          aria-label={`Upload a file for ${name}`}
          onClick={() => setUploading(true)}
        >
          Upload
        </button>
      )}
      {uploading && <UploadDialog onClose={() => setUploading(false)} onMade={onChange} />}
    </div>
  )
}
