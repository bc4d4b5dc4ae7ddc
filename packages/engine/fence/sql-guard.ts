/**
 * What may reach the locked engine: exactly one SELECT, made of parts that stand on lists, over sources and earlier
 * blocks only. It judges DuckDB's own parse tree (json_serialize_sql, in the job's own engine), not words: a deny-list
 * of words is what others were broken through. Parsing takes 0.2 ms and binds nothing, so nothing runs.
 */

import { VARCHAR } from '@duckdb/node-api'
import { type Engine, readTable } from '../duckdb/duckdb.ts'
import {
  ALLOWED_FUNCTIONS,
  ALLOWED_TABLE_FUNCTIONS,
  LEAST_ARGUMENTS,
  SESSION_COLUMNS,
} from './sql-functions.ts'

/** Line and column count from 1 within the SQL. */
export interface SqlFault {
  message: string
  remedy: string
  line: number
  column: number
}

export type Verdict =
  | {
      ok: true
      /** The sources and blocks that it reads, as they were named to the guard. */
      reads: string[]
      /** Columns whose names DuckDB answers from the clock or the session where no such column is in reach. */
      session: { name: string; fault: SqlFault }[]
    }
  | { ok: false; fault: SqlFault }

export interface Guard {
  /** `names`: the sources and earlier blocks. */
  judge(sql: string, names: readonly string[]): Promise<Verdict>
}

const EXPRESSIONS: Record<string, RegExp> = {
  BETWEEN: /^COMPARE_(NOT_)?BETWEEN$/,
  CASE: /^CASE_EXPR$/,
  CAST: /^OPERATOR_CAST$/,
  COLLATE: /^COLLATE$/,
  COLUMN_REF: /^COLUMN_REF$/,
  COMPARISON:
    /^COMPARE_(EQUAL|NOTEQUAL|LESSTHAN|GREATERTHAN|LESSTHANOREQUALTO|GREATERTHANOREQUALTO|DISTINCT_FROM|NOT_DISTINCT_FROM)$/,
  CONJUNCTION: /^CONJUNCTION_(AND|OR)$/,
  CONSTANT: /^VALUE_CONSTANT$/,
  FUNCTION: /^FUNCTION$/,
  LAMBDA: /^LAMBDA$/,
  OPERATOR:
    /^(ARRAY_CONSTRUCTOR|ARRAY_EXTRACT|ARRAY_SLICE|COMPARE_IN|COMPARE_NOT_IN|GROUPING_FUNCTION|OPERATOR_COALESCE|OPERATOR_IS_NULL|OPERATOR_IS_NOT_NULL|OPERATOR_NOT|OPERATOR_TRY|OPERATOR_NULLIF|STRUCT_EXTRACT)$/,
  PARAMETER: /^VALUE_PARAMETER$/,
  POSITIONAL_REFERENCE: /^POSITIONAL_REFERENCE$/,
  STAR: /^STAR$/,
  SUBQUERY: /^SUBQUERY$/,
  WINDOW:
    /^WINDOW_(AGGREGATE|ROW_NUMBER|RANK|RANK_DENSE|PERCENT_RANK|CUME_DIST|NTILE|FIRST_VALUE|LAST_VALUE|NTH_VALUE|LEAD|LAG|FILL)$/,
}

const NODES = new Set(
  `SELECT_NODE SET_OPERATION_NODE RECURSIVE_CTE_NODE CTE_NODE
  BASE_TABLE EMPTY EXPRESSION_LIST JOIN PIVOT SUBQUERY TABLE_FUNCTION
  DISTINCT_MODIFIER LIMIT_MODIFIER LIMIT_PERCENT_MODIFIER ORDER_MODIFIER
  ASCENDING DESCENDING ORDER_DEFAULT`.split(/\s+/),
)

const AGGREGATES_BY_NAME = new Set([
  'aggregate',
  'list_aggr',
  'list_aggregate',
  'array_aggr',
  'array_aggregate',
])
const DEPTH_MAX = 2_000

interface TreeNode {
  [key: string]: unknown
  type?: unknown
  class?: unknown
  query_location?: unknown
}

interface Walk {
  refuse(message: string, remedy: string, at: number): never
  reads: Map<string, string>
  session: { name: string; at: number }[]
}

class Refusal extends Error {
  readonly remedy: string
  readonly at: number

  constructor(message: string, remedy: string, at: number) {
    super(message)
    this.remedy = remedy
    this.at = at
  }
}

const SELECT_ONLY = 'Write one SELECT a block; declare files under "sources".'
const PURE =
  'Only functions that depend on their arguments alone may be called; pass other values in as variables.'

