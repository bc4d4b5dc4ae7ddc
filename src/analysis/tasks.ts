/** The small tasks: checking a template and describing what it can be given. */
import type { Fault } from '../template.ts'
import { checkTemplate } from '../templates/check.ts'
import { sortFaults } from '../templates/fault.ts'
import { parseTemplate } from '../templates/parse.ts'
import { type InspectOptions, inspectSources, inspectTemplate } from './inspect.ts'
import { METHODS } from './methods/catalog.ts'
import type { CheckTask, DescribeTask, Description } from './protocol.ts'
import { listFiles } from './sources/files.ts'
import type { Guard } from './sql-guard.ts'

export async function checkTask(
  task: CheckTask,
  guard: Guard,
  options: Omit<InspectOptions, 'roots'>,
): Promise<Fault[]> {
  const { template, faults } = parseTemplate(task.template)
  if (!template) return faults
  const inspected = await inspectTemplate(template, guard, { ...options, roots: task.roots })
  return sortFaults([...faults, ...inspected.faults, ...checkTemplate(template, inspected, METHODS)])
}

export async function describeTask(
  task: DescribeTask,
  options: Omit<InspectOptions, 'roots'>,
): Promise<Description> {
  const { template } = parseTemplate(task.template)
  const sources = template ? await inspectSources(template, { ...options, roots: task.roots }) : {}
  return { sources, files: await listFiles(task.roots) }
}
