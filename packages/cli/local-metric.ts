/** Checks a metric in a file on this machine, also against the columns of its data. */
import path from 'node:path'
import { asMetricFaults, metricHead, metricReader } from '@assay/engine/metrics/reader'
import type { Pool } from '@assay/engine/run/pool'
import type { Roots } from '@assay/engine/run/protocol'
import type { Fault } from '@assay/model/template'
import type { Config } from '@assay/service/config/config'
import { readText } from './commands/local/text-file.ts'
import { localConnections } from './local-template.ts'

const ENDING = '.yaml'

export function isMetricFile(file: string): boolean {
  return file.endsWith(ENDING)
}

export interface MetricCheck {
  pool: Pool
  roots: Roots
  config: Config
  environment: NodeJS.ProcessEnv
}

/** Returns the faults. Throws ExitError if the file cannot be read. */
export async function checkMetricFile(
  file: string,
  { pool, roots, config, environment }: MetricCheck,
): Promise<Fault[]> {
  const definition = { metric_id: path.basename(file, ENDING), source: await readText(file) }
  const { view, lines, faults } = metricHead(definition)
  if (!view) return faults
  const template = metricReader(definition)
  const connections = await localConnections(config, environment, template)
  return asMetricFaults(
    await pool.check({ kind: 'check', template, roots }, { workspace_id: 'command line', connections }),
    lines,
  )
}
