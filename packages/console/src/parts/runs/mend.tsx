/**
 * Links to the one place at which a failed job is mended: its template at the line of the fault, its connection, or
 * its file.
 */
import type { JobErrorCode } from '@assay/model/errors'
import type { JobView } from '@assay/model/job'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { api, useMay } from '../../api.ts'

const OF_TEMPLATE: readonly JobErrorCode[] = [
  'analysis_failed',
  'template_invalid',
  'memory_exceeded',
  'limit_exceeded',
  'output_too_large',
  'timed_out',
]

function MendTemplate({ template_id, line }: { template_id: string; line: number | undefined }) {
  const { data } = useQuery({
    queryKey: ['template', template_id],
    queryFn: () => api().templates.get(template_id),
  })
  if (!data) return null
  return data.origin === 'workspace' || data.origin === 'git' ? (
    <Link
      className="button"
      to="/templates/$template_id/edit"
      params={{ template_id }}
      search={line === undefined ? {} : { line }}
    >
      Open the template{line !== undefined && ` at line ${line}`}
    </Link>
  ) : (
    <Link className="button" to="/templates/new" search={{ from: template_id }}>
      Copy and edit the template
    </Link>
  )
}

export function Mend({ job: { error, template_id } }: { job: JobView }) {
  const analyst = useMay('analyst')
  const admin = useMay('admin')
  if (error === null || !analyst) return null
  if (OF_TEMPLATE.includes(error.code)) {
    const line = /\bline (\d+)/.exec(error.detail)?.[1]
    return <MendTemplate template_id={template_id} line={line === undefined ? undefined : Number(line)} />
  }
  if (error.code !== 'source_unavailable') return null
  const connection = /connection "([\w-]+)"/.exec(error.detail)?.[1]
  if (connection !== undefined)
    return admin ? (
      <Link className="button" to="/system/connections/$name" params={{ name: connection }}>
        See the connection
      </Link>
    ) : null
  return (
    <Link className="button" to="/files" search={{}}>
      See the files
    </Link>
  )
}
