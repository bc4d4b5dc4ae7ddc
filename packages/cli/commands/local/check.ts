/** assay check: prints the faults of templates without running them. */

import type { Fault, TemplateSource } from '@assay/model/template'
import { resolveConfig } from '@assay/service/config/config'
import type { Command } from '../../command.ts'
import { EXIT } from '../../exit.ts'
import { JSON_OPTION } from '../../options.ts'
import { out, printJson, say } from '../../print.ts'

/** Returns a line such as "report.md:12:3: error: There is no column x. It has a, b." */
export function faultLine(file: string, { line, column, severity, message, remedy, partial }: Fault): string {
  const where = partial === null ? file : `${file} (partial ${partial})`
  return `${where}:${line}:${column}: ${severity}: ${message} ${remedy}`.trimEnd()
}

async function needsOf(
  source: TemplateSource,
): Promise<{ personal?: boolean; reader_attributes?: string[] }> {
  const { readHead } = await import('@assay/engine/reading/lookup')
  const view = readHead(source).found?.view
  return view ? { personal: view.personal, reader_attributes: view.reader_attributes } : {}
}

/** Returns a line such as "report.md: personal: each run needs a reader, such as --reader region=VALUE." */
function personalLine(file: string, attributes: readonly string[]): string {
  const options = (attributes.length > 0 ? attributes : ['id']).map((name) => `--reader ${name}=VALUE`)
  return `${file}: personal: each run needs a reader, such as ${options.join(' ')}.`
}

export const CHECK: Command = {
  name: 'check',
  operands: 'FILE...',
  summary: 'Find the faults of templates and metrics without running them',
  details:
    'Prints FILE:LINE:COLUMN, what is wrong and what to do. Ends with 1 where there is an error.\n' +
    'A personal template shows each reader rows of their own; what a reader must have is told too.',
  options: { json: JSON_OPTION },
  async run(call) {
    const { config } = resolveConfig(call.environment, call.settings)
    const { silentLog } = await import('@assay/service/runtime/log')
    const { withPool } = await import('../../local-pool.ts')
    const found: { file: string; faults: Fault[]; personal?: boolean; reader_attributes?: string[] }[] = []
    await withPool(config, silentLog, async (pool) => {
      const { localConnections, localRoots, readTemplate } = await import('../../local-template.ts')
      const roots = await localRoots(config)
      for (const file of call.operands) {
        const { checkMetricFile, isMetricFile } = await import('../../local-metric.ts')
        if (isMetricFile(file)) {
          const { environment } = call
          found.push({ file, faults: await checkMetricFile(file, { pool, roots, config, environment }) })
          continue
        }
        const { source } = await readTemplate(file, config.templates.folders)
        const connections = await localConnections(config, call.environment, source)
        const faults = await pool.check(
          { kind: 'check', template: source, roots },
          { workspace_id: 'command line', connections },
        )
        found.push({ file, faults, ...(await needsOf(source)) })
      }
    })
    if (call.on('json')) printJson(found)
    else
      for (const { file, faults, personal, reader_attributes = [] } of found) {
        for (const fault of faults) out(`${faultLine(file, fault)}\n`)
        if (personal) out(`${personalLine(file, reader_attributes)}\n`)
      }
    const errors = found.flatMap(({ faults }) => faults).filter(({ severity }) => severity === 'error').length
    if (!call.on('json'))
      say(
        errors === 0
          ? `${found.length} checked, no errors.`
          : `${errors} ${errors === 1 ? 'error' : 'errors'}.`,
      )
    return errors === 0 ? EXIT.ok : EXIT.failed
  },
}
