/** Checks what a job is given against what its template declares, and converts it. All faults come at once. */
import type { FieldError } from '../errors.ts'
import type { Variable } from '../template.ts'
import { suggest } from './near.ts'
import { convertValue } from './variable-values.ts'

export interface ConvertedVariables {
  /** One entry for each declared variable; null where nothing is given and there is no default. */
  values: Record<string, unknown>
  /** Paths are `payload.template_vars.NAME`. */
  errors: FieldError[]
}

/** Null, and empty text where the type is not text, count as not given: the default holds. */
export function convertVariables(variables: Variable[], given: Record<string, unknown>): ConvertedVariables {
  const values: Record<string, unknown> = {}
  const errors: FieldError[] = []
  const refuse = (name: string, message: string): void => {
    errors.push({ path: `payload.template_vars.${name}`, message })
  }
  const names = variables.map((variable) => variable.name)
  for (const name of Object.keys(given)) {
    if (!names.includes(name)) {
      const remedy = suggest(name, names, 'It declares none.')
      refuse(name, `The template has no variable ${JSON.stringify(name)}. ${remedy}`)
    }
  }
  for (const variable of variables) {
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
    const converted = convertValue(variable, value)
    if ('error' in converted) refuse(variable.name, `${variable.name} ${converted.error}`)
    else values[variable.name] = converted.value
  }
  return { values, errors }
}
