/**
 * Explains a template: what its run would do where. Queries are counted by their databases; analyses that ask a
 * database run over a sample of its rows, so that their statements are known. Nothing else is read.
 */
import type { Explained, ExplainedBlock, ExplainedSource } from '@assay/model/explained'
import type { Column } from '@assay/model/insight'
import type { Reader } from '@assay/model/reader'
import type { AnalysisBlock, Source, Template } from '@assay/model/template'
import { arm, type Engine } from '../duckdb/duckdb.ts'
import { createGuard } from '../fence/sql-guard.ts'
import type { PartitionKeeper } from '../partitions/keeper.ts'
import { Series } from '../partitions/series.ts'
import { runAnalysis } from '../run/blocks.ts'
import { Extents } from '../run/extent.ts'
import { resultOf, TaskFailure } from '../run/failure.ts'
import { MetricTests } from '../run/metric-tests.ts'
import { movedSources } from '../run/moved.ts'
import { makePlan, type Plan } from '../run/plan.ts'
import type { ExplainTask, Results } from '../run/protocol.ts'
import { readerOf, readTemplate } from '../run/run.ts'
import type { QuerySource } from '../sources/query.ts'
import { type Acquire, type Attached, Stopped } from '../sources/source.ts'
import { There } from '../sources/there.ts'
import { resolvePeriod } from '../values/period.ts'
import { Recorded } from './recorded.ts'

/** The number of rows of a source that are read as a sample. */
export const SAMPLE_ROWS = 10_000
const RULED = 'A rule chooses its rows for each reader, so they are not counted.'

export interface ExplainContext {
  engine: Engine
  temp_folder: string
  spill_bytes?: number | null
  acquire: Acquire
  /** Keeps the days of metrics; absent if none are kept. */
  keeper?: PartitionKeeper | null
  signal: AbortSignal
}

export async function explainTask(task: ExplainTask, context: ExplainContext): Promise<Results['explain']> {
  try {
    return { status: 'done', explained: await new Explainer(task, context).explain() }
  } catch (error) {
    const ended = context.signal.aborted ? resultOf(new Stopped()) : resultOf(error)
    if (ended.status !== 'failed') throw error
    return ended
  }
}

class Explainer {
  readonly #task: ExplainTask
  readonly #context: ExplainContext
  readonly #template: Template
  readonly #reader: Reader | null
  readonly #vars: Record<string, unknown>
  readonly #sources = new Map<string, ExplainedSource>()
  readonly #recorded = new Map<string, Recorded>()
  readonly #attached = new Map<string, Attached>()

  constructor(task: ExplainTask, context: ExplainContext) {
    this.#task = task
    this.#context = context
    this.#template = readTemplate(task)
    this.#reader = readerOf(this.#template, task)
    this.#vars = this.#withPeriods()
  }

