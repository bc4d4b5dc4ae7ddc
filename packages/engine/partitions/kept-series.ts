/**
 * The source of a metric whose days are kept. Days that are closed and kept are not read again; those that are missing, marked or still open
 * are asked of the database, which adds them up. All are merged in the order of the days, so that the series has the same bits as one that
 * is read from empty.
 */
import { createHash } from 'node:crypto'
import type { Cell } from '@assay/model/insight'
import type { StatisticKind } from '@assay/model/metric'
import type { PartitionedQuery, PartitionWindow, Variable } from '@assay/model/template'
import { VARCHAR } from '@duckdb/node-api'
import { dialectOf } from '../dialects/engines.ts'
import { printSelect } from '../dialects/print.ts'
import { describeQuery, type Engine, execute, identifier } from '../duckdb/duckdb.ts'
import { tooMuch } from '../sources/foreseen.ts'
import type { RemoteColumn } from '../sources/kind.ts'
import type { QuerySource } from '../sources/query.ts'
import { type Attached, SourceError } from '../sources/source.ts'
import { There } from '../sources/there.ts'
import { DAYS_MOST, daysOf, missing, openFrom, partsOf, type Stretch, stepOf } from './days.ts'
import { type KeptSeries, NOTHING_KEPT, type PartitionKeeper, type Recipe } from './keeper.ts'
import { FROM, UNTIL } from './partition-sql.ts'
import {
  type KeptRow,
  keyName,
  Merged,
  rowsOf,
  type Shape,
  selectOf,
  textOf,
  valueName,
} from './statistics.ts'
import { statisticName } from './value.ts'

export interface Keeping {
  keeper: PartitionKeeper | null
  /** RFC 3339: which days are closed is counted from here. */
  started_at: string
}

const WINDOW: readonly Pick<Variable, 'name' | 'type' | 'items'>[] = [FROM, UNTIL].map((name) => ({
  name,
  type: 'date',
  items: null,
}))
const OF_WINDOW = { variables: WINDOW, values: {} }
/** Of the statistics of a day that is kept, so that what is found and kept at once is small. */
const DAY_CHARACTERS = 32_000
const CLOSED: PartitionWindow = { from: true, until: true }

export async function attachSeries(
  engine: Engine,
  options: QuerySource,
  keeping: Keeping,
): Promise<Attached> {
  const there = await There.open(engine, options)
  return new Series(engine, options, keeping, there).attach()
}

/** What became of the days of a run, for the lineage. */
interface Told {
  kept: number
  read: Stretch[]
  note: string | null
}

class Series {
  readonly #engine: Engine
  readonly #options: QuerySource
  readonly #keeping: Keeping
  readonly #there: There
  readonly #query: PartitionedQuery
  readonly #told: Told = { kept: 0, read: [], note: null }
  #shape: Shape = { keys: [], statistics: [] }
  #wide: boolean[] = []
  #types: string[] = []
  #key = ''
  /** The keeper takes no more. */
  #isRefused = false
  #recipe!: Recipe

  constructor(engine: Engine, options: QuerySource, keeping: Keeping, there: There) {
    this.#engine = engine
    this.#options = options
    this.#keeping = keeping
    this.#there = there
    this.#query = options.source.query!.partitions!
  }

