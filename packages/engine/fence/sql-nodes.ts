/** The parts of DuckDB's parse tree that a statement may have. Everything else is refused. */

/** The allowed types of each class of expressions. */
export const ALLOWED_EXPRESSIONS: Readonly<Record<string, RegExp>> = {
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

/** The allowed query nodes, tables, modifiers and orders. */
export const ALLOWED_NODES: ReadonlySet<string> = new Set(
  `SELECT_NODE SET_OPERATION_NODE RECURSIVE_CTE_NODE CTE_NODE
  BASE_TABLE EMPTY EXPRESSION_LIST JOIN PIVOT SUBQUERY TABLE_FUNCTION
  DISTINCT_MODIFIER LIMIT_MODIFIER LIMIT_PERCENT_MODIFIER ORDER_MODIFIER
  ASCENDING DESCENDING ORDER_DEFAULT`.split(/\s+/),
)

/** The names of DuckDB's own types that its parser leaves to the catalog, in lower case (duckdb_types()). */
export const ALLOWED_TYPES: ReadonlySet<string> = new Set(
  `array bignum binary bit bitstring blob bool boolean bpchar bytea char date datetime dec decimal double enum float
  float4 float8 geometry guid hugeint int int1 int128 int16 int2 int32 int4 int64 int8 integer integral interval json
  list logical long map null numeric nvarchar oid real short signed smallint string struct text time timestamp
  timestamp_ms timestamp_ns timestamp_s timestamp_us timestamptz timetz time_ns tinyint ubigint uhugeint uint128 uint16
  uint32 uint64 uint8 uinteger union usmallint utinyint uuid varbinary varchar variant varint bigint`.split(
    /\s+/,
  ),
)
