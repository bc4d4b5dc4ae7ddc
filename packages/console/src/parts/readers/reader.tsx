/** Shows the reader of a personal insight, and the field that chooses one. */

import { ClientError } from '@assay/client'
import { useQuery } from '@tanstack/react-query'
import { useId } from 'react'
import { api, useMay } from '../../api.ts'
import { READERS, shown } from '../../drafts/readers.ts'
import { LinesField, TextField } from '../field.tsx'

const SHOWN_ATTRIBUTES = 4
/** The most readers that a field offers. Others are typed. */
const OFFERED = 200

/** Returns the first readers by id, for admins. */
function useReaders() {
  const admin = useMay('admin')
  return useQuery({
    queryKey: [READERS, 'first'],
    queryFn: () => api().readers.list({ limit: OFFERED }),
    enabled: admin,
    staleTime: 60_000,
  })
}

/** Returns a reader by id for admins, and only the id for others. */
function useReader(reader_id: string) {
  const admin = useMay('admin')
  return useQuery({
    queryKey: [READERS, 'one', reader_id],
    queryFn: () => api().readers.get(reader_id),
    enabled: admin,
    staleTime: 60_000,
  })
}

/** Shows "For ada (region North)". Admins see the present attributes. A reader who was deleted is named by her id. */
export function ForReader({ reader_id }: { reader_id: string }) {
  const { data, error } = useReader(reader_id)
  const gone = error instanceof ClientError && error.status === 404
  const attributes = Object.entries(data?.attributes ?? {})
  const words = attributes.slice(0, SHOWN_ATTRIBUTES).map(([name, value]) => `${name} ${shown(value)}`)
  const more = attributes.length > SHOWN_ATTRIBUTES ? ', …' : ''
  return (
    <span title={data?.name}>
      For <strong>{reader_id}</strong>
      {gone && ' (deleted)'}
      {words.length > 0 && ` (${words.join(', ')}${more})`}
    </span>
  )
}

interface ReaderFieldProps {
  value: string
  fault: string | undefined
  hint?: string
  required?: boolean
  onChange(reader_id: string): void
}

/** Offers the first readers; the id of any other can be typed. */
export function ReaderField({ value, fault, hint, required = false, onChange }: ReaderFieldProps) {
  const list = useId()
  const readers = useReaders().data?.items ?? []
  return (
    <>
      <TextField
        label="Reader"
        hint={hint}
        required={required}
        list={list}
        autoComplete="off"
        spellCheck={false}
        fault={fault}
        value={value}
        onChange={({ target }) => onChange(target.value)}
      />
      <datalist id={list}>
        {readers.map(({ reader_id, name }) => (
          <option key={reader_id} value={reader_id}>
            {name}
          </option>
        ))}
      </datalist>
    </>
  )
}

/**
 * Chooses the reader for whom a personal template is run, in its form. Users who are no admins run it for themselves.
 */
export function RunReader(props: Omit<ReaderFieldProps, 'hint' | 'required'>) {
  const admin = useMay('admin')
  if (!admin) return <p className="small">Each reader sees rows of their own: this run is for you.</p>
  return (
    <ReaderField
      hint="Each reader sees rows of their own. The id of the reader for whom this is run; empty for yourself, if your user is a reader."
      {...props}
    />
  )
}

/**
 * Asks whose rows to show. A user who may preview a source may read all of its rows, so any attributes are accepted.
 */
export function PreviewReader(props: {
  needs: readonly string[]
  value: string
  fault: string | undefined
  onChange(reader: string): void
}) {
  const { needs, value, fault, onChange } = props
  return (
    <LinesField
      label="Reader for the preview"
      hint="The template shows each reader rows of their own. Write the id and the attributes, one a line. The id alone takes a stored reader, if you are an admin."
      placeholder={['id: ada', ...needs.map((name) => `${name}: …`)].join('\n')}
      fault={fault}
      value={value}
      onChange={({ target }) => onChange(target.value)}
    />
  )
}
