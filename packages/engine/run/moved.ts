/** Finds the sources that could stay in their database but whose rows are fetched, and the block that needs them. */
import type { AnalysisBlock, Template } from '@assay/model/template'
import { catalogOfMethods } from '../reading/methods-on-demand.ts'
import { bindOptions, withDefaults } from '../reading/options.ts'
import type { Plan } from './plan.ts'

/** Returns, for each source whose rows are read here, the first block that needs them, in words. */
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

/**
 * Tells whether a database can compute the analysis. A wrong analysis counts as such, because it fails before it reads
 * rows.
 */
function asksThere(block: AnalysisBlock, vars: Record<string, unknown>): boolean {
  const methods = catalogOfMethods()
  if (!Object.hasOwn(methods, block.method)) return true
  const method = methods[block.method]!
  const options = withDefaults(method.options, bindOptions(block.options, vars))
  return (method.asks?.(options) || method.prints?.(options)) ?? false
}