function position(sql: string, offset: number): { line: number; column: number } {
  const before = Buffer.from(sql).subarray(0, Math.max(0, offset)).toString().split('\n')
  return { line: before.length, column: before.at(-1)!.length + 1 }
}

/** The scope in which a name after FROM is looked up: folded -> as declared, null for a table of a WITH. */
type Scope = ReadonlyMap<string, string | null>

/** DuckDB folds the letters of ASCII alone. toLowerCase() would also make "k" of the Kelvin sign, for one. */
const fold = (name: string): string => name.replace(/[A-Z]+/g, (letters) => letters.toLowerCase())

/**
 * The names of DuckDB's own views, which are in reach everywhere without a schema. A table of a WITH may not bear one:
 * wherever DuckDB saw its scope narrower than this guard does, the name would give the view.
 */
const CATALOG = /^(duckdb|information_schema|pg|pragma|sqlite)(_|$)/

function walk(value: unknown, scope: Scope, state: Walk, at: number, depth: number): void {
  if (depth > DEPTH_MAX)
    state.refuse('The statement is nested too deeply.', 'Divide it into several blocks.', at)
  if (Array.isArray(value)) {
    for (const item of value) walk(item, scope, state, at, depth + 1)
    return
  }
  if (value === null || typeof value !== 'object') return
  const node = value as TreeNode
  const here =
    typeof node.query_location === 'number' && node.query_location < 2 ** 32 ? node.query_location : at
  if (typeof node.class === 'string') return expression(node, scope, state, here, depth)
  if (typeof node.type === 'string') return part(node, scope, state, here, depth)
  children(node, scope, state, here, depth)
}

function children(node: TreeNode, scope: Scope, state: Walk, at: number, depth: number): void {
  for (const key of Object.keys(node)) walk(node[key], scope, state, at, depth + 1)
}

function expression(node: TreeNode, scope: Scope, state: Walk, at: number, depth: number): void {
  const { class: kind, type } = node as { class: string; type: string }
  if (!EXPRESSIONS[kind]?.test(type)) state.refuse(`${type} is not allowed in SQL blocks.`, SELECT_ONLY, at)
  if (kind === 'CONSTANT') return
  if (kind === 'FUNCTION' || kind === 'WINDOW') functionCall(node, state, at)
  if (kind === 'COLUMN_REF') columnReference(node, state, at)
  const { cast_type: _castType, ...rest } = node
  children(rest, scope, state, at, depth)
}

function functionCall(node: TreeNode, state: Walk, at: number): void {
  const name = fold(String(node.function_name))
  if (!ALLOWED_FUNCTIONS.has(name)) state.refuse(`${name}() is not allowed in SQL blocks.`, PURE, at)
  const given = Array.isArray(node.children) ? (node.children as TreeNode[]) : []
  if (given.length < (LEAST_ARGUMENTS.get(name) ?? 0)) {
    state.refuse(`${name}() with one argument asks the clock.`, 'Name both times.', at)
  }
  if (AGGREGATES_BY_NAME.has(name)) {
    const inner = (given[1]?.value as { value?: unknown } | undefined)?.value
    if (typeof inner !== 'string' || !ALLOWED_FUNCTIONS.has(fold(inner))) {
      state.refuse(`${name}() may only call an allowed aggregate, named as text.`, PURE, at)
    }
  }
}

function columnReference(node: TreeNode, state: Walk, at: number): void {
  const parts = node.column_names as string[]
  const name = fold(parts[0] ?? '')
  if (parts.length === 1 && SESSION_COLUMNS.has(name)) state.session.push({ name, at })
}

/** A query node, a table or a modifier. */
function part(node: TreeNode, scope: Scope, state: Walk, at: number, depth: number): void {
  const type = node.type as string
  if (!NODES.has(type)) {
    const what = type === 'SHOW_REF' ? 'DESCRIBE, SHOW and SUMMARIZE are' : `${type} is`
    state.refuse(`${what} not allowed in SQL blocks.`, SELECT_ONLY, at)
  }
  if (node.sample) {
    state.refuse(
      'Samples are not allowed: results must repeat.',
      'Take rows by a condition, such as hash(id) % 100 = 0.',
      at,
    )
  }
  if (type === 'BASE_TABLE') return baseTable(node, scope, state, at)
  if (type === 'TABLE_FUNCTION') return tableFunction(node, scope, state, at, depth)
  const { cte_map: ctes, expected_types: _types, ...rest } = node
  const inner = ctes ? withTables(ctes as TreeNode, scope, state, at, depth) : scope
  if (type !== 'RECURSIVE_CTE_NODE') return children(rest, inner, state, at, depth)
  // The table itself is in reach of the part that repeats and of nothing else.
  const { right, ...once } = rest
  children(once, inner, state, at, depth)
  walk(right, named(inner, String(node.cte_name), state, at), state, at, depth + 1)
}

