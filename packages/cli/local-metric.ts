/** A metric as a file on this machine: its faults, also against the columns of its data. */
import path from 'node:path'
import { readMetric } from '@assay/engine/metrics/definition'
import { metricPartial } from '@assay/engine/metrics/names'
import { templateVersion } from '@assay/engine/reading/partials'
import type { Pool } from '@assay/engine/run/pool'
import type { Roots } from '@assay/engine/run/protocol'
import type { Fault, TemplateSource } from '@assay/model/template'
import type { Config } from '@assay/service/config/config'
import { readText } from './commands/local/text-file.ts'
import { localConnections } from './local-template.ts'

const ENDING = '.yaml'

export function isMetricFile(file: string): boolean {
  return file.endsWith(ENDING)
}

/** A template that reads the metric by each of its dimensions, so that every column of its definition is looked for. */
function readerOf(name: string, text: string): TemplateSource {
  const source = `\`\`\`metric series\nmetric: ${name}\nby: all\n\`\`\`\n\n{{ series.size }}\n`
  const partials = { [metricPartial(name)]: text }
  return { template_id: 'metric', version: templateVersion(source, partials), source, partials }
}

export interface MetricCheck {
  pool: Pool
  roots: Roots
  config: Config
  environment: NodeJS.ProcessEnv
}

/** Throws ExitError where the file cannot be read. */
export async function checkMetricFile(
  file: string,
  { pool, roots, config, environment }: MetricCheck,
): Promise<Fault[]> {
  const name = path.basename(file, ENDING)
  const text = await readText(file)
  const { metric, faults } = readMetric(name, text)
  if (!metric) return faults
  const template = readerOf(name, text)
  const connections = await localConnections(config, environment, template)
  const found = await pool.check({ kind: 'check', template, roots }, { connections })
  // The reader's own lines mean nothing to the writer of the metric: the key that is wrong has a line.
  return found.map((fault) => {
    const key = /: (\w+) names the column /.exec(fault.message)?.[1] ?? 'source'
    return { ...fault, line: metric.lines[key] ?? 1, column: 1 }
  })
}
