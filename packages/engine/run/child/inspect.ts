/**
 * Inspects a template without running it: the columns of its sources, and of each SQL block, which DuckDB binds with
 * `limit 0` so that no data are read. Variables take their default, or a sample value of their type.
 */
import type { FoundColumn, FoundDialect } from '@assay/model/dialect'
import type { Column } from '@assay/model/insight'
import type { AnalysisBlock, Fault, Source, SqlBlock, Template, Variable } from '@assay/model/template'
import { metricFaults, textsAsked } from '../../checking/blocks.ts'
import { bindVariable, sampleReaders } from '../../duckdb/bindings.ts'
import {
  arm,
  type Bindings,
  describeQuery,
  type Engine,
  execute,
  identifier,
  readTable,
  seal,
} from '../../duckdb/duckdb.ts'
import { engineFailure } from '../../duckdb/engine-error.ts'
import { createGuard, type Guard } from '../../fence/sql-guard.ts'
import { makeFault, TemplateFault } from '../../language/fault.ts'
import { bindSql } from '../../language/sql-clauses.ts'
import { attributesInSql, READER } from '../../personal/sql-attributes.ts'
import { catalogOfMethods } from '../../reading/methods-on-demand.ts'
import { bindOptions, withDefaults } from '../../reading/options.ts'
import { schemaFaults } from '../../reading/schema-faults.ts'
import { attachSource } from '../../sources/attach.ts'
import { type Acquire, type Attached, SourceError } from '../../sources/source.ts'
import { resolvePeriod } from '../../values/period.ts'
import { makeTable, outcomeTables } from '../outcome-tables.ts'
import { blockFault, columnVariables, sessionFault } from '../plan.ts'
import type { Roots } from '../protocol.ts'
import { type BlockUse, firstUse, namesInOptions, useSentence } from '../two-readings.ts'

/** What the check found out while it read the files of a source. */
interface Reading {
  dialect?: FoundDialect
  readings: readonly FoundColumn[]
  list?: string
}

export interface Inspected {
  /**
   * The columns of each source, or the reason why it cannot be read. A source whose path waits for a variable is
   * missing.
   */
  sources: Record<string, ({ columns: Column[] } & Reading) | { error: string }>
  /** The columns of each SQL block that could be bound. */
  blocks: Record<string, Column[]>
  /** The columns without values, as in `Inspection`. */
  empty: Record<string, readonly string[]>
  /** The faults of statements that the guard or DuckDB refuses. */
  faults: Fault[]
}

export interface InspectOptions {
  engine: Engine
  roots: Roots
  temp_folder: string
  spill_bytes?: number | null
  acquire: Acquire
  signal: AbortSignal
}

/** An arbitrary start for relative periods. */
const SOME_START = '2024-07-01T12:00:00.000Z'
const NO_READERS = new Map<string, number>()

export async function inspectSources(
  template: Template,
  { engine, roots, temp_folder, spill_bytes = null, acquire, signal }: InspectOptions,
): Promise<Inspected['sources']> {
  const { memory_bytes, threads } = template.limits
  await arm(engine, { memory_bytes, threads, temp_folder, spill_bytes, time_zone: template.time_zone })
  const vars = sampleVariables(template)
  const sources: Inspected['sources'] = {}
  const paths: string[] = []
  for (const source of template.sources) {
    if (waitsForVariable(source, template)) continue
    try {
      const options = {
        roots,
        vars,
        periods_resolved: vars,
        readers: NO_READERS,
        acquire,
        signal,
        temp_folder,
        spill_bytes,
        reader: null,
        keeping: { keeper: null, started_at: '' },
        peek: true,
      }
      const attached = await attachSource(engine, source, template, options)
      sources[source.name] = { columns: attached.columns, ...readingOf(attached) }
      paths.push(...attached.paths)
    } catch (error) {
      // checkTemplate reports the faults of queries.
      if (error instanceof TemplateFault) continue
      if (!(error instanceof SourceError)) throw error
      sources[source.name] = { error: error.message }
    }
  }
  await seal(engine, paths)
  return sources
}

function readingOf({ lineage, readings = [] }: Attached): Reading {
  const { dialect, list } = lineage
  return { readings, ...(dialect ? { dialect } : {}), ...(list ? { list } : {}) }
}