  async explain(): Promise<Explained> {
    const { engine, temp_folder, spill_bytes = null } = this.#context
    const { limits, time_zone } = this.#template
    const variables = { ...this.#task.variables, reader: this.#reader }
    const plan = await makePlan(this.#template, variables, createGuard(engine))
    await arm(engine, { ...limits, temp_folder, spill_bytes, time_zone })
    const moved = movedSources(this.#template, plan, this.#task.variables)
    for (const source of this.#template.sources)
      this.#sources.set(source.name, await this.#source(source, moved.get(source.name) ?? null))
    const blocks: ExplainedBlock[] = []
    for (const block of this.#template.blocks)
      blocks.push(
        block.kind === 'analysis'
          ? await this.#analysis(block, plan)
          : here(block.name, plan.sql.get(block.name)!.reads),
      )
    return { sample_rows: SAMPLE_ROWS, sources: [...this.#sources.values()], blocks }
  }

  /** Resolves periods by the clock. No source is read for a period that `until` counts from. */
  #withPeriods(): Record<string, unknown> {
    const { started_at, variables } = this.#task
    const { time_zone } = this.#template
    const vars = { ...variables }
    for (const { name, type } of this.#template.variables) {
      const text = vars[name]
      if (type === 'period' && typeof text === 'string')
        vars[name] = resolvePeriod(text, { started_at, time_zone })
    }
    return vars
  }

  async #source(source: Source, moved: string | null): Promise<ExplainedSource> {
    const plain = {
      name: source.name,
      place: 'here' as const,
      because: null,
      rows: null,
      bytes: null,
      refused: null,
      days: null,
    }
    if (!source.query || !source.connection) return { ...plain, connection: null, kind: null, sql: null }
    const there = await this.#open(source)
    const { name: connection, kind } = there.connection
    const found = { ...plain, connection, kind }
    if (source.rows || source.query.rule) return { ...found, sql: null, because: RULED }
    if (source.query.partitions) return { ...found, ...(await this.#days(source, there)) }
    const { sql } = await there.boundText(there.text)
    if (source.stays && moved === null) {
      await this.#sample(source.name, there)
      return { ...found, sql, place: 'database' }
    }
    const because = moved === null ? null : `${moved} needs them.`
    return { ...found, sql, because, ...(await moves(there, moved ?? `The source "${source.name}"`)) }
  }

  #open(source: Source): Promise<There> {
    return There.open(this.#context.engine, this.#query(source))
  }

  #query(source: Source): QuerySource {
    const { roots } = this.#task
    const { engine: _engine, keeper: _keeper, ...context } = this.#context
    const template = this.#template
    return { ...context, source, template, vars: this.#vars, roots, reader: this.#reader, peek: false }
  }

  /**
   * Returns which days of a metric are kept, and which a run would read. The database adds up the latter for their
   * number.
   */
  async #days(
    source: Source,
    there: There,
  ): Promise<Pick<ExplainedSource, 'sql' | 'days' | 'rows' | 'bytes'>> {
    const keeping = { keeper: this.#context.keeper ?? null, started_at: this.#task.started_at }
    const series = await Series.open(this.#query(source), keeping, there)
    const days = await series.foresee()
    const moved = { rows: 0, bytes: 0 }
    for (const { text, bound } of series.statementsOf(days.reads)) {
      const rows = await there.count(text, bound)
      const sample =
        rows === 0 ? { rows: 1, bytes: 0 } : await there.sample(SAMPLE_ROWS, false, { text, bound })
      moved.rows += rows
      moved.bytes += Math.round((sample.bytes / sample.rows) * rows)
    }
    return { sql: series.sql, days, ...moved }
  }

  /** Reads a sample into the table of the source, and lets analyses ask that table. */
  async #sample(name: string, there: There): Promise<void> {
    const attached = await there.attach()
    await there.sample(SAMPLE_ROWS, true)
    const onMoved = async (what: string): Promise<void> => {
      const known = this.#sources.get(name)!
      if (known.place === 'here') return
      const because = `${what} needs them: the database has no words for what it asks.`
      this.#sources.set(name, { ...known, place: 'here', because, ...(await moves(there, what)) })
    }
    const recorded = new Recorded(this.#context.engine, there, { name, onMoved })
    this.#recorded.set(name, recorded)
    this.#attached.set(name, { ...attached, asked: recorded.asked() })
  }

  async #analysis(block: AnalysisBlock, plan: Plan): Promise<ExplainedBlock> {
    const recorded = this.#recorded.get(block.of)
    const found = { ...here(block.name, [block.of]), method: block.method }
    if (!recorded) return found
    const because = await this.#tried(block, plan)
    const statements = recorded.take()
    if (this.#sources.get(block.of)!.place === 'here') return { ...found, because }
    return { ...found, place: 'database', statements, because }
  }

  /** Runs the analysis over the sample. Returns the reason if it ended before all was asked, else null. */
  async #tried(block: AnalysisBlock, plan: Plan): Promise<string | null> {
    const { engine } = this.#context
    const { started_at } = this.#task
    const template = this.#template
    const sources = this.#attached
    const columns = new Map<string, readonly Column[]>([...sources].map(([name, one]) => [name, one.columns]))
    const run = {
      engine,
      template,
      limits: template.limits,
      plan,
      vars: this.#vars,
      reader: this.#reader,
      started_at,
      columns,
      sources,
      onBlock: () => undefined,
    }
    const extents = new Extents({ ...run, time_zone: template.time_zone })
    try {
      await runAnalysis(run, block, extents, new MetricTests(engine, started_at, sources))
      return null
    } catch (error) {
      if (error instanceof TaskFailure && error.code === 'analysis_failed')
        return `What it asks further depends on the rows; over the sample it ended here: ${error.message}`
      throw error
    }
  }
}

const here = (name: string, reads: readonly string[]): ExplainedBlock => ({
  name,
  method: null,
  place: 'here',
  reads: [...reads],
  statements: [],
  because: null,
})

/** Returns the rows that would be read here, as the database counts them, and their bytes by the size of a sample. */
async function moves(
  there: There,
  what: string,
): Promise<Pick<ExplainedSource, 'rows' | 'bytes' | 'refused'>> {
  const rows = await there.count()
  const sample = await there.sample(SAMPLE_ROWS, false)
  const bytes = sample.rows === 0 ? 0 : Math.round((sample.bytes / sample.rows) * rows)
  return { rows, bytes, refused: there.refusal(what, rows) }
}
