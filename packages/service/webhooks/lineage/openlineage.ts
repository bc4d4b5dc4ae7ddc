/**
 * Writes events of jobs in the form of OpenLineage (openlineage.io, version 2-0-2), for webhooks with that format:
 * the start of a run, its end, the sources that it read and the insight that it made. Rows, SQL and the texts of a
 * report are left out.
 */

import type { EventType } from '@assay/model/event'
import type { Lineage, SourceLineage } from '@assay/model/insight'

const PRODUCER = 'urn:assay:service'
const SPEC = 'https://openlineage.io/spec'
const RUN_STATES: Partial<Record<EventType, string>> = {
  'job.started': 'START',
  'job.completed': 'COMPLETE',
  'job.failed': 'FAIL',
  'job.canceled': 'ABORT',
}

/** The data of an event as a webhook gets them. */
interface Told {
  type: EventType
  timestamp: string
  data: Record<string, unknown>
}

interface Surroundings {
  event_id: string
  workspace_id: string
  /** The public address of the service; null if it has none. */
  publicUrl: string | null
}

/** Makes a facet. It names its producer and its schema. */
const facet = (name: string, version: string, fields: object) => ({
  _producer: PRODUCER,
  _schemaURL: `${SPEC}/facets/${version}/${name}.json#/$defs/${name}`,
  ...fields,
})

function inputOf(namespace: string, { name, files, remote, rows }: SourceLineage) {
  const bytes = files.reduce((sum, file) => sum + file.bytes, remote?.bytes ?? 0)
  const statistics = {
    ...(rows === null ? {} : { rowCount: rows }),
    size: bytes,
    ...(remote ? {} : { fileCount: files.length }),
  }
  const inputFacets = {
    inputStatistics: facet('InputStatisticsInputDatasetFacet', '1-0-0', statistics),
  }
  if (remote) return [{ namespace, name: `connections/${remote.connection}/${name}`, inputFacets }]
  // The rows of a source are counted for all of its files together.
  return files.map(({ path, bytes: size }) => {
    const own = files.length === 1 ? statistics : { size, fileCount: 1 }
    const facets = { inputStatistics: facet('InputStatisticsInputDatasetFacet', '1-0-0', own) }
    const [, host, within] = /^([a-z][a-z0-9+.-]*:\/\/[^/?#]+)\/([^?#]*)/i.exec(path) ?? []
    return host === undefined
      ? { namespace, name: `files/${path}`, inputFacets: facets }
      : { namespace: host, name: within ?? '', inputFacets: facets }
  })
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

/**
 * Returns the event. `lineage`: that of the insight of a completed job; null if the insight was deleted or the job
 * has none.
 */
export function openLineage(
  { type, timestamp, data }: Told,
  { event_id, workspace_id, publicUrl }: Surroundings,
  lineage: Pick<Lineage, 'sources'> | null,
): Record<string, unknown> {
  const namespace = `assay://${publicUrl === null ? 'localhost' : new URL(publicUrl).host}/${workspace_id}`
  // The test event of a webhook belongs to no job.
  const eventType = RUN_STATES[type] ?? 'OTHER'
  const template = textOf(data.template_id) || type
  const error = data.error as { code: string; detail: string } | null | undefined
  const errors = error
    ? {
        errorMessage: facet('ErrorMessageRunFacet', '1-0-1', {
          message: `${error.code}: ${error.detail}`,
          programmingLanguage: 'SQL',
        }),
      }
    : {}
  const version = textOf(data.insight_id)
  const outputs =
    version === ''
      ? []
      : [
          {
            namespace,
            name: `insights/${template}`,
            facets: { version: facet('DatasetVersionDatasetFacet', '1-0-1', { datasetVersion: version }) },
          },
        ]
  return {
    eventType,
    eventTime: timestamp,
    producer: PRODUCER,
    schemaURL: `${SPEC}/2-0-2/OpenLineage.json#/$defs/RunEvent`,
    run: { runId: textOf(data.assignment_id) || event_id, facets: errors },
    job: {
      namespace,
      name: template,
      facets: {
        jobType: facet('JobTypeJobFacet', '2-0-4', {
          processingType: 'BATCH',
          integration: 'ASSAY',
          jobType: 'TEMPLATE',
        }),
      },
    },
    inputs: (lineage?.sources ?? []).flatMap((source) => inputOf(namespace, source)),
    outputs,
  }
}
