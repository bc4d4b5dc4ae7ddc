/** Prints the expressions of a method's SELECT for another engine (print-tree.ts), each with the type of its values. */
import type { Dialect } from './dialect.ts'
import { type Call, FUNCTIONS, QUANTILES } from './functions.ts'
import { NotAsked, type Place, type Printed, resolved, type ValueType } from './scope.ts'
import type { Tree, TreeQuery } from './tree.ts'

const AGGREGATES = new Set([
  'median',
  'quantile_cont',
  'quantile_disc',
  'count',
  'count_star',
  'sum',
  'fsum',
  'avg',
  'favg',
  'min',
  'max',
  'any_value',
  'bool_and',
  'bool_or',
])
const COMPARISONS: Record<string, string> = {
  COMPARE_EQUAL: '=',
  COMPARE_NOTEQUAL: '<>',
  COMPARE_LESSTHAN: '<',
  COMPARE_LESSTHANOREQUALTO: '<=',
  COMPARE_GREATERTHAN: '>',
  COMPARE_GREATERTHANOREQUALTO: '>=',
}
const CASTS: Record<string, ValueType> = {
  DOUBLE: 'double',
  VARCHAR: 'word',
  BIGINT: 'integer',
  INTEGER: 'integer',
  DATE: 'date',
  TIMESTAMP: 'clock',
}

export class ValuePrinter {
  readonly dialect: Dialect
  readonly #places: readonly Place[]
  readonly #values: Readonly<Record<string, string | number | boolean | null>>
  readonly #query: (node: TreeQuery) => { sql: string; columns: readonly { type: ValueType }[] }

  constructor(
    dialect: Dialect,
    places: readonly Place[],
    values: Readonly<Record<string, string | number | boolean | null>>,
    query: (node: TreeQuery) => { sql: string; columns: readonly { type: ValueType }[] },
  ) {
    this.dialect = dialect
    this.#places = places
    this.#values = values
    this.#query = query
  }

  condition(tree: Tree): string {
    return this.print(tree).sql
  }

  /** Sorts nulls last, as DuckDB does. */
  sorted(sql: string, descending: boolean): string {
    return `case when ${sql} is null then 1 else 0 end, ${sql}${descending ? ' desc' : ''}`
  }

  /** Tells whether an expression holds an aggregate. */
  adds(tree: Tree): boolean {
    if (tree.class === 'FUNCTION' && AGGREGATES.has(tree.function_name!)) return true
    return partsOf(tree).some((one) => this.adds(one))
  }

