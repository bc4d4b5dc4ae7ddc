/**
 * Metrics of dbt as metrics of Assay, from the YAML that docs.getdbt.com describes: semantic models with measures and metrics
 * (the legacy form), and models whose metrics aggregate by themselves (the latest form). What cannot be taken over is listed
 * with the reason; a metric is taken over whole or not at all.
 */
import { stringify } from 'yaml'
import { readMetric } from '../definition.ts'
import {
  type DbtFile,
  type Fields,
  fieldsOf,
  type Measure,
  type Metric,
  type Model,
  type Named,
  type NotRead,
  namedIn,
  Project,
  plainDimensions,
  textOf,
} from './project.ts'
import {
  bounded,
  columnName,
  filterText,
  grainOf,
  NotTaken,
  readTime,
  withoutCalls,
  withoutCasts,
} from './texts.ts'

export type { DbtFile, NotRead } from './project.ts'

export interface ImportTarget {
  /** The connection with the models' tables, and their schema. */
  connection: string
  schema: string | null
}

export interface Imported {
  metrics: { metric: string; source: string; file: string }[]
  /** The metrics that are not imported. */
  left: NotRead[]
  /** The parts of the files that have no counterpart in metrics: keys of metrics, tests, saved queries. */
  notRead: NotRead[]
}

/** One aggregation with the conditions under which rows count in it. */
interface Leaf {
  measure: Measure
  conditions: string[]
  /** True if a step without rows is zero. */
  zero: boolean
}

interface Value {
  leaves: Leaf[]
  /** Prints the value. `inside`: with the conditions in each aggregate. */
  print(inside: boolean): string
  ratio?: { numerator: Value; denominator: Value }
}

/** Imports metrics. `files`: the files of one project, which are read together. */
export function importDbt(files: readonly DbtFile[], target: ImportTarget): Imported {
  const project = new Project(files)
  const importer = new Importer(project, target)
  const found: Imported = { metrics: [], left: [], notRead: [] }
  for (const metric of project.metrics.values()) {
    const { file, given } = metric
    try {
      found.metrics.push({ metric: given.name, source: importer.definition(metric), file })
    } catch (error) {
      if (!(error instanceof NotTaken)) throw error
      found.left.push({ file, name: given.name, reason: error.message })
    }
  }
  found.notRead = [...project.notRead, ...importer.notRead, ...importer.unused()]
  return found
}

const AGGREGATIONS: Record<string, (expr: string) => string> = {
  sum: (expr) => `sum(${expr})`,
  average: (expr) => `avg(${expr})`,
  avg: (expr) => `avg(${expr})`,
  min: (expr) => `min(${expr})`,
  max: (expr) => `max(${expr})`,
  count: (expr) => `count(${expr})`,
  count_distinct: (expr) => `count(distinct ${expr})`,
  sum_boolean: (expr) => `sum(case when ${expr} then 1 else 0 end)`,
}

/** The keys of a metric of either form that are read, or that say nothing about its value. */
const METRIC_KEYS = new Set(
  'name label description type type_params filter agg expr agg_time_dimension numerator denominator input_metrics fill_nulls_with join_to_timespine alias hidden'.split(
    ' ',
  ),
)
const MEASURE_KEYS = new Set(
  'name label description agg expr agg_time_dimension create_metric create_metric_display_name'.split(' '),
)

class Importer {
  readonly notRead: NotRead[] = []
  readonly #project: Project
  readonly #target: ImportTarget
  readonly #told = new Set<Model | Measure>()
  readonly #used = new Set<string>()

  constructor(project: Project, target: ImportTarget) {
    this.#project = project
    this.#target = target
  }

