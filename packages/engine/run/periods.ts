/**
 * Resolves the periods of a run to days, in the template's time zone, counted from the job's start or from the latest day
 * of a source. A period is resolved as soon as its source is attached, so that a later source's query can use it.
 */
import type { Template, Variable } from '@assay/model/template'
import { type Engine, identifier, readTable } from '../duckdb/duckdb.ts'
import type { Attached } from '../sources/source.ts'
import { type Period, resolvePeriod } from '../values/period.ts'
import { TaskFailure } from './failure.ts'
import type { RunTask } from './protocol.ts'

type Sources = ReadonlyMap<string, Attached>

export class Periods {
  readonly #template: Template
  readonly #task: Pick<RunTask, 'variables' | 'started_at'>
  readonly #engine: Engine
  readonly #resolved = new Map<string, Period>()

  constructor(template: Template, task: Pick<RunTask, 'variables' | 'started_at'>, engine: Engine) {
    this.#template = template
    this.#task = task
    this.#engine = engine
  }

  get given(): Record<string, unknown> {
    return this.#task.variables
  }

  /** Returns the source from which the variable's period is counted; null for other variables and periods. */
  waitsFor(name: string): string | null {
    const variable = this.#template.variables.find((one) => one.name === name)
    return variable?.type === 'period' ? (variable.until?.split('.')[0] ?? null) : null
  }

  /** Resolves all variables. A period whose source is not attached yet stays text. */
  async resolve(sources: Sources): Promise<Record<string, unknown>> {
    const vars = { ...this.#task.variables }
    for (const variable of this.#template.variables) {
      const text = vars[variable.name]
      if (variable.type !== 'period' || typeof text !== 'string') continue
      const period = await this.#resolve(variable, text, sources)
      if (period) vars[variable.name] = period
    }
    return vars
  }

  async #resolve({ name, until }: Variable, text: string, sources: Sources): Promise<Period | undefined> {
    const known = this.#resolved.get(name)
    if (known) return known
    if (until !== null && !sources.has(until.slice(0, until.indexOf('.')))) return undefined
    const latest = until === null ? null : await latestOf(until, this.#engine, sources)
    const { started_at } = this.#task
    const period = resolvePeriod(text, { started_at, time_zone: this.#template.time_zone, latest })
    this.#resolved.set(name, period)
    return period
  }
}

/** Returns the latest value of `source.column`, as text. */
async function latestOf(until: string, engine: Engine, sources: Sources): Promise<string | null> {
  const dot = until.indexOf('.')
  const [source, column] = [until.slice(0, dot), until.slice(dot + 1)]
  const found = sources.get(source)?.columns.find((one) => one.name.toLowerCase() === column.toLowerCase())
  if (!found || !['date', 'timestamp'].includes(found.type)) {
    const what = found ? `is ${found.type}, not a date` : 'does not exist'
    throw new TaskFailure('template_invalid', `The column ${until}, named by "until", ${what}.`)
  }
  const sql = `select max(${identifier(found.name)}) from ${identifier(source)} where isfinite(${identifier(found.name)})`
  const { rows } = await readTable(engine, sql, {}, 1)
  return (rows[0]?.[0] ?? null) as string | null
}
