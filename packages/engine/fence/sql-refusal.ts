/** The nodes of DuckDB's parse tree, and how the guard refuses one. */

/** The deepest nesting of nodes that is judged. */
export const DEPTH_MAX = 2_000

/** A node of the tree that json_serialize_sql gives. */
export interface TreeNode {
  [key: string]: unknown
  type?: unknown
  class?: unknown
  query_location?: unknown
}

/** A refusal of a statement. */
export class Refusal extends Error {
  readonly remedy: string
  /** The offset in the SQL, in bytes. */
  readonly at: number
  readonly call: Call | null

  constructor(message: string, remedy: string, at: number, call: Call | null) {
    super(message)
    this.remedy = remedy
    this.at = at
    this.call = call
  }
}

/** A function that is refused. DuckDB may not have it. */
export interface Call {
  name: string
  afterFrom: boolean
}

/** Throws Refusal. `at`: the offset in the SQL, in bytes. */
export function refuse(message: string, remedy: string, at: number, call: Call | null = null): never {
  throw new Refusal(message, remedy, at, call)
}

/** Folds a name as DuckDB does: ASCII letters only. toLowerCase() would also fold the Kelvin sign to "k". */
export const fold = (name: string): string => name.replace(/[A-Z]+/g, (letters) => letters.toLowerCase())
