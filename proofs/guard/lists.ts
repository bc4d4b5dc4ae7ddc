/** Reads the lists of the engine in use: functions, settings and views. */
import { type Engine, readTable } from '../../packages/engine/duckdb/duckdb.ts'

export interface Lists {
  /** The functions by kind: scalar, aggregate, macro, table, table_macro, pragma. */
  functions: ReadonlyMap<string, readonly string[]>
  /** The functions whose value depends on more than their arguments, as the engine itself says. */
  unsteady: ReadonlySet<string>
  settings: readonly string[]
  keywords: readonly string[]
  types: readonly string[]
  collations: readonly string[]
  /** The views of the catalog, with and without their schema. */
  views: readonly string[]
}

async function column(engine: Engine, sql: string): Promise<string[]> {
  const { rows } = await readTable(engine, sql, {}, 100_000)
  return rows.map(([value]) => value as string)
}

export async function readLists(engine: Engine): Promise<Lists> {
  const { rows } = await readTable(
    engine,
    `select function_type, lower(function_name) from duckdb_functions() where function_name is not null
      group by all order by all`,
    {},
    100_000,
  )
  const functions = new Map<string, string[]>()
  for (const [kind, name] of rows as [string, string][])
    functions.set(kind, [...(functions.get(kind) ?? []), name])
  return {
    functions,
    unsteady: new Set(
      await column(
        engine,
        `select distinct lower(function_name) from duckdb_functions()
          where has_side_effects or stability <> 'CONSISTENT'`,
      ),
    ),
    settings: await column(engine, 'select name from duckdb_settings() order by 1'),
    keywords: await column(engine, 'select keyword_name from duckdb_keywords() order by 1'),
    types: await column(engine, 'select distinct type_name from duckdb_types() order by 1'),
    collations: await column(engine, 'select collname from pragma_collations() order by 1 limit 40'),
    views: await column(
      engine,
      `select view_name from duckdb_views() where internal union select schema_name || '.' || view_name
        from duckdb_views() where internal order by 1`,
    ),
  }
}
