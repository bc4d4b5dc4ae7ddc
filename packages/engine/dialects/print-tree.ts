/**
 * Prints the SELECT that a method wrote for DuckDB for another database, from DuckDB's own parse tree. The set of nodes
 * is closed: a node that neither this file nor print-values.ts lists throws NotAsked. Every column gets a name of its
 * own, qualified by its table, so that no database's rules of names matter. A query named by `with` is written out at
 * each place that reads it.
 */
import type { Column } from '@assay/model/insight'
import type { Dialect } from './dialect.ts'
import { BETWEEN, QUANTILES } from './functions.ts'
import { partsOf, ValuePrinter } from './print-values.ts'
import {
  type Named,
  NotAsked,
  type Place,
  type Printed,
  type Rank,
  resolved,
  typeOf,
  type ValueType,
} from './scope.ts'
import type { Tree, TreeFrom, TreeOrder, TreeQuery } from './tree.ts'

export interface Base {
  /** The name of the relation in the method's SQL. */
  relation: string
  columns: readonly Column[]
  /** The author's query, in the engine's SQL. */
  query: string
}

export interface Statement {
  sql: string
  /** The columns of the query in their order, with the names that they have there. */
  columns: Query['columns']
}

export type Values = Readonly<Record<string, string | number | boolean | null>>
type Shared = ReadonlyMap<string, { query: TreeQuery; shared: Shared }>

/** A query with the names that its columns have in its SQL. */
interface Query {
  sql: string
  columns: (Named & { own: string })[]
}

const NO_COLUMNS: ReadonlySet<string> = new Set()

export class TreePrinter {
  readonly #dialect: Dialect
  readonly #base: Base
  readonly #values: Values
  #names = 0
  /** The columns that the base must provide, by the place that reads them. */
  readonly #read: { marker: string; used: Map<string, Printed & { own: string }> }[] = []

  constructor(dialect: Dialect, base: Base, values: Values) {
    this.#dialect = dialect
    this.#base = base
    this.#values = values
  }

  print(node: TreeQuery): Statement {
    const { sql, columns } = this.#query(node, new Map())
    const whole = this.#read.reduce(
      (text, { marker, used }) => text.replaceAll(marker, () => this.#baseSql([...used])),
      sql,
    )
    return { sql: whole, columns }
  }