  unused(): NotRead[] {
    return [...this.#project.measures]
      .filter(([name, { given }]) => !this.#used.has(name) && !this.#project.metrics.has(given.name))
      .map(([name, { model }]) => ({
        file: model.file,
        name: `measure ${name}`,
        reason: 'no metric is made of it',
      }))
  }

  definition(metric: Metric): string {
    const { given } = metric
    const value = this.#value(metric, [], [])
    const [first] = value.leaves
    const { model } = first!.measure
    for (const { measure } of value.leaves)
      if (measure.model !== model || timeName(measure) !== timeName(first!.measure))
        throw new NotTaken('its parts lie in several models or have several times: join them in a model')
    const { connection, schema } = this.#target
    const dimensions = plainDimensions(model).slice(0, 20)
    const conditions = value.leaves.map((leaf) => leaf.conditions.join(' and '))
    const common = conditions.every((one) => one === conditions[0])
    const where = common ? conditions[0]! : ''
    const { measure } = first!
    const single = value.leaves.length === 1 ? measure.given : {}
    const definition = {
      metric: given.name,
      ...pick('label', given.label, fieldsOf(single).label),
      ...pick('description', given.description, fieldsOf(single).description),
      source: {
        connection,
        table: schema === null || model.table.includes('.') ? model.table : `${schema}.${model.table}`,
      },
      time: this.#time(measure, metric),
      value: printed(value, !common),
      ...(where === '' ? {} : { where }),
      ...(value.leaves.every(({ zero }) => zero) ? { missing: 'zero' } : {}),
      ...(dimensions.length > 0 ? { dimensions } : {}),
      ...(model.tests.length > 0 ? { tests: model.tests.slice(0, 50) } : {}),
    }
    const source = stringify(definition, { lineWidth: 0 })
    const [fault] = readMetric(given.name, source).faults
    if (fault) throw new NotTaken(`${fault.message} ${fault.remedy}`)
    this.#tellRest(metric, value)
    return source
  }

  /** Returns the value of a metric. `path`: the metrics that this one is a part of, so that no metric is made of itself. */
  #value({ given, model }: Metric, more: unknown[], path: string[]): Value {
    if (path.includes(given.name)) throw new NotTaken(`it is made of itself, through "${path.at(-1)}"`)
    if (path.length > DEPTH_MOST)
      throw new NotTaken(`it is made of more than ${DEPTH_MOST} metrics within each other`)
    if (fieldsOf(given.config).enabled === false) throw new NotTaken('it is disabled')
    const params = fieldsOf(given.type_params)
    const type = (textOf(given.type) ?? 'simple').toLowerCase()
    const filters = [given.filter, ...more]
    const inside = [...path, given.name]
    if (type === 'simple') return this.#simple(given, params, filters)
    if (type === 'ratio') {
      const [numerator, denominator] = ['numerator', 'denominator'].map((part) =>
        this.#input(params[part] ?? given[part], filters, inside),
      ) as [Value, Value]
      return {
        leaves: few([...numerator.leaves, ...denominator.leaves]),
        print: (within) => bounded(`(${numerator.print(within)}) / (${denominator.print(within)})`),
        ratio: { numerator, denominator },
      }
    }
    if (type === 'derived') return this.#derived(given, params, filters, inside)
    if (model?.disabled) throw new NotTaken('its model is disabled')
    throw new NotTaken(`metrics of the type "${type}" have no counterpart${INSTEAD[type] ?? ''}`)
  }

  #derived(given: Named, params: Fields, filters: unknown[], path: string[]): Value {
    const inputs = namedIn(params.metrics ?? given.input_metrics)
    const expr = textOf(params.expr ?? given.expr)
    if (expr === null || inputs.length === 0) throw new NotTaken('it names no expression or no metrics')
    const parts = inputs.map((input) => {
      const offset = ['offset_window', 'offset_to_grain'].find((key) => input[key] !== undefined)
      if (offset !== undefined)
        throw new NotTaken(`it compares with an earlier time (${offset}): use "compare" in a template`)
      return { name: textOf(input.alias) ?? input.name, value: this.#input(input, filters, path) }
    })
    const text = withoutCalls(withoutCasts(bounded(expr)).replaceAll(DIVISOR, '/ $1'))
    for (const [word] of text.replaceAll(/'[^']*'/g, '').matchAll(/[A-Za-z_]\w*/g))
      if (!parts.some(({ name }) => name === word) && !SQL_WORDS.has(word.toLowerCase()))
        throw new NotTaken(`its expression names ${JSON.stringify(word)}, which is not one of its metrics`)
    return {
      leaves: few(parts.flatMap(({ value }) => value.leaves)),
      print: (within) => {
        // The first of two parts of one name counts.
        const printed = parts
          .toReversed()
          .map(({ name, value }) => [name, `(${value.print(within)})`] as const)
        const of = new Map(printed)
        return bounded(text.replaceAll(/'[^']*'|[A-Za-z_]\w*/g, (word) => of.get(word) ?? word))
      },
    }
  }

  /** Returns a metric that another one names, with the filters of both. The legacy form also names measures here. */
  #input(given: unknown, filters: unknown[], path: string[]): Value {
    const input: Fields = typeof given === 'string' ? { name: given } : fieldsOf(given)
    const name = textOf(input.name ?? input.measure)
    const metric = this.#project.metrics.get(name ?? '')
    const more = [...filters, input.filter]
    if (metric) return this.#value(metric, more, path)
    if (this.#project.measures.has(name ?? '')) return this.#leaf({ ...input, name }, more)
    throw new NotTaken(`the metric ${JSON.stringify(name)} that it names is not in these files`)
  }

  #simple(given: Named, params: Fields, filters: unknown[]): Value {
    const named = params.measure
    const input: Fields = typeof named === 'string' ? { name: named } : fieldsOf(named ?? given)
    return this.#leaf(input, named === undefined ? filters : [...filters, input.filter])
  }

  #leaf(input: Fields, filters: unknown[]): Value {
    const name = textOf(input.name)!
    const measure = this.#project.measures.get(name)
    if (!measure) throw new NotTaken(`its measure "${name}" is not in these files`)
    this.#used.add(name)
    const { model, given } = measure
    if (model.disabled) throw new NotTaken(`its model "${model.name}" is disabled`)
    if ((given.non_additive_dimension ?? null) !== null)
      throw new NotTaken(`its measure "${name}" does not add up over a dimension (non_additive_dimension)`)
    const agg = String(textOf(given.agg)).toLowerCase()
    const aggregate = AGGREGATIONS[agg]
    if (!aggregate) throw new NotTaken(`the aggregation "${agg}" has no counterpart`)
    const conditions = filters
      .flat()
      .flatMap((filter) => textOf(filter) ?? [])
      .map((filter) => `(${filterText(bounded(filter), namesIn(model))})`)
    const distinct = [...new Set(conditions)]
    const expr = bounded(withoutCalls(textOf(given.expr) ?? name))
    const rows = /^(1|\*)$/.test(expr) && (agg === 'sum' || agg === 'count')
    const print = (inside: boolean): string => {
      const when = inside && distinct.length > 0 ? distinct.join(' and ') : null
      if (when === null) return rows ? 'count(*)' : aggregate(expr)
      if (rows) return `count(case when ${when} then 1 end)`
      const boolean = agg === 'sum_boolean'
      return boolean ? aggregate(`(${expr}) and ${when}`) : aggregate(`case when ${when} then ${expr} end`)
    }
    const zero = Number(input.fill_nulls_with ?? given.fill_nulls_with ?? Number.NaN) === 0
    return { leaves: [{ measure, conditions: distinct, zero }], print }
  }

  #time(measure: Measure, { file, given }: Metric): Fields {
    const name = timeName(measure)
    if (name === null) throw new NotTaken('it has no agg_time_dimension')
    const dimension = measure.model.dimensions.find((one) => one.name === name)
    const time = readTime(dimension?.expr ?? name)
    if (time === null) throw new NotTaken(`its time "${name}" is computed: make it a column of the model`)
    const asked = [time.grain, dimension?.granularity ?? null].filter((one) => one !== null)
    const steps = asked.map((one) => ({ one, grain: grainOf(one) }))
    for (const { one, grain } of steps)
      if (grain === null || (grain === 'hour' && one.toLowerCase() !== 'hour')) {
        const reason = grain === null ? 'days are taken' : 'an hour is the finest step here'
        this.notRead.push({ file, name: `${given.name}: granularity ${one}`, reason })
      }
    const grain = steps.map((step) => step.grain).find((one) => one !== null && one !== 'day')
    return { column: time.column, ...(grain ? { grain } : {}) }
  }

