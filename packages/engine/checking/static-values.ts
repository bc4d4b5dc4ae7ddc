/** The types of values before a run: enough to find a name or a column that does not exist. */
import type { ColumnType } from '@assay/model/insight'
import type { Variable } from '@assay/model/template'
import type { FieldSchema } from '../methods/shared/fields.ts'

export type Static =
  | { kind: 'unknown' }
  | { kind: 'scalar'; type: ColumnType }
  | { kind: 'list'; items: Static }
  /** `columns` is null if they are not known. */
  | { kind: 'rows'; name: string; columns: ReadonlyMap<string, Static> | null }
  /** `open`: the object may have other fields. */
  | { kind: 'object'; name: string; fields: ReadonlyMap<string, Static>; open: boolean }

export const UNKNOWN: Static = { kind: 'unknown' }
export const scalar = (type: ColumnType): Static => ({ kind: 'scalar', type })
export const NUMERIC: ReadonlySet<ColumnType> = new Set<ColumnType>(['integer', 'number', 'decimal'])

export function object(name: string, fields: Record<string, Static>, open = false): Static {
  return { kind: 'object', name, fields: new Map(Object.entries(fields)), open }
}

const VARIABLE_TYPES: Record<Exclude<Variable['type'], 'list' | 'period'>, ColumnType> = {
  string: 'text',
  integer: 'integer',
  number: 'number',
  boolean: 'boolean',
  date: 'date',
  timestamp: 'timestamp',
  column: 'text',
  file: 'text',
}

export function ofVariable(variable: Variable): Static {
  if (variable.type === 'list') {
    const items = variable.items ?? 'string'
    return {
      kind: 'list',
      items: scalar(items === 'list' || items === 'period' ? 'other' : VARIABLE_TYPES[items]),
    }
  }
  if (variable.type !== 'period') return scalar(VARIABLE_TYPES[variable.type])
  const days = { start: scalar('date'), end: scalar('date'), label: scalar('text') }
  return object(`vars.${variable.name}`, {
    ...days,
    unit: scalar('text'),
    previous: object(`vars.${variable.name}.previous`, days),
  })
}

/** Returns one of the rows, with its columns as fields. */
export function rowOf(rows: Extract<Static, { kind: 'rows' }>): Static {
  const fields = rows.columns ?? new Map<string, Static>()
  return { kind: 'object', name: `a row of ${rows.name}`, fields, open: rows.columns === null }
}

const SCALARS: Record<string, ColumnType> = {
  string: 'text',
  number: 'number',
  integer: 'integer',
  boolean: 'boolean',
}

/** Returns the value that a schema of shared/fields.ts describes. A scalar of several types is not judged. */
export function ofSchema(name: string, schema: FieldSchema): Static {
  const { type = '', items, properties, anyOf } = schema
  if (anyOf) {
    const present = anyOf.filter((one) => one.type !== 'null')
    return present.length === 1 ? ofSchema(name, present[0]!) : UNKNOWN
  }
  if (items?.properties) return { kind: 'rows', name, columns: fieldsOf(name, items.properties) }
  if (items) return { kind: 'list', items: ofSchema(name, items) }
  if (properties) return { kind: 'object', name, fields: fieldsOf(name, properties), open: false }
  const known = SCALARS[type]
  return known === undefined ? UNKNOWN : scalar(known)
}

function fieldsOf(name: string, properties: Record<string, FieldSchema>): Map<string, Static> {
  return new Map(
    Object.entries(properties).map(([field, schema]) => [field, ofSchema(`${name}.${field}`, schema)]),
  )
}

const ROWS_FIELDS: Record<string, Static> = {
  size: scalar('integer'),
  truncated: scalar('boolean'),
  columns: { kind: 'list', items: scalar('text') },
}

/** Returns the type of a field. If there is none, returns a sentence and the names of the existing fields. */
export function fieldOf(value: Static, step: string | number): Static | { known: string[]; message: string } {
  switch (value.kind) {
    case 'unknown':
      return UNKNOWN
    case 'rows':
      if (typeof step === 'number' || step === 'first' || step === 'last') return rowOf(value)
      return (
        ROWS_FIELDS[step] ?? {
          known: Object.keys(ROWS_FIELDS),
          message: `${value.name} are rows and have no ${JSON.stringify(step)}: a column is read of one row, or by a filter.`,
        }
      )
    case 'list':
      if (step === 'size') return scalar('integer')
      if (typeof step === 'number' || step === 'first' || step === 'last') return value.items
      return { known: ['size', 'first', 'last'], message: `A list has no ${JSON.stringify(step)}.` }
    case 'object': {
      const field = value.fields.get(String(step))
      if (field) return field
      if (value.open || step === 'size') return UNKNOWN
      const what =
        typeof step === 'number' ? `is not a list and has no [${step}]` : `has no ${JSON.stringify(step)}`
      return { known: [...value.fields.keys()], message: `${value.name} ${what}.` }
    }
    case 'scalar':
      if (step === 'size' || value.type === 'struct' || value.type === 'list' || value.type === 'other')
        return UNKNOWN
      return { known: [], message: `This is ${withArticle(value.type)} and has no ${JSON.stringify(step)}.` }
  }
}

export function withArticle(type: ColumnType): string {
  if (type === 'text') return 'text'
  return /^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`
}
