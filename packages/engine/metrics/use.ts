/**
 * A fence `metric NAME` of a template. It becomes sources (the rows of a file, or a query that a database answers) and an
 * SQL block NAME over them. The definitions stand among the template's partials as `metrics/NAME.yaml`, so a job keeps
 * those that it was created with.
 */

import { isDay } from '@assay/model/dates'
import { type Grain, isCoarser, type MetricInBlock, type MetricInfo } from '@assay/model/metric'
import type { RowRule } from '@assay/model/reader'
import type { Fault, Source, SourceQuery, SqlBlock, Variable } from '@assay/model/template'
import { DUCKDB } from '../dialects/duckdb.ts'
import { dialectOf } from '../dialects/engines.ts'
import { makeFault, type Position } from '../language/fault.ts'
import type { Fence } from '../language/fences.ts'
import { SqlTextFault } from '../language/sql-tokens.ts'
import { partitionedQuery, partitionedTests, seriesSql } from '../partitions/partition-sql.ts'
import { schemaFaults } from '../reading/schema-faults.ts'
import { readYaml, type YamlReading } from '../reading/yaml-reading.ts'
import { bucketPath } from '../values/file-path.ts'
import { suggest } from '../values/near.ts'
import { type Metric, namedColumns, readMetric } from './definition.ts'
import { type Node, nodesOf, parseRowExpression } from './expression.ts'
import {
  fileSql,
  fileTests,
  receivedSql,
  receivedTests,
  remoteRuleColumns,
  remoteSql,
  remoteTests,
  remoteTime,
  type Wanted,
} from './metric-sql.ts'
import { metricNames, metricPartial } from './names.ts'
import { metricUseSchema } from './schema.ts'

/** The options of a fence before they are applied. A variable may decide which metrics it means. */
interface Use {
  /** The name of a metric, or of the variable that lists some. */
  metric: string
  variable: boolean
  by: string[] | 'all'
  grain: Grain | null
  period: Wanted['period']
  where: Node | null
}

export interface MetricFence {
  block: SqlBlock
  sources: Source[]
  faults: Fault[]
  /** The name of the variable that lists the metrics; null if the fence names one metric. */
  variable: string | null
}

/**
 * Reads a fence. `values`: those of the variables, at run. Without them a fence over a variable has no rows, but its
 * columns.
 */
export function readMetricFence(
  fence: Fence,
  partials: Record<string, string>,
  variables: readonly Variable[],
  values: Record<string, unknown> | null,
): MetricFence {
  const yaml = readYaml(fence.text, fence.line)
  const faults =
    yaml.faults.length > 0
      ? [...yaml.faults]
      : schemaFaults(metricUseSchema, yaml.value ?? {}, `the metric block "${fence.name}"`, yaml.position)
  const empty: SqlBlock = { kind: 'sql', name: fence.name, sql: EMPTY, line: fence.line, metrics: [] }
  if (faults.length > 0) return { block: empty, sources: [], faults, variable: null }
  const reader = new UseReader(yaml, variables, faults)
  const use = reader.use()
  const names = namesOf(use, values)
  const variable = use.variable ? use.metric : null
  if (use.variable && faults.length === 0) checkVariable(use.metric, variables, yaml, faults)
  const metrics = names.flatMap((name) => definitionOf(name, partials, yaml.position(['metric']), faults))
  for (const metric of metrics) checkGrain(use, metric, yaml.position(['grain']), faults)
  if (faults.length > 0 || metrics.length === 0) return { block: empty, sources: [], faults, variable }
  return { ...expand(fence, use, metrics), faults, variable }
}

/** The columns of a fence whose metrics a variable names. */
const EMPTY =
  'select null::varchar as metric, null::date as "time", null::double as "value", null::double as numerator, null::double as denominator where false'

function namesOf(use: Use, values: Record<string, unknown> | null): string[] {
  if (!use.variable) return [use.metric]
  const given = values?.[use.metric] ?? []
  return [...new Set((Array.isArray(given) ? given : [given]).map(String))]
}

function checkVariable(
  name: string,
  variables: readonly Variable[],
  yaml: YamlReading,
  faults: Fault[],
): void {
  const variable = variables.find((one) => one.name === name)
  if (!variable) {
    const known = variables.map((one) => one.name)
    const remedy = suggest(name, known, 'Declare it under "variables".')
    faults.push(
      makeFault('unknown_variable', yaml.position(['metric']), `There is no variable $${name}.`, remedy),
    )
  } else if (variable.type !== 'string' && !(variable.type === 'list' && variable.items === 'string')) {
    const message = `$${name} names metrics, so it is a list of texts.`
    faults.push(makeFault('wrong_type', yaml.position(['metric']), message, 'Declare it with "type: list".'))
  }
}

