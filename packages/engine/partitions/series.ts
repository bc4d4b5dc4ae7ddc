/**
 * Reads a series of a metric whose days are kept. Days that are closed and kept are not read again. Days that are
 * missing, marked or still open are asked of the database, which adds them up. All are merged in the order of the days,
 * so that the series has the same bits as one that is read from empty.
 */
import { createHash } from 'node:crypto'
import { addDays } from '@assay/model/dates'
import type { ForeseenDays, ForeseenStretch } from '@assay/model/explained'
import type { StatisticKind } from '@assay/model/metric'
import type { PartitionedQuery, PartitionWindow, Variable } from '@assay/model/template'
import { dialectOf } from '../dialects/engines.ts'
import { printSelect } from '../dialects/print.ts'
import { tooMuch } from '../sources/foreseen.ts'
import type { RemoteColumn } from '../sources/kind.ts'
import type { PushedRule } from '../sources/pushed-rule.ts'
import type { QuerySource } from '../sources/query.ts'
import { vetNames } from '../sources/rows/create-table.ts'
import { SourceError } from '../sources/source.ts'
import type { Bound, There } from '../sources/there.ts'
import { DAYS_MOST, daysOf, missing, openFrom, partsOf, type Stretch } from './days.ts'
import { type KeptSeries, NOTHING_KEPT, type PartitionKeeper, type Recipe } from './keeper.ts'
import { FROM, UNTIL } from './partition-sql.ts'
import {
  type Gathered,
  type KeptRow,
  type KeyKind,
  keyName,
  Listed,
  Merged,
  rowsOf,
  type Shape,
  selectOf,
  textOf,
  valueName,
} from './statistics.ts'
import { becauseMarked, becauseNothing, becauseOpen, NOT_KEPT } from './why-read.ts'

export interface Keeping {
  keeper: PartitionKeeper | null
  /** The start of the run, RFC 3339. It decides which days are closed. */
  started_at: string
}

const WINDOW: readonly Pick<Variable, 'name' | 'type' | 'items'>[] = [FROM, UNTIL].map((name) => ({
  name,
  type: 'date',
  items: null,
}))
/** The most characters of the statistics of a kept day, so that what is found and kept at once is small. */
const DAY_CHARACTERS = 32_000
const ALL: PartitionWindow = { from: false, until: false }
const CLOSED: PartitionWindow = { from: true, until: true }

/** What became of the days of a run, for the lineage. */
interface Told {
  kept: number
  read: Stretch[]
  note: string | null
}

/** A stretch from a day to before another, or without an end (null). */
interface OpenStretch {
  from: string
  until: string | null
}

/** Which days are closed, and what is known of them. */
interface Scope {
  known: KeptSeries
  /** The closed days in which rows were marked since they were last looked for. */
  changed: ReadonlySet<string>
  first: string | null
  /** The stretch of closed days; null if there are none, or too many. */
  closed: Stretch | null
  /** The stretch that is read in any case. */
  rest: OpenStretch | null
}

export class Series {
  readonly #options: QuerySource
  readonly #keeping: Keeping
  readonly #there: There
  readonly #query: PartitionedQuery
  readonly told: Told = { kept: 0, read: [], note: null }
  #rule: PushedRule = { sql: null, variables: [], values: {} }
  #shape: Shape = { keys: [], statistics: [] }
  #wide: boolean[] = []
  /** The columns of the keys; of a block, all its columns. */
  columns: RemoteColumn[] = []
  #key = ''
  /** Whether the keeper takes no more days. */
  #isRefused = false
  #recipe!: Recipe

  private constructor(options: QuerySource, keeping: Keeping, there: There) {
    this.#options = options
    this.#keeping = keeping
    this.#there = there
    this.#query = options.source.query!.partitions!
  }

  /** Opens a series. It learns the types of the columns, which decide how the rows are added up. */
  static async open(options: QuerySource, keeping: Keeping, there: There): Promise<Series> {
    const series = new Series(options, keeping, there)
    await series.#learn()
    return series
  }

  /** Returns the SQL that is sent for a stretch of days. */
  get sql(): string {
    return this.#recipe.query.sql
  }

