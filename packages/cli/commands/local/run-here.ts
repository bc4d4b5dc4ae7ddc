/** Finds and reads a template of this machine, and runs it in the service's sandbox without a service. */
import { existsSync } from 'node:fs'
import type { Parsed } from '@assay/engine/reading/parse'
import type { Pool } from '@assay/engine/run/pool'
import type { RunResult } from '@assay/engine/run/protocol'
import type { Findings } from '@assay/model/insight'
import type { Reader } from '@assay/model/reader'
import type { TemplateSource } from '@assay/model/template'
import type { Config } from '@assay/service/config/config'
import type { Call } from '../../command.ts'
import { EXIT, ExitError, UsageError } from '../../exit.ts'
import { pairsOption } from '../../options.ts'
import { progressLine, say } from '../../print.ts'
import { faultLine } from './check.ts'

export interface Found {
  file: string
  source: TemplateSource
  parsed: Parsed
}

/** A run ends at the faults that it meets first. */
const CHECKED = '"assay check" lists every fault.'

/** Returns the file of a template in ASSAY_TEMPLATES, or of a shipped one; null if none has that id. */
export async function cataloguedFile(template_id: string, config: Config): Promise<string | null> {
  const { createCatalog } = await import('@assay/engine/reading/catalog')
  const { templatesFolder } = await import('@assay/engine/reading/samples')
  return (
    createCatalog({ shipped: templatesFolder, folders: config.templates.folders }).get(template_id)?.file ??
    null
  )
}

/**
 * Returns a file that is given by its path, or by the id of a template in ASSAY_TEMPLATES or among the shipped ones.
 * Throws ExitError.
 */
export async function fileOf(given: string, config: Config): Promise<string> {
  if (existsSync(given)) return given
  const file = await cataloguedFile(given, config)
  if (file !== null) return file
  throw new ExitError(
    EXIT.notFound,
    `${given} is neither a file nor the id of a template: "assay templates list" and the folder templates/ show them.`,
  )
}

/** Prints the faults of the file. Throws ExitError if it cannot be run. */
export async function load(file: string, config: Config): Promise<Found> {
  const { readTemplate } = await import('../../local-template.ts')
  const { source, parsed } = await readTemplate(file, config.templates.folders)
  for (const fault of parsed.faults) say(faultLine(file, fault))
  const broken = parsed.faults.some(({ severity }) => severity === 'error')
  if (broken || !parsed.template) throw new ExitError(EXIT.failed, `${file} has faults. ${CHECKED}`)
  return { file, source, parsed }
}

/** Returns the variables of `--var`, as the template declares them. Throws UsageError. */
export async function variablesOf({ parsed }: Found, call: Call): Promise<Record<string, unknown>> {
  const { convertVariables } = await import('@assay/engine/values/variables')
  const { values, errors } = convertVariables(parsed.template!.variables, pairsOption(call, 'var'))
  if (errors.length === 0) return values
  const lines = errors.map(
    ({ path, message }) => `  ${path.replace('payload.template_vars.', '')} ${message}`,
  )
  throw new UsageError(`The variables do not fit:\n${lines.join('\n')}`)
}

/**
 * Runs the template with its progress on stderr. `variables` are converted. `started_at` is the RFC 3339 time from
 * which periods are counted.
 */
export async function runHere(
  found: Found,
  {
    variables,
    started_at,
    reader = null,
  }: { variables: Record<string, unknown>; started_at: string; reader?: Reader | null },
  { call, config, pool }: { call: Call; config: Config; pool: Pool },
): Promise<RunResult> {
  const { localConnections, localRoots } = await import('../../local-template.ts')
  const connections = await localConnections(config, call.environment, found.source)
  const line = progressLine()
  line.show('executing', { percent: 0, step: 0, steps: 0, label: '' })
  const task = {
    kind: 'run' as const,
    template: found.source,
    variables,
    started_at,
    reader,
    roots: await localRoots(config),
  }
  const result = await pool.run(task, {
    workspace_id: 'command line',
    signal: call.signal,
    connections,
    onProgress: (progress) => line.show('executing', progress),
  })
  if (result.status === 'done') line.show('completed', { percent: 100, step: 0, steps: 0, label: '' })
  line.end()
  return result
}

/** Returns the findings. Throws ExitError if the run did not complete. */
export function findingsOf(result: RunResult): Findings {
  switch (result.status) {
    case 'done':
      return result.findings
    case 'failed':
      throw new ExitError(
        EXIT.failed,
        `${result.error.code}: ${result.error.detail}${result.error.code === 'template_invalid' ? ` ${CHECKED}` : ''}`,
      )
    case 'crashed':
      throw new ExitError(EXIT.failed, `The analysis process ended: ${result.detail}`)
    case 'stopped':
      throw new ExitError(EXIT.interrupted, 'Interrupted.')
  }
}