function definitionOf(
  name: string,
  partials: Record<string, string>,
  position: Position,
  faults: Fault[],
): Metric[] {
  const source = Object.hasOwn(partials, metricPartial(name)) ? partials[metricPartial(name)]! : null
  if (source === null) {
    const remedy = suggest(name, metricNames(partials), `Write metrics/${name}.yaml beside the template.`)
    faults.push(makeFault('unknown_metric', position, `There is no metric ${JSON.stringify(name)}.`, remedy))
    return []
  }
  const { metric, faults: found } = readMetric(name, source)
  const [first] = found.filter(({ severity }) => severity === 'error')
  if (metric && !first) return [metric]
  const message = `The metric "${name}" has a fault in its line ${first?.line ?? 1}: ${first?.message ?? ''}`
  faults.push(makeFault('metric_invalid', position, message, first?.remedy ?? ''))
  return []
}

function checkGrain({ grain }: Use, metric: Metric, position: Position, faults: Fault[]): void {
  if (grain === null || isCoarser(grain, metric.time.grain)) return
  const message = `"${metric.metric}" has a value for each ${metric.time.grain}, which gives none for each ${grain}.`
  faults.push(makeFault('bad_value', position, message, `Write a coarser grain, or change the metric's own.`))
}

class UseReader {
  readonly #yaml: YamlReading
  readonly #variables: readonly Variable[]
  readonly #faults: Fault[]

  constructor(yaml: YamlReading, variables: readonly Variable[], faults: Fault[]) {
    this.#yaml = yaml
    this.#variables = variables
    this.#faults = faults
  }

  use(): Use {
    const given = this.#yaml.value as {
      metric: string
      by?: string | string[]
      grain?: Grain
      period?: string
      where?: string
    }
    const { metric, by = [], grain = null } = given
    return {
      metric: metric.replace(/^\$/, ''),
      variable: metric.startsWith('$'),
      by: by === 'all' ? 'all' : [by].flat(),
      grain,
      period: given.period === undefined ? null : this.#period(given.period),
      where: given.where === undefined ? null : this.#where(given.where),
    }
  }

  #refuse(code: string, position: Position, message: string, remedy: string): void {
    this.#faults.push(makeFault(code, position, message, remedy))
  }

  #variable(name: string, position: Position): Variable | null {
    const found = this.#variables.find((one) => one.name === name)
    if (found) return found
    const known = this.#variables.map((one) => one.name)
    const remedy = suggest(name, known, 'Declare it under "variables".')
    this.#refuse('unknown_variable', position, `There is no variable $${name}.`, remedy)
    return null
  }

  #period(text: string): Wanted['period'] {
    const position = this.#yaml.position(['period'])
    if (text.startsWith('$')) {
      const name = text.slice(1)
      const variable = this.#variable(name, position)
      if (variable && variable.type !== 'period')
        this.#refuse('wrong_type', position, `$${name} is not a period.`, 'Declare it with "type: period".')
      return { start: `$${name}.start`, end: `$${name}.end`, optional: true }
    }
    const [, start, end] = /^(\S{10})\.\.(\S{10})$/.exec(text) ?? []
    if (start && end && isDay(start) && isDay(end) && start <= end) {
      const after = new Date(Date.parse(end) + 86_400_000).toISOString().slice(0, 10)
      return { start: `'${start}'`, end: `'${after}'`, optional: false }
    }
    this.#refuse(
      'bad_value',
      position,
      `${JSON.stringify(text)} is not a period of a metric block.`,
      'Write two days such as 2024-01-01..2024-03-31, or $NAME of a variable of the type period.',
    )
    return null
  }

  #where(text: string): Node | null {
    try {
      const tree = parseRowExpression(text)
      for (const node of nodesOf(tree))
        if (node.kind === 'variable')
          this.#variable(node.name.split('.')[0]!, this.#yaml.positionInText(['where'])(node.at))
      return tree
    } catch (error) {
      if (!(error instanceof SqlTextFault)) throw error
      this.#refuse(
        'bad_value',
        this.#yaml.positionInText(['where'])(error.at),
        `where: ${error.message}`,
        error.remedy,
      )
      return null
    }
  }
}

