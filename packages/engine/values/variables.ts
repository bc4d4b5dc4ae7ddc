/** Checks the variables of a job against the declarations of its template and converts them. All faults are reported. */
import type { FieldError } from '@assay/model/errors'
import type { Variable } from '@assay/model/template'
import { suggest } from './near.ts'
import { PatternWork } from './pattern.ts'
import { convertValue } from './variable-values.ts'

export interface ConvertedVariables {
  /** The value of each declared variable; null if none is given and there is no default. */
  values: Record<string, unknown>
  /** The faults. Paths are `payload.template_vars.NAME`. */
  errors: FieldError[]
}

/** The most faults that are reported. A body may hold tens of thousands. */
const MAX_ERRORS = 100

function cut(name: string): string {
  return name.length > 100 ? `${name.slice(0, 100)}...` : name
}

/**
 * Converts variables. Null counts as not given, and so does empty text unless the type is `string`: the default is
 * used. `work`: one bound for all values of a request.
 */
export function convertVariables(
  variables: Variable[],
  given: Record<string, unknown>,
  work = new PatternWork(),
): ConvertedVariables {
  const values: Record<string, unknown> = {}
  const errors: FieldError[] = []
  const refuse = (name: string, message: string): void => {
    errors.push({ path: `payload.template_vars.${cut(name)}`, message })
  }
  const names = variables.map((variable) => variable.name)
  const known = new Set(names)
  for (const name of Object.keys(given)) {
    if (errors.length >= MAX_ERRORS) break
    if (!known.has(name)) {
      const remedy = suggest(name, names, 'It declares none.')
      refuse(name, `The template has no variable ${JSON.stringify(cut(name))}. ${remedy}`)
    }
  }
  for (const variable of variables) {
    if (errors.length >= MAX_ERRORS) break
    const value = Object.hasOwn(given, variable.name) ? given[variable.name] : null
    const absent = value === null || value === undefined || (value === '' && variable.type !== 'string')
    if (absent) {
      values[variable.name] = variable.default ?? null
      if (variable.required && (variable.default ?? null) === null) {
        const about = variable.description === null ? '' : ` (${variable.description})`
        refuse(variable.name, `${variable.name} is required${about}: give a ${variable.type}.`)
      }
      continue
    }
    const converted = convertValue(variable, value, work)
    if (!('error' in converted)) values[variable.name] = converted.value
    else {
      refuse(variable.name, `${variable.name} ${converted.error}`)
      if (converted.spent) break
    }
  }
  return { values, errors }
}
