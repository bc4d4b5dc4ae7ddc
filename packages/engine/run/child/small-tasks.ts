/** The small tasks: check a template, describe its sources and files, test a connection. */
import { KINDS } from '@assay/model/connection-kinds'
import type { Fault, Template } from '@assay/model/template'
import { checkTemplate } from '../../checking/check.ts'
import { sortFaults } from '../../language/fault.ts'
import { type ReadHead, readHead } from '../../reading/lookup.ts'
import { methodsFor } from '../../reading/methods-on-demand.ts'
import { parseTemplate } from '../../reading/parse.ts'
import { listFiles } from '../../sources/files/files.ts'
import { fileKindOf, kindOf } from '../../sources/kinds.ts'
import { SourceError } from '../../sources/source.ts'
import { PatternWork } from '../../values/pattern.ts'
import { type ConvertedVariables, convertVariables } from '../../values/variables.ts'
import type {
  CheckTask,
  ConvertTask,
  DescribeTask,
  Description,
  Probed,
  ProbeTask,
  ReadTask,
} from '../protocol.ts'
import { type InspectOptions, inspectSources, inspectTemplate } from './inspect.ts'

export async function checkTask(task: CheckTask, options: Omit<InspectOptions, 'roots'>): Promise<Fault[]> {
  const { template, faults } = parseTemplate(task.template)
  if (!template) return faults
  const inspected = await inspectTemplate(template, { ...options, roots: task.roots })
  const refused = inspected.faults.filter(({ line }) => !holdsLiquid(template, line, faults))
  return sortFaults([...faults, ...refused, ...checkTemplate(template, inspected, methodsFor(template))])
}

/** Tells whether the SQL block of that line holds Liquid. DuckDB's message about it is then left out. */
function holdsLiquid({ blocks }: Template, line: number, faults: Fault[]): boolean {
  const blockAt = (at: number) => blocks.findLast((block) => block.kind === 'sql' && block.line <= at)
  return faults.some((fault) => fault.code === 'liquid_in_block' && blockAt(fault.line) === blockAt(line))
}

export async function describeTask(
  task: DescribeTask,
  options: Omit<InspectOptions, 'roots'>,
): Promise<Description> {
  const { template } = parseTemplate(task.template)
  const sources = template ? await inspectSources(template, { ...options, roots: task.roots }) : {}
  return { sources, files: await listFiles(task.roots) }
}

/** Reads templates. The answer holds no sources, because its receiver has them. */
export function readTask({ templates }: ReadTask): ReadHead[] {
  return templates.map((template) => {
    const { found, faults } = readHead(template)
    return { found: found && { ...found, source: { ...found.source, source: '', partials: {} } }, faults }
  })
}

/** Converts values. All items share one bound on the work of their patterns. */
export function convertTask({ variables, items }: ConvertTask): ConvertedVariables[] {
  const work = new PatternWork()
  return items.map((given) => convertVariables(variables, given, work))
}

const PROBE_MS = 15_000

export async function probeTask({ connection, roots }: ProbeTask, stop: AbortSignal): Promise<Probed> {
  const signal = AbortSignal.any([stop, AbortSignal.timeout(PROBE_MS)])
  try {
    const probed =
      KINDS[connection.kind].reads === 'files'
        ? await (await import('../../sources/remote/remote.ts')).probeFiles(
            await fileKindOf(connection.kind),
            connection,
            signal,
          )
        : await (await kindOf(connection.kind)).probe({
            connection,
            time_zone: 'UTC',
            roots,
            timeout_ms: PROBE_MS,
            signal,
          })
    return { ok: true, ...probed }
  } catch (error) {
    if (error instanceof SourceError) return { ok: false, detail: error.message }
    if (!signal.aborted) throw error
    return {
      ok: false,
      detail: `The connection "${connection.name}" gave no answer in ${PROBE_MS / 1000} s.`,
    }
  }
}
