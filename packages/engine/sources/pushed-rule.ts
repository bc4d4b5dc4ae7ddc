/**
 * Turns the rule of a metric over a connection into a condition of the statement, because the database adds the rows
 * up. It first learns the types of the columns. A database must not convert a value, since each converts in its own
 * way.
 */

import type { Reader as Person, RowRule } from '@assay/model/reader'
import type { Source, Variable } from '@assay/model/template'
import { TemplateFault } from '../language/fault.ts'
import { SqlTextFault } from '../language/sql-tokens.ts'
import { type ColumnClass, conditionFor, vetRule } from '../personal/condition.ts'
import { remoteCondition } from '../personal/condition-sql.ts'
import { ruleFault } from '../personal/rows-key.ts'
import type { Kind, OpenOptions, RemoteColumn } from './kind.ts'
import { SourceError } from './source.ts'

/** SQL for the statement of a metric, and the values that it binds. `sql` is null if no row is asked for. */
export interface PushedRule {
  sql: string | null
  variables: Pick<Variable, 'name' | 'type' | 'items'>[]
  values: Record<string, unknown>
}

const NOTHING: PushedRule = { sql: null, variables: [], values: {} }

/**
 * Returns the rule for a statement. `options`: those of the statement itself. Throws TemplateFault, UnfitReader and
 * SourceError.
 */
export async function pushedRule(
  { query, name }: Source,
  person: Person | null,
  kind: Kind,
  options: OpenOptions,
): Promise<PushedRule> {
  const { rule, ruleColumns } = query!
  if (!rule || !ruleColumns) return NOTHING
  const written = options.connection.kind
  const sql = ruleColumns(written)
  const columns = await columnsOf(kind, { ...options, query: { sql, parameters: [] }, cut: null, peek: true })
  const classes = classesOf(rule, columns, written, name)
  if (person === null) return NOTHING
  const pushed: PushedRule = { sql: null, variables: [], values: {} }
  const condition = conditionFor(rule, person, classes)
  pushed.sql = remoteCondition(condition, written, (value, type) => {
    // No variable of a template has capitals.
    const bound = `READER_${pushed.variables.length + 1}`
    pushed.variables.push({ name: bound, type, items: null })
    pushed.values[bound] = value
    return `$${bound}`
  })
  return pushed
}

async function columnsOf(kind: Kind, options: OpenOptions): Promise<RemoteColumn[]> {
  const reader = await kind.open(options)
  try {
    return await reader.schema()
  } finally {
    await reader.close()
  }
}

/** Resolves to the classes of the rule's columns, in their order. */
function classesOf(
  rule: RowRule,
  columns: readonly RemoteColumn[],
  kind: string,
  source: string,
): (column: string) => ColumnClass | null {
  if (columns.length !== rule.columns.length)
    throw new SourceError(`The database gives ${columns.length} columns for those of "rows".`)
  const byName = new Map(rule.columns.map((name, index) => [name, classOf(columns[index]!, kind)]))
  const found = (column: string): ColumnClass | null => byName.get(column) ?? null
  try {
    vetRule(rule, rule.columns, found)
  } catch (error) {
    if (!(error instanceof SqlTextFault)) throw error
    const fault = ruleFault(error, rule.placeOf)
    throw new TemplateFault({ ...fault, message: `${source}: ${fault.message}` })
  }
  return found
}

const NUMBERS = /^(U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|FLOAT|DOUBLE|DECIMAL\(.*\))$/

function classOf({ type, declared, numeric, settle }: RemoteColumn, kind: string): ColumnClass {
  const written = type.toString()
  if (declared !== undefined) return 'other'
  if (!numeric && written === 'FLOAT') return 'single'
  if (!numeric && written === 'DOUBLE') return 'double'
  if (numeric || NUMBERS.test(written)) return 'number'
  if (written === 'BOOLEAN') return 'boolean'
  // A number without a precision arrives as text, and SQLite has types of values only.
  if (settle) return kind === 'sqlite' ? 'any' : 'number'
  return written === 'VARCHAR' || written === 'UUID' ? 'text' : 'other'
}
