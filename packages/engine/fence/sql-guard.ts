/**
 * Decides which SQL may reach the sealed engine: exactly one SELECT over sources and earlier blocks, made only of parts that
 * stand on the lists of sql-nodes.ts and sql-functions.ts. This file walks the tree and keeps the names in scope; sql-calls.ts
 * judges functions and types. It judges DuckDB's own parse tree (json_serialize_sql) rather
 * than words, since deny-lists of words have been broken. Parsing takes 0.2 ms and binds nothing, so nothing runs.
 */
import { VARCHAR } from '@duckdb/node-api'
import { type Engine, readTable } from '../duckdb/duckdb.ts'
import { functionCall, typeNames } from './sql-calls.ts'
import { ALLOWED_TABLE_FUNCTIONS, CLOCK_COLUMNS, SESSION_COLUMNS } from './sql-functions.ts'
import { ALLOWED_EXPRESSIONS, ALLOWED_NODES } from './sql-nodes.ts'
import { type Call, DEPTH_MAX, fold, Refusal, refuse, type TreeNode } from './sql-refusal.ts'
import { unknownFunction } from './unknown-functions.ts'
import { type UsedNames, usedNames } from './used-names.ts'

/** A fault. Line and column count from 1, within the SQL. */
export interface SqlFault {
  message: string
  remedy: string
  line: number
  column: number
}

/** A column whose name DuckDB answers from the clock or the session if no relation in its scope has such a column. */
export interface SessionName {
  name: string
  /**
   * The sources and blocks of which one must have such a column. For names of the clock they are those of the same
   * FROM, else all that are read.
   */
  among: string[]
  fault: SqlFault
}

export type Judgement =
  | {
      ok: true
      /** The sources and blocks that the statement reads. */
      reads: string[]
      /** The names of columns that the statement uses. */
      uses: UsedNames
      session: SessionName[]
    }
  | { ok: false; fault: SqlFault }

export interface Guard {
  /** Judges a statement. `names`: the sources and earlier blocks. */
  judge(sql: string, names: readonly string[]): Promise<Judgement>
}

/** What the walk over a tree collects. */
interface Collected {
  reads: Set<string>
  session: { name: string; at: number; among: readonly string[] | null }[]
  /** The sources and blocks whose columns are in scope by their bare names. Those of tables within FROM are left out. */
  inScope: readonly string[]
}

/** A source or block in scope, with its name there. */
interface Named {
  relation: string
  called: string
}

const SELECT_ONLY = 'Write one SELECT a block; declare files under "sources".'
function position(sql: string, offset: number): { line: number; column: number } {
  const before = Buffer.from(sql).subarray(0, Math.max(0, offset)).toString().split('\n')
  return { line: before.length, column: before.at(-1)!.length + 1 }
}

/** The relations in scope after FROM: the declared name by the folded name, or null for a table of a WITH. */
type Scope = ReadonlyMap<string, string | null>

/**
 * The names of DuckDB's own views, which need no schema. A table of a WITH may not have such a name: if DuckDB's scope of
 * the table is narrower than this guard's, the name means the view.
 */
const CATALOG = /^(duckdb|information_schema|pg|pragma|sqlite)(_|$)/

function walk(value: unknown, scope: Scope, found: Collected, at: number, depth: number): void {
  if (depth > DEPTH_MAX) refuse('The statement is nested too deeply.', 'Divide it into several blocks.', at)
  if (Array.isArray(value)) {
    for (const item of value) walk(item, scope, found, at, depth + 1)
    return
  }
  if (value === null || typeof value !== 'object') return
  const node = value as TreeNode
  const here =
    typeof node.query_location === 'number' && node.query_location < 2 ** 32 ? node.query_location : at
  if (typeof node.class === 'string') return expression(node, scope, found, here, depth)
  if (typeof node.type === 'string') return part(node, scope, found, here, depth)
  children(node, scope, found, here, depth)
}

function children(node: TreeNode, scope: Scope, found: Collected, at: number, depth: number): void {
  for (const key of Object.keys(node)) walk(node[key], scope, found, at, depth + 1)
}

function expression(node: TreeNode, scope: Scope, found: Collected, at: number, depth: number): void {
  const { class: kind, type } = node as { class: string; type: string }
  if (!ALLOWED_EXPRESSIONS[kind]?.test(type)) refuse(`${type} is not allowed in SQL blocks.`, SELECT_ONLY, at)
  if (kind === 'CONSTANT') return
  if (kind === 'FUNCTION' || kind === 'WINDOW') functionCall(node, at)
  if (kind === 'COLUMN_REF') columnReference(node, found, at)
  const { cast_type: cast, ...rest } = node
  typeNames(cast, at, depth)
  children(rest, scope, found, at, depth)
}

function columnReference(node: TreeNode, found: Collected, at: number): void {
  const parts = node.column_names as string[]
  const name = fold(parts[0] ?? '')
  if (parts.length !== 1 || !SESSION_COLUMNS.has(name)) return
  found.session.push({ name, at, among: CLOCK_COLUMNS.has(name) ? found.inScope : null })
}

