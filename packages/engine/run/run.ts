/** Runs one template over its variables and data. Failures are results. */
import { readFileSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import type { Column, Findings, Lineage, Outcome, Table } from '@assay/model/insight'
import { createStepTimes, type Progress } from '@assay/model/job'
import type { Reader } from '@assay/model/reader'
import type { Limits, Template } from '@assay/model/template'
import { arm, type Engine, engineVersion, seal, spillOf } from '../duckdb/duckdb.ts'
import { createGuard } from '../fence/sql-guard.ts'
import { TemplateFault, throwFaults } from '../language/fault.ts'
import { metricOfRows, withMetricMeanings } from '../metrics/meaning.ts'
import manifest from '../package.json' with { type: 'json' }
import type { PartitionKeeper } from '../partitions/keeper.ts'
import { readerNeeds, readerRefusal } from '../personal/needs.ts'
import { withNarrations } from '../printing/narrations.ts'
import { bindOptions } from '../reading/options.ts'
import { withMetricsOf } from '../reading/parse.ts'
import { parsedTemplate } from '../reading/template-cache.ts'
import { cardOf } from '../rendering/card.ts'
import { renderTemplate } from '../rendering/render.ts'
import { attachSources } from '../sources/attach.ts'
import { roomLeft } from '../sources/room.ts'
import { type Acquire, type Attached, SourceError, Stopped } from '../sources/source.ts'
import { asChecked } from './as-checked.ts'
import { type BlockResults, runBlocks } from './blocks.ts'
import { resultOf, TaskFailure } from './failure.ts'
import { movedSources } from './moved.ts'
import type { Narrate } from './narration-requests.ts'
import { Periods } from './periods.ts'
import { makePlan, type Plan } from './plan.ts'
import type { Caps, RunResult, RunTask } from './protocol.ts'
import { type BlockUse, firstUse, namesInOptions, useSentence } from './two-readings.ts'

/** The parts of the process that a run uses. */
export interface RunContext {
  engine: Engine
  /** A folder for this job alone, not created yet. */
  temp_folder: string
  spill_bytes?: number | null
  /** Called when the template is read. Its limits apply from then on. */
  onStarted(limits: Limits): Promise<void>
  onProgress(progress: Progress): void
  acquire: Acquire
  narrate: Narrate
  /** Keeps the days of metrics. Without it each run reads all rows. */
  keeper?: PartitionKeeper | null
  /** Aborted when the job is canceled. */
  signal: AbortSignal
}

export async function runTask(task: RunTask, context: RunContext): Promise<RunResult> {
  const steps = createStepTimes(() => performance.now())
  const onProgress = (progress: Progress): void => {
    steps.note(progress)
    context.onProgress(progress)
  }
  try {
    return { status: 'done', findings: await findings(task, { ...context, onProgress }) }
  } catch (error) {
    if (context.signal.aborted) return { status: 'stopped' }
    const result = resultOf(error)
    return result.status === 'failed' ? { ...result, steps: steps.untilNow() } : result
  }
}

async function findings(task: RunTask, context: RunContext): Promise<Findings> {
  const began = performance.now()
  resetPeakMemory()
  const parsed = readTemplate(task)
  const reader = readerOf(parsed, task)
  const limits = capped(parsed.limits, task.caps)
  const template = { ...parsed, limits }
  await context.onStarted(limits)
  const progress = stepper(template, context)
  const { engine, temp_folder, spill_bytes = null, acquire, signal } = context
  const plan = await makePlan(template, { ...task.variables, reader }, createGuard(engine))
  await arm(engine, { ...limits, temp_folder, spill_bytes, time_zone: template.time_zone })
  const options = {
    moved: movedSources(template, plan, task.variables),
    roots: task.roots,
    readers: plan.readers,
    reader,
    keeping: { keeper: context.keeper ?? null, started_at: task.started_at },
    peek: false,
    acquire,
    signal,
    temp_folder,
    spill_bytes,
  }
  const periods = new Periods(template, task, engine)
  const sources = await attachSources(engine, template, { ...options, periods }, (name) =>
    progress(`source ${name}`),
  )
  const room = spillOf(limits.memory_bytes, spill_bytes)
  const left = roomLeft(room, temp_folder)
  await seal(
    engine,
    [...sources.values()].flatMap((source) => source.paths),
    left < room ? left : undefined,
  )
  stopAtTwoReadings(template, plan, task.variables, sources)
  const vars = await periods.resolve(sources)
  const columns = new Map<string, readonly Column[]>([...sources].map(([name, one]) => [name, one.columns]))
  const { started_at } = task
  const results = await runBlocks({
    engine,
    template,
    limits,
    plan,
    vars,
    reader,
    started_at,
    columns,
    sources,
    onBlock: progress,
  })
  for (const source of sources.values()) await source.verify()
  progress('the text')
  const lineage = await lineageOf(template, task, { engine, vars, reader, sources, results, began })
  try {
    return await rendered(template, { vars, task, reader, results, lineage, limits, plan }, context)
  } catch (error) {
    throw asChecked(error, template, columns)
  }
}

export function readTemplate(task: Pick<RunTask, 'template' | 'variables'>): Template {
  const { template, faults } = parsedTemplate(task.template)
  throwFaults(faults.filter(({ severity }) => severity === 'error'))
  if (!template) throw new TaskFailure('template_invalid', 'The template cannot be read.')
  const whole = withMetricsOf(template, task.variables)
  if ('faults' in whole) throw new TemplateFault(whole.faults[0]!, whole.faults.slice(1))
  const blocks = whole.blocks.filter((block) => block.kind === 'sql')
  return { ...whole, columns: new Map(withMetricMeanings(whole.columns, blocks)) }
}

/**
 * Returns the reader of a personal template; null for any other template. Throws TaskFailure if a personal template has
 * no reader.
 */
export function readerOf(template: Template, { reader = null }: Pick<RunTask, 'reader'>): Reader | null {
  const needs = readerNeeds(template)
  const refusal = readerRefusal(needs, reader)
  if (refusal !== null) throw new TaskFailure('reader_missing', refusal)
  return needs.personal ? reader : null
}

/** Throws SourceError if a block uses a column whose values can be read in two ways. */
function stopAtTwoReadings(
  template: Template,
  plan: Plan,
  vars: Record<string, unknown>,
  sources: ReadonlyMap<string, Attached>,
): void {
  const readings = new Map([...sources].map(([name, { readings: found = [] }]) => [name, found]))
  const blocks = template.blocks.map((block): BlockUse => {
    if (block.kind === 'sql') return { block: block.name, ...plan.sql.get(block.name)! }
    const uses = namesInOptions(block, bindOptions(block.options, vars))
    return { block: block.name, reads: [block.of], uses }
  })
  const used = firstUse(template, blocks, readings)
  if (!used) return
  const { name, line } = used.source
  throw new SourceError(`Source "${name}", line ${line}: ${useSentence(used)}`)
}

function capped(limits: Limits, caps: Caps): Limits {
  return {
    timeout_ms: Math.min(limits.timeout_ms, caps.timeout_ms),
    memory_bytes: Math.min(limits.memory_bytes, caps.memory_bytes),
    threads: Math.min(limits.threads, caps.threads),
    rows: Math.min(limits.rows, caps.rows),
    output_bytes: Math.min(limits.output_bytes, caps.output_bytes),
  }
}

/** Reports each source, each block and the text as one step. Throws if the run was stopped. */
function stepper(template: Template, context: RunContext): (label: string) => void {
  const steps = template.sources.length + template.blocks.length + 1
  let step = 0
  return (label) => {
    if (context.signal.aborted) throw new Stopped()
    context.onProgress({ percent: Math.floor((step / steps) * 100), step: step + 1, steps, label })
    step += 1
  }
}

interface Computed {
  engine: Engine
  vars: Record<string, unknown>
  reader: Reader | null
  sources: ReadonlyMap<string, Attached>
  results: BlockResults
  began: number
}

async function lineageOf(template: Template, task: RunTask, computed: Computed): Promise<Lineage> {
  return {
    template_id: template.template_id,
    template_version: task.template.version,
    ...(task.template.commit_id ? { template_commit: task.template.commit_id } : {}),
    assay_version: manifest.version,
    engine: await engineVersion(computed.engine),
    started_at: task.started_at,
    time_zone: template.time_zone,
    variables: computed.vars,
    ...(computed.reader ? { reader: { id: computed.reader.id } } : {}),
    sources: [...computed.sources.values()].map((source) => source.lineage),
    blocks: computed.results.lineage,
    ...(template.written_by === null ? {} : { written_by: template.written_by }),
    ...(computed.results.metrics.length > 0 ? { metrics: computed.results.metrics } : {}),
    elapsed_ms: Math.round((performance.now() - computed.began) * 10) / 10,
    peak_memory_bytes: peakMemory(),
    host: hostname(),
  }
}

interface Renderable {
  vars: Record<string, unknown>
  task: RunTask
  reader: Reader | null
  results: BlockResults
  lineage: Lineage
  limits: Limits
  plan: Plan
}

async function rendered(
  template: Template,
  given: Renderable,
  { narrate, signal }: RunContext,
): Promise<Findings> {
  const { vars, task, reader, results, lineage, limits, plan } = given
  const blocks = new Map<string, Table | Outcome>()
  for (const { name } of template.blocks) blocks.set(name, results.tables[name] ?? results.analyses[name]!)
  const run = { started_at: task.started_at, time_zone: template.time_zone }
  const { title, markdown, provenance, charts, facts, narrations, reading, delivers } = renderTemplate(
    template,
    {
      vars,
      reader,
      run,
      blocks,
      lineage,
      metricOf: metricOfRows(template, parsedTemplate(task.template).template!.columns, plan.readsOf),
      delivered: task.delivered ?? null,
    },
  )
  const answers = await narrate(narrations, signal)
  const written = answers.flatMap(({ lineage: one }) => one ?? [])
  if (written.length > 0) lineage.narratives = written
  const whole = withNarrations({ text: markdown, marks: provenance }, answers)
  const found: Findings = {
    template_id: template.template_id,
    template_version: lineage.template_version,
    title,
    ...whole,
    tables: results.tables,
    charts,
    analyses: results.analyses,
    facts,
    lineage,
    chart_form: template.charts,
    reading,
    skipped: delivers ? null : 'condition',
    card: cardOf(template, {
      title,
      markdown: whole.markdown,
      facts,
      analyses: results.analyses,
      metrics: results.metrics.map(({ metric }) => metric),
      failed_tests: results.failed_tests,
      vars,
    }),
  }
  // The provenance of numbers has its own bound, and does not count as output of the template.
  const bytes = Buffer.byteLength(JSON.stringify({ ...found, provenance: undefined }))
  if (bytes > limits.output_bytes) {
    throw new TaskFailure(
      'output_too_large',
      `The insight has ${bytes} bytes, limits.output allows ${limits.output_bytes}: show fewer rows, or lower limits.rows.`,
    )
  }
  return found
}

/** Resets the peak of memory that Linux measures. */
function resetPeakMemory(): void {
  try {
    writeFileSync('/proc/self/clear_refs', '5')
  } catch {
    // On other systems peakMemory() is null, or the peak of the process.
  }
}

function peakMemory(): number | null {
  try {
    const match = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'latin1'))
    return match ? Number(match[1]) * 1024 : null
  } catch {
    return null
  }
}
