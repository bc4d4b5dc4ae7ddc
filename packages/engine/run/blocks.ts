/** Runs the blocks of a template in their order, each over the sources and the blocks before it. */
import type { BlockLineage, Column, Doubt, Outcome, Table } from '@assay/model/insight'
import type { FailedTest, MetricInfo, MetricLineage } from '@assay/model/metric'
import type { Reader } from '@assay/model/reader'
import type { AnalysisBlock, Fault, Limits, SqlBlock, Template } from '@assay/model/template'
import {
  asNumbers,
  columnFaults,
  metricFaults,
  type PositionOf,
  positionInBlock,
  referenceFaults,
  textsAsked,
} from '../checking/blocks.ts'
import { NotAsked } from '../dialects/scope.ts'
import { bindPlain, bindReader, bindVariable } from '../duckdb/bindings.ts'
import { type Bindings, type Engine, identifier, keepTable, readRows, readTable } from '../duckdb/duckdb.ts'
import { TemplateFault, throwFaults } from '../language/fault.ts'
import type { Method, Relation } from '../methods/shared/method.ts'
import { adjustAcross } from '../methods/shared/multiplicity.ts'
import { metricsBehind, withMetricMeanings } from '../metrics/meaning.ts'
import { READER } from '../personal/sql-attributes.ts'
import { catalogOfMethods } from '../reading/methods-on-demand.ts'
import { bindOptions, withDefaults } from '../reading/options.ts'
import { schemaFaults } from '../reading/schema-faults.ts'
import type { AskedThere, Attached } from '../sources/source.ts'
import { doubt, doubted } from '../verdicts/verdict.ts'
import { quoted } from '../verdicts/words.ts'
import { Extents } from './extent.ts'
import { failAt } from './failure.ts'
import { MetricTests } from './metric-tests.ts'
import { makeTable, outcomeTables } from './outcome-tables.ts'
import { blockFault, type Plan, sessionFault } from './plan.ts'
import { badRowsDoubt, encodingDoubt, profileDoubts, sheetDoubt } from './two-readings.ts'

export interface BlockRun {
  engine: Engine
  template: Template
  limits: Limits
  plan: Plan
  /** The variables, with periods resolved to objects. */
  vars: Record<string, unknown>
  /** The reader; null if the template is not personal or no reader is set. */
  reader: Reader | null
  started_at: string
  /** The columns of the sources, and of each block that has run. */
  columns: Map<string, readonly Column[]>
  sources: ReadonlyMap<string, Attached>
  /** Called before each block; throws if the run was stopped. */
  onBlock(name: string): void
}

export interface BlockResults {
  tables: Record<string, Table>
  analyses: Record<string, Outcome>
  lineage: BlockLineage[]
  metrics: MetricLineage[]
  failed_tests: FailedTest[]
}

export async function runBlocks(run: BlockRun): Promise<BlockResults> {
  throwFaults(faultsOfAnalyses(run))
  const tables: Record<string, Table> = {}
  const analyses: Record<string, Outcome> = {}
  const lineage: BlockLineage[] = []
  const tests = new MetricTests(run.engine, run.started_at, run.sources)
  const extents = new Extents({ ...run, time_zone: run.template.time_zone })
  const late = afterAll(run)
  const ofSql = async (block: SqlBlock): Promise<void> => {
    run.onBlock(block.name)
    const began = performance.now()
    if (block.metrics) await tests.of(block)
    const table = await runSql(run, block)
    tables[block.name] = table
    run.columns.set(block.name, table.columns)
    const { sql } = run.plan.sql.get(block.name)!
    const shown = { name: block.name, kind: 'sql' as const, sql: sql.replace(/[ \t]+$/gm, '') }
    lineage.push({ ...shown, rows: table.total, elapsed_ms: since(began) })
  }
  for (const block of run.template.blocks) {
    if (block.kind === 'sql') {
      if (!late.has(block)) await ofSql(block)
      continue
    }
    run.onBlock(block.name)
    const began = performance.now()
    const outcome = await runAnalysis(run, block, extents, tests)
    analyses[block.name] = outcome
    await keepLists(run, block, outcome)
    const asked = askedBy(run, block)
    const shown = { name: block.name, kind: 'analysis' as const, sql: null, rows: null }
    lineage.push({ ...shown, elapsed_ms: since(began), ...asked })
  }
  const adjusted = adjustAcross(analyses)
  for (const block of run.template.blocks)
    if (block.kind === 'analysis' && adjusted[block.name] !== analyses[block.name])
      await keepLists(run, block, adjusted[block.name]!)
  for (const block of late) await ofSql(block)
  const order = run.template.blocks.map(({ name }) => name)
  const inOrder = (a: string, b: string): number => order.indexOf(a) - order.indexOf(b)
  return {
    tables: Object.fromEntries(Object.entries(tables).toSorted(([a], [b]) => inOrder(a, b))),
    analyses: adjusted,
    lineage: lineage.toSorted((a, b) => inOrder(a.name, b.name)),
    metrics: tests.lineage,
    failed_tests: tests.failed,
  }
}