  print(tree: Tree): Printed {
    switch (tree.class) {
      case 'COLUMN_REF': {
        const found = resolved(this.#places, tree.column_names!)
        if (!found) throw new NotAsked(`column ${tree.column_names!.join('.')}`)
        return found
      }
      case 'CONSTANT':
        return this.#constant(tree)
      case 'PARAMETER':
        return this.literal(this.#values[tree.identifier!] ?? null)
      case 'CAST':
        return this.#cast(tree)
      case 'CASE':
        return this.#case(tree)
      case 'COMPARISON':
        return this.#comparison(tree)
      case 'CONJUNCTION':
        return this.#conjunction(tree)
      case 'BETWEEN': {
        const [input, lower, upper] = [tree.input!, tree.lower!, tree.upper!].map(
          (one) => this.print(one).sql,
        )
        return truth(`(${input} >= ${lower} and ${input} <= ${upper})`)
      }
      case 'OPERATOR':
        return this.#operator(tree)
      case 'SUBQUERY':
        return this.#subquery(tree)
      case 'WINDOW':
        return this.#window(tree)
      case 'FUNCTION':
        return this.#function(tree)
      default:
        throw new NotAsked(tree.class)
    }
  }

  literal(value: string | number | boolean | null): Printed {
    const { dialect } = this
    if (value === null) return { sql: 'null', type: 'nothing', constant: null }
    if (typeof value === 'string') return { sql: dialect.text(value), type: 'word', constant: value }
    if (typeof value === 'boolean')
      return { sql: value ? '(1 = 1)' : '(1 = 0)', type: 'boolean', constant: value }
    return Number.isInteger(value) && Math.abs(value) < 2 ** 31
      ? { sql: value < 0 ? `(${value})` : String(value), type: 'integer', constant: value }
      : { sql: dialect.number(value), type: 'double', constant: value }
  }

  #constant({ value }: Tree): Printed {
    const { type, is_null, value: found = null } = value!
    if (is_null) return this.literal(null)
    if (type.id === 'DECIMAL') {
      const number = Number(found) / 10 ** (type.type_info?.scale ?? 0)
      return { sql: this.dialect.number(number), type: 'double', constant: number }
    }
    if (type.id === 'DOUBLE')
      return { sql: this.dialect.number(Number(found)), type: 'double', constant: Number(found) }
    return this.literal(found)
  }

  /** Returns the SQL of a value as a double, whatever kind of number it is. */
  double(one: Printed): string {
    if (typeof one.constant === 'number') return this.dialect.number(one.constant)
    return one.type === 'integer' || one.type === 'boolean' ? this.dialect.double(one.sql) : one.sql
  }

  #cast(tree: Tree): Printed {
    const type = CASTS[tree.cast_type!.id]
    const { dialect } = this
    const exact = type === 'word' ? exactSumOf(tree.child!) : null
    if (exact) return { sql: dialect.exact(this.double(this.print(exact.value)), exact.scale), type: 'sum' }
    const one = this.print(tree.child!)
    // The tree writes true and false as "t" and "f".
    if (tree.cast_type!.id === 'BOOLEAN' && typeof one.constant === 'string')
      return this.literal(one.constant === 't')
    if (type === undefined) throw new NotAsked(`cast to ${tree.cast_type!.id}`)
    if (type === 'double')
      return {
        sql: typeof one.constant === 'number' ? dialect.number(one.constant) : dialect.double(one.sql),
        type,
      }
    if (type === one.type) return one
    if (type === 'date' && typeof one.constant === 'string') return { sql: dialect.day(one.constant), type }
    if (type === 'date') return { sql: dialect.step(one.sql, 'day'), type }
    // functions.ts distinguishes a date from a time of the day.
    if (type === 'clock') return one.type === 'date' ? one : { sql: one.sql, type }
    if (type === 'integer' && one.type === 'boolean')
      return { sql: `case when ${one.sql} then 1 when not ${one.sql} then 0 end`, type }
    if (type === 'integer') return { sql: dialect.integer(one.sql), type }
    return this.#asWord(one)
  }

