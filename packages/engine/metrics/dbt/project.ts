/**
 * Reads the YAML of a dbt project: its semantic models with measures (the legacy form), its models whose metrics
 * aggregate by themselves (the latest form), its metrics, and its other parts. Files are read together, as dbt does,
 * because a metric of one file may be made of a measure of another.
 */
import { readYaml } from '../../reading/yaml-reading.ts'
import { columnName, withoutCalls } from './texts.ts'

export type Fields = Record<string, unknown>
export type Named = { name: string } & Fields

export interface DbtFile {
  name: string
  text: string
}

/** A part that was not read: `name` identifies it, `reason` says why. */
export interface NotRead {
  file: string
  name: string
  reason: string
}

interface Dimension {
  name: string
  time: boolean
  /** The SQL: a column, or an expression. */
  expr: string
  granularity: string | null
}

export interface Model {
  name: string
  file: string
  table: string
  /** The dimension by which metrics are counted over time. */
  time: string | null
  dimensions: Dimension[]
  /** The names by which filters name this model's own dimensions. */
  own: Set<string>
  /** The SQL of each entity. */
  entities: Map<string, string>
  /** The tests of the columns, in the form of tests of metrics. */
  tests: Fields[]
  disabled: boolean
}

export interface Measure {
  model: Model
  given: Named
}

export interface Metric {
  given: Named
  file: string
  /** The model that holds it; null if none does. */
  model: Model | null
}

export function namedIn(value: unknown): Named[] {
  if (!Array.isArray(value)) return []
  return value
    .map((one: unknown) => (typeof one === 'string' ? { name: one } : one))
    .filter((one): one is Named => typeof (one as Fields | null)?.name === 'string')
}

export function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {}
}

export function textOf(value: unknown): string | null {
  return typeof value === 'string' || typeof value === 'number' ? String(value).trim() : null
}

