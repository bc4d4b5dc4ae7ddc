/** Chooses the data with which the builder begins: an upload, or for a template a metric. */

import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { api } from '../../api.ts'
import type { BuiltOf } from '../../drafts/builder/choices.ts'
import { Field } from '../field.tsx'

const MOST = 200

function valueOf(of: BuiltOf): string {
  if ('metric' in of) return `metric ${of.metric}`
  return 'file' in of && of.file !== '' ? `file ${of.file}` : ''
}

function ofValue(value: string): BuiltOf {
  const [kind, ...rest] = value.split(' ')
  const name = rest.join(' ')
  return kind === 'metric' ? { metric: name } : { file: name, lines: [] }
}

interface SourceProps {
  kind: 'metric' | 'template'
  of: BuiltOf
  onChange(of: BuiltOf): void
}

export function SourceField({ kind, of, onChange }: SourceProps) {
  const files = useQuery({
    queryKey: ['files', 'list', 'builder'],
    queryFn: () => api().files.list({ limit: MOST }),
  })
  const metrics = useQuery({
    queryKey: ['metrics', 'builder'],
    queryFn: () => api().metrics.list({ limit: MOST }),
    enabled: kind === 'template',
  })
  const uploads = files.data?.items ?? []
  return (
    <Field
      label="Data"
      hint={
        <>
          {kind === 'template' ? 'An upload or a metric.' : 'An upload.'}{' '}
          <Link to="/files">Upload a file</Link>
          {'; a table of a database begins on the page of its connection.'}
        </>
      }
    >
      {(parts) => (
        <select
          className="input"
          {...parts}
          value={valueOf(of)}
          onChange={({ target }) => onChange(ofValue(target.value))}
        >
          <option value="">Choose…</option>
          {uploads.length > 0 && (
            <optgroup label="Uploads">
              {uploads.map(({ file, path }) => (
                <option key={file} value={`file ${file}`}>
                  {path}
                </option>
              ))}
            </optgroup>
          )}
          {kind === 'template' && (
            <optgroup label="Metrics">
              {(metrics.data?.items ?? []).map(({ metric_id, label }) => (
                <option key={metric_id} value={`metric ${metric_id}`}>
                  {label}
                </option>
              ))}
            </optgroup>
          )}
        </select>
      )}
    </Field>
  )
}
