/** Binds one SQL block without running it, with each set of optional clauses. */
import type { Column } from '@assay/model/insight'
import type { Fault, SqlBlock, Template } from '@assay/model/template'
import { bindVariable, sampleReaders } from '../../duckdb/bindings.ts'
import { type Bindings, describeQuery, type Engine, execute, identifier } from '../../duckdb/duckdb.ts'
import { engineFailure } from '../../duckdb/engine-error.ts'
import type { Guard } from '../../fence/sql-guard.ts'
import { bindSql } from '../../language/sql-clauses.ts'
import { attributesInSql, READER } from '../../personal/sql-attributes.ts'
import { blockFault, columnVariables, sessionFault } from '../plan.ts'
import type { BlockUse } from '../two-readings.ts'

/** A bound SQL block, and the relations that it reads. */
export interface Statement {
  sql: string
  bindings: Bindings
  reads: readonly string[]
}

interface BlockContext {
  template: Template
  /** The sample value of each variable. */
  samples: Record<string, unknown>
  guard: Guard
  engine: Engine
  names: string[]
  columns: ReadonlyMap<string, Column[]>
}

type BlockInspection =
  | { columns: Column[] | null; use?: BlockUse; statement?: Statement }
  | { faults: Fault[] }

/** Binds the block with every variable set, then with every optional clause left out. */
export async function inspectBlock(block: SqlBlock, context: BlockContext): Promise<BlockInspection> {
  const { template, samples: whole } = context
  const columnVars = columnVariables(template)
  const bare = Object.fromEntries(
    Object.keys(whole).map((name) => [name, columnVars.includes(name) ? whole[name] : null]),
  )
  const clausesOut =
    bindSql(block.sql, { vars: bare, columnVars }).sql !== bindSql(block.sql, { vars: whole, columnVars }).sql
  let found: BlockInspection = { columns: null }
  for (const choice of columnChoices(template, context.columns)) {
    const vars = { ...whole, ...choice }
    found = await bindBlock(block, vars, vars, context, true)
    if (!('faults' in found) && clausesOut) {
      const without = await bindBlock(block, { ...bare, ...choice }, vars, context, false)
      if ('faults' in without) found = without
    }
    if (!('faults' in found)) return found
  }
  return found
}

/** Binds the block. `chosen` decides which optional clauses stay; `vars` are bound. */
async function bindBlock(
  block: SqlBlock,
  chosen: Record<string, unknown>,
  vars: Record<string, unknown>,
  { template, guard, engine, names, columns }: BlockContext,
  keep: boolean,
): Promise<BlockInspection> {
  const withReader = { ...chosen, [READER]: {} }
  const bound = bindSql(block.sql, { vars: withReader, columnVars: columnVariables(template) })
  const verdict = await guard.judge(bound.sql, names)
  if (!verdict.ok) return { faults: [blockFault(block, verdict.fault)] }
  if (verdict.reads.some((name) => !columns.has(name))) return { columns: null }
  const session = sessionFault(verdict.session, (name) => columns.get(name) ?? [])
  if (session) return { faults: [blockFault(block, session)] }
  const bindings: Bindings = {}
  for (const name of bound.names) {
    if (name === READER) continue
    const variable = template.variables.find((one) => one.name === name)
    if (!variable) return { columns: null }
    bindings[name] = bindVariable(variable, vars[name] ?? null)
  }
  const table = identifier(keep ? block.name : `${block.name} without clauses`)
  try {
    await createEmpty(
      engine,
      `create or replace table ${table} as select * from (\n${bound.sql}\n) limit 0`,
      bindings,
      attributesInSql(bound.sql),
    )
    const use = { block: block.name, reads: verdict.reads, uses: verdict.uses }
    const statement = { sql: bound.sql, bindings, reads: verdict.reads }
    const known = attributesInSql(bound.sql).length === 0 ? { statement } : {}
    return { columns: await describeQuery(engine, `select * from ${table}`), use, ...known }
  } catch (error) {
    const failure = engineFailure(error)
    if (failure?.kind !== 'refused') throw error
    const line = Math.max(1, (failure.line ?? 2) - 1)
    const column = failure.column ?? 1
    const fault = { message: failure.reason, remedy: 'Correct the SQL.', line, column }
    return { faults: [blockFault(block, fault)] }
  }
}

/**
 * Tries one type after another for a reader's attributes, whose types are not known. If none binds, it throws the error
 * of texts.
 */
async function createEmpty(
  engine: Engine,
  sql: string,
  bindings: Bindings,
  attributes: readonly (string | null)[],
): Promise<void> {
  if (attributes.length === 0) return execute(engine, sql, bindings)
  let first: unknown
  for (const reader of sampleReaders(attributes.flatMap((name) => name ?? []))) {
    try {
      return await execute(engine, sql, { ...bindings, [READER]: reader })
    } catch (error) {
      first ??= error
    }
  }
  throw first
}

/**
 * Returns the choices to try for `column` variables without a default: the first column of each one's source, then
 * the second, and so on. A block passes if it binds with one of them, because the reader's choice is not known here.
 */
function columnChoices(
  template: Template,
  columns: ReadonlyMap<string, Column[]>,
): Record<string, unknown>[] {
  const open = template.variables.filter(
    ({ type, default: given }) => type === 'column' && (given ?? null) === null,
  )
  const most = Math.max(1, ...open.map(({ of }) => columns.get(of ?? '')?.length ?? 0))
  return Array.from({ length: open.length === 0 ? 1 : most }, (_, index) =>
    Object.fromEntries(
      open.map(({ name, of }) => {
        const list = columns.get(of ?? '') ?? []
        return [name, list[Math.min(index, list.length - 1)]?.name ?? null]
      }),
    ),
  )
}
