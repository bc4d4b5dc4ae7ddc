/**
 * Inspects a template without running it: the columns of its sources, and of each SQL block, which DuckDB binds with
 * `limit 0` so that no data are read. Variables take their default, or a sample value of their type.
 */
import type { FoundColumn, FoundDialect } from '@assay/model/dialect'
import type { Column } from '@assay/model/insight'
import type { AnalysisBlock, Fault, Source, Template } from '@assay/model/template'
import { metricFaults, textsAsked } from '../../checking/blocks.ts'
import { arm, type Bindings, type Engine, identifier, readTable, seal } from '../../duckdb/duckdb.ts'
import { engineFailure } from '../../duckdb/engine-error.ts'
import { createGuard } from '../../fence/sql-guard.ts'
import { makeFault, TemplateFault } from '../../language/fault.ts'
import { catalogOfMethods } from '../../reading/methods-on-demand.ts'
import { bindOptions, withDefaults } from '../../reading/options.ts'
import { schemaFaults } from '../../reading/schema-faults.ts'
import { attachSource } from '../../sources/attach.ts'
import { type Acquire, type Attached, SourceError } from '../../sources/source.ts'
import { makeTable, outcomeTables } from '../outcome-tables.ts'
import type { Roots } from '../protocol.ts'
import { type BlockUse, firstUse, namesInOptions, useSentence } from '../two-readings.ts'
import { inspectBlock, type Statement } from './inspect-block.ts'
import { sampleVariables } from './sample-variables.ts'

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
