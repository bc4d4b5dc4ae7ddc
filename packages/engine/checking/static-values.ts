/** The types of values before a run: enough to find a name or a column that does not exist. */
import type { ColumnType } from '@assay/model/insight'
import type { Variable } from '@assay/model/template'

export type Static =
  | { kind: 'unknown' }
  | { kind: 'scalar'; type: ColumnType }
  | { kind: 'list'; items: Static }
  /** `columns`: null if they are not known. */
  | { kind: 'rows'; name: string; columns: ReadonlyMap<string, ColumnType> | null }
  /** `open`: it may have other fields. */
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
    previous: object(`vars.${variable.name}.previous`, days),
  })
}

/** One of the rows, with its columns as fields. */
export function rowOf(rows: Extract<Static, { kind: 'rows' }>): Static {
  const fields = [...(rows.columns ?? [])].map(([name, type]) => [name, scalar(type)] as const)
  return {
    kind: 'object',
    name: `a row of ${rows.name}`,
    fields: new Map(fields),
    open: rows.columns === null,
  }
}

const ROWS_FIELDS: Record<string, Static> = {
  size: scalar('integer'),
  truncated: scalar('boolean'),
  columns: { kind: 'list', items: scalar('text') },
}

/** The type of a field. If there is none: a sentence, and the names of the fields there are. */
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
      return { known: [...value.fields.keys()], message: `${value.name} has no ${JSON.stringify(step)}.` }
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
