/**
 * Replaces an error of the text at run time by the fault that `assay check` reports: the same sentence, the same names.
 */
import type { Column } from '@assay/model/insight'
import type { Fault, Template } from '@assay/model/template'
import { checkTemplate } from '../checking/check.ts'
import { TemplateFault } from '../language/fault.ts'
import { methodsFor } from '../reading/methods-on-demand.ts'

/**
 * Returns the first fault of a check at the place of the error, or the error itself. `columns` are those of all sources
 * and blocks.
 */
export function asChecked(
  error: unknown,
  template: Template,
  columns: ReadonlyMap<string, readonly Column[]>,
): unknown {
  if (!(error instanceof TemplateFault) || error.fault.code === 'output_too_large') return error
  const blocks = Object.fromEntries([...columns].map(([name, list]) => [name, [...list]]))
  const found = checkTemplate(template, { sources: {}, blocks }, methodsFor(template)).find((fault) =>
    isAt(fault, error.fault),
  )
  return found ? new TemplateFault(found) : error
}

/**
 * Tells whether a fault lies at the place of an error. A run names the start of the failing part, a check the wrong
 * part inside it.
 */
function isAt(fault: Fault, { partial, line, column }: Fault): boolean {
  return (
    fault.severity === 'error' &&
    fault.code !== 'hidden_caveats' &&
    fault.partial === partial &&
    fault.line === line &&
    (fault.column >= column || fault.column === 1)
  )
}