/** Returns the sources and blocks that a FROM names itself. Their columns keep their names. */
function namedByFrom(from: TreeNode | null | undefined, scope: Scope): Named[] {
  if (from?.type === 'JOIN') {
    const { left, right, join_type: kind } = from as { left: TreeNode; right: TreeNode; join_type?: string }
    const both = [left, ...(kind && ['SEMI', 'ANTI'].includes(kind) ? [] : [right])]
    return both.flatMap((side) => namedByFrom(side, scope))
  }
  if (from?.type !== 'BASE_TABLE' || (from.column_name_alias as unknown[]).length > 0) return []
  const relation = scope.get(fold(String(from.table_name)))
  return relation === null || relation === undefined ? [] : [{ relation, called: calledIn(from) }]
}

const calledIn = ({ alias, table_name: table }: TreeNode): string =>
  fold(((alias || table) as string | undefined) ?? '')

/** Returns the names of all tables in a FROM. */
function callsOf(from: TreeNode | null | undefined): string[] {
  if (!from) return []
  if (from.type !== 'JOIN') return [calledIn(from)]
  return [from.left, from.right].flatMap((side) => callsOf(side as TreeNode))
}

/**
 * Returns the relations whose columns a SELECT reads by their bare names: those of its own FROM. If two relations have
 * one name, DuckDB finds the column of neither and reads the clock. Within some calls of array() and exists() it reads
 * the clock even if a relation around the SELECT has the column, so relations around it do not count.
 */
function inScopeOf(from: TreeNode | undefined, scope: Scope): string[] {
  const calls = callsOf(from)
  return namedByFrom(from, scope)
    .filter(({ called }) => calls.filter((one) => one === called).length === 1)
    .map(({ relation }) => relation)
}

/** Walks a part with other columns in scope. */
function within(found: Collected, inScope: readonly string[], visit: () => void): void {
  const before = found.inScope
  found.inScope = inScope
  visit()
  found.inScope = before
}

const LIMITS = new Set(['LIMIT_MODIFIER', 'LIMIT_PERCENT_MODIFIER'])

/** Walks a query node, a table or a modifier. */
function part(node: TreeNode, scope: Scope, found: Collected, at: number, depth: number): void {
  const type = node.type as string
  if (!ALLOWED_NODES.has(type)) {
    const what = type === 'SHOW_REF' ? 'DESCRIBE, SHOW and SUMMARIZE are' : `${type} is`
    refuse(`${what} not allowed in SQL blocks.`, SELECT_ONLY, at)
  }
  if (node.sample) {
    refuse(
      'Samples are not allowed: results must repeat.',
      'Take rows by a condition, such as hash(id) % 100 = 0.',
      at,
    )
  }
  for (const { pivot_enum: values } of (node.pivots ?? []) as TreeNode[]) {
    if (values)
      refuse(
        `PIVOT takes its values from the type ${JSON.stringify(values)}.`,
        "List the values: IN ('a', 'b').",
        at,
      )
  }
  if (type === 'BASE_TABLE') return baseTable(node, scope, found, at)
  if (type === 'TABLE_FUNCTION') return tableFunction(node, scope, found, at, depth)
  // A query within LIMIT or OFFSET sees no column of the rows that it counts.
  if (LIMITS.has(type)) return within(found, [], () => children(node, scope, found, at, depth))
  const { cte_map: ctes, expected_types: _types, ...rest } = node
  const inner = ctes ? withTables(ctes as TreeNode, scope, found, at, depth) : scope
  if (type === 'SELECT_NODE') {
    const { from_table: from, ...others } = rest as TreeNode & { from_table?: TreeNode }
    within(found, [], () => walk(from, inner, found, at, depth + 1))
    return within(found, inScopeOf(from, inner), () => children(others, inner, found, at, depth))
  }
  // The ORDER BY of a set operation sees the columns that its SELECTs return.
  if (type === 'SET_OPERATION_NODE') return within(found, [], () => children(rest, inner, found, at, depth))
  if (type !== 'RECURSIVE_CTE_NODE') return children(rest, inner, found, at, depth)
  // Only the recursive part sees the table itself.
  const { right, ...once } = rest
  children(once, inner, found, at, depth)
  walk(right, named(inner, String(node.cte_name), at), found, at, depth + 1)
}

/** Walks the tables of a WITH, each of which sees those before it. Returns the scope with all of them. */
function withTables(ctes: TreeNode, scope: Scope, found: Collected, at: number, depth: number): Scope {
  let inner = scope
  for (const { key, value } of (ctes.map ?? []) as { key: string; value: TreeNode }[]) {
    const before = inner
    within(found, [], () => walk(value, before, found, at, depth + 1))
    inner = named(inner, key, at)
  }
  return inner
}

/** Returns the scope with a table of a WITH added. */
function named(scope: Scope, name: string, at: number): Scope {
  const folded = fold(name)
  if (CATALOG.test(folded)) {
    refuse(
      `${JSON.stringify(name)} is a name of the engine's own catalog.`,
      'Rename this table of the WITH.',
      at,
    )
  }
  return new Map([...scope, [folded, null]])
}

