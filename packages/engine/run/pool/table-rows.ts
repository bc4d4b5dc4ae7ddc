/**
 * Sends large tables of a result in pieces before it, because reading one message of 10 MB would block the event loop.
 */
import type { Cell } from '@assay/model/insight'
import { keepRows } from '@assay/model/table-text'
import type { FromChild, Results, RunResult, Task } from '../protocol.ts'

type RowsMessage = Extract<FromChild, { type: 'rows' }>

/** The characters of a piece. A smaller table stays in the result. Reading and writing a piece takes two milliseconds. */
const PIECE = 256_000
/** The number of rows whose text is measured at once. */
const MEASURED = 200

/** Returns the pieces of rows, and the result without them. */
export function inPieces(result: RunResult): {
  pieces: Pick<RowsMessage, 'table' | 'rows'>[]
  rest: RunResult
} {
  if (result.status !== 'done') return { pieces: [], rest: result }
  const pieces: Pick<RowsMessage, 'table' | 'rows'>[] = []
  const tables = Object.entries(result.findings.tables).map(([name, table]) => {
    const parts = partsOf(table.rows)
    if (parts.length < 2) return [name, table] as const
    pieces.push(...parts.map((rows) => ({ table: name, rows })))
    return [name, { ...table, rows: [] }] as const
  })
  if (pieces.length === 0) return { pieces, rest: result }
  return { pieces, rest: { ...result, findings: { ...result.findings, tables: Object.fromEntries(tables) } } }
}

function partsOf(rows: readonly Cell[][]): Cell[][][] {
  const parts: Cell[][][] = []
  let [from, length] = [0, 0]
  for (let at = 0; at < rows.length; at += MEASURED) {
    length += JSON.stringify(rows.slice(at, at + MEASURED)).length
    if (length < PIECE) continue
    parts.push(rows.slice(from, at + MEASURED))
    ;[from, length] = [at + MEASURED, 0]
  }
  if (from < rows.length) parts.push(rows.slice(from))
  return parts
}

/** Collects the pieces of one result. */
export class ReceivedRows {
  readonly #tables = new Map<string, string[]>()

  add({ table, rows }: RowsMessage): void {
    const known = this.#tables.get(table) ?? []
    this.#tables.set(table, known)
    // The brackets of the list are removed.
    known.push(JSON.stringify(rows).slice(1, -1))
  }

  /** Puts the pieces into the result, whose tables had no rows until then. */
  into(result: Results[Task['kind']]): Results[Task['kind']] {
    const done = this.#tables.size > 0 && 'status' in (result as object) ? (result as RunResult) : null
    if (done?.status !== 'done') return result
    for (const [name, texts] of this.#tables)
      if (Object.hasOwn(done.findings.tables, name)) keepRows(done.findings.tables[name]!, texts)
    return result
  }
}
