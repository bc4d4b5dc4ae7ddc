/**
 * Metrics of dbt as metrics of Assay: semantic models with measures and metrics (the legacy form), and models whose metrics
 * aggregate by themselves (the latest form), as docs.getdbt.com describes them. What cannot be taken over is listed with
 * the reason, and nothing is taken over in part.
 */
import { stringify } from 'yaml'
import { schemaFaults } from '../reading/schema-faults.ts'
import { readYaml } from '../reading/yaml-reading.ts'
import { readMetric } from './definition.ts'

export interface ImportTarget {
  /** The connection over which the models' tables are read, and their schema. */
  connection: string
  schema: string | null
}

export interface Imported {
  metrics: { metric: string; source: string }[]
  left: { name: string; reason: string }[]
}

type Named = { name: string; [key: string]: unknown }
type Fields = Record<string, unknown>

interface Model {
  table: string
  dimensions: Named[]
  time: string | null
}

interface Measure {
  model: Model
  time: string | null
  aggregate: (filter: string | null) => string
}

/** Stops the import of one metric. */
class NotTaken extends Error {}

const SHAPE = {
  type: 'object',
  properties: Object.fromEntries(
    ['semantic_models', 'models', 'metrics'].map((key) => [
      key,
      {
        type: 'array',
        items: { type: 'object', required: ['name'], properties: { name: { type: 'string' } } },
      },
    ]),
  ),
} as const

/** Throws an Error with a sentence where the text is not YAML of dbt. */
export function importDbt(text: string, target: ImportTarget): Imported {
  const yaml = readYaml(text, 1)
  const [fault] =
    yaml.faults.length > 0 ? yaml.faults : schemaFaults(SHAPE, yaml.value ?? {}, 'the file', yaml.position)
  if (fault) throw new Error(`line ${fault.line}: ${fault.message} ${fault.remedy}`)
  const file = (yaml.value ?? {}) as Fields
  const importer = new Importer(target)
  for (const model of namedIn(file.semantic_models)) importer.addLegacyModel(model)
  const own = namedIn(file.models).flatMap((model) => importer.addModel(model))
  const metrics = [...own, ...namedIn(file.metrics)]
  if (metrics.length === 0) throw new Error('There are no metrics in it: dbt keeps them under "metrics".')
  return importer.takeOver(metrics)
}

function namedIn(value: unknown): Named[] {
  return Array.isArray(value) ? (value as Named[]) : []
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' || typeof value === 'number' ? String(value).trim() : null
}

class Importer {
  readonly #target: ImportTarget
  readonly #measures = new Map<string, Measure | string>()
  readonly #metrics = new Map<string, Named>()

  constructor(target: ImportTarget) {
    this.#target = target
  }