  /** Reports the parts of a metric, its measures and its model that have no counterpart. */
  #tellRest({ given, file }: Metric, value: Value): void {
    const tell = (name: string, reason: string): void => {
      this.notRead.push({ file, name: `${given.name}: ${name}`, reason })
    }
    for (const key of Object.keys(given))
      if (!METRIC_KEYS.has(key)) tell(key, 'metrics here have no such key')
    const params = fieldsOf(given.type_params)
    for (const input of [given, fieldsOf(params.measure)]) {
      const fill = input.fill_nulls_with
      if (fill !== undefined && Number(fill) !== 0)
        tell(`fill_nulls_with ${JSON.stringify(fill)}`, 'a step without rows is unknown, or zero')
    }
    for (const { measure } of value.leaves) this.#tellMeasure(measure)
  }

  #tellMeasure(measure: Measure): void {
    const { model, given } = measure
    if (!this.#told.has(measure) && !this.#project.metrics.has(given.name)) {
      this.#told.add(measure)
      for (const key of Object.keys(given))
        if (!MEASURE_KEYS.has(key))
          this.notRead.push({
            file: model.file,
            name: `measure ${given.name}: ${key}`,
            reason: 'metrics here have no such key',
          })
    }
    if (this.#told.has(model)) return
    this.#told.add(model)
    for (const { name, time, expr } of model.dimensions)
      if (!time && columnName(expr) === null)
        this.notRead.push({
          file: model.file,
          name: `${model.name}: dimension ${name}`,
          reason: 'it is computed: make it a column of the model to explain changes by it',
        })
  }
}