const since = (began: number): number => Math.round((performance.now() - began) * 10) / 10

/**
 * Returns the SQL blocks that read a list of an analysis and that no analysis reads, directly or through other blocks.
 * They run after all tests are known, because grades are corrected for all of them.
 */
function afterAll({ template, plan }: BlockRun): Set<SqlBlock> {
  const given = new Set([...template.sources, ...template.blocks].map(({ name }) => name))
  const early = new Set<string>()
  const late = new Set<SqlBlock>()
  const need = (name: string): void => {
    if (early.has(name)) return
    early.add(name)
    for (const read of plan.sql.get(name)?.reads ?? []) need(read)
  }
  for (const block of template.blocks) if (block.kind === 'analysis') need(block.of)
  for (const block of template.blocks) {
    if (block.kind !== 'sql' || early.has(block.name)) continue
    const { reads } = plan.sql.get(block.name)!
    if (reads.some((name) => !given.has(name) || [...late].some((one) => one.name === name))) late.add(block)
  }
  return late
}

async function runSql(run: BlockRun, block: SqlBlock): Promise<Table> {
  const { engine, plan, limits } = run
  const [wrong] = metricFaults(block, (name) => run.columns.get(name) ?? null)
  if (wrong) throw new TemplateFault(wrong)
  const { sql, names, session } = plan.sql.get(block.name)!
  const fault = sessionFault(session, (name) => run.columns.get(name) ?? [])
  if (fault) throw new TemplateFault(blockFault(block, fault))
  const bindings = bindNames(run, names)
  const characters = limits.output_bytes
  try {
    if (!plan.readers.has(block.name) && !block.metrics)
      return await readTable(engine, sql, bindings, limits.rows, { characters })
    await keepTable(engine, block.name, sql, bindings)
    return await keptTable(engine, block.name, limits.rows, characters)
  } catch (error) {
    return failAt({ what: `SQL block "${block.name}"`, line: block.line }, error)
  }
}

/** Keeps the lists of an outcome that later blocks read. */
async function keepLists(run: BlockRun, block: AnalysisBlock, outcome: Outcome): Promise<void> {
  const { template, vars, plan } = run
  for (const table of outcomeTables(block, { template, vars, columns: run.columns.get(block.of)! }))
    if (plan.readers.has(table.name)) run.columns.set(table.name, await makeTable(run.engine, table, outcome))
}

async function keptTable(engine: Engine, name: string, limit: number, characters: number): Promise<Table> {
  const from = identifier(name)
  const table = await readTable(engine, `select * from ${from} limit ${limit}`, {}, limit, { characters })
  if (table.total < limit) return table
  const { rows } = await readTable(engine, `select count(*) from ${from}`, {}, 1)
  return { ...table, total: Number(rows[0]?.[0]) }
}

function bindNames(run: BlockRun, names: string[]): Bindings {
  const bindings: Bindings = {}
  for (const name of names) {
    if (name === READER && run.reader) bindings[name] = bindReader(run.reader)
    const variable = run.template.variables.find((one) => one.name === name)
    if (variable) bindings[name] = bindVariable(variable, run.vars[name] ?? null)
  }
  return bindings
}

