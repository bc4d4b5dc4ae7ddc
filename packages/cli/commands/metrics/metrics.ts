/** assay metrics ...: lists the metrics that templates read by name, and manages the workspace's own. */
import path from 'node:path'
import type { MetricView } from '@assay/client'
import { eachCommand, pageCommand, showCommand } from '../../client-command.ts'
import { flag, LIMIT, limitOption, text } from '../../options.ts'
import { counted } from '../../print.ts'
import { readText } from '../local/text-file.ts'

function keptText({ kept }: MetricView): string {
  if (kept === null) return ''
  const { series, days, bytes, most_bytes } = kept
  return `${counted(days, 'day')} of ${series} series, ${bytes.toLocaleString('en')} of ${most_bytes.toLocaleString('en')} bytes that the workspace may take`
}

function describe(metric: MetricView): string {
  const { metric_id, label, description, version, origin, unit, good, grain, zone, target, events } = metric
  const lines: [string, string][] = [
    ['unit', unit ?? ''],
    ['better', good === 'none' ? '' : good],
    ['steps', `${grain}, ${zone}`],
    ['target', target === null ? '' : `${target.value} per ${target.per}`],
    ['dimensions', metric.dimensions.join(', ')],
    ['tests', metric.tests.join('; ')],
    ['events', events.map((event) => `${event.date} ${event.label}`).join('; ')],
    ['connection', metric.connections.join(', ')],
    ['kept days', keptText(metric)],
    ['doubt', metric.kept?.doubt ?? ''],
  ]
  const told = lines
    .filter(([, value]) => value !== '')
    .map(([name, value]) => `${name.padEnd(12)}${value}\n`)
  const about = description ? `${description}\n` : ''
  return `${metric_id}: ${label}\n${about}version ${version}, ${origin}\n\n${told.join('')}`
}

export const METRICS = [
  pageCommand(
    {
      name: 'metrics list',
      summary: 'List the metrics of a service',
      options: {
        q: text('TEXT', 'Only those that hold these words'),
        limit: LIMIT,
        cursor: text('CURSOR', 'The next page, as the previous one names it'),
      },
    },
    ['METRIC', 'ORIGIN', 'LABEL', 'UNIT'],
    (client, call) =>
      client.metrics.list({ q: call.text('q'), limit: limitOption(call), cursor: call.text('cursor') }),
    ({ metric_id, origin, label, unit }) => [metric_id, origin, label, unit ?? ''],
  ),
  showCommand(
    {
      name: 'metrics show',
      operands: 'ID',
      summary: 'Show a metric: what it counts, its target and tests',
      options: { source: flag('Print the definition and nothing else') },
    },
    (client, call) => client.metrics.get(call.operands[0]!),
    (metric, call) => (call.on('source') ? metric.source : describe(metric)),
  ),
  showCommand(
    {
      name: 'metrics put',
      operands: 'FILE',
      summary: "Put a definition into the workspace's metrics",
      options: { id: text('ID', "Its id (default: the file's name)") },
    },
    async (client, call) => {
      const file = call.operands[0]!
      return client.metrics.put(call.text('id') ?? path.basename(file, '.yaml'), await readText(file))
    },
    ({ metric_id }) => `${metric_id}\n`,
  ),
  eachCommand({ name: 'metrics delete', summary: "Delete metrics of the workspace's own" }, (client, id) =>
    client.metrics.delete(id),
  ),
]
