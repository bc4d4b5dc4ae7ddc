/**
 * DuckDB's parse tree (json_serialize_sql) of a SELECT that a method of Assay wrote, as far as print-tree.ts prints it
 * for another database. Any other node throws NotAsked.
 */
export interface Tree {
  class: string
  type: string
  alias?: string
  column_names?: string[]
  function_name?: string
  is_operator?: boolean
  distinct?: boolean
  filter?: Tree
  children?: Tree[]
  child?: Tree
  cast_type?: { id: string }
  value?: TreeValue
  left?: Tree
  right?: Tree
  case_checks?: { when_expr: Tree; then_expr: Tree }[]
  else_expr?: Tree
  subquery?: { node: TreeQuery }
  subquery_type?: string
  comparison_type?: string
  partitions?: Tree[]
  orders?: TreeOrder[]
  start?: string
  end?: string
  end_expr?: Tree
  identifier?: string
  input?: Tree
  lower?: Tree
  upper?: Tree
}

export interface TreeValue {
  type: { id: string; type_info?: { scale?: number } }
  is_null: boolean
  value?: string | number | boolean
}

export interface TreeOrder {
  type: string
  expression: Tree
}

export interface TreeQuery {
  type: string
  modifiers?: { type: string; orders?: TreeOrder[]; limit?: Tree; offset?: Tree }[]
  cte_map?: { map?: { key: string; value: { query: { node: TreeQuery } } }[] }
  select_list?: Tree[]
  from_table?: TreeFrom
  where_clause?: Tree
  group_expressions?: Tree[]
  aggregate_handling?: string
  having?: Tree
  qualify?: Tree
  sample?: unknown
  setop_type?: string
  setop_all?: boolean
  left?: TreeQuery
  right?: TreeQuery
}

export interface TreeFrom {
  type: string
  alias?: string
  table_name?: string
  subquery?: { node: TreeQuery }
  left?: TreeFrom
  right?: TreeFrom
  join_type?: string
  ref_type?: string
  condition?: Tree
  using_columns?: string[]
}
