/**
 * Evaluates `where` of a source, which chooses the rows that are read. It is the small language of metrics, printed
 * for the engine. The names of folders and the statistics of Parquet give the ends of a column; the condition tells
 * whether any row between these ends can count.
 */
import type { Source } from '@assay/model/template'
import { DUCKDB } from '../../dialects/duckdb.ts'
import { queryVariables } from '../../language/remote-query.ts'
import { columnsIn, type Node, nodesOf, parseRowExpression } from '../../metrics/expression.ts'
import { printExpression } from '../../metrics/print.ts'

/** Returns the names of the variables in the query or in the condition of a source, without `.start` and `.end`. */
export function sourceVariables(source: Source): string[] {
  if (!source.where) return queryVariables(source)
  const nodes = [...nodesOf(parseRowExpression(source.where.text))]
  const names = nodes.flatMap((node) => (node.kind === 'variable' ? [node.name.split('.')[0]!] : []))
  return [...new Set(names)]
}

/** The SQL of each end of a column; null if it is not known. */
export interface Ends {
  low: string
  high: string
}

export class RowCondition {
  readonly #tree: Node
  readonly columns: readonly string[]

  /** Makes the condition. `vars`: the variables with periods resolved; null leaves every variable unknown. */
  constructor(text: string, vars: Readonly<Record<string, unknown>> | null) {
    this.#tree = settled(parseRowExpression(text), vars ?? {})
    this.columns = columnsIn(this.#tree)
  }

  get sql(): string {
    return printExpression(this.#tree, DUCKDB)
  }

  /**
   * Returns SQL that tells whether a row with values between these ends can count. An end that is not known excludes
   * nothing.
   */
  mayHold(endsOf: (column: string) => Ends | null): string {
    return mayHold(this.#tree, endsOf)
  }
}

function settled(node: Node, vars: Readonly<Record<string, unknown>>): Node {
  const of = (inner: Node): Node => settled(inner, vars)
  switch (node.kind) {
    case 'variable':
      return valuesOf(node.name, vars)[0] ?? NOTHING
    case 'binary':
      return { ...node, left: of(node.left), right: of(node.right) }
    case 'not':
    case 'minus':
    case 'is_null':
      return { ...node, of: of(node.of) }
    case 'in': {
      const list = node.list.flatMap((one) =>
        one.kind === 'variable' ? valuesOf(one.name, vars) : [of(one)],
      )
      return { ...node, of: of(node.of), list: list.length > 0 ? list : [NOTHING] }
    }
    case 'case':
      return {
        ...node,
        branches: node.branches.map(({ when, result }) => ({ when: of(when), result: of(result) })),
        otherwise: node.otherwise && of(node.otherwise),
      }
    default:
      return node
  }
}

const NOTHING: Node = { kind: 'constant', value: 'null' }

/** Returns the values of a variable as literals: one, or those of a list. */
function valuesOf(name: string, vars: Readonly<Record<string, unknown>>): Node[] {
  const [variable, field] = name.split('.') as [string, string?]
  const given = vars[variable] ?? null
  const value = field === undefined ? given : (given as Record<string, unknown> | null)?.[field]
  return [value].flat().map(literalOf)
}

function literalOf(value: unknown): Node {
  if (typeof value === 'string') return { kind: 'text', value }
  if (typeof value === 'boolean') return { kind: 'constant', value: value ? 'true' : 'false' }
  if (typeof value !== 'number' || !Number.isFinite(value)) return NOTHING
  const size: Node = { kind: 'number', text: String(Math.abs(value)) }
  return value < 0 ? { kind: 'minus', of: size } : size
}

const isKnown = (node: Node): boolean =>
  node.kind === 'number' || node.kind === 'text' || (node.kind === 'minus' && node.of.kind === 'number')

const MIRRORED: Readonly<Record<string, string>> = { '<': '>', '<=': '>=', '>': '<', '>=': '<=', '=': '=' }

function mayHold(node: Node, endsOf: (column: string) => Ends | null): string {
  if (node.kind === 'in' && !node.not && node.list.every(isKnown)) {
    const each = node.list.map((value) => compared(node.of, '=', value, endsOf))
    return `(${each.join(' or ')})`
  }
  if (node.kind !== 'binary') return 'true'
  const { operator, left, right } = node
  if (operator === 'and' || operator === 'or')
    return `(${mayHold(left, endsOf)} ${operator} ${mayHold(right, endsOf)})`
  const turned = MIRRORED[operator]
  if (turned === undefined) return 'true'
  return isKnown(left) ? compared(right, turned, left, endsOf) : compared(left, operator, right, endsOf)
}

function compared(
  column: Node,
  operator: string,
  value: Node,
  endsOf: (column: string) => Ends | null,
): string {
  const ends = column.kind === 'column' && isKnown(value) ? endsOf(column.name) : null
  if (!ends) return 'true'
  const than = printExpression(value, DUCKDB)
  const { low, high } = ends
  const holds =
    operator === '='
      ? `${low} <= ${than} and ${high} >= ${than}`
      : operator.startsWith('<')
        ? `${low} ${operator} ${than}`
        : `${high} ${operator} ${than}`
  return `coalesce(${holds}, true)`
}
