/**
 * Collects the columns that a statement uses by name. A plain `*` only passes columns on. If columns are named by
 * position or by a pattern, every column counts as used.
 */

export interface UsedNames {
  /** The names in lower case. */
  names: ReadonlySet<string>
  /** The names that stand without a dot. The name of a source that stands so is its whole row. */
  alone: ReadonlySet<string>
  /** True if any column may be used. */
  all: boolean
}

interface Found {
  names: Set<string>
  alone: Set<string>
  /** The names that the statement itself gives to relations. One that stands alone is a whole row. */
  relations: Set<string>
  all: boolean
}

type TreeNode = Record<string, unknown>

/** Returns the used names. `tree`: the statements of json_serialize_sql. */
export function usedNames(tree: unknown): UsedNames {
  const found: Found = { names: new Set(), alone: new Set(), relations: new Set(), all: false }
  visit(tree, found)
  const { names, alone, relations, all } = found
  return { names, alone, all: all || !alone.isDisjointFrom(relations) }
}

function visit(value: unknown, found: Found): void {
  if (Array.isArray(value)) {
    for (const one of value) visit(one, found)
    return
  }
  if (value === null || typeof value !== 'object') return
  const node = value as TreeNode
  // The columns of ORDER BY ALL are judged with its SELECT.
  if ((node.expression as TreeNode | undefined)?.class === 'STAR') return
  note(node, found)
  for (const one of Object.values(node)) visit(one, found)
}

const listOf = (value: unknown): TreeNode[] => (Array.isArray(value) ? value : [])
const isFilled = (value: unknown): boolean => listOf(value).length > 0

function note(node: TreeNode, found: Found): void {
  if (node.class === 'COLUMN_REF') {
    const parts = texts(node.column_names)
    for (const name of parts) found.names.add(name)
    if (parts.length === 1) found.alone.add(parts[0]!)
  }
  if (node.class === 'POSITIONAL_REFERENCE') found.all = true
  for (const name of relationsIn(node)) found.relations.add(name)
  for (const name of texts(node.using_columns)) found.names.add(name)
  if (node.class === 'STAR') {
    // COLUMNS('...') names columns by a pattern.
    if (node.columns === true || node.expr) found.all = true
    for (const name of deepTexts(node.rename_list)) found.names.add(name)
  }
  if (node.type === 'PIVOT' || (node.type === 'JOIN' && node.ref_type === 'NATURAL')) found.all = true
  if (node.type === 'BASE_TABLE' && isFilled(node.column_name_alias)) found.all = true
  if (handsOn(node) && byPlaces(node)) found.all = true
}

/** Returns the names of common table expressions, or the alias of a relation. */
function relationsIn(node: TreeNode): string[] {
  if (node.class === undefined && node.sample !== undefined && node.type !== 'SELECT_NODE')
    return texts([node.alias]).filter((name) => name !== '')
  const { map } = (node.cte_map ?? {}) as TreeNode
  return listOf(map).flatMap(({ key }) => texts([key]))
}

/** Tells whether the node returns columns that it does not name. */
function handsOn(node: TreeNode): boolean {
  if (node.type === 'SELECT_NODE') return listOf(node.select_list).some((one) => one.class === 'STAR')
  return node.type !== 'BASE_TABLE' && Object.values(node).some((one) => hasStar(one))
}

function hasStar(value: unknown): boolean {
  if (value === null || typeof value !== 'object') return false
  return (value as TreeNode).class === 'STAR' || Object.values(value).some(hasStar)
}

/** Tells whether the node names columns by position, or compares all of them. */
function byPlaces(node: TreeNode): boolean {
  if (node.type === 'SET_OPERATION_NODE') return true
  if (isFilled(node.column_name_alias) || (isFilled(node.aliases) && node.query !== undefined)) return true
  if (node.type !== 'SELECT_NODE') return false
  if (node.aggregate_handling === 'FORCE_AGGREGATES' || isPlaced(node.group_expressions)) return true
  return listOf(node.modifiers).some(({ type, orders }) => type === 'DISTINCT_MODIFIER' || isPlaced(orders))
}

/** Tells whether the list orders or groups by the position of a column, or by all columns. */
function isPlaced(list: unknown): boolean {
  return listOf(list).some((one) => {
    const { class: kind } = (one.expression ?? one) as TreeNode
    return kind === 'STAR' || kind === 'CONSTANT' || kind === 'POSITIONAL_REFERENCE'
  })
}

function texts(value: unknown): string[] {
  return (Array.isArray(value) ? value : [])
    .filter((one) => typeof one === 'string')
    .map((one) => one.toLowerCase())
}

function deepTexts(value: unknown): string[] {
  if (typeof value === 'string') return [value.toLowerCase()]
  return value !== null && typeof value === 'object' ? Object.values(value).flatMap(deepTexts) : []
}