  addLegacyModel(given: Named): void {
    const dimensions = namedIn(given.dimensions)
    const ref = /ref\(\s*(?:['"][^'"]*['"]\s*,\s*)?['"]([^'"]+)['"]/.exec(textOf(given.model) ?? '')?.[1]
    const defaults = (given.defaults ?? {}) as Fields
    const model: Model = { table: ref ?? given.name, dimensions, time: textOf(defaults.agg_time_dimension) }
    for (const measure of namedIn(given.measures)) this.#addMeasure(measure.name, measure, model)
  }

  /** A model of the latest form. Gives its metrics, those with an aggregation also as measures. */
  addModel(given: Named): Named[] {
    const dimensions = namedIn(given.columns).flatMap((column): Named[] => {
      const { dimension } = column
      if (dimension === undefined) return []
      const fields = typeof dimension === 'string' ? { type: dimension } : (dimension as Fields)
      return [{ ...fields, name: textOf(fields.name) ?? column.name, expr: column.name }]
    })
    const model: Model = { table: given.name, dimensions, time: textOf(given.agg_time_dimension) }
    const metrics = namedIn(given.metrics)
    for (const metric of metrics) if (metric.agg !== undefined) this.#addMeasure(metric.name, metric, model)
    return metrics
  }

  #addMeasure(name: string, given: Fields, model: Model): void {
    const expr = textOf(given.expr) ?? name
    const agg = String(textOf(given.agg)).toLowerCase()
    const time = textOf(given.agg_time_dimension) ?? model.time
    if (given.non_additive_dimension !== undefined) {
      this.#measures.set(
        name,
        `its measure "${name}" does not add up over a dimension (non_additive_dimension)`,
      )
      return
    }
    const rows = (filter: string | null, value: string): string =>
      filter === null ? value : `case when ${filter} then ${value} end`
    const printed: Record<string, (filter: string | null) => string> = {
      sum: (filter) => `sum(${rows(filter, expr)})`,
      average: (filter) => `avg(${rows(filter, expr)})`,
      avg: (filter) => `avg(${rows(filter, expr)})`,
      min: (filter) => `min(${rows(filter, expr)})`,
      max: (filter) => `max(${rows(filter, expr)})`,
      count: (filter) =>
        filter === null && /^(1|\*)$/.test(expr)
          ? 'count(*)'
          : `count(${rows(filter, expr === '*' ? '1' : expr)})`,
      count_distinct: (filter) => `count(distinct ${rows(filter, expr)})`,
      sum_boolean: (filter) => `sum(${rows(filter, `case when ${expr} then 1 else 0 end`)})`,
    }
    const aggregate = printed[agg]
    this.#measures.set(
      name,
      aggregate ? { model, time, aggregate } : `the aggregation "${agg}" has no counterpart`,
    )
  }

  takeOver(metrics: Named[]): Imported {
    for (const metric of metrics) this.#metrics.set(metric.name, metric)
    const found: Imported = { metrics: [], left: [] }
    for (const metric of metrics) {
      try {
        found.metrics.push({ metric: metric.name, source: this.#definition(metric) })
      } catch (error) {
        if (!(error instanceof NotTaken)) throw error
        found.left.push({ name: metric.name, reason: error.message })
      }
    }
    return found
  }

  #definition(metric: Named): string {
    const { value, measure } = this.#value(metric)
    const { model } = measure
    const { connection, schema } = this.#target
    const dimensions = model.dimensions
      .filter(({ type }) => type !== 'time')
      .flatMap((one) => columnOf(one) ?? [])
    const definition = {
      metric: metric.name,
      ...pick(metric, 'label'),
      ...pick(metric, 'description'),
      source: { connection, table: schema === null ? model.table : `${schema}.${model.table}` },
      time: { column: timeOf(measure) },
      value,
      ...(dimensions.length > 0 ? { dimensions: [...new Set(dimensions)] } : {}),
    }
    const source = stringify(definition, { lineWidth: 0 })
    const [fault] = readMetric(metric.name, source).faults
    if (fault) throw new NotTaken(`${fault.message} ${fault.remedy}`)
    return source
  }

  #value(metric: Named): { value: string | Fields; measure: Measure } {
    const params = (metric.type_params ?? {}) as Fields
    const type = textOf(metric.type) ?? 'simple'
    if (type === 'simple') {
      const { text, measure } = this.#simple(metric, [])
      return { value: text, measure }
    }
    if (type === 'ratio') {
      const [numerator, denominator] = ['numerator', 'denominator'].map((part) =>
        this.#input(metric, params[part] ?? metric[part]),
      )
      const { measure } = sameModel(numerator!, denominator!)
      return { value: { ratio: { numerator: numerator!.text, denominator: denominator!.text } }, measure }
    }
    if (type === 'derived') return this.#derived(metric, params)
    throw new NotTaken(`metrics of the type "${type}" have no counterpart`)
  }

  #derived(metric: Named, params: Fields): { value: string; measure: Measure } {
    const inputs = namedIn(params.metrics ?? metric.input_metrics)
    const expr = textOf(params.expr ?? metric.expr)
    if (expr === null || inputs.length === 0) throw new NotTaken('it names no expression or no metrics')
    const parts = inputs.map((input) => {
      if (input.offset_window !== undefined || input.offset_to_grain !== undefined)
        throw new NotTaken('it compares with an earlier time (offset_window): use "compare" in a template')
      return { name: textOf(input.alias) ?? input.name, ...this.#input(metric, input) }
    })
    const measure = parts.reduce(sameModel).measure
    const value = expr.replaceAll(/[A-Za-z_]\w*/g, (word) => {
      const part = parts.find(({ name }) => name === word)
      if (!part)
        throw new NotTaken(`its expression names ${JSON.stringify(word)}, which is not one of its metrics`)
      return `(${part.text})`
    })
    return { value, measure }
  }

  /** A metric that another one names, with the filters of both. */
  #input(owner: Named, given: unknown): { text: string; measure: Measure } {
    const input: Fields = typeof given === 'string' ? { name: given } : ((given ?? {}) as Fields)
    const name = textOf(input.name)
    const metric = this.#metrics.get(name ?? '')
    if (!metric) throw new NotTaken(`the metric ${JSON.stringify(name)} that it names is not in this file`)
    if ((textOf(metric.type) ?? 'simple') !== 'simple')
      throw new NotTaken(`it is made of "${name}", which is not simple itself`)
    return this.#simple(metric, [owner.filter, input.filter])
  }

  #simple(metric: Named, more: unknown[]): { text: string; measure: Measure } {
    const params = (metric.type_params ?? {}) as Fields
    const given = params.measure
    const input: Fields =
      typeof given === 'string' ? { name: given } : ((given ?? { name: metric.name }) as Fields)
    const name = textOf(input.name)!
    const measure = this.#measures.get(name)
    if (measure === undefined) throw new NotTaken(`its measure "${name}" is not in this file`)
    if (typeof measure === 'string') throw new NotTaken(measure)
    const filters = [metric.filter, input.filter, ...more].flat().flatMap((filter) => textOf(filter) ?? [])
    const conditions = filters.map((filter) => `(${filterText(filter, measure.model)})`)
    return { text: measure.aggregate(conditions.length > 0 ? conditions.join(' and ') : null), measure }
  }
}

