/**
 * Makes random statements over DuckDB's grammar from a seed. Most are queries over two sources with hostile parts:
 * views of the catalog, files, settings, functions of every kind, names that have two meanings. Numbers stay small,
 * so that every admitted statement can also be run.
 */
import type { Lists } from './lists.ts'

export type Random = () => number

/** The sources' columns. `current_date` and `user` are also names that the engine answers from the clock and the session. */
export const SOURCES: Record<string, readonly string[]> = {
  flights: ['id', 'origin', 'delay', 'day', 'tags'],
  Airports: ['code', 'city', 'current_date', 'user'],
}
const COLUMNS = Object.values(SOURCES).flat()

export interface Outside {
  /** The paths of files that exist and are not sources. */
  files: readonly string[]
  /** The names of tables, views, types, macros and databases that exist beside the sources. */
  relations: readonly string[]
  types: readonly string[]
  macros: readonly string[]
}

export class Grammar {
  readonly #random: Random
  readonly #lists: Lists
  readonly #outside: Outside
  /** How often an outside name or value is chosen. */
  #hostile = 0
  #ctes: string[] = []

  constructor(random: Random, lists: Lists, outside: Outside) {
    this.#random = random
    this.#lists = lists
    this.#outside = outside
  }

  #chance(share: number): boolean {
    return this.#random() < share
  }

  #of<T>(all: readonly T[]): T {
    return all[Math.floor(this.#random() * all.length)]!
  }

  #some(least: number, most: number, make: () => string, by = ', '): string {
    const count = least + Math.floor(this.#random() * (most - least + 1))
    return Array.from({ length: count }, make).join(by)
  }

  #any(...makers: (() => string)[]): string {
    return this.#of(makers)()
  }

  #outsideHere(): boolean {
    return this.#chance(this.#hostile)
  }

  /** Makes a statement. A fifth of them holds no hostile part on purpose. */
  statement(): string {
    this.#hostile = this.#of([0, 0.02, 0.05, 0.1, 0.25])
    this.#ctes = []
    if (this.#chance(0.06)) return this.#other()
    const query = this.#query(3)
    return this.#chance(0.02) ? `${query}; ${this.#query(1)}` : query
  }

  /** Makes a statement that is not a query. */
  #other(): string {
    const { settings, keywords } = this.#lists
    const file = this.#file()
    return this.#any(
      () => `set ${this.#of(settings)} = 1`,
      () => `reset ${this.#of(settings)}`,
      () => `pragma ${this.#name(this.#functions('pragma'))}`,
      () => `pragma ${this.#name(this.#functions('pragma'))}(${file})`,
      () => `prepare p as ${this.#query(1)}`,
      () => `execute p(${this.#expression(1)})`,
      () => `explain ${this.#of(['', 'analyze '])}${this.#query(1)}`,
      () => `copy (${this.#query(1)}) to ${file}`,
      () => `create ${this.#of(['table', 'view', 'temp table'])} t as ${this.#query(1)}`,
      () => `create macro m(x) as ${this.#of(['', 'table '])}${this.#query(1)}`,
      () => `attach ${file} as other`,
      () => `call ${this.#name(this.#functions('table'))}(${file})`,
      () => `${this.#of(keywords)} ${this.#of(keywords)} ${this.#query(1)}`,
      () => `${this.#query(1)} ${this.#of(keywords)} ${this.#relation()}`,
      () => `describe ${this.#query(1)}`,
      () => `summarize ${this.#relation()}`,
      () => `show ${this.#of(['tables', 'all tables', 'databases', this.#relation()])}`,
      () => `pivot ${this.#relation()} on ${this.#column()}`,
    )
  }

  #query(depth: number): string {
    const outer = this.#ctes
    const ctes = depth > 0 && this.#chance(0.3) ? `${this.#with(depth)} ` : ''
    let body = this.#select(depth)
    if (depth > 0 && this.#chance(0.15)) {
      const by = this.#of(['union', 'union all', 'union by name', 'union all by name', 'except', 'intersect'])
      body = this.#chance(0.5)
        ? `${body} ${by} ${this.#select(depth - 1)}`
        : `(${body}) ${by} (${this.#query(depth - 1)})`
    }
    const order = this.#chance(0.15)
      ? ` order by ${this.#any(
          () => this.#expression(depth - 1),
          () => 'all',
          () => '1',
          () => `#${this.#of([1, 2])}`,
        )}`
      : ''
    const limit = this.#chance(0.1)
      ? ` limit ${this.#any(
          () => '5',
          () => '50%',
          () => `(${this.#query(0)})`,
        )}`
      : ''
    this.#ctes = outer
    return ctes + body + order + limit
  }

  #with(depth: number): string {
    const recursive = this.#chance(0.35)
    const tables: string[] = []
    const count = 1 + Math.floor(this.#random() * 2)
    for (let index = 0; index < count; index += 1) {
      const name = this.#unused(tables)
      const kept = this.#chance(0.2) ? this.#of([' materialized', ' not materialized']) : ''
      const columns = this.#chance(0.2) ? '(c)' : ''
      const key = recursive && columns !== '' && this.#chance(0.3) ? ' using key (c)' : ''
      const body = recursive && this.#chance(0.7) ? this.#recursion(name, depth - 1) : this.#query(depth - 1)
      tables.push(`${name}${columns}${key} as${kept} (${body})`)
      this.#ctes = [...this.#ctes, name]
    }
    return `with ${recursive ? 'recursive ' : ''}${tables.join(', ')}`
  }

  /** Returns a name that no table of the same WITH has, in nearly all cases. */
  #unused(tables: readonly string[]): string {
    const name = this.#newName()
    return tables.length > 0 && !this.#chance(0.02) ? (tables[0]!.startsWith('v') ? 'q' : 'v') : name
  }

  #recursion(name: string, depth: number): string {
    const by = this.#of(['union', 'union all'])
    const first = this.#any(
      () => 'select 1 as c',
      () => `from ${name}`,
      () => this.#query(depth),
    )
    const again = this.#any(
      () => `select * from ${name} where false`,
      () => `select c + 1 from ${name} where c < 4`,
      () => `select * from ${name}, ${this.#table(depth)} where false`,
      () => this.#query(depth),
    )
    return `${first} ${by} ${again}`
  }

  #select(depth: number): string {
    if (this.#chance(0.05)) return `values (${this.#some(1, 2, () => this.#expression(depth - 1))})`
    if (this.#chance(0.03)) return `table ${this.#relation()}`
    const from = this.#chance(0.93) ? this.#from(depth) : ''
    if (from !== '' && this.#chance(0.1)) return from
    const distinct = this.#chance(0.08)
      ? this.#of(['distinct ', `distinct on (${this.#expression(0)}) `])
      : ''
    const list = this.#chance(0.3)
      ? 'count(*)'
      : this.#some(1, 3, () => (this.#chance(0.2) ? this.#star(depth) : this.#expression(depth)))
    const tail = [
      this.#chance(0.25) ? ` where ${this.#expression(depth)}` : '',
      this.#chance(0.1)
        ? ` group by ${this.#any(
            () => 'all',
            () => this.#column(),
            () => `cube (${this.#column()})`,
            () => `grouping sets ((${this.#column()}), ())`,
          )}`
        : '',
      this.#chance(0.04) ? ` having ${this.#expression(depth - 1)}` : '',
      this.#chance(0.04) ? ` qualify ${this.#expression(depth - 1)}` : '',
      this.#outsideHere() && this.#chance(0.2) ? ' using sample 2' : '',
    ]
    return this.#chance(0.1) && from !== ''
      ? `${from} select ${distinct}${list}${tail.join('')}`
      : `select ${distinct}${list} ${from}${tail.join('')}`
  }

  #star(depth: number): string {
    return this.#any(
      () => '*',
      () => `* exclude (${this.#column()})`,
      () => `* replace (${this.#expression(depth - 1)} as ${this.#column()})`,
      () => `columns('${this.#of(['.*', 'o.*', 'd'])}')`,
      () => `columns(c -> ${this.#expression(0)} is not null)`,
      () => `${this.#relation()}.*`,
    )
  }

  #from(depth: number): string {
    let text = `from ${this.#table(depth)}`
    const joins = depth > 0 ? this.#of([0, 0, 0, 1, 1, 2]) : 0
    for (let index = 0; index < joins; index += 1) {
      const kind = this.#of([
        'join',
        'left join',
        'full join',
        'semi join',
        'anti join',
        'asof join',
        'positional join',
        'cross join',
        'natural join',
        ',',
        ', lateral',
      ])
      const right = kind === ', lateral' ? `(${this.#query(depth - 1)})` : this.#table(depth - 1)
      const on = /natural|cross|positional|,/.test(kind)
        ? ''
        : ` ${this.#any(
            () => 'on true',
            () => `on ${this.#expression(0)}`,
            () => `using (${this.#column()})`,
          )}`
      text += kind.startsWith(',') ? `${kind} ${right}` : ` ${kind} ${right}${on}`
    }
    return text
  }

  #table(depth: number): string {
    const roll = this.#random()
    const alias = this.#chance(0.25) ? ` as ${this.#newName()}${this.#chance(0.2) ? '(c)' : ''}` : ''
    if (roll < 0.6 || depth <= 0) return this.#relation() + alias
    if (roll < 0.72) return `(${this.#query(depth - 1)})${alias}`
    if (roll < 0.85) return this.#tableFunction(depth) + alias
    if (roll < 0.9) return `(values (${this.#expression(0)}))${alias}`
    if (roll < 0.95) {
      const values = this.#any(
        () => "in (1, 'x')",
        () => `in ${this.#typeName()}`,
        () => `in (${this.#expression(0)})`,
      )
      return `${this.#relation()} pivot (${this.#of(['count(*)', 'max(delay)'])} for ${this.#column()} ${values})`
    }
    return `${this.#relation()} unpivot (v for n in (${this.#column()}))`
  }

  #tableFunction(depth: number): string {
    const kinds = [...this.#functions('table'), ...this.#functions('table_macro')]
    const name = this.#outsideHere()
      ? this.#name(kinds)
      : this.#of(['range', 'generate_series', 'unnest', 'json_each', 'json_tree', 'repeat_row'])
    const given: Record<string, () => string> = {
      range: () => this.#of(['3', '1, 4', '(select 2)']),
      generate_series: () => '1, 3',
      unnest: () => '[1, 2]',
      json_each: () => `'{"a": 1}'`,
      json_tree: () => `'{"a": [1]}'`,
      repeat_row: () => '1, num_rows := 2',
    }
    const values =
      given[name]?.() ??
      this.#any(
        () => '',
        () => this.#file(),
        () => this.#text(),
        () => this.#expression(depth - 1),
      )
    return `${name}(${values})`
  }

  #relation(): string {
    if (this.#outsideHere()) {
      const { views } = this.#lists
      const { relations } = this.#outside
      return this.#any(
        () => this.#name(views),
        () => this.#fold(this.#of(views).split('.').at(-1)!),
        () => this.#name(relations),
        () => `${this.#of(['memory.main', 'main', 'system.main', 'temp', 'other'])}.${this.#of(relations)}`,
        () => this.#file(),
        () => `"${this.#of(this.#outside.files)}"`,
        () => this.#name(this.#lists.keywords),
      )
    }
    if (this.#ctes.length > 0 && this.#chance(0.6)) return this.#fold(this.#of(this.#ctes))
    return this.#fold(this.#of(Object.keys(SOURCES)))
  }

  /** Returns the name of a table of a WITH, or an alias. Some names mean something else already. */
  #newName(): string {
    if (this.#chance(0.6)) return this.#of(['t', 'u', 'w'])
    return this.#any(
      () => this.#of(Object.keys(SOURCES)),
      () => this.#column(),
      () => (this.#outsideHere() ? this.#fold(this.#of(this.#lists.views).split('.').at(-1)!) : 't'),
      () => (this.#outsideHere() ? this.#name(this.#outside.relations) : 'u'),
      () => (this.#outsideHere() ? this.#name(this.#lists.keywords) : 'w'),
    )
  }

  #column(): string {
    if (this.#outsideHere())
      return this.#any(
        () => this.#name(this.#functions('scalar')),
        () => this.#name(this.#lists.keywords),
        () => `${this.#relation()}.${this.#of(COLUMNS)}`,
        () =>
          this.#of([
            'current_date',
            'current_user',
            'user',
            'today',
            'localtime',
            'rowid',
            'session_user',
            '$p',
            '?',
          ]),
      )
    return this.#fold(this.#of([...COLUMNS, ...COLUMNS, 'c', 't', 'flights']))
  }

  #expression(depth: number): string {
    if (depth <= 0 || this.#chance(0.3))
      return this.#any(
        () => this.#column(),
        () => this.#column(),
        () => this.#of(['1', '2.5', 'null', 'true', "'x'", "interval '1 day'", "date '2024-02-01'"]),
        () => this.#text(),
      )
    const inner = (): string => this.#expression(depth - 1)
    return this.#any(
      () => this.#call(depth),
      () => this.#call(depth),
      () => this.#aggregate(depth),
      () =>
        `${inner()} ${this.#of(['+', '=', '<', '||', 'and', 'or', 'is distinct from', '->>', 'like', '**', '^@'])} ${inner()}`,
      () => `${this.#of(['cast', 'try_cast'])}(${inner()} as ${this.#typeName()})`,
      () => `${inner()}::${this.#typeName()}`,
      () => `case when ${inner()} then ${inner()} else ${inner()} end`,
      () => `(select ${this.#expression(depth - 1)} ${this.#from(depth - 1)} limit 1)`,
      () => `exists (${this.#query(depth - 1)})`,
      () => `${inner()} in (${this.#chance(0.5) ? inner() : `select ${inner()} ${this.#from(depth - 1)}`})`,
      () => `${inner()} between ${inner()} and ${inner()}`,
      () => `[${inner()}, ${inner()}]`,
      () => `{'k': ${inner()}}.k`,
      () => `list_transform([1, 2], lambda x: ${inner()})`,
      () => `[x for x in [1, 2] if ${inner()}]`,
      () => `(${inner()})[1:2]`,
      () => `${inner()} collate ${this.#name(this.#lists.collations)}`,
      () => `try(${inner()})`,
      () => `from_json('{"a": "x"}', '{"a": "${this.#typeName().replaceAll(/["']/g, '')}"}')`,
      () => `${this.#column()}.${this.#functionName()}()`,
      () =>
        `${this.#of(['main', 'system.main', 'pg_catalog', 'other.main'])}.${this.#functionName()}(${inner()})`,
      () => `(${inner()}) at time zone 'UTC'`,
      () => `array(select ${inner()} ${this.#from(depth - 1)})`,
      () => `${this.#typeName()} '1'`,
      () =>
        `${this.#of(['list_aggregate', 'aggregate', 'list_aggr'])}([1, 2], ${this.#chance(0.9) ? `'${this.#of(this.#functions('aggregate'))}'` : inner()})`,
    )
  }

  #functionName(): string {
    const kinds = [
      'scalar',
      'macro',
      'aggregate',
      ...(this.#outsideHere() ? ['table', 'pragma', 'table_macro'] : []),
    ]
    if (this.#outsideHere() && this.#chance(0.2)) return this.#name(this.#outside.macros)
    return this.#name(this.#functions(this.#of(kinds)).filter((name) => /^\w+$/.test(name)))
  }

  #call(depth: number): string {
    const distinct = this.#chance(0.03) ? 'distinct ' : ''
    const named = this.#chance(0.04) ? 'name := ' : ''
    return `${this.#functionName()}(${distinct}${named}${this.#some(0, 3, () => this.#expression(depth - 1))})`
  }

  #aggregate(depth: number): string {
    const name = this.#of([
      'count',
      'max',
      'min',
      'any_value',
      'list',
      'first',
      'string_agg',
      this.#of(this.#functions('aggregate')),
    ])
    const order = this.#chance(0.1) ? ` order by ${this.#expression(0)}` : ''
    const filter = this.#chance(0.15) ? ` filter (where ${this.#expression(depth - 1)})` : ''
    const over = this.#chance(0.25)
      ? ` over (partition by ${this.#expression(0)} order by ${this.#expression(0)})`
      : ''
    return `${name}(${this.#expression(depth - 1)}${order})${filter}${over}`
  }

  #typeName(): string {
    if (this.#outsideHere()) {
      const { types } = this.#outside
      return this.#any(
        () => this.#name(types),
        () => `main.${this.#of(types)}`,
        () => `struct(a ${this.#of(types)})`,
        () => `${this.#of(types)}[]`,
      )
    }
    return this.#any(
      () =>
        this.#of([
          'integer',
          'varchar',
          'date',
          'json',
          'double',
          'decimal(10, 2)',
          'timestamptz',
          'time',
          'varchar[]',
        ]),
      () => this.#fold(this.#of(this.#lists.types)),
      () => `struct(a ${this.#of(this.#lists.types)})`,
      () => `map(varchar, ${this.#of(this.#lists.types)})`,
      () => "enum('a', 'b')",
    )
  }

  /** Returns a text that a function might read as a name, a path, a query or a time. */
  #text(): string {
    if (!this.#outsideHere())
      return this.#of(["'x'", "'2024-01-01'", "'[1, 2]'", '\'{"a": 1}\'', "'$.a'", "'day'"])
    return this.#any(
      () => this.#file(),
      () => `'${this.#of(this.#lists.settings)}'`,
      () => `'${this.#of(this.#outside.relations)}'`,
      () => `'from ${this.#of(this.#lists.views)}'`,
      () => this.#of(["'now'", "'today'", "'HOME'", "'canary'", "'epoch'"]),
    )
  }

  #file(): string {
    return `'${this.#of(this.#outside.files)}'`
  }

  #functions(kind: string): readonly string[] {
    return this.#lists.functions.get(kind) ?? ['missing']
  }

  #name(names: readonly string[]): string {
    return this.#fold(this.#of(names))
  }

  /** Returns the same name in another spelling: quoted, in other letters, or with letters that only look alike. */
  #fold(name: string): string {
    const roll = this.#random()
    const plain = /^[a-z_][a-z0-9_.]*$/i.test(name)
    if (roll < 0.7) return plain ? name : `"${name.replaceAll('"', '""')}"`
    if (roll < 0.8 && plain) return name.toUpperCase()
    if (roll < 0.95)
      return name
        .split('.')
        .map((part) => `"${part.replaceAll('"', '""')}"`)
        .join('.')
    return `"${name.replace('k', '\u212A').replace('s', '\u017F')}"`
  }
}
