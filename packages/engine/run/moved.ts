/** Which sources that could stay in their database are read here after all, and by what. */
import type { AnalysisBlock, Template } from '@assay/model/template'
import { catalogOfMethods } from '../reading/methods-on-demand.ts'
import { bindOptions, withDefaults } from '../reading/options.ts'
import type { Plan } from './plan.ts'

/** In words, of each source whose rows come here: the first block that needs them. */
export function movedSources(
  template: Template,
  plan: Plan,
  vars: Record<string, unknown>,
): Map<string, string> {
  const moved = new Map<string, string>()
  for (const { name } of template.sources.filter(({ stays }) => stays))
    for (const block of template.blocks) {
      if (moved.has(name)) break
      if (block.kind === 'sql') {
        if (plan.sql.get(block.name)?.reads.includes(name)) moved.set(name, `The SQL block "${block.name}"`)
      } else if (block.of === name && !asksThere(block, vars))
        moved.set(name, `The analysis "${block.name}" (${block.method})`)
    }
  return moved
}

/** Whether the analysis asks a database for what it needs. One that is wrong moves nothing: it fails before it reads. */
function asksThere(block: AnalysisBlock, vars: Record<string, unknown>): boolean {
  const methods = catalogOfMethods()
  if (!Object.hasOwn(methods, block.method)) return true
  const method = methods[block.method]!
  const options = withDefaults(method.options, bindOptions(block.options, vars))
  return (method.asks?.(options) || method.prints?.(options)) ?? false
}