export async function runAnalysis(
  run: BlockRun,
  block: AnalysisBlock,
  extents: Extents,
  tests: MetricTests,
): Promise<Outcome> {
  const where = { what: `Analysis "${block.name}"`, line: block.line }
  const positionOf = positionInBlock(block, run.template.source.split('\n'))
  const methods = catalogOfMethods()
  const [unknown] = referenceFaults(block, run.template, methods, positionOf)
  if (unknown) throw new TemplateFault(unknown)
  const method = methods[block.method]!
  const behind = metricsBehind(block.of, run.template, run.plan.readsOf)
  const infos = behind.flatMap(({ metrics = [] }) => metrics.map(({ info }) => info))
  const options = optionsOf(method, withMissing(block, method, infos), run.vars, positionOf)
  const plain = relationOf(run.engine, identifier(block.of), run.columns.get(block.of)!)
  const asked = run.sources.get(block.of)?.asked
  const there = method.asks?.(options) ? asked : undefined
  const printed = !there && asked && method.prints?.(options) ? printedThere(plain, asked) : undefined
  const relation = there
    ? { ...plain, there }
    : (printed ?? (await withEmptyColumns(plain, method.columns(options))))
  const { columns } = relation
  const [fault] = columnFaults({ block, method, options, positionOf }, columns)
  if (fault) throw new TemplateFault(fault)
  const context = {
    now: run.started_at,
    time_zone: run.template.time_zone,
    block: block.name,
    meanings: withMetricMeanings(run.template.columns, behind),
    metrics: infos.map((info) => ({ info, doubts: tests.doubtsOf(info.metric) })),
    relation: (name: string) =>
      run.columns.has(name) ? relationOf(run.engine, identifier(name), run.columns.get(name)!) : null,
    extent: () => extents.of(block.of),
  }
  try {
    const found = await orHere(run, block, {
      there: () => method.run(relation, options, context),
      here: async () => method.run(await withEmptyColumns(plain, method.columns(options)), options, context),
    })
    const outcome = doubted(found, doubtsOfData(run, block, columns))
    if (method.judges_metrics) return outcome
    return doubted(
      outcome,
      context.metrics.flatMap(({ doubts }) => doubts),
    )
  } catch (error) {
    return failAt(where, error)
  }
}

/** Makes the relation whose rows stay in a database. The method's queries run there. */
const printedThere = (plain: Relation, asked: AskedThere): Relation => ({
  ...plain,
  unordered: true,
  strict: asked.strict === true,
  noteDays: (column, days) => void asked.days.set(column, days),
  query: (sql, values = {}) => asked.query(sql, values, plain.columns),
})

/**
 * Returns the outcome of an analysis in the database. If the database cannot run it, the rows are fetched and it is
 * computed here.
 */
async function orHere(
  { sources }: BlockRun,
  { name, method, of }: AnalysisBlock,
  outcome: { there(): Promise<Outcome>; here(): Promise<Outcome> },
): Promise<Outcome> {
  try {
    return await outcome.there()
  } catch (error) {
    const source = sources.get(of)
    if (!(error instanceof NotAsked) || !source?.asked) throw error
    const moved = `The analysis "${name}" (${method})`
    await source.asked.bring(moved)
    const { remote } = source.lineage
    if (remote && remote.moved === undefined)
      source.lineage = { ...source.lineage, remote: { ...remote, moved } }
    return outcome.here()
  }
}

/** Returns the queries that the analysis sent to a database. */
function askedBy({ sources }: BlockRun, { of }: AnalysisBlock): Pick<BlockLineage, 'asked'> {
  const there = sources.get(of)?.asked
  if (!there) return {}
  const statements = there.takeStatements()
  const { connection, kind } = there
  return statements.sql.length === 0 ? {} : { asked: { connection, kind, ...statements } }
}

/** Returns the doubts from reading the files behind an analysis. */
function doubtsOfData(run: BlockRun, block: AnalysisBlock, columns: readonly Column[]): Doubt[] {
  const behind = [...run.sources].filter(([name]) => isBehind(run, block.of, name))
  return behind.flatMap(([name, { lineage, readings = [], doubt: differing }]) => {
    const { bad_rows = 0, sheet, encoding } = lineage.dialect ?? {}
    const left = badRowsDoubt(name, bad_rows)
    // Those of a metric are among the doubts of its tests.
    const isBlock = run.template.sources.some((one) => one.name === name && one.query?.partitions?.day)
    if (isBlock && differing !== undefined)
      left.push(doubt('kept_days_differ', `The rows of ${quoted(name)} may be wrong: ${differing}`))
    if (block.method !== 'profile') return left
    const ofFile = [...sheetDoubt(name, sheet), ...encodingDoubt(name, encoding)]
    return [...left, ...ofFile, ...profileDoubts(readings, columns)]
  })
}