  async attach(): Promise<Attached> {
    const began = performance.now()
    await this.#learn()
    const merged = new Merged(this.#shape, stepOf(this.#query.grain))
    const kept = this.#options.peek ? NOTHING_KEPT : await this.#fill(merged)
    const rows = merged.rows()
    await this.#write(rows)
    const { source } = this.#options
    const { name: connection, kind } = this.#there.connection
    const { bytes } = this.#there.asked().takeStatements()
    const elapsed_ms = Math.round((performance.now() - began) * 10) / 10
    const query = this.#recipe.query.sql
    return {
      columns: await describeQuery(this.#engine, `select * from ${identifier(source.name)}`),
      lineage: {
        name: source.name,
        files: [],
        rows: this.#options.peek ? null : rows.length,
        format: kind,
        remote: { connection, kind, query, bytes, elapsed_ms, days: this.#told },
      },
      ...(kept.doubt === null ? {} : { doubt: kept.doubt }),
      paths: [],
      verify: () => Promise.resolve(),
    }
  }

  /** The types of what is asked, and by them how the rows are added up. */
  async #learn(): Promise<void> {
    const { connection } = this.#there
    const { by, statistics, rules } = this.#query
    const none = statistics.map(() => false)
    const text = this.#query.rowsFor(connection.kind, { from: false, until: false }, none)
    const columns = new Map((await this.#there.columnsOf(text)).map((column) => [column.name, column]))
    const keys = by.map((_, index) => columns.get(keyName(index))!)
    const values = statistics.map((_, index) => columns.get(valueName(index)))
    this.#types = keys.map(({ type }) => type.toString())
    this.#wide = values.map((value, index) => statistics[index] === 'sum' && isWide(value))
    this.#shape = {
      keys: this.#types.map((type) => type === 'VARCHAR'),
      statistics: statistics.map((kind: StatisticKind, index) => ({
        kind,
        binary: kind === 'sum' && isBinary(values[index], connection.kind),
      })),
    }
    const asked = printSelect(selectOf(this.#rowsSql(CLOSED), this.#shape), dialectOf(connection.kind))
    const { sql, parameters } = await this.#there.boundText(asked, OF_WINDOW)
    const { source, template } = this.#options
    this.#recipe = {
      source: source.name,
      connection: connection.name,
      zone: source.query!.zone ?? template.time_zone,
      cut: source.query!.timeFor?.(connection.kind) ?? null,
      query: { sql, parameters },
      shape: this.#shape,
      rules,
      changed: rules.deletes === 'marked' ? await this.#there.boundText(this.#changedSql(), OF_WINDOW) : null,
    }
    const { kind, options } = connection
    const identity = JSON.stringify([1, kind, options, this.#recipe])
    this.#key = createHash('sha256').update(identity).digest('hex')
  }

  #changedSql(): string {
    return this.#query.changedFor(this.#there.connection.kind)
  }

  #rowsSql(window: PartitionWindow): string {
    return this.#query.rowsFor(this.#there.connection.kind, window, this.#wide)
  }

  /** Adds the days in their order: those that were kept, those that are read now, and those that are open. */
  async #fill(merged: Merged): Promise<KeptSeries> {
    const { started_at } = this.#keeping
    const { rules } = this.#query
    const period = this.#period()
    const open = openFrom(started_at, this.#recipe.zone, rules)
    const until = period ? earlier(period.until, open) : open
    const known = await this.#find({ from: open, until: open })
    const changed = await this.#changed(known, open)
    const first = period ? known.first : await this.#first(known, changed, open)
    const from = period?.from ?? first!
    let rest: { from: string; until: string | null } = { from, until: period?.until ?? null }
    if (from < until && daysOf({ from, until }).length > DAYS_MOST)
      this.#told.note = `Nothing is kept: the first day is ${from}.`
    else if (from < until) {
      for (const part of partsOf({ from, until })) await this.#closed(part, { changed, first, merged })
      // Only once each day that was marked has been read again.
      const isWhole = [...changed].every((day) => day >= from && day < until)
      if (rules.deletes === 'marked' && known.looked_at !== null && isWhole)
        await this.#keep(new Map(), first, known.looked_at)
      rest = { from: until, until: rest.until }
    }
    if (rest.until === null || rest.from < rest.until) this.#add(merged, await this.#read(rest))
    return known
  }

  async #find(stretch: Stretch): Promise<KeptSeries> {
    return (await this.#keeping.keeper?.find({ key: this.#key, ...stretch })) ?? NOTHING_KEPT
  }

  /** Adds the rows of each day that is closed. */
  async #closed(
    stretch: Stretch,
    { changed, first, merged }: { changed: ReadonlySet<string>; first: string | null; merged: Merged },
  ): Promise<void> {
    const known = await this.#find(stretch)
    const days = new Map<string, KeptRow[]>()
    const isKept = (day: string): boolean => known.days[day] !== undefined && !changed.has(day)
    for (const day of daysOf(stretch))
      if (isKept(day)) days.set(day, JSON.parse(known.days[day]!) as KeptRow[])
    this.#told.kept += days.size
    for (const part of missing(stretch, isKept)) {
      const read = byDay(part, await this.#read(part))
      for (const [day, rows] of read) days.set(day, rows)
      await this.#keep(read, first)
    }
    for (const day of daysOf(stretch)) this.#add(merged, days.get(day)!)
  }

  #add(merged: Merged, rows: readonly KeptRow[]): void {
    merged.add(rows)
    const { connection } = this.#there
    const { rows: most } = connection.limits
    if (merged.size > most) throw tooMuch(connection, `more than ${most} rows`, 'rows')
  }

  async #keep(
    days: ReadonlyMap<string, KeptRow[]>,
    first: string | null,
    looked_since: string | null = null,
  ): Promise<void> {
    const { keeper, started_at } = this.#keeping
    if (!keeper || this.#isRefused) return
    const texts = [...days].map(([day, rows]): [string, string] => [day, JSON.stringify(rows)])
    const small = texts.filter(([, { length }]) => length <= DAY_CHARACTERS)
    if (small.length < texts.length)
      this.#told.note ??= `Not all days are kept: the statistics of a day have more than ${DAY_CHARACTERS} characters.`
    const refused = await keeper.keep({
      key: this.#key,
      metric: this.#query.metric,
      recipe: this.#recipe,
      first,
      read_at: started_at,
      looked_since,
      days: Object.fromEntries(small),
    })
    this.#isRefused = refused !== null
    this.#told.note ??= refused
  }

  async #read({ from, until }: { from: string; until: string | null }): Promise<KeptRow[]> {
    const rows = this.#rowsSql({ from: true, until: until !== null })
    const text = printSelect(selectOf(rows, this.#shape), dialectOf(this.#there.connection.kind))
    const values = { [FROM]: from, [UNTIL]: until }
    const answers = await this.#there.answered(text, { variables: WINDOW, values })
    this.#told.read.push({ from, until: until ?? '' })
    return rowsOf(answers, this.#shape)
  }

  /** The first of all days, as far as it is closed. */
  async #first(known: KeptSeries, changed: ReadonlySet<string>, open: string): Promise<string> {
    if (known.first !== null) return [known.first, ...changed].reduce(earlier)
    const [row] = await this.#there.answered(this.#query.firstFor(this.#there.connection.kind))
    const first = row?.first ?? null
    // Days before an open one may get rows, too.
    return first === null ? open : earlier(textOf(first).slice(0, 10), open)
  }

  /** The closed days in which rows were marked since they were last looked for. */
  async #changed({ looked_at }: KeptSeries, open: string): Promise<Set<string>> {
    const { rules } = this.#query
    if (rules.deletes !== 'marked' || looked_at === null) return new Set()
    const since = openFrom(looked_at, this.#recipe.zone, rules)
    const answers = await this.#there.answered(this.#changedSql(), {
      variables: WINDOW,
      values: { [FROM]: since },
    })
    return new Set(answers.map(({ day }) => textOf(day ?? null).slice(0, 10)).filter((day) => day < open))
  }

  #period(): Stretch | null {
    const { period } = this.#query
    if (!period) return null
    const [start, end] = [period.start, period.end].map((text) => {
      const name = /^\$(\w+)\.(start|end)$/.exec(text)
      if (!name) return text.replaceAll("'", '')
      const value = this.#options.vars[name[1]!] as Record<string, string> | null | undefined
      return value?.[name[2]!] ?? null
    })
    return typeof start === 'string' && typeof end === 'string' ? { from: start, until: end } : null
  }

  async #write(rows: Cell[][]): Promise<void> {
    const { by, statistics, grain } = this.#query
    const names = ['time', ...by, ...statistics.map((_, index) => statisticName(index))]
    const types = [grain === 'hour' ? 'timestamp' : 'date', ...this.#types, ...statistics.map(() => 'double')]
    const texts = rows.map((row) => row.map((cell) => (cell === null ? null : textOf(cell))))
    const list = names.map(
      (name, index) => `cast(row[${index + 1}] as ${types[index]!}) as ${identifier(name)}`,
    )
    const sql = `create table ${identifier(this.#options.source.name)} as select ${list.join(', ')} from (select unnest(from_json($rows, '[["VARCHAR"]]')) as row)`
    await execute(this.#engine, sql, { rows: { value: JSON.stringify(texts), type: VARCHAR } })
  }
}

const earlier = (a: string, b: string): string => (a < b ? a : b)

/** A day without rows is kept, too. */
function byDay(stretch: Stretch, rows: readonly KeptRow[]): Map<string, KeptRow[]> {
  const days = new Map(daysOf(stretch).map((day): [string, KeptRow[]] => [day, []]))
  for (const row of rows) {
    const day = days.get(row[0].slice(0, 10))
    if (!day)
      throw new SourceError(
        `The database gives a row of ${row[0]} among those from ${stretch.from} to before ${stretch.until}: its days are not those of the zone of the metric.`,
      )
    day.push(row)
  }
  return days
}

const INTEGERS = /^U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?$/

/** Doubles, and what a database calls a number without saying which. */
function isBinary(column: RemoteColumn | undefined, kind: string): boolean {
  if (!column || kind === 'sqlite') return true
  const type = column.type.toString()
  return !(column.numeric === true || INTEGERS.test(type) || type.startsWith('DECIMAL'))
}

const isWide = (column: RemoteColumn | undefined): boolean =>
  column !== undefined && /^U?(BIG|HUGE)INT$/.test(column.type.toString())