  async #learn(): Promise<void> {
    const { connection } = this.#there
    const { rules, day } = this.#query
    this.#rule = await this.#there.rule()
    if (day === undefined) await this.#learnValues()
    else await this.#learnRows(day)
    const { sql, parameters } = await this.#there.boundText(this.#text(CLOSED), this.#bound())
    const { source, template } = this.#options
    this.#recipe = {
      source: source.name,
      connection: connection.name,
      zone: source.query!.zone ?? template.time_zone,
      cut: source.query!.timeFor?.(connection.kind) ?? null,
      query: { sql, parameters },
      shape: this.#shape,
      rules,
      changed:
        rules.deletes === 'marked' ? await this.#there.boundText(this.#changedSql(), this.#bound()) : null,
    }
    const { kind, options } = connection
    const identity = JSON.stringify([1, kind, options, this.#recipe])
    this.#key = createHash('sha256').update(identity).digest('hex')
  }

  /** Learns the columns of the keys and values of a metric. */
  async #learnValues(): Promise<void> {
    const { connection } = this.#there
    const { by, statistics } = this.#query
    const none = statistics.map(() => false)
    const text = this.#query.rowsFor(connection.kind, ALL, none, this.#rule.sql, this.#block)
    const found = await this.#there.columnsOf(text, this.#bound())
    const columns = new Map(found.map((column) => [column.name, column]))
    this.columns = by.map((_, index) => columns.get(keyName(index))!)
    const values = statistics.map((_, index) => columns.get(valueName(index)))
    this.#wide = values.map((value, index) => statistics[index] === 'sum' && isWide(value))
    this.#shape = {
      keys: this.columns.map(isText),
      statistics: statistics.map((kind: StatisticKind, index) => ({
        kind,
        binary: kind === 'sum' && isBinary(values[index], connection.kind),
      })),
    }
  }

  /** Learns the columns of a block, one of which holds its days. */
  async #learnRows(day: string): Promise<void> {
    this.columns = await this.#there.columnsOf(this.#there.text)
    vetNames(this.columns)
    const names = this.columns.map(({ name }) => name)
    for (const name of [day, this.#query.rules.changed ?? day])
      if (!names.includes(name))
        throw new SourceError(
          `The query has no column "${name}", by which its days are kept: name one of ${names.join(', ')}.`,
        )
    for (const { name, type } of this.columns)
      if (!KEPT_TYPES.test(type.toString()))
        throw new SourceError(
          `The column "${name}" is ${type.toString()}, which is not kept by day: cast it to text in the query.`,
        )
    const { strict } = dialectOf(this.#there.connection.kind)
    this.#shape = { keys: this.columns.map((column) => kindOfKey(column, strict)), statistics: [] }
  }

  /** The kinds of the keys. */
  get kinds(): readonly KeyKind[] {
    return this.#shape.keys
  }

  /** The query of a block, and its columns. */
  get #block(): { text: string; columns: string[] } {
    return { text: this.#there.text, columns: this.columns.map(({ name }) => name) }
  }

  /** Returns the bounds of the days, and the values of the rule. */
  #bound(days: Readonly<Record<string, string | null>> = {}): Bound {
    const { variables, values } = this.#rule
    return { variables: [...WINDOW, ...variables], values: { ...values, ...days } }
  }

  #changedSql(): string {
    return this.#query.changedFor(this.#there.connection.kind, this.#there.text)
  }

  /** Returns the statement that adds up the rows of a window. */
  #text(window: PartitionWindow): string {
    const { kind } = this.#there.connection
    const rows = this.#query.rowsFor(kind, window, this.#wide, this.#rule.sql, this.#block)
    return printSelect(selectOf(rows, this.#shape), dialectOf(kind))
  }

  async #scope(): Promise<Scope> {
    const { started_at } = this.#keeping
    const period = this.#period()
    const open = openFrom(started_at, this.#recipe.zone, this.#query.rules)
    const until = period ? earlier(period.until, open) : open
    const known = await this.#find({ from: open, until: open })
    const changed = await this.#changed(known, open)
    const first = period ? known.first : await this.#first(known, changed, open)
    const from = period?.from ?? first!
    const end = period?.until ?? null
    const isFew = from < until && daysOf({ from, until }).length <= DAYS_MOST
    if (from < until && !isFew) this.told.note = `Nothing is kept: the first day is ${from}.`
    const rest = { from: isFew ? until : from, until: end }
    return {
      known,
      changed,
      first,
      closed: isFew ? { from, until } : null,
      rest: end === null || rest.from < end ? rest : null,
    }
  }

  /** Returns the days in their order: those that were kept, those that are read now, and those that are open. */
  async merged(stepOf: (step: string) => string): Promise<{ merged: Gathered; kept: KeptSeries }> {
    const merged = this.#query.day === undefined ? new Merged(this.#shape, stepOf) : new Listed()
    if (this.#options.peek) return { merged, kept: NOTHING_KEPT }
    const scope = await this.#scope()
    const { known, changed, first, closed, rest } = scope
    if (closed) {
      for (const part of partsOf(closed)) await this.#closed(part, scope, merged)
      // The look counts only once each marked day has been read again.
      const isWhole = [...changed].every((day) => day >= closed.from && day < closed.until)
      if (this.#query.rules.deletes === 'marked' && known.looked_at !== null && isWhole)
        await this.#keep(new Map(), first, known.looked_at)
    }
    if (rest) this.#add(merged, await this.#read(rest))
    if (this.#query.untimed) this.#add(merged, await this.#rows('untimed', {}))
    return { merged, kept: known }
  }

  /** Returns what a run would read, and why. It keeps nothing. */
  async foresee(): Promise<ForeseenDays> {
    const scope = await this.#scope()
    const { known, closed, rest } = scope
    const reads: ForeseenStretch[] = []
    let kept = 0
    for (const part of closed ? partsOf(closed) : []) {
      const found = await this.#find(part)
      for (const day of daysOf(part)) {
        const because = this.#because(day, found, scope)
        const last = reads.at(-1)
        if (because === null) kept += 1
        else if (last?.until === day && last.because === because) last.until = addDays(day, 1)
        else reads.push({ from: day, until: addDays(day, 1), because })
      }
    }
    if (rest) reads.push({ ...rest, because: this.told.note ?? becauseOpen(this.#query.rules) })
    return { kept, reads, doubt: known.doubt }
  }

  /** Returns why a day is read, or null if it is kept. */
  #because(day: string, found: KeptSeries, { changed }: Scope): string | null {
    if (found.looked_at === null) return becauseNothing(found.others === undefined ? 0 : found.others)
    if (found.days[day] === undefined) return NOT_KEPT
    return changed.has(day) ? becauseMarked(this.#since(found.looked_at)) : null
  }

  /** Returns the statements of a run that reads these days. */
  statementsOf(reads: readonly OpenStretch[]): { text: string; bound: Bound }[] {
    return reads.map(({ from, until }) => ({
      text: this.#text({ from: true, until: until !== null }),
      bound: this.#bound({ [FROM]: from, [UNTIL]: until }),
    }))
  }

  async #find(stretch: Stretch): Promise<KeptSeries> {
    const { metric } = this.#query
    return (await this.#keeping.keeper?.find({ key: this.#key, metric, ...stretch })) ?? NOTHING_KEPT
  }

  /** Adds the rows of each closed day. */
  async #closed(stretch: Stretch, { changed, first }: Scope, merged: Gathered): Promise<void> {
    const known = await this.#find(stretch)
    const days = new Map<string, KeptRow[]>()
    const isKept = (day: string): boolean => known.days[day] !== undefined && !changed.has(day)
    for (const day of daysOf(stretch))
      if (isKept(day)) days.set(day, JSON.parse(known.days[day]!) as KeptRow[])
    this.told.kept += days.size
    for (const part of missing(stretch, isKept)) {
      const read = byDay(part, await this.#read(part))
      for (const [day, rows] of read) days.set(day, rows)
      await this.#keep(read, first)
    }
    for (const day of daysOf(stretch)) this.#add(merged, days.get(day)!)
  }

  #add(merged: Gathered, rows: readonly KeptRow[]): void {
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
      this.told.note ??= `Not all days are kept: the statistics of a day have more than ${DAY_CHARACTERS} characters.`
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
    this.told.note ??= refused
  }

  async #read({ from, until }: OpenStretch): Promise<KeptRow[]> {
    const rows = await this.#rows({ from: true, until: until !== null }, { [FROM]: from, [UNTIL]: until })
    this.told.read.push({ from, until: until ?? '' })
    return rows
  }

  async #rows(window: PartitionWindow, days: Readonly<Record<string, string | null>>): Promise<KeptRow[]> {
    return rowsOf(await this.#there.answered(this.#text(window), this.#bound(days)), this.#shape)
  }

  /** Returns the first of all days, at most the first open day. */
  async #first(known: KeptSeries, changed: ReadonlySet<string>, open: string): Promise<string> {
    if (known.first !== null) return [known.first, ...changed].reduce(earlier)
    const sql = this.#query.firstFor(this.#there.connection.kind, this.#there.text)
    const [row] = await this.#there.answered(sql)
    const first = row?.first ?? null
    // Days before an open one may get rows as well.
    return first === null ? open : earlier(textOf(first).slice(0, 10), open)
  }

  async #changed({ looked_at }: KeptSeries, open: string): Promise<Set<string>> {
    if (this.#query.rules.deletes !== 'marked' || looked_at === null) return new Set()
    const bound = this.#bound({ [FROM]: this.#since(looked_at) })
    const answers = await this.#there.answered(this.#changedSql(), bound)
    return new Set(answers.map(({ day }) => textOf(day ?? null).slice(0, 10)).filter((day) => day < open))
  }

  /** Returns the day since which rows count as marked after a look. */
  #since(looked_at: string): string {
    return openFrom(looked_at, this.#recipe.zone, this.#query.rules)
  }

  /** Returns the latest time of a row, as a text of the engine's type `type`. */
  async newest(): Promise<{ type: string; text: string | null }> {
    const { newestFor } = this.#query.untimed!
    const { kind } = this.#there.connection
    const all = newestFor(kind, ALL, this.#rule.sql)
    const [column] = await this.#there.columnsOf(all, this.#bound())
    const type = column!.type.toString()
    if (this.#options.peek) return { type, text: null }
    const open = openFrom(this.#keeping.started_at, this.#recipe.zone, this.#query.rules)
    const since = newestFor(kind, { from: true, until: false }, this.#rule.sql)
    // Open days mostly have rows, and then the other days need no look.
    for (const [text, days] of [
      [since, { [FROM]: open }],
      [all, {}],
    ] as const) {
      const [row] = await this.#there.answered(text, this.#bound(days))
      const cell = row?.newest ?? null
      if (cell !== null) return { type, text: textOf(cell) }
    }
    return { type, text: null }
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
}

const earlier = (a: string, b: string): string => (a < b ? a : b)

/** Groups the rows by day. A day without rows is kept too. */
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

const isText = ({ type }: RemoteColumn): boolean => type.toString() === 'VARCHAR'

function kindOfKey(column: RemoteColumn, strict: boolean): KeyKind {
  const isOpen = column.settle !== undefined || column.numeric === true
  if (!isOpen) return isText(column)
  return strict ? 'number' : 'loose'
}

/** The types of the columns of a block, whose values read back as they were. */
const KEPT_TYPES = /^(?:U?\w*INT(?:EGER)?|DECIMAL\(.*\)|FLOAT|DOUBLE|BOOLEAN|VARCHAR|UUID|DATE|TIME.*)$/

const INTEGERS = /^U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?$/

/** Tells whether a column holds doubles, or what a database calls a number without a kind. */
function isBinary(column: RemoteColumn | undefined, kind: string): boolean {
  if (!column || kind === 'sqlite') return true
  const type = column.type.toString()
  return !(column.numeric === true || INTEGERS.test(type) || type.startsWith('DECIMAL'))
}

const isWide = (column: RemoteColumn | undefined): boolean =>
  column !== undefined && /^U?(BIG|HUGE)INT$/.test(column.type.toString())
