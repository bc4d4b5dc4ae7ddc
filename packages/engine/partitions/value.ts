/**
 * Splits the value of a metric into statistics that can be kept. Each aggregate of it becomes a column, and an average
 * becomes a sum and a count. The rest is computed here, once the days are added up.
 */
import type { StatisticKind } from '@assay/model/metric'
import { DUCKDB } from '../dialects/duckdb.ts'
import type { Metric } from '../metrics/definition.ts'
import type { Node } from '../metrics/expression.ts'
import { printExpression } from '../metrics/print.ts'

export interface Statistic {
  kind: StatisticKind
  /** The expression; null counts rows. */
  of: Node | null
}

type Aggregate = Extract<Node, { kind: 'aggregate' }>

const KINDS = { sum: 'sum', min: 'least', max: 'most', count: 'count' } as const

export const statisticName = (index: number): string => `statistic ${index}`

export class MetricValue {
  readonly statistics: Statistic[] = []
  /** The SQL of the engine over the statistics, by the names of the columns of a series. */
  readonly columns: Readonly<Record<string, string>>

  constructor({ value, ratio }: Pick<Metric, 'value' | 'ratio'>) {
    const printed = (node: Node): string => printExpression(this.#computed(node), DUCKDB)
    this.columns = {
      value: printed(value),
      ...(ratio ? { numerator: printed(ratio.numerator), denominator: printed(ratio.denominator) } : {}),
    }
  }

  /** Returns the node with a column in place of each aggregate. */
  #computed(node: Node): Node {
    const of = (inner: Node): Node => this.#computed(inner)
    switch (node.kind) {
      case 'aggregate':
        return this.#taken(node)
      case 'binary':
        return { ...node, left: of(node.left), right: of(node.right) }
      case 'not':
      case 'minus':
      case 'is_null':
        return { ...node, of: of(node.of) }
      case 'in':
        return { ...node, of: of(node.of), list: node.list.map(of) }
      case 'case': {
        const branches = node.branches.map(({ when, result }) => ({ when: of(when), result: of(result) }))
        return { ...node, branches, otherwise: node.otherwise && of(node.otherwise) }
      }
      default:
        return node
    }
  }

  #taken(node: Aggregate): Node {
    const { name, of, distinct } = node
    if (name === 'avg') {
      const left = this.#column('sum', of)
      return { kind: 'binary', operator: '/', left, right: this.#column('count', of) }
    }
    if (distinct) return this.#column('distinct', of)
    return this.#column(of === null ? 'rows' : KINDS[name], of)
  }

  #column(kind: StatisticKind, of: Node | null): Node {
    const key = keyOf({ kind, of })
    const known = this.statistics.findIndex((one) => keyOf(one) === key)
    const index = known < 0 ? this.statistics.push({ kind, of }) - 1 : known
    return { kind: 'column', name: statisticName(index), at: 0 }
  }
}

/** Returns a key that is the same for equal statistics. */
const keyOf = (statistic: Statistic): string =>
  JSON.stringify(statistic, (key, value: unknown) => (key === 'at' ? undefined : value))