function sameModel<Part extends { measure: Measure }>(one: Part, other: Part): Part {
  if (one.measure.model !== other.measure.model || one.measure.time !== other.measure.time)
    throw new NotTaken('its parts lie in several models or have several times: join them in a model')
  return one
}

function pick(metric: Named, key: string): Fields {
  const text = textOf(metric[key])
  return text === null || text === '' ? {} : { [key]: text }
}

/** The column behind a dimension; null where it is computed. */
function columnOf({ name, expr }: Named): string | null {
  const text = textOf(expr) ?? name
  return /^[A-Za-z_]\w*$/.test(text) ? text : null
}

function timeOf({ time, model }: Measure): string {
  if (time === null) throw new NotTaken('it has no agg_time_dimension')
  const dimension = model.dimensions.find(({ name }) => name === time)
  const column = columnOf(dimension ?? { name: time })
  if (column === null) throw new NotTaken(`its time "${time}" is computed: make it a column of the model`)
  return column
}

/** `{{ Dimension('order__status') }}` becomes its column. */
function filterText(filter: string, model: Model): string {
  const text = filter.replaceAll(/\{\{\s*Dimension\(\s*['"]([^'"]+)['"]\s*\)\s*\}\}/g, (_, path: string) => {
    const name = path.split('__').at(-1)!
    const dimension = model.dimensions.find((one) => one.name === name)
    const column = dimension ? columnOf(dimension) : null
    if (column === null) throw new NotTaken(`its filter names "${path}", which is not a column of its model`)
    return column
  })
  if (/\{[{%]/.test(text)) throw new NotTaken(`its filter cannot be read: ${filter.slice(0, 100)}`)
  return text
}
