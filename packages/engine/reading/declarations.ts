/** Reads the `variables` of the front matter: checks each declaration and converts its default. */
import type { Fault, Variable, VariableType } from '@assay/model/template'
import { makeFault } from '../language/fault.ts'
import { RESERVED } from '../language/fences.ts'
import { suggest } from '../values/near.ts'
import { PatternWork } from '../values/pattern.ts'
import { compareValues, convertValue, type Rules } from '../values/variable-values.ts'
import type { YamlReading } from './yaml-reading.ts'

type Mapping = Record<string, unknown>
type Refuse = (key: string | null, code: string, message: string, remedy: string) => void

const ORDERED: VariableType[] = ['integer', 'number', 'date', 'timestamp']

/** The keys that only some types accept. */
const ONLY_FOR: Record<string, readonly VariableType[]> = {
  min: [...ORDERED, 'list'],
  max: [...ORDERED, 'list'],
  pattern: ['string', 'column', 'file', 'list'],
  max_length: ['string', 'column', 'file', 'list'],
  items: ['list'],
  of: ['column'],
  until: ['period'],
}

/** Reads the declarations, whose shape the schema has validated. `sources`: the names that `of` and `until` may use. */
export function readVariables(
  given: Record<string, Mapping>,
  sources: string[],
  yaml: YamlReading,
  faults: Fault[],
): Variable[] {
  const work = new PatternWork()
  return Object.entries(given).map(([name, declared]) => {
    const at = ['variables', name]
    const refuse: Refuse = (key, code, message, remedy) => {
      const position = key === null ? yaml.position(at, 'key') : yaml.position([...at, key])
      const severity = code === 'redundant_key' ? 'warning' : 'error'
      faults.push(makeFault(code, position, `${name}: ${message}`, remedy, { severity }))
    }
    const variable = plainVariable(name, declared, yaml.position(at, 'key').line)
    if (RESERVED.has(name))
      refuse(null, 'reserved_name', 'the name has a meaning of its own.', 'Choose another.')
    checkKeys(variable, declared, sources, refuse)
    checkPattern(variable, work, refuse)
    convertRules(variable, declared, work, refuse)
    return variable
  })
}

function plainVariable(name: string, declared: Mapping, line: number): Variable {
  const type = declared.type as VariableType
  return {
    name,
    type,
    required: declared.required === true,
    default: null,
    description: (declared.description as string | undefined) ?? null,
    enum: null,
    min: null,
    max: null,
    pattern: (declared.pattern as string | undefined) ?? null,
    max_length: (declared.max_length as number | undefined) ?? null,
    items: type === 'list' ? ((declared.items as VariableType | undefined) ?? 'string') : null,
    of: (declared.of as string | undefined) ?? null,
    until: (declared.until as string | undefined) ?? null,
    line,
  }
}

function checkKeys(variable: Variable, declared: Mapping, sources: string[], refuse: Refuse): void {
  for (const [key, types] of Object.entries(ONLY_FOR)) {
    if (declared[key] !== undefined && !types.includes(variable.type)) {
      refuse(
        key,
        'bad_value',
        `${key} cannot be used with the type ${variable.type}.`,
        `It belongs to ${types.join(', ')}.`,
      )
    }
  }
  if (variable.type === 'column' && variable.of === null) {
    refuse(null, 'missing_key', 'a column variable needs "of".', 'Name the source whose column it is.')
  }
  const source = variable.of ?? variable.until?.split('.')[0]
  if (source !== undefined && !sources.includes(source)) {
    const key = variable.of === null ? 'until' : 'of'
    refuse(key, 'unknown_source', `there is no source ${JSON.stringify(source)}.`, suggest(source, sources))
  }
  if (variable.required && (declared.default ?? null) !== null) {
    refuse(
      'required',
      'redundant_key',
      '"required" has no effect, because the variable has a default.',
      'Remove "required".',
    )
  }
}

/** Checks a pattern. When the bound on the work is reached, one fault reports it and no other pattern is tested. */
function checkPattern(variable: Variable, work: PatternWork, refuse: Refuse): void {
  if (variable.pattern === null) return
  const known = work.spent
  const fault = known ? null : work.fault(variable.pattern)
  if (fault !== null) refuse('pattern', 'bad_value', `${fault.message}.`, fault.remedy)
  else if (work.spent && !known) {
    const message = 'the patterns of the template are too large together.'
    refuse('pattern', 'slow_pattern', message, 'Use smaller counts in { }.')
  }
  if (fault !== null || work.spent) variable.pattern = null
}

/** Converts `min`, `max`, `enum` and `default` in this order: a default must satisfy the other rules. */
function convertRules(variable: Variable, declared: Mapping, work: PatternWork, refuse: Refuse): void {
  const free: Rules = {
    type: variable.items ?? variable.type,
    items: null,
    enum: null,
    min: null,
    max: null,
    pattern: null,
    max_length: null,
  }
  const convert = (key: string, rules: Rules, given: unknown): unknown => {
    const converted = convertValue(rules, given, work)
    if ('value' in converted) return converted.value
    const code = converted.spent ? 'slow_pattern' : 'bad_value'
    refuse(key, code, `${key} ${converted.error}`, 'Correct it.')
    return null
  }
  const orderedType = ORDERED.includes(free.type)
  for (const key of ['min', 'max'] as const) {
    if (declared[key] === undefined) continue
    if (orderedType) variable[key] = convert(key, free, declared[key])
    else if (variable.type === 'list')
      refuse(key, 'bad_value', `${key} needs items that have an order.`, 'Remove it.')
  }
  if (
    variable.min !== null &&
    variable.max !== null &&
    compareValues(free.type, variable.min, variable.max) > 0
  ) {
    refuse('min', 'bad_value', 'min is greater than max.', 'Exchange them.')
  }
  if (Array.isArray(declared.enum)) {
    variable.enum = declared.enum.map((item) => convert('enum', free, item)).filter((item) => item !== null)
  }
  if ((declared.default ?? null) !== null) variable.default = convert('default', variable, declared.default)
}
