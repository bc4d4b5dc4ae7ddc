/**
 * Finds the relations that stay in a database: `of: CONNECTION.TABLE` of an analysis, and a fence `sql NAME at:
 * CONNECTION`. Each is a source whose rows are fetched only if the database cannot compute an analysis.
 */
import { CONNECTION_NAME } from '@assay/model/connection'
import type { Source } from '@assay/model/template'
import { dialectOf } from '../dialects/engines.ts'
import type { Position } from '../language/fault.ts'
import type { Fence } from '../language/fences.ts'
import { blockQuery } from '../partitions/block-days.ts'

const CONNECTION = new RegExp(CONNECTION_NAME)

/**
 * Reads "shop.orders" or "shop.sales.orders". Returns null if the name is that of a source or block, or no connection
 * can have it.
 */
export function tableThere(of: string, known: ReadonlySet<string>, position: Position): Source | null {
  const [connection, ...table] = of.split('.') as [string, ...string[]]
  if (table.length < 1 || table.length > 3 || table.includes('')) return null
  if (known.has(of) || known.has(connection) || !CONNECTION.test(connection)) return null
  const textFor = (kind: string): string =>
    `select * from ${table.map((part) => dialectOf(kind).identifier(part)).join('.')}`
  return {
    ...sourceOf(of, connection, position),
    query: { text: textFor('postgresql'), placeOf: () => position, textFor },
  }
}

/**
 * Returns the query of a fence, in the SQL of its database. If its days are kept, its rows come here: those that are not
 * kept yet.
 */
export function queryThere(
  { name, text, line, opening, days }: Fence,
  { connection, template_id }: { connection: string; template_id: string },
  positionOf: (offset: number) => Position,
): Source {
  const placeOf = (offset: number): Position => {
    const position = positionOf(offset)
    return { line: line + position.line - 1, column: position.column }
  }
  const source = sourceOf(name, connection, opening)
  if (days === null) return { ...source, query: { text, placeOf } }
  const partitions = blockQuery(template_id, name, days)
  return { ...source, stays: false, query: { text, placeOf, partitions } }
}

function sourceOf(name: string, connection: string, { line, column }: Position): Omit<Source, 'query'> {
  const position = { line, column }
  return {
    name,
    connection: { name: connection, ...position },
    file: null,
    columns: {},
    dialect: {},
    stays: true,
    ...position,
  }
}
