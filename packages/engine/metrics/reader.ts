/**
 * Reads what the service needs from the definition of a metric, and makes a template that reads the metric, whose check
 * finds its faults.
 */
import type { MetricView } from '@assay/model/metric'
import type { Fault, TemplateSource } from '@assay/model/template'
import { templateVersion } from '../reading/partials.ts'
import { metricView, readMetric } from './definition.ts'
import { metricPartial } from './names.ts'

/**
 * The result of reading. `view`: null for a definition with errors. `lines`: the line of each key of the file.
 * `file`: the file that its source reads, if it is not of a connection.
 */
export interface MetricHead {
  view: MetricView | null
  lines: Record<string, number>
  faults: Fault[]
  file: string | null
}

/** A definition, by the name that it must have. */
export interface MetricText {
  metric_id: string
  source: string
}

/** Reads a definition. Its time grows with the source: up to 100 ms of the processor. */
export function metricHead({ metric_id, source }: MetricText): MetricHead {
  const { metric, faults } = readMetric(metric_id, source)
  const { file = null, connection = null } = metric?.source ?? {}
  return {
    view: metric && metricView(metric, 'workspace'),
    lines: metric?.lines ?? {},
    faults,
    file: connection === null ? file : null,
  }
}

/**
 * Returns a template that reads the metric by each of its dimensions, so that every column of its definition is
 * looked for.
 */
export function metricReader({ metric_id, source: text }: MetricText): TemplateSource {
  const source = `\`\`\`metric series\nmetric: ${metric_id}\nby: all\n\`\`\`\n\n{{ series.size }}\n`
  const partials = { [metricPartial(metric_id)]: text }
  return { template_id: 'metric', version: templateVersion(source, partials), source, partials }
}

/**
 * Moves faults of that template to the lines of the definition, because the author of the metric does not see the
 * template.
 */
export function asMetricFaults(faults: readonly Fault[], lines: Readonly<Record<string, number>>): Fault[] {
  return faults.map((fault) => {
    const named = /: (\w+) names the column /.exec(fault.message)?.[1]
    const key = named ?? (fault.code === 'bad_rule' ? 'rows' : 'source')
    return { ...fault, line: lines[key] ?? 1, column: 1 }
  })
}
