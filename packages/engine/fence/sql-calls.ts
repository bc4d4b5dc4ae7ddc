/** Judges the functions that a statement calls and the types that it names. Each check throws Refusal. */
import { ALLOWED_FUNCTIONS, LEAST_ARGUMENTS } from './sql-functions.ts'
import { ALLOWED_TYPES } from './sql-nodes.ts'
import { DEPTH_MAX, fold, refuse, type TreeNode } from './sql-refusal.ts'

/** Functions whose second argument is the name of an aggregate. */
const AGGREGATES_BY_NAME = new Set([
  'aggregate',
  'list_aggr',
  'list_aggregate',
  'array_aggr',
  'array_aggregate',
])
/** Functions whose second argument names types in JSON, which DuckDB looks up in its catalog. */
const BY_STRUCTURE = new Set(['from_json', 'from_json_strict', 'json_transform', 'json_transform_strict'])
/** A type with its numbers and brackets. */
const NAMED_TYPE = /^\s*(\w+)\s*(\([\d\s,]*\))?\s*(\[\d*\])*\s*$/

/** The remedy for a function whose value depends on more than its arguments. */
const PURE =
  'Only functions that depend on their arguments alone may be called; pass other values in as variables.'

/** Refuses a type that only a catalog can know, wherever it stands within a type. */
export function typeNames(value: unknown, at: number, depth: number): void {
  if (depth > DEPTH_MAX) refuse('The type is nested too deeply.', 'Name a flatter type.', at)
  if (value === null || typeof value !== 'object') return
  const { type, catalog, schema, name } = value as TreeNode
  if (type === 'UNBOUND_TYPE_INFO' && (catalog || schema || !ALLOWED_TYPES.has(fold(String(name))))) {
    const full = [catalog, schema, name].filter(Boolean).join('.')
    refuse(`There is no type ${JSON.stringify(full)}.`, 'Name a type of DuckDB, such as varchar or date.', at)
  }
  for (const one of Object.values(value)) typeNames(one, at, depth + 1)
}

/** Refuses a function that is not allowed, or whose arguments make it read the clock, the catalog or another function. */
export function functionCall(node: TreeNode, at: number): void {
  const name = fold(String(node.function_name))
  if (!ALLOWED_FUNCTIONS.has(name))
    refuse(`${name}() is not allowed in SQL blocks.`, PURE, at, { name, afterFrom: false })
  const given = Array.isArray(node.children) ? (node.children as TreeNode[]) : []
  if (given.length < (LEAST_ARGUMENTS.get(name) ?? 0)) {
    refuse(`${name}() with one argument asks the clock.`, 'Name both times.', at)
  }
  if (BY_STRUCTURE.has(name)) structure(given[1], name, at)
  if (AGGREGATES_BY_NAME.has(name)) {
    const inner = (given[1]?.value as { value?: unknown } | undefined)?.value
    if (typeof inner !== 'string' || !ALLOWED_FUNCTIONS.has(fold(inner))) {
      refuse(`${name}() may only call an allowed aggregate, named as text.`, PURE, at)
    }
  }
}

/** Refuses a structure for JSON that names a type which only a catalog can know. */
function structure(given: TreeNode | undefined, name: string, at: number): void {
  const text = (given?.value as { value?: unknown } | undefined)?.value
  const remedy = `Write it as JSON text, such as '{"a": "integer", "b": ["varchar"]}'.`
  if (given === undefined) return
  if (typeof text !== 'string') refuse(`The structure of ${name}() is not text.`, remedy, at)
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch {
    refuse(`The structure of ${name}() is not JSON.`, remedy, at)
  }
  const leaves = (value: unknown): unknown[] =>
    value !== null && typeof value === 'object' ? Object.values(value).flatMap(leaves) : [value]
  for (const leaf of leaves(parsed)) {
    const type = NAMED_TYPE.exec(String(leaf))?.[1]
    if (type === undefined || !ALLOWED_TYPES.has(fold(type))) {
      refuse(`The structure of ${name}() names no type ${JSON.stringify(leaf)}.`, remedy, at)
    }
  }
}