/** Tells whether a source or block reads a source, directly or through others. */
function isBehind(run: BlockRun, name: string, source: string): boolean {
  if (name === source) return true
  return run.plan.readsOf(name).some((read) => isBehind(run, read, source))
}

/**
 * Returns the block with `missing: zero` if all its metrics count missing rows as zero and the block does not say
 * otherwise.
 */
function withMissing(block: AnalysisBlock, method: Method, infos: readonly MetricInfo[]): AnalysisBlock {
  const properties = (method.options as { properties?: Record<string, unknown> }).properties ?? {}
  const zero = infos.length > 0 && infos.every(({ missing }) => missing === 'zero')
  if (!zero || !('missing' in properties) || block.options.missing !== undefined) return block
  return { ...block, options: { ...block.options, missing: 'zero' } }
}

/**
 * Returns what would end the run at an analysis, however much was computed before it: names and options that do not
 * exist, and columns that a source lacks.
 */
function faultsOfAnalyses({ template, vars, columns }: BlockRun): Fault[] {
  const lines = template.source.split('\n')
  const methods = catalogOfMethods()
  return template.blocks.flatMap((block) => {
    if (block.kind === 'sql') return []
    const positionOf = positionInBlock(block, lines)
    const unknown = referenceFaults(block, template, methods, positionOf)
    if (unknown.length > 0) return unknown
    const method = methods[block.method]!
    const options = withDefaults(method.options, bindOptions(block.options, vars))
    const wrong = schemaFaults(method.options, options, `the analysis "${block.name}"`, positionOf)
    if (wrong.length > 0) return wrong.map((fault) => ofVariable(fault, block, options, positionOf))
    const given = columns.get(block.of) ?? null
    const faults = columnFaults({ block, method, options, positionOf }, given)
    // A column without any value is read as text, and may be taken for numbers.
    return faults.filter(({ code }) => code !== 'wrong_type')
  })
}

/** Returns the block's options with defaults and variables filled in. Throws TemplateFault if they are invalid. */
function optionsOf(
  method: Method,
  block: AnalysisBlock,
  vars: Record<string, unknown>,
  positionOf: PositionOf,
): Record<string, unknown> {
  const given = withDefaults(method.options, bindOptions(block.options, vars))
  const [fault] = schemaFaults(method.options, given, `the analysis "${block.name}"`, positionOf)
  if (fault) throw new TemplateFault(ofVariable(fault, block, given, positionOf))
  return given
}

/**
 * Returns the fault of an option whose value comes from a variable. The template is right then, so the remedy names
 * the variable and its value.
 */
function ofVariable(
  fault: Fault,
  { options }: AnalysisBlock,
  given: Record<string, unknown>,
  positionOf: PositionOf,
): Fault {
  const found = Object.entries(options).find(([key, raw]) => {
    const { line, column } = positionOf([key])
    return typeof raw === 'string' && raw.startsWith('$') && line === fault.line && column === fault.column
  })
  if (!found) return fault
  const [key, raw] = found as [string, string]
  const [variable] = raw.slice(1).split('.')
  const remedy = `It is ${JSON.stringify(given[key])}, from ${raw}: run with another value of "${variable}".`
  return { ...fault, remedy }
}

/** Returns the relation with columns without any value as numbers; see `asNumbers`. Such a column is read as texts. */
async function withEmptyColumns(plain: Relation, used: ReturnType<Method['columns']>): Promise<Relation> {
  const texts = textsAsked(used, plain.columns)
  if (texts.length === 0) return plain
  const counts = texts.map(({ name }, at) => `count(${identifier(name)}) as n${at}`)
  const [row] = await plain.query(`select ${counts.join(', ')} from ${plain.relation}`)
  const empty = texts.filter((_, at) => row![`n${at}`] === 0).map(({ name }) => name)
  if (empty.length === 0) return plain
  const replaced = empty.map((name) => `null::double as ${identifier(name)}`)
  return {
    ...plain,
    relation: `(select * replace (${replaced.join(', ')}) from ${plain.relation})`,
    columns: asNumbers(plain.columns, empty),
  }
}

function relationOf(engine: Engine, relation: string, columns: readonly Column[]): Relation {
  return {
    relation,
    columns: [...columns],
    query: (sql, values = {}) => readRows(engine, sql, bindPlain(values)),
  }
}