/** Tells whether the path holds a variable without a value. The file and its columns are then not known. */
function waitsForVariable({ file }: Source, { variables }: Template): boolean {
  if (file === null) return false
  const open = variables.filter((one) => (one.default ?? one.enum?.[0] ?? null) === null)
  const used = new Set(Array.from(file.matchAll(/\bvars\s*(?:\.\s*|\[\s*["'])(\w+)/g), ([, name]) => name))
  return open.some(({ name, type }) => type !== 'period' && used.has(name))
}

export async function inspectTemplate(template: Template, options: InspectOptions): Promise<Inspected> {
  const sources = await inspectSources(template, options)
  const columns = new Map<string, Column[]>()
  for (const [name, source] of Object.entries(sources))
    if ('columns' in source) columns.set(name, source.columns)
  const names = template.sources.map((source) => source.name)
  const guard = createGuard(options.engine)
  const samples = sampleVariables(template)
  const inspected: Inspected = { sources, blocks: {}, empty: {}, faults: [] }
  const uses: BlockUse[] = []
  const statements = new Map<string, Statement>()
  for (const block of template.blocks) {
    if (block.kind !== 'sql') {
      const given = { template, vars: samples, columns: columns.get(block.of) ?? null }
      for (const table of outcomeTables(block, given)) {
        columns.set(table.name, await makeTable(options.engine, table, null))
        names.push(table.name)
      }
      continue
    }
    const found = await inspectBlock(block, {
      template,
      samples,
      guard,
      engine: options.engine,
      names,
      columns,
    })
    // checkTemplate reports the missing columns of a metric by the metric's names.
    const told = metricFaults(block, (name) => columns.get(name) ?? null).length > 0
    if ('faults' in found) inspected.faults.push(...(told ? [] : found.faults))
    else if (found.columns) {
      inspected.blocks[block.name] = found.columns
      columns.set(block.name, found.columns)
    }
    if ('use' in found && found.use) uses.push(found.use)
    if ('statement' in found && found.statement) statements.set(block.name, found.statement)
    names.push(block.name)
  }
  for (const block of template.blocks)
    if (block.kind === 'analysis')
      uses.push({
        block: block.name,
        reads: [block.of],
        uses: namesInOptions(block, bindOptions(block.options, samples)),
      })
  inspected.faults.push(...readingFaults(template, uses, sources))
  for (const block of template.blocks)
    if (block.kind === 'analysis') {
      const read = { columns: columns.get(block.of) ?? [], rows: rowsOf(block.of, sources, statements) }
      const empty = await emptyColumns(block, read, samples, options.engine)
      inspected.empty[block.of] = [...(inspected.empty[block.of] ?? []), ...empty]
    }
  return inspected
}

/** A bound SQL block, and the relations that it reads. */
interface Statement {
  sql: string
  bindings: Bindings
  reads: readonly string[]
}

/**
 * A `with` clause and the name of a relation to select from. A check keeps no rows of SQL blocks, so the clause
 * computes them from the sources again.
 */
interface Rows {
  before: string
  from: string
  bindings: Bindings
}

/** Returns null if the rows are not known, because a source cannot be read or the relation is a list of an analysis. */
function rowsOf(
  name: string,
  sources: Inspected['sources'],
  statements: ReadonlyMap<string, Statement>,
): Rows | null {
  const made = new Map<string, Statement>()
  const visit = (one: string): boolean => {
    if ('columns' in (sources[one] ?? {}) || made.has(one)) return true
    const statement = statements.get(one)
    if (!statement?.reads.every(visit)) return false
    made.set(one, statement)
    return true
  }
  if (!visit(name)) return null
  const parts = [...made].map(([block, { sql }]) => `${identifier(block)} as (\n${sql}\n)`)
  return {
    before: parts.length === 0 ? '' : `with ${parts.join(', ')}`,
    from: identifier(name),
    bindings: Object.assign({}, ...[...made.values()].map(({ bindings }) => bindings)) as Bindings,
  }
}

/**
 * Returns the text columns without any value among those that an analysis takes for numbers or times. It returns none
 * for a relation whose rows are not read.
 */
async function emptyColumns(
  block: AnalysisBlock,
  { columns, rows }: { columns: readonly Column[]; rows: Rows | null },
  vars: Record<string, unknown>,
  engine: Engine,
): Promise<string[]> {
  const methods = catalogOfMethods()
  const method = Object.hasOwn(methods, block.method) ? methods[block.method]! : null
  if (method === null || rows === null || columns.length === 0) return []
  const given = withDefaults(method.options, bindOptions(block.options, vars))
  if (schemaFaults(method.options, given, block.name, () => ({ line: 1, column: 1 })).length > 0) return []
  const texts = textsAsked(method.columns(given), columns)
  if (texts.length === 0) return []
  const counts = texts.map(({ name }) => `count(${identifier(name)})`).join(', ')
  try {
    const asked = `${rows.before} select count(*), ${counts} from ${rows.from}`
    const found = await readTable(engine, asked, rows.bindings, 1)
    const [all, ...known] = found.rows[0]!.map(Number)
    return all === 0 ? [] : texts.filter((_, at) => known[at] === 0).map(({ name }) => name)
  } catch (error) {
    if (engineFailure(error)?.kind !== 'refused') throw error
    return []
  }
}

/** A use of a column that can be read in two ways. */
function readingFaults(template: Template, uses: BlockUse[], sources: Inspected['sources']): Fault[] {
  const readings = new Map(
    Object.entries(sources).map(([name, found]) => [name, 'columns' in found ? found.readings : []]),
  )
  const order = template.blocks.map(({ name }) => name)
  const inOrder = uses.toSorted((a, b) => order.indexOf(a.block) - order.indexOf(b.block))
  const used = firstUse(template, inOrder, readings)
  if (!used) return []
  const { name, line, column } = used.source
  const lines = used.doubt.readings.map(({ write }) => `"${write}"`).join(' or ')
  const message = `${name}: ${useSentence(used)}`
  return [makeFault('type_ambiguous', { line, column }, message, `Write ${lines} in the source.`)]
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
async function inspectBlock(block: SqlBlock, context: BlockContext): Promise<BlockInspection> {
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

/** Returns a value for each variable: its default, or a valid value of its type. */
function sampleVariables(template: Template): Record<string, unknown> {
  return Object.fromEntries(
    template.variables.map((variable) => [variable.name, sampleValue(variable, template)]),
  )
}

function sampleValue(variable: Variable, template: Template): unknown {
  const given = variable.default ?? variable.enum?.[0] ?? null
  if (variable.type === 'period') {
    const text = typeof given === 'string' ? given : 'last_30_days'
    return resolvePeriod(text, { started_at: SOME_START, time_zone: template.time_zone })
  }
  if (given !== null) return given
  switch (variable.type) {
    case 'integer':
    case 'number':
      return variable.min ?? variable.max ?? 1
    case 'boolean':
      return true
    case 'date':
      return SOME_START.slice(0, 10)
    case 'timestamp':
      return SOME_START.slice(0, 19)
    case 'list':
      return []
    default:
      return variable.type === 'string' ? 'a' : null
  }
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
