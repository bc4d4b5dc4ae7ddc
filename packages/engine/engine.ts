/** The engine as a library: one template and its data in, one insight out, in a child process with the service's limits. */
import path from 'node:path'
import { systemClock } from '@assay/model/clock'
import type { JobErrorCode } from '@assay/model/errors'
import type { ChartForm, Findings } from '@assay/model/insight'
import type { Progress } from '@assay/model/job'
import type { Reader } from '@assay/model/reader'
import type { Fault, Limits, TemplateSource } from '@assay/model/template'
import { fillMarked } from './charts/charts.ts'
import { parseTemplate } from './reading/parse.ts'
import { templateVersion } from './reading/partials.ts'
import { sampleFiles } from './reading/samples.ts'
import { createPool, type Pool } from './run/pool/pool.ts'
import { convertVariables } from './values/variables.ts'

export interface TemplateOptions {
  /** The variables, by name. */
  variables?: Record<string, unknown>
  /** The folder below which `file:` sources are read. Without it only `sample/NAME` can be read. */
  data?: string
  /** The reader of a personal template. Its rules let through only the rows of this reader. */
  reader?: Reader
  /** The partials that the template may include, by name. */
  partials?: Record<string, string>
  /** The form of charts in the Markdown; by default the template's own. */
  charts?: ChartForm
  /** The most that the template may ask for; by default `MOST`. */
  limits?: Partial<Limits>
  /** The id in the insight's lineage; by default `template`. */
  template_id?: string
  onProgress?: (progress: Progress) => void
  signal?: AbortSignal
}

/** An insight without ids: it is stored nowhere. */
export type TemplateInsight = Omit<Findings, 'skipped' | 'chart_form'>

export interface TemplateResult {
  insight: TemplateInsight
  /** True if `deliver_if` of the template is false, so that a service would notify nobody. */
  skipped: boolean
}

/** The limits of a service whose settings name none (docs/config.md). */
const MOST: Limits = {
  timeout_ms: 900_000,
  memory_bytes: 4_000_000_000,
  threads: 4,
  rows: 100_000,
  output_bytes: 50_000_000,
}

type TemplateErrorCode = 'template_invalid' | 'variables_invalid' | 'crashed' | 'stopped' | JobErrorCode

/** The template cannot run, or its run failed. `faults` hold line, column and message of each place to mend. */
export class TemplateError extends Error {
  override readonly name = 'TemplateError'
  readonly code: TemplateErrorCode
  readonly faults: readonly Fault[]

  constructor(code: TemplateErrorCode, message: string, faults: readonly Fault[] = []) {
    super(message)
    this.code = code
    this.faults = faults
  }
}

function errorsOf(faults: readonly Fault[]): Fault[] {
  return faults.filter(({ severity }) => severity === 'error')
}

/** Converts the variables. Throws TemplateError if the template or a variable is wrong. */
function readInput(source: TemplateSource, given: Record<string, unknown>): Record<string, unknown> {
  const { template, faults } = parseTemplate(source)
  const errors = errorsOf(faults)
  if (errors.length > 0 || !template) {
    const lines = errors.map(({ line, column, message }) => `\n  ${line}:${column}: ${message}`)
    throw new TemplateError('template_invalid', `The template has faults:${lines.join('')}`, errors)
  }
  const converted = convertVariables(template.variables, given)
  if (converted.errors.length === 0) return converted.values
  const lines = converted.errors.map(({ message }) => `\n  ${message}`)
  throw new TemplateError('variables_invalid', `The variables do not fit:${lines.join('')}`)
}

/** Runs the analysis. Throws TemplateError if it does not complete; a failed query is located in the template. */
async function analyse(
  pool: Pool,
  template: TemplateSource,
  variables: Record<string, unknown>,
  { data, reader, onProgress, signal }: TemplateOptions,
): Promise<Findings> {
  const roots = { sample: sampleFiles(), data: data === undefined ? null : path.resolve(data) }
  const started_at = new Date(systemClock.now()).toISOString()
  const result = await pool.run(
    { kind: 'run', template, variables, started_at, roots, reader: reader ?? null },
    { workspace_id: 'library', ...(signal ? { signal } : {}), ...(onProgress ? { onProgress } : {}) },
  )
  switch (result.status) {
    case 'done':
      return result.findings
    case 'failed': {
      const faults = await pool.check({ kind: 'check', template, roots }, { workspace_id: 'library' })
      throw new TemplateError(result.error.code, result.error.detail, errorsOf(faults))
    }
    case 'crashed':
      throw new TemplateError('crashed', `The analysis process ended: ${result.detail}`)
    case 'stopped':
      throw new TemplateError('stopped', 'The run was stopped by its signal.')
  }
}

/**
 * Runs a template once. Throws TemplateError if the template has faults, its variables do not fit, or the run fails.
 */
export async function runTemplate(markdown: string, options: TemplateOptions = {}): Promise<TemplateResult> {
  const { variables = {}, partials = {}, template_id = 'template', charts } = options
  const version = templateVersion(markdown, partials)
  const template = { template_id, version, source: markdown, partials }
  const values = readInput(template, variables)
  const caps = { ...MOST, ...options.limits }
  const pool = createPool({ size: 1, single: true, caps })
  try {
    const { skipped, chart_form, card: _, ...findings } = await analyse(pool, template, values, options)
    const form = charts ?? chart_form
    const specs = form === 'image' ? findings.charts.map(({ spec }) => spec) : []
    const pictures =
      specs.length > 0 ? await pool.draw({ kind: 'draw', specs }, { workspace_id: 'library' }) : []
    const filled = fillMarked(findings, findings.charts, form, pictures)
    return { insight: { ...findings, ...filled }, skipped: skipped !== null }
  } finally {
    await pool.stop()
  }
}
