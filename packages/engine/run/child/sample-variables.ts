/** Gives variables values for a check, which runs nothing. */
import type { Template, Variable } from '@assay/model/template'
import { resolvePeriod } from '../../values/period.ts'

/** An arbitrary start for relative periods. */
const SOME_START = '2024-07-01T12:00:00.000Z'

/** Returns a value for each variable: its default, or a valid value of its type. */
export function sampleVariables(template: Template): Record<string, unknown> {
  return Object.fromEntries(
    template.variables.map((variable) => [variable.name, sampleValue(variable, template)]),
  )
}

function sampleValue(variable: Variable, template: Template): unknown {
  const given = variable.default ?? variable.enum?.[0] ?? null
  if (variable.type === 'period') {
    const text = typeof given === 'string' ? given : 'last_30_days'
    return resolvePeriod(text, { started_at: SOME_START, time_zone: template.time_zone })
  }
  if (given !== null) return given
  switch (variable.type) {
    case 'integer':
    case 'number':
      return variable.min ?? variable.max ?? 1
    case 'boolean':
      return true
    case 'date':
      return SOME_START.slice(0, 10)
    case 'timestamp':
      return SOME_START.slice(0, 19)
    case 'list':
      return []
    default:
      return variable.type === 'string' ? 'a' : null
  }
}