  #asWord(one: Printed): Printed {
    const { dialect } = this
    if (one.type === 'nothing') return one
    if (one.type === 'boolean')
      return { sql: `case when ${one.sql} then 'true' when not ${one.sql} then 'false' end`, type: 'word' }
    if (one.type === 'integer' || one.type === 'date') return { sql: dialect.written(one.sql), type: 'word' }
    if (one.type === 'clock') return { sql: dialect.written(one.sql), type: 'stamp' }
    // Each database writes a double with other digits.
    throw new NotAsked(`${one.type} as text`)
  }

  #case(tree: Tree): Printed {
    const kept: { when: string; result: Printed }[] = []
    let otherwise: Printed | null = null
    for (const { when_expr, then_expr } of tree.case_checks!) {
      const when = this.print(when_expr)
      if (when.constant === false) continue
      if (when.constant === true) {
        otherwise = this.print(then_expr)
        break
      }
      kept.push({ when: when.sql, result: this.print(then_expr) })
    }
    otherwise ??= tree.else_expr ? this.print(tree.else_expr) : this.literal(null)
    if (kept.length === 0) return otherwise
    const type = this.#common([...kept.map(({ result }) => result), otherwise])
    const as = (one: Printed): string =>
      type === 'double' && one.type !== 'nothing' ? this.double(one) : one.sql
    const whens = kept.map(({ when, result }) => `when ${when} then ${as(result)}`)
    const end = otherwise.type === 'nothing' ? '' : ` else ${as(otherwise)}`
    return { sql: `(case ${whens.join(' ')}${end} end)`, type }
  }

  #common(all: readonly Printed[]): ValueType {
    const types = new Set(all.map(({ type }) => type))
    types.delete('nothing')
    if (types.has('double')) return 'double'
    return [...types][0] ?? 'nothing'
  }

  /** Prints AND and OR. A known part that decides the result replaces the rest. */
  #conjunction(tree: Tree): Printed {
    const decides = tree.type !== 'CONJUNCTION_AND'
    const parts: string[] = []
    for (const child of tree.children!) {
      const one = this.print(child)
      if (one.constant === decides) return this.literal(decides)
      if (one.constant === undefined) parts.push(one.sql)
    }
    if (parts.length === 0) return this.literal(!decides)
    return truth(`(${parts.join(decides ? ' or ' : ' and ')})`)
  }

  #comparison(tree: Tree): Printed {
    const [left, right] = [this.print(tree.left!), this.print(tree.right!)]
    if (tree.type === 'COMPARE_NOT_DISTINCT_FROM') return truth(this.dialect.same(left.sql, right.sql))
    const sign = COMPARISONS[tree.type]
    if (sign === undefined) throw new NotAsked(tree.type)
    return truth(`(${left.sql} ${sign} ${right.sql})`)
  }

  #operator(tree: Tree): Printed {
    const all = tree.children!.map((one) => this.print(one))
    const [first] = all as [Printed]
    switch (tree.type) {
      case 'OPERATOR_IS_NULL':
        return truth(`(${first.sql} is null)`)
      case 'OPERATOR_IS_NOT_NULL':
        return truth(`(${first.sql} is not null)`)
      case 'OPERATOR_NOT': {
        const [inner] = tree.children as [Tree]
        // Null is neither finite nor infinite.
        if (inner.function_name === 'isfinite')
          return truth(`(not ${first.sql} and ${this.print(inner.children![0]!).sql} is not null)`)
        return {
          ...truth(`(not ${first.sql})`),
          ...(typeof first.constant === 'boolean' ? { constant: !first.constant } : {}),
        }
      }
      case 'OPERATOR_COALESCE': {
        const type = this.#common(all)
        const each = all.map((one) => (type === 'double' ? this.double(one) : one.sql))
        return { sql: `coalesce(${each.join(', ')})`, type }
      }
      case 'COMPARE_IN':
      case 'COMPARE_NOT_IN': {
        const known = all.map(({ constant }) => constant)
        const among = known.slice(1)
        const not = tree.type === 'COMPARE_NOT_IN'
        if (!known.includes(undefined)) {
          const found = among.includes(known[0]) !== not
          return { ...truth(found ? '(1 = 1)' : '(1 = 0)'), constant: found }
        }
        const list = all.slice(1).map(({ sql }) => sql)
        return truth(`(${first.sql} ${not ? 'not ' : ''}in (${list.join(', ')}))`)
      }
      default:
        throw new NotAsked(tree.type)
    }
  }

  #subquery(tree: Tree): Printed {
    const { sql, columns } = this.#query(tree.subquery!.node)
    if (tree.subquery_type === 'SCALAR') return { sql: `(${sql})`, type: columns[0]!.type }
    if (tree.subquery_type !== 'ANY' || tree.comparison_type !== 'COMPARE_EQUAL')
      throw new NotAsked('subquery')
    return truth(`(${this.print(tree.child!).sql} in (${sql}))`)
  }

  /** Returns the number of rows of a frame that ends before the present row. */
  #rowsBefore({ end_expr: end }: Tree): number {
    const rows = end?.class === 'CONSTANT' ? end.value?.value : undefined
    if (typeof rows !== 'number') throw new NotAsked('a frame')
    return rows
  }

  #window(tree: Tree): Printed {
    const parts = (tree.partitions ?? []).map((one) => this.print(one).sql)
    const orders = (tree.orders ?? []).map(({ type, expression }) =>
      this.sorted(this.print(expression).sql, type === 'DESCENDING'),
    )
    const over = [
      ...(parts.length > 0 ? [`partition by ${parts.join(', ')}`] : []),
      ...(orders.length > 0 ? [`order by ${orders.join(', ')}`] : []),
      ...(tree.end === 'CURRENT_ROW_ROWS' ? ['rows unbounded preceding'] : []),
      ...(tree.end === 'EXPR_PRECEDING_ROWS'
        ? [`rows between unbounded preceding and ${this.#rowsBefore(tree)} preceding`]
        : []),
    ].join(' ')
    if (tree.type === 'WINDOW_LAG' && parts.length === 0 && orders.length === 1) {
      const one = this.print(tree.children![0]!)
      return { sql: this.dialect.previous(one.sql, orders[0]!), type: one.type }
    }
    if (['WINDOW_ROW_NUMBER', 'WINDOW_RANK', 'WINDOW_RANK_DENSE'].includes(tree.type))
      return { sql: `${tree.function_name!}() over (${over})`, type: 'integer' }
    if (tree.type !== 'WINDOW_AGGREGATE') throw new NotAsked(tree.type)
    return this.#function(tree, ` over (${over})`)
  }

  #function(tree: Tree, over = ''): Printed {
    const name = tree.function_name!
    const call = FUNCTIONS[name]
    if (!call) throw new NotAsked(name)
    if (name === 'make_timestamp') return this.#ofMoment(tree.children![0]!)
    const all = (tree.children ?? []).map((one) => this.print(one))
    const ranked = QUANTILES.has(name) ? tree.children![0] : undefined
    const rank = ranked && this.#places.map((place) => place.rankOf?.(ranked)).find((one) => one)
    return call({
      ...(rank ? { rank } : {}),
      all,
      over,
      printer: this,
      distinct: tree.distinct === true,
      only: this.#only(tree),
    })
  }

  /** Prints `make_timestamp(epoch_us(MOMENT))`, as columns.ts writes a moment on the clock of UTC. */
  #ofMoment(tree: Tree): Printed {
    if (tree.function_name !== 'epoch_us') throw new NotAsked('make_timestamp')
    const sql = this.dialect.local(this.print(tree.children![0]!).sql, 'UTC')
    if (sql === null) throw new NotAsked('moment')
    return { sql, type: 'clock' }
  }

  /** Returns the function that applies an aggregate's filter to its argument. */
  #only({ filter }: Tree): Call['only'] {
    if (!filter) return (sql) => sql
    const condition = this.condition(filter)
    return (sql) => `case when ${condition} then ${sql} end`
  }
}

export const partsOf = (tree: Tree): Tree[] => [
  ...(tree.children ?? []),
  ...(tree.case_checks ?? []).flatMap((check) => [check.when_expr, check.then_expr]),
  ...[tree.child, tree.left, tree.right, tree.else_expr].filter((one) => one !== undefined),
]

export const truth = (sql: string): Printed => ({ sql, type: 'boolean' })

/**
 * Returns the value and the scale of `cast(sum(cast(VALUE SCALE as hugeint)) as varchar)`, as shared/sums.ts writes
 * it.
 */
function exactSumOf(tree: Tree): { value: Tree; scale: number } | null {
  if (tree.function_name !== 'sum') return null
  const [cast] = tree.children!
  if (cast?.class !== 'CAST' || cast.cast_type?.id !== 'HUGEINT') return null
  const [value, scale] = cast.child!.children!
  return { value: value!, scale: Number(scale!.child!.value!.value) }
}