/** Returns the block and its sources. `by` of several metrics are texts, because their types may differ. */
function expand(fence: Fence, use: Use, metrics: Metric[]): { block: SqlBlock; sources: Source[] } {
  const sources: Source[] = []
  const inBlock: MetricInBlock[] = []
  const selects: string[] = []
  for (const metric of metrics) {
    const by = use.by === 'all' ? metric.dimensions : use.by
    const wanted: Wanted = { by, grain: use.grain ?? metric.time.grain, period: use.period, where: use.where }
    const found = isRemote(metric) ? overConnection(fence, metric, wanted) : overFile(fence, metric, wanted)
    sources.push(...found.sources)
    inBlock.push({
      info: infoOf(metric, wanted.grain),
      tests: found.tests,
      relation: found.relation,
      columns: namedColumns(metric),
      by,
      kept: found.kept,
    })
    selects.push(use.variable ? named(metric, found.sql, by) : found.sql)
  }
  const sql =
    selects.length === 1 ? selects[0]! : selects.map((one) => `(${one})`).join(' union all by name ')
  const ordered = use.variable ? `select * from (${sql}) order by metric, "time"` : sql
  return {
    block: { kind: 'sql', name: fence.name, sql: ordered, line: fence.line, metrics: inBlock },
    sources,
  }
}

function isRemote({ source }: Metric): boolean {
  return source.file === null
}

function infoOf(metric: Metric, grain: Grain): MetricInfo {
  const {
    source: _source,
    value: _value,
    ratio: _ratio,
    where: _where,
    rows: _rows,
    partitions: _partitions,
    lines: _lines,
    ...info
  } = metric
  return { ...info, time: { ...info.time, grain } }
}

function named(metric: Metric, sql: string, by: string[]): string {
  const texts = by.map((name) => `cast(${DUCKDB.identifier(name)} as varchar) as ${DUCKDB.identifier(name)}`)
  const replaced = texts.length > 0 ? ` replace (${texts.join(', ')})` : ''
  const ratio = metric.ratio ? '' : ', null::double as numerator, null::double as denominator'
  return `select '${metric.metric}' as metric, *${replaced}${ratio} from (${sql})`
}

interface Expanded {
  sources: Source[]
  sql: string
  tests: string | null
  relation: string | null
  kept: string[]
}

/**
 * Returns the block over the rows of a file. The source's name has a blank, which a template's own sources and blocks
 * cannot have.
 */
function overFile(fence: Fence, metric: Metric, wanted: Wanted): Expanded {
  const { columns, dialect } = metric.source
  const bucket = metric.source.connection === null ? bucketPath(metric.source.file!) : null
  const { file, connection } = bucket ?? metric.source
  const name = `rows of ${metric.metric}`
  const position = { line: fence.line, column: 1 }
  const source: Source = {
    name,
    connection: connection === null ? null : { name: connection, ...position },
    file,
    query: null,
    columns,
    dialect,
    rows: ruleOf(metric, position),
    ...position,
  }
  return {
    sources: [source],
    sql: fileSql(metric, name, wanted),
    tests: fileTests(metric, name),
    relation: name,
    kept: [],
  }
}

/** Returns the rule with all its positions at the fence, because its definition stands in another file. */
function ruleOf({ rows }: Metric, position: Position): RowRule | null {
  return rows && { ...rows, placeOf: () => position }
}

function overConnection(fence: Fence, metric: Metric, wanted: Wanted): Expanded {
  const position = { line: fence.line, column: 1 }
  const ruleColumns = (kind: string): string => remoteRuleColumns(metric, dialectOf(kind))
  const rule = metric.rows ? { rule: ruleOf(metric, position), ruleColumns } : {}
  const sourceOf = (name: string, textFor: NonNullable<SourceQuery['textFor']>): Source => ({
    name,
    connection: { name: metric.source.connection!, ...position },
    file: null,
    query: {
      text: textFor('postgresql', null),
      placeOf: () => position,
      textFor,
      zone: metric.time.zone,
      ...rule,
    },
    columns: {},
    dialect: {},
    ...position,
  })
  const series = `series of ${fence.name} ${metric.metric}`
  const added = sourceOf(series, (kind, condition) => remoteSql(metric, wanted, dialectOf(kind), condition))
  const timeFor = (kind: string): string => remoteTime(metric, dialectOf(kind))
  const partitions = partitionedQuery(metric, wanted)
  const kept = partitions ? { partitions } : {}
  const sources: Source[] = [{ ...added, query: { ...added.query!, timeFor, ...kept } }]
  const sql = partitions ? seriesSql(metric, series, wanted) : receivedSql(metric, series, wanted)
  const shown = { sql, relation: null }
  const isSeriesKept = partitions ? [series] : []
  if (metric.tests.length === 0) return { ...shown, sources, tests: null, kept: isSeriesKept }
  const tests = `tests of ${metric.metric}`
  const tested = sourceOf(tests, (kind, condition) => remoteTests(metric, dialectOf(kind), condition))
  const counted = partitionedTests(metric)
  sources.push(counted ? { ...tested, query: { ...tested.query!, timeFor, partitions: counted } } : tested)
  const days = [...isSeriesKept, ...(counted ? [tests] : [])]
  return { ...shown, sources, tests: receivedTests(metric, tests), kept: days }
}