function baseTable(node: TreeNode, scope: Scope, found: Collected, at: number): void {
  const { catalog_name: catalog, schema_name: schema, table_name: table } = node as Record<string, string>
  const relation = catalog || schema || node.at_clause ? undefined : scope.get(fold(String(table)))
  if (relation === undefined) {
    const name = [catalog, schema, table].filter(Boolean).join('.')
    const known = [...new Set([...scope.values()].filter((one) => one !== null))]
    const list = known.length > 0 ? ` There are: ${known.join(', ')}.` : ''
    // This is a list of an analysis, written with a dot as in the text of a template.
    const meant = scope.get(fold(`${schema}_${table}`))
    refuse(
      `There is no source or earlier block named ${JSON.stringify(name)}.`,
      meant
        ? `In SQL this list of the analysis is named ${meant}.`
        : `Name a source, a block above this one, or a table of the WITH.${list}`,
      at,
    )
  }
  if (relation !== null) found.reads.add(relation)
}

function tableFunction(node: TreeNode, scope: Scope, found: Collected, at: number, depth: number): void {
  const call = node.function as TreeNode
  const name = fold(String(call.function_name))
  if (call.class !== 'FUNCTION' || !ALLOWED_TABLE_FUNCTIONS.has(name)) {
    refuse(
      `${name}() is not allowed in SQL blocks.`,
      `Declare files under "sources"; after FROM only ${[...ALLOWED_TABLE_FUNCTIONS].join(', ')} may be called.`,
      at,
      call.class === 'FUNCTION' ? { name, afterFrom: true } : null,
    )
  }
  for (const key of ['children', 'filter', 'order_bys']) walk(call[key], scope, found, at, depth + 1)
}

type Judged = Extract<Judgement, { ok: true }> | (Extract<Judgement, { ok: false }> & { call: Call | null })

/** Judges a parse tree. */
function judgeTree(sql: string, tree: TreeNode, names: readonly string[]): Judged {
  const found: Collected = { reads: new Set(), session: [], inScope: [] }
  try {
    if (tree.error === true) {
      const at = Number(tree.position ?? 0)
      const text = String(tree.error_message)
      if (!text.startsWith('Only SELECT')) refuse(`The SQL cannot be read: ${text}.`, 'Correct the SQL.', at)
      refuse('Only SELECT is allowed in SQL blocks.', SELECT_ONLY, at)
    }
    const statements = tree.statements as TreeNode[]
    if (statements.length !== 1) {
      refuse(`A block holds one statement, this one holds ${statements.length}.`, SELECT_ONLY, 0)
    }
    walk(statements, new Map(names.map((name) => [fold(name), name])), found, 0, 0)
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const { message, remedy, call } = error
    return { ok: false, fault: { message, remedy, ...position(sql, error.at) }, call }
  }
  const session = found.session.map(({ name, at, among }) => ({
    name,
    among: [...(among ?? found.reads)],
    fault: {
      message: `${name} asks the clock or the session: results must repeat.`,
      remedy: `Use a variable, or the name of a column that the sources have, with its table: t.${name}.`,
      ...position(sql, at),
    },
  }))
  return { ok: true, reads: [...found.reads], uses: usedNames(tree.statements), session }
}

/** The most verdicts that are kept. They depend on the SQL and the names alone; only those that pass are kept. */
const KEPT_MOST = 200
const KEPT_CHARACTERS = 20_000

const PARSE = 'select json_serialize_sql($sql::varchar)'

let listed: Set<string> | undefined

/** Tells whether DuckDB has a function of this name. The first call lists them, which takes 5 ms. */
async function exists(engine: Engine, name: string): Promise<boolean> {
  if (!listed) {
    const sql = 'select distinct lower(function_name) from duckdb_functions()'
    const { rows } = await readTable(engine, sql, {}, 100_000)
    listed = new Set(rows.map(([one]) => one as string))
  }
  return listed.has(name)
}

const passed = new Map<string, Judgement>()

/** Makes a guard that parses in this engine, sealed or not. All guards of a process share the kept verdicts. */
export function createGuard(engine: Engine): Guard {
  return {
    async judge(sql, names) {
      const key = JSON.stringify([sql, names])
      const known = passed.get(key)
      if (known) return known
      const { rows } = await readTable(engine, PARSE, { sql: { value: sql, type: VARCHAR } }, 1)
      const verdict = judgeTree(sql, JSON.parse(rows[0]![0] as string) as TreeNode, names)
      if (!verdict.ok) {
        const { call, fault } = verdict
        const unknown = call !== null && !(await exists(engine, call.name))
        return {
          ok: false,
          fault: unknown ? { ...fault, ...unknownFunction(call.name, call.afterFrom) } : fault,
        }
      }
      if (key.length <= KEPT_CHARACTERS) {
        passed.set(key, verdict)
        if (passed.size > KEPT_MOST) passed.delete(passed.keys().next().value!)
      }
      return verdict
    },
  }
}