/** Returns the table of a reference: `ref('shop', 'orders', v=2)` is orders_v2. */
function tableIn(reference: string): string | null {
  const source = /source\(\s*['"]([^'"]+)['"]\s*,\s*['"]([^'"]+)['"]/.exec(reference)
  if (source) return `${source[1]}.${source[2]}`
  const ref = /ref\(\s*(?:['"][^'"]*['"]\s*,\s*)?['"]([^'"]+)['"]/.exec(reference)
  if (!ref) return null
  const version = /\bv(?:ersion)?\s*=\s*['"]?(\w+)/.exec(reference)
  return version ? `${ref[1]}_v${version[1]}` : ref[1]!
}

function isOff(given: Fields): boolean {
  return fieldsOf(given.config).enabled === false
}

const READ_KEYS = new Set(['version', 'semantic_models', 'models', 'metrics'])

export class Project {
  readonly notRead: NotRead[] = []
  readonly measures = new Map<string, Measure>()
  readonly metrics = new Map<string, Metric>()
  /** The properties of dbt's models by name: another name of the table, and tests. */
  readonly #tables = new Map<string, { alias: string | null; tests: Fields[] }>()
  readonly #models: Model[] = []

  constructor(files: readonly DbtFile[]) {
    for (const file of files) this.#read(file)
    for (const model of this.#models) {
      const known = this.#tables.get(model.table)
      model.tests = known?.tests ?? []
      model.table = known?.alias ?? model.table
    }
  }

  #read({ name: file, text }: DbtFile): void {
    const yaml = readYaml(text.replace(/^\s*---[^\S\n]*\n/, '\n'), 1)
    const [fault] = yaml.faults
    if (fault) {
      const reason = `line ${fault.line}: ${fault.message} ${fault.remedy}`
      this.notRead.push({ file, name: 'the file', reason })
      return
    }
    const given = fieldsOf(yaml.value)
    for (const model of namedIn(given.models)) this.#addTable(model, file)
    for (const model of namedIn(given.semantic_models)) this.#addLegacy(model, file)
    for (const model of namedIn(given.models)) this.#addLatest(model, file)
    for (const metric of namedIn(given.metrics)) this.#addMetric(metric, file, null)
    for (const [key, value] of Object.entries(given)) {
      if (READ_KEYS.has(key)) continue
      const names = namedIn(value).map((one) => one.name)
      const name = names.length > 0 ? `${key}: ${names.join(', ')}` : key
      this.notRead.push({ file, name, reason: 'Assay has no such part' })
    }
  }

  #addMetric(given: Named, file: string, model: Model | null): void {
    const known = this.metrics.get(given.name)
    if (known)
      this.notRead.push({ file, name: given.name, reason: `there is a metric of this name in ${known.file}` })
    else this.metrics.set(given.name, { given, file, model })
  }

  #addTable(given: Named, file: string): void {
    const tests = namedIn(given.columns).flatMap((column) => this.#testsOf(column, given.name, file))
    const alias = textOf(fieldsOf(given.config).alias)
    for (const test of listOf(given.data_tests ?? given.tests))
      this.notRead.push({ file, name: `${given.name}: test ${nameOfTest(test)}`, reason: NO_TEST })
    this.#tables.set(given.name, { alias, tests })
  }

  #testsOf(column: Named, model: string, file: string): Fields[] {
    return listOf(column.data_tests ?? column.tests).flatMap((test): Fields[] => {
      const name = nameOfTest(test)
      const given = typeof test === 'string' ? {} : fieldsOf(fieldsOf(test)[name] ?? test)
      const options = { ...fieldsOf(given.arguments), ...given }
      const config = { ...options, ...fieldsOf(options.config) }
      const loose = config.where !== undefined || String(config.severity).toLowerCase() === 'warn'
      if (!loose && (name === 'not_null' || name === 'unique')) return [{ [name]: column.name }]
      if (!loose && name === 'accepted_values' && Array.isArray(options.values) && options.values.length > 0)
        return [{ accepted: { [column.name]: options.values } }]
      const reason = loose ? 'a metric has no test that only warns, or holds for some rows' : NO_TEST
      this.notRead.push({ file, name: `${model}.${column.name}: test ${name}`, reason })
      return []
    })
  }

  #addLegacy(given: Named, file: string): void {
    const entities = namedIn(given.entities)
    const model: Model = {
      name: given.name,
      file,
      table: tableIn(textOf(given.model) ?? '') ?? given.name,
      time: textOf(fieldsOf(given.defaults).agg_time_dimension),
      dimensions: namedIn(given.dimensions).map(dimensionOf),
      own: ownEntities(entities, given.primary_entity),
      entities: new Map(entities.map((one) => [one.name, textOf(one.expr) ?? one.name])),
      tests: [],
      disabled: isOff(given),
    }
    this.#models.push(model)
    for (const measure of namedIn(given.measures)) {
      this.measures.set(measure.name, { model, given: measure })
      if (measure.create_metric !== true) continue
      const label = textOf(measure.create_metric_display_name) ?? measure.label
      const made = { name: measure.name, label, type: 'simple', type_params: { measure: measure.name } }
      this.#addMetric(made, file, null)
    }
  }

  /** Adds a model of the latest form. Each metric with an aggregation is also a measure. */
  #addLatest(given: Named, file: string): void {
    const metrics = namedIn(given.metrics)
    if (metrics.length === 0) return
    const columns = namedIn(given.columns)
    const derived = fieldsOf(given.derived_semantics)
    const semantic = fieldsOf(given.semantic_model)
    const entities = [
      ...columns.flatMap((column) => annotated(column, 'entity')),
      ...namedIn(derived.entities),
    ]
    const dimensions = [
      ...columns.flatMap((column) => annotated(column, 'dimension')),
      ...namedIn(derived.dimensions),
    ]
    const model: Model = {
      name: given.name,
      file,
      table: given.name,
      time: textOf(given.agg_time_dimension) ?? textOf(semantic.agg_time_dimension),
      dimensions: dimensions.map(dimensionOf),
      own: ownEntities(entities, given.primary_entity ?? semantic.primary_entity),
      entities: new Map(entities.map((one) => [one.name, textOf(one.expr) ?? one.name])),
      tests: [],
      disabled: isOff(given) || given.semantic_model === false || semantic.enabled === false,
    }
    this.#models.push(model)
    for (const metric of metrics) {
      this.#addMetric(metric, file, model)
      if (metric.agg !== undefined) this.measures.set(metric.name, { model, given: metric })
    }
  }
}

const NO_TEST = 'metrics have the tests not_null, unique, accepted and fresh'

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : []
}

function nameOfTest(test: unknown): string {
  if (typeof test === 'string') return test
  const given = fieldsOf(test)
  return textOf(given.test_name) ?? Object.keys(given).find((key) => key !== 'name' && key !== 'config') ?? ''
}

/** Returns the `dimension` or `entity` of a column: a type, or a map. */
function annotated(column: Named, key: 'dimension' | 'entity'): Named[] {
  const given = column[key]
  if (given === undefined || given === null) return []
  const fields = typeof given === 'string' ? { type: given } : fieldsOf(given)
  const granularity = column.granularity ?? fields.granularity
  return [{ ...fields, granularity, name: textOf(fields.name) ?? column.name, expr: column.name }]
}

function dimensionOf(given: Named): Dimension {
  return {
    name: given.name,
    time: String(textOf(given.type)).toLowerCase() === 'time',
    expr: withoutCalls(textOf(given.expr) ?? given.name),
    granularity: textOf(fieldsOf(given.type_params).time_granularity) ?? textOf(given.granularity),
  }
}

function ownEntities(entities: Named[], primary: unknown): Set<string> {
  const own = entities.filter(({ type }) => String(type).toLowerCase() !== 'foreign').map(({ name }) => name)
  const named = textOf(primary)
  return new Set(named === null ? own : [...own, named])
}

/** Returns the columns of a model by which a change can be explained. */
export function plainDimensions({ dimensions }: Model): string[] {
  const found = dimensions.flatMap(({ time, expr }) => (time ? [] : (columnName(expr) ?? [])))
  return [...new Set(found)]
}