const INSTEAD: Record<string, string> = {
  cumulative: ': add up its input in an SQL block of a template',
  conversion: ': use the method "funnel"',
}

/** The form of a divisor that dbt guards against zero. A division by zero is null in Assay anyway. */
const DIVISOR = /\/\s*nullif\s*\(\s*(\w+)\s*,\s*0(?:\.0*)?\s*\)/gi

const SQL_WORDS = new Set('case when then else end and or not in is null true false'.split(' '))

/** The deepest nesting of metrics. */
const DEPTH_MOST = 20
/** The most measures of one metric. Metrics that are made of metrics multiply them. */
const LEAVES_MOST = 100

function few(leaves: Leaf[]): Leaf[] {
  if (leaves.length > LEAVES_MOST) throw new NotTaken(`it is made of more than ${LEAVES_MOST} measures`)
  return leaves
}

function timeName({ given, model }: Measure): string | null {
  return textOf(given.agg_time_dimension) ?? model.time
}

function pick(key: string, ...values: unknown[]): Fields {
  const text = values.map(textOf).find((one) => one !== null && one !== '')
  return text === undefined ? {} : { [key]: text }
}

function printed({ ratio, print }: Value, inside: boolean): string | Fields {
  if (!ratio) return print(inside)
  return { ratio: { numerator: ratio.numerator.print(inside), denominator: ratio.denominator.print(inside) } }
}

/**
 * Returns the names that filters may use: the dimensions and entities of the measure's own model. Others are columns
 * of other tables.
 */
function namesIn(model: Model) {
  const ownName = (path: string): string => {
    const parts = path.split('__')
    const name = parts.at(-1)!
    if (parts.length > 2 || (parts.length === 2 && !model.own.has(parts[0]!)))
      throw new NotTaken(
        `its filter reads "${path}", which lies in another model: join it in "${model.name}"`,
      )
    return name
  }
  return {
    dimension(path: string): string {
      const name = ownName(path)
      const found = model.dimensions.find((one) => one.name === name)
      if (!found) throw new NotTaken(`its filter names "${path}", which is not a dimension of its model`)
      return columnName(found.expr) ?? `(${found.expr})`
    },
    entity(path: string): string {
      const column = columnName(model.entities.get(path) ?? '')
      if (column === null)
        throw new NotTaken(`its filter names the entity "${path}", which is not a column of its model`)
      return column
    },
  }
}