  #name(): string {
    this.#names += 1
    return `c${this.#names}`
  }

  #query(node: TreeQuery, outer: Shared): Query {
    const shared = new Map(outer)
    for (const { key, value } of node.cte_map?.map ?? [])
      shared.set(key, { query: value.query.node, shared: new Map(shared) })
    if (node.type === 'SET_OPERATION_NODE') return this.#union(node, shared)
    if (node.type !== 'SELECT_NODE' || node.sample || node.qualify || node.having)
      throw new NotAsked(node.type)
    return this.#select(node, shared)
  }

  #union(node: TreeQuery, shared: Shared): Query {
    if (node.setop_type !== 'UNION' || node.setop_all === false) throw new NotAsked('union')
    const [left, right] = [this.#query(node.left!, shared), this.#query(node.right!, shared)]
    const union = `select * from (${left.sql}) ${this.#name()} union all select * from (${right.sql}) ${this.#name()}`
    const columns = left.columns.map((one, index) => ({
      ...one,
      type: both(one.type, right.columns[index]!.type),
    }))
    const modifiers = node.modifiers ?? []
    if (modifiers.length === 0) return { sql: union, columns }
    const table = this.#name()
    const place = placeOf(table, null, columns)
    const printer = this.#printer([place], shared)
    const all = columns.map(({ own }) => `${table}.${own} as ${own}`)
    const listed = columns.map(({ name, own, type }) => ({ name, own, sql: `${table}.${own}`, type }))
    return {
      sql: `select ${all.join(', ')} from (${union}) ${table}${this.#ends(node, printer, listed)}`,
      columns,
    }
  }

  #select(node: TreeQuery, shared: Shared): Query {
    const plain = this.#from(node.from_table!, shared)
    const from = { ...plain, where: node.where_clause, ...this.#ranked(node, plain, shared) }
    const printer = this.#printer(from.places, shared)
    const list = (node.select_list ?? []).flatMap((one) => this.#listed(one, from.places, printer))
    const places = from.places
    const aliases = new Map(list.map((one) => [one.name, one]))
    const keys = this.#keys(node, places, printer, list, aliases)
    const where = from.where ? ` where ${printer.condition(from.where)}` : ''
    const columns = list.map((one) => ({ ...one, own: this.#name() }))
    const distinct = (node.modifiers ?? []).some(({ type }) => type === 'DISTINCT_MODIFIER')
    const grouped = distinct ? list.map(({ sql }) => sql) : keys
    const group = grouped.length > 0 ? ` group by ${[...new Set(grouped)].join(', ')}` : ''
    const selected = columns.map(({ sql, own }) => `${sql} as ${own}`)
    const sql = `select ${selected.join(', ')}${from.sql === '' ? '' : ` from ${from.sql}`}${where}${group}${this.#ends(node, printer, columns)}`
    return { sql, columns: columns.map(({ name, type, own }) => ({ name, type, own })) }
  }

  /**
   * For quantiles that the database lacks: returns the rows with the rank of each value in its group, from which functions.ts computes
   * quantiles without a function of the database.
   */
  #ranked(
    node: TreeQuery,
    from: { sql: string; places: Place[] },
    shared: Shared,
  ): { sql: string; places: Place[]; where: undefined } | null {
    const asked = (node.select_list ?? []).flatMap(quantiled)
    if (asked.every((one) => BETWEEN.has(one.function_name!)) && this.#dialect.quantile) return null
    if (asked.length === 0) return null
    if (asked.some(({ filter }) => filter)) throw new NotAsked('quantiles of some rows')
    const values = asked.map((one) => one.children![0]!)
    const printer = this.#printer(from.places, shared)
    const rows = from.places.flatMap((place) =>
      place.all.map(({ name }) => ({ ...place.column(name)!, name, own: this.#name(), alias: place.alias })),
    )
    const keys = (node.group_expressions ?? []).map((key) => printer.print(key).sql)
    const by = keys.length > 0 ? `partition by ${keys.join(', ')}` : ''
    const ranks = new Map(
      values.map((value) => [
        JSON.stringify(value, withoutPlaces),
        { sql: printer.print(value).sql, place: this.#name(), size: this.#name() },
      ]),
    )
    const table = this.#name()
    const list = [
      ...rows.map(({ sql, own }) => `${sql} as ${own}`),
      ...[...ranks.values()].flatMap(({ sql, place, size }) => [
        `row_number() over (${by} order by ${printer.sorted(sql, false)}) as ${place}`,
        `count(${sql}) over (${by}) as ${size}`,
      ]),
    ]
    const where = node.where_clause ? ` where ${printer.condition(node.where_clause)}` : ''
    const sql = `(select ${list.join(', ')} from ${from.sql}${where}) ${table}`
    const places = from.places.map((one) =>
      placeOf(
        table,
        one.alias,
        rows.filter(({ alias }) => alias === one.alias),
      ),
    )
    const rankOf = (value: Tree): Rank | null => {
      const found = ranks.get(JSON.stringify(value, withoutPlaces))
      return found ? { place: `${table}.${found.place}`, size: `${table}.${found.size}` } : null
    }
    return { sql, places: [{ ...places[0]!, rankOf }, ...places.slice(1)], where: undefined }
  }

  #listed(one: Tree, places: readonly Place[], printer: ValuePrinter): (Printed & { name: string })[] {
    if (one.class === 'STAR') {
      return places.flatMap((place) => {
        return place.all
          .filter(({ name }) => !place.merged.has(name))
          .map(({ name }) => ({ ...place.column(name)!, name }))
      })
    }
    return [{ ...printer.print(one), name: one.alias ?? one.column_names?.at(-1) ?? one.function_name ?? '' }]
  }

  /**
   * Returns the keys of GROUP BY: positions or names in the list, or expressions; for `all` every entry that is no
   * aggregate.
   */
  #keys(
    node: TreeQuery,
    places: readonly Place[],
    printer: ValuePrinter,
    list: readonly (Printed & { name: string })[],
    aliases: ReadonlyMap<string, Printed>,
  ): string[] {
    if (node.aggregate_handling === 'FORCE_AGGREGATES')
      return list.filter((_, index) => !printer.adds(node.select_list![index]!)).map(({ sql }) => sql)
    return (node.group_expressions ?? []).map((key) => {
      if (key.class === 'CONSTANT' && typeof key.value?.value === 'number')
        return list[key.value.value - 1]!.sql
      if (key.class === 'COLUMN_REF' && resolved(places, key.column_names!) === null)
        return aliases.get(key.column_names!.at(-1)!)!.sql
      return printer.print(key).sql
    })
  }

  /** Prints order and limit. */
  #ends(node: TreeQuery, printer: ValuePrinter, list: readonly (Printed & { name: string })[]): string {
    let sql = ''
    for (const { type, orders, limit, offset } of node.modifiers ?? []) {
      if (type === 'ORDER_MODIFIER') sql += ` order by ${this.#order(orders ?? [], printer, list)}`
      else if (type === 'LIMIT_MODIFIER' && limit && !offset) sql += ` limit ${printer.print(limit).sql}`
      else if (type !== 'DISTINCT_MODIFIER') throw new NotAsked(type)
    }
    return sql
  }

  #order(
    orders: readonly TreeOrder[],
    printer: ValuePrinter,
    list: readonly (Printed & { name: string })[],
  ): string {
    const each = orders.flatMap(({ type, expression }): { sql: string; type: string }[] => {
      if (expression.class === 'STAR') return list.map(({ sql }) => ({ sql, type }))
      if (expression.class === 'CONSTANT')
        return [{ sql: list[Number(expression.value!.value) - 1]!.sql, type }]
      const named = expression.class === 'COLUMN_REF' && expression.column_names!.length === 1
      const alias = named ? list.find(({ name }) => name === expression.column_names![0]) : undefined
      return [{ sql: alias ? alias.sql : printer.print(expression).sql, type }]
    })
    return each.map(({ sql, type }) => printer.sorted(sql, type === 'DESCENDING')).join(', ')
  }

  #from(node: TreeFrom, shared: Shared): { sql: string; places: Place[] } {
    if (node.type === 'EMPTY') return { sql: '', places: [] }
    if (node.type === 'JOIN') return this.#join(node, shared)
    if (node.type === 'SUBQUERY')
      return this.#table(this.#query(node.subquery!.node, shared), node.alias ?? null)
    if (node.type !== 'BASE_TABLE') throw new NotAsked(node.type)
    const name = node.table_name!
    const named = shared.get(name)
    if (named) return this.#table(this.#query(named.query, named.shared), node.alias ?? name)
    if (name !== this.#base.relation) throw new NotAsked(name)
    return this.#baseTable(node.alias ?? name)
  }

  #table({ sql, columns }: Query, alias: string | null): { sql: string; places: Place[] } {
    const table = this.#name()
    return { sql: `(${sql}) ${table}`, places: [placeOf(table, alias, columns)] }
  }

  #join(node: TreeFrom, shared: Shared): { sql: string; places: Place[] } {
    const [left, right] = [this.#from(node.left!, shared), this.#from(node.right!, shared)]
    if (node.ref_type === 'CROSS')
      return { sql: `${left.sql} cross join ${right.sql}`, places: [...left.places, ...right.places] }
    if (node.ref_type !== 'REGULAR' || node.join_type !== 'INNER') throw new NotAsked(`${node.ref_type} join`)
    const using = new Set(node.using_columns)
    const both = [...left.places, ...right.places]
    const conditions = [...using].map((name) => {
      const [one, other] = [left, right].map(({ places }) => resolved(places, [name])!.sql)
      return `${one} = ${other}`
    })
    if (node.condition) conditions.push(this.#printer(both, shared).condition(node.condition))
    const places = [
      ...left.places,
      ...right.places.map((place) => ({ ...place, merged: new Set([...place.merged, ...using]) })),
    ]
    return { sql: `${left.sql} join ${right.sql} on ${conditions.join(' and ')}`, places }
  }

  #baseTable(alias: string): { sql: string; places: Place[] } {
    const table = this.#name()
    const marker = `<the rows of ${table}>`
    const used = new Map<string, Printed & { own: string }>()
    this.#read.push({ marker, used })
    const column = (name: string): Printed | null => {
      const found = this.#base.columns.find((one) => one.name === name)
      if (!found) return null
      const type = typeOf(found)
      if (type === null) throw new NotAsked(found.database_type)
      const known = used.get(name) ?? { own: this.#name(), sql: '', type }
      used.set(name, known)
      return { sql: `${table}.${known.own}`, type }
    }
    const all = this.#base.columns.flatMap((one) => {
      const type = typeOf(one)
      return type === null ? [] : [{ name: one.name, type }]
    })
    return { sql: `(${marker}) ${table}`, places: [{ alias, column, all, merged: NO_COLUMNS }] }
  }

  #baseSql(used: readonly (readonly [string, Printed & { own: string }])[]): string {
    const columns = used.map(([name, { own, type }]) => {
      const quoted = this.#dialect.identifier(name)
      const value = type === 'word' ? this.#dialect.word(quoted) : quoted
      return `${this.#dialect.column(value)} as ${own}`
    })
    const list = columns.length === 0 ? '1 as c0' : columns.join(', ')
    return `select ${list} from (\n${this.#base.query}\n) asked`
  }

  #printer(places: readonly Place[], shared: Shared): ValuePrinter {
    const scalar = (node: TreeQuery): Query => this.#query(node, shared)
    return new ValuePrinter(this.#dialect, places, this.#values, scalar)
  }
}

/** Returns the type of a column that comes from two queries. */
function both(one: ValueType, other: ValueType): ValueType {
  if (one === other || other === 'nothing') return one
  if (one === 'nothing') return other
  if (one === 'integer' && other === 'double') return other
  if (one === 'double' && other === 'integer') return one
  throw new NotAsked(`${one} and ${other} in one column`)
}

/** Removes positions, because one expression may stand at two places of the SQL. */
const withoutPlaces = (key: string, value: unknown): unknown => (key === 'query_location' ? undefined : value)

/** Returns the quantiles that are asked for. */
function quantiled(tree: Tree): Tree[] {
  if (tree.class === 'FUNCTION' && QUANTILES.has(tree.function_name!)) return [tree]
  return partsOf(tree).flatMap(quantiled)
}

function placeOf(table: string, alias: string | null, columns: Query['columns']): Place {
  const byName = new Map(columns.map((one) => [one.name, one]))
  return {
    alias,
    all: columns,
    merged: NO_COLUMNS,
    column(name) {
      const found = byName.get(name)
      return found ? { sql: `${table}.${found.own}`, type: found.type } : null
    },
  }
}
