/** assay brief: runs the shipped review of metrics over the metrics of this folder, without a service. */
import path from 'node:path'
import { resolveConfig } from '@assay/service/config/config'
import type { Command } from '../../command.ts'
import { RUN } from './run.ts'

export const BRIEF: Command = {
  name: 'brief',
  operands: 'METRIC...',
  summary: 'Review metrics: changes, causes, targets, what stands out, what is ahead',
  details:
    'Reads metrics/METRIC.yaml of this folder, of the folders of ASSAY_TEMPLATES, and those that ship. Data that are files lie\n' +
    'below --data (ASSAY_DATA). The report is the shipped template "brief".',
  options: {
    period: {
      type: 'string',
      value: 'PERIOD',
      doc: 'A whole day, week, month, quarter or year (default: last_week)',
    },
    open: RUN.options.open!,
    charts: RUN.options.charts!,
    format: RUN.options.format!,
  },
  listens: true,
  async run(call) {
    const { templatesFolder } = await import('@assay/engine/reading/samples')
    const { config } = resolveConfig(call.environment, call.settings)
    const variables = [
      `metrics=${JSON.stringify(call.operands)}`,
      `period=${call.text('period') ?? 'last_week'}`,
    ]
    return RUN.run({
      ...call,
      operands: [path.join(templatesFolder, 'brief.md')],
      all: (name) => (name === 'var' ? variables : call.all(name)),
      settings: { ...call.settings, templates: ['.', ...config.templates.folders].join(path.delimiter) },
    })
  },
}