/** Walks the tables of a WITH, each in reach of those before it, and gives the scope of what follows. */
function withTables(ctes: TreeNode, scope: Scope, state: Walk, at: number, depth: number): Scope {
  let inner = scope
  for (const { key, value } of (ctes.map ?? []) as { key: string; value: TreeNode }[]) {
    walk(value, inner, state, at, depth + 1)
    inner = named(inner, key, state, at)
  }
  return inner
}

/** The scope with a table of a WITH in it. */
function named(scope: Scope, name: string, state: Walk, at: number): Scope {
  const folded = fold(name)
  if (CATALOG.test(folded)) {
    state.refuse(
      `${JSON.stringify(name)} is a name of the engine's own catalog.`,
      'Rename this table of the WITH.',
      at,
    )
  }
  return new Map([...scope, [folded, null]])
}

function baseTable(node: TreeNode, scope: Scope, state: Walk, at: number): void {
  const { catalog_name: catalog, schema_name: schema, table_name: table } = node as Record<string, string>
  const name = [catalog, schema, table].filter(Boolean).join('.')
  const found = catalog || schema || node.at_clause ? undefined : scope.get(fold(String(table)))
  if (found === undefined) {
    const known = [...new Set([...scope.values()].filter((one) => one !== null))]
    const list = known.length > 0 ? ` There are: ${known.join(', ')}.` : ''
    state.refuse(
      `There is no source or earlier block named ${JSON.stringify(name)}.`,
      `Name a source, a block above this one, or a table of the WITH.${list}`,
      at,
    )
  }
  if (found !== null) state.reads.set(found, found)
}

function tableFunction(node: TreeNode, scope: Scope, state: Walk, at: number, depth: number): void {
  const call = node.function as TreeNode
  const name = fold(String(call.function_name))
  if (call.class !== 'FUNCTION' || !ALLOWED_TABLE_FUNCTIONS.has(name)) {
    state.refuse(
      `${name}() is not allowed in SQL blocks.`,
      `Declare files under "sources"; after FROM only ${[...ALLOWED_TABLE_FUNCTIONS].join(', ')} may be called.`,
      at,
    )
  }
  for (const key of ['children', 'filter', 'order_bys']) walk(call[key], scope, state, at, depth + 1)
}

/** Judges a parse tree. */
function judgeTree(sql: string, tree: TreeNode, names: readonly string[]): Verdict {
  const state: Walk = {
    reads: new Map(),
    session: [],
    refuse(message, remedy, at) {
      throw new Refusal(message, remedy, at)
    },
  }
  try {
    if (tree.error === true) {
      const at = Number(tree.position ?? 0)
      const text = String(tree.error_message)
      if (!text.startsWith('Only SELECT'))
        state.refuse(`The SQL cannot be read: ${text}.`, 'Correct the SQL.', at)
      state.refuse('Only SELECT is allowed in SQL blocks.', SELECT_ONLY, at)
    }
    const statements = tree.statements as TreeNode[]
    if (statements.length !== 1) {
      state.refuse(`A block holds one statement, this one holds ${statements.length}.`, SELECT_ONLY, 0)
    }
    walk(statements, new Map(names.map((name) => [fold(name), name])), state, 0, 0)
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    return { ok: false, fault: { message: error.message, remedy: error.remedy, ...position(sql, error.at) } }
  }
  const session = state.session.map(({ name, at }) => ({
    name,
    fault: {
      message: `${name} asks the clock or the session: results must repeat.`,
      remedy: 'Use a variable, or the name of a column that the sources have.',
      ...position(sql, at),
    },
  }))
  return { ok: true, reads: [...state.reads.keys()], session }
}

/** A verdict follows from the text and the names alone: what has passed passes again. */
const KEPT_MOST = 200
const KEPT_CHARACTERS = 20_000

const PARSE = 'select json_serialize_sql($sql::varchar)'

const passed = new Map<string, Verdict>()

/** A guard that parses in this engine, which may be sealed or not yet. What has passed is kept for all. */
export function createGuard(engine: Engine): Guard {
  return {
    async judge(sql, names) {
      const key = JSON.stringify([sql, names])
      const known = passed.get(key)
      if (known) return known
      const { rows } = await readTable(engine, PARSE, { sql: { value: sql, type: VARCHAR } }, 1)
      const verdict = judgeTree(sql, JSON.parse(rows[0]![0] as string) as TreeNode, names)
      if (verdict.ok && key.length <= KEPT_CHARACTERS) {
        passed.set(key, verdict)
        if (passed.size > KEPT_MOST) passed.delete(passed.keys().next().value!)
      }
      return verdict
    },
  }
}
