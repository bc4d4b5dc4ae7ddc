/**
 * Makes histories of a table: rows that come, come late, are marked or are deleted, and metrics and blocks over them
 * whose definitions change. After each step a run over the kept days is compared with one from empty, bit by bit, and
 * with the rows themselves.
 */

import type { OpenConnection } from '@assay/model/connection'
import { addDays } from '@assay/model/dates'
import { DEFAULT_LIMITS, type Source, type SqlBlock, type Template } from '@assay/model/template'
import { dialectOf } from '../dialects/engines.ts'
import { type Engine, execute, readTable } from '../duckdb/duckdb.ts'
import { readMetricFence } from '../metrics/use.ts'
import { parseTemplate } from '../reading/parse.ts'
import type { Roots } from '../sources/roots.ts'
import { queryThere } from '../sources/stays.ts'
import { auditDay } from './audit.ts'
import { type KeptDays, type KeptSeries, NOTHING_KEPT, type PartitionKeeper } from './keeper.ts'
import { attachSeries } from './kept-series.ts'
import type { Keeping } from './series.ts'

/** Keeps in memory what a store keeps, by the same rules. */
export class MemoryKeeper implements PartitionKeeper {
  readonly series = new Map<string, KeptSeries & { about: KeptDays; looked_at: string }>()

  async find({ key, from, until }: { key: string; from: string; until: string }): Promise<KeptSeries> {
    const found = this.series.get(key)
    if (!found) return NOTHING_KEPT
    const days = Object.entries(found.days).filter(([day]) => day >= from && day < until)
    return { ...found, days: Object.fromEntries(days) }
  }

  async keep(input: KeptDays): Promise<null> {
    const known = this.series.get(input.key)
    this.series.set(input.key, {
      about: input,
      first: input.first ?? known?.first ?? null,
      looked_at: known && known.looked_at !== input.looked_since ? known.looked_at : input.read_at,
      doubt: known?.doubt ?? null,
      days: { ...known?.days, ...input.days },
    })
    return null
  }
}

export interface Tried {
  connection: OpenConnection
  execute(sql: string): Promise<void>
}

/** Returns a number from 0 to before 1. */
export type Random = () => number

interface Row {
  id: number
  at: string
  region: string | null
  amount: number
  weight: number
  gone: boolean
  /** The day of the last change. */
  changed: string
}

const REGIONS = ['north', 'North', "o'hara", 'back\\slash', '', null]
const VALUES = {
  'sum(amount)': null,
  'sum(weight)': null,
  'avg(weight)': null,
  'count(*)': null,
  'max(weight) - min(amount)': null,
  'count(distinct region)': null,
  "100 * sum(case when region = 'north' then amount else 0 end) / sum(amount)": null,
}
const ROOTS: Roots = { sample: {}, data: null }
const REOPEN = 2
const TEMPLATE = parseTemplate({ template_id: 'tried', source: '# A\n', partials: {} }).template!

const TYPES: Record<string, { time: string; double: string; nullable(type: string): string; end: string }> = {
  sqlite: { time: 'datetime', double: 'double', nullable: (type) => type, end: '' },
  postgresql: { time: 'timestamp', double: 'double precision', nullable: (type) => type, end: '' },
  mysql: { time: 'datetime', double: 'double', nullable: (type) => type, end: '' },
  clickhouse: {
    time: 'DateTime',
    double: 'Float64',
    nullable: (type) => `Nullable(${type})`,
    end: ' engine = MergeTree order by id',
  },
}

interface Definition {
  value: keyof typeof VALUES
  by: boolean
  grain: 'hour' | 'day' | 'week' | 'month'
  marked: boolean
  where: string | null
  period: string | null
  /** Whether a rule restricts the rows to one region. */
  ruled: boolean
  /** What the block gives: a row for each day and region, or the rows of the table. */
  block: 'groups' | 'rows'
}

export interface HistoryOptions {
  server: Tried
  /** The table of this history only. */
  table: string
  engine: Engine
  random: Random
  /** The data folder, for tables that are files. */
  data: string
  temp_folder: string
  /** Whether rows of closed days are changed against what the source declares. */
  violates: boolean
}

/** Runs a history. Returns the violations of what was promised, as sentences. */
export async function tryHistory(options: HistoryOptions): Promise<string[]> {
  const history = new History(options)
  await history.begin()
  const steps = 2 + Math.floor(options.random() * 3)
  for (let step = 0; step < steps; step += 1) {
    await history.change()
    await history.compare()
  }
  if (options.violates) await history.violate()
  else await history.audit(null)
  await history.end()
  return history.broken
}

class History {
  readonly broken: string[] = []
  readonly #options: HistoryOptions
  readonly #kind: string
  readonly #keeper = new MemoryKeeper()
  readonly #roots: Roots
  #rows: Row[] = []
  #id = 0
  #today = '2026-02-20'
  #definition: Definition

  constructor(options: HistoryOptions) {
    this.#options = options
    this.#kind = options.server.connection.kind
    this.#roots = { ...ROOTS, data: options.data }
    this.#definition = {
      value: 'sum(amount)',
      by: false,
      grain: 'day',
      marked: this.#chance(0.5),
      where: null,
      period: null,
      ruled: false,
      block: 'groups',
    }
    this.#define()
  }

  #chance(share: number): boolean {
    return this.#options.random() < share
  }

  #below(count: number): number {
    return Math.floor(this.#options.random() * count)
  }

  #one<T>(list: readonly T[]): T {
    return list[this.#below(list.length)]!
  }

  #define(): void {
    this.#definition = {
      value: this.#one(Object.keys(VALUES)) as keyof typeof VALUES,
      by: this.#chance(0.5),
      grain: this.#one(['hour', 'day', 'day', 'week', 'month'] as const),
      marked: this.#definition.marked,
      where: this.#chance(0.3) ? "region <> 'north'" : null,
      period: this.#chance(0.3) ? this.#period() : null,
      ruled: this.#chance(0.2),
      block: this.#one(['groups', 'rows'] as const),
    }
  }

  #period(): string {
    const from = addDays(this.#today, -this.#below(20))
    return `${from}..${addDays(from, this.#below(20))}`
  }

  async begin(): Promise<void> {
    const { execute: run } = this.#options.server
    const { time, double, nullable, end } = TYPES[this.#kind]!
    await this.end()
    await run(
      `create table ${this.#options.table} (id integer, paid_at ${time}, region ${nullable('varchar(20)')}, amount decimal(12, 2), weight ${double}, gone integer, changed ${time})${end}`,
    )
    const days = 1 + this.#below(12)
    for (let day = 0; day < days; day += 1)
      await this.#insert(addDays(this.#today, day - days), this.#below(4), this.#today)
  }

  async end(): Promise<void> {
    await this.#options.server.execute(`drop table if exists ${this.#options.table}`)
  }

  /** Lets some days pass. New rows come, and late rows of days that are open on the day of their coming. */
  async change(): Promise<void> {
    const days = this.#below(5)
    for (let day = 0; day < days; day += 1) {
      this.#today = addDays(this.#today, 1)
      await this.#insert(this.#today, this.#below(4), this.#today)
      if (this.#chance(0.5))
        await this.#insert(addDays(this.#today, -this.#below(REOPEN + 1)), 1, this.#today)
    }
    if (this.#definition.marked && this.#rows.length > 0)
      for (let count = this.#below(3); count > 0; count -= 1) await this.#mark(this.#one(this.#rows))
    // Rows of open days may change in any way.
    const open = this.#rows.filter(({ at }) => at.slice(0, 10) >= addDays(this.#today, -REOPEN))
    if (open.length > 0 && this.#chance(0.4)) await this.#delete(this.#one(open))
    if (this.#chance(0.25)) this.#define()
  }

  async #insert(day: string, count: number, today: string): Promise<void> {
    const rows = Array.from({ length: count }, (): Row => {
      this.#id += 1
      const clock = `${String(this.#below(24)).padStart(2, '0')}:${String(this.#below(60)).padStart(2, '0')}:00`
      const weight = (this.#options.random() - 0.4) * 10 ** (this.#below(24) - 9)
      const amount = this.#below(100_000) - 20_000
      return {
        id: this.#id,
        at: `${day} ${clock}`,
        region: this.#one(REGIONS),
        amount,
        weight,
        gone: false,
        changed: today,
      }
    })
    if (rows.length === 0) return
    this.#rows.push(...rows)
    const values = rows.map(
      ({ id, at, region, amount, weight }) =>
        `(${id}, '${at}', ${this.#text(region)}, ${(amount / 100).toFixed(2)}, ${weight.toExponential()}, 0, '${today} 12:00:00')`,
    )
    await this.#options.server.execute(`insert into ${this.#options.table} values ${values.join(', ')}`)
  }

  #text(text: string | null): string {
    if (text === null) return 'null'
    const escapes = this.#kind === 'mysql' || this.#kind === 'clickhouse'
    return `'${(escapes ? text.replaceAll('\\', '\\\\') : text).replaceAll("'", "''")}'`
  }

  async #mark(row: Row): Promise<void> {
    row.gone = true
    row.changed = this.#today
    const set = `gone = 1, changed = '${this.#today} 12:00:00'`
    await this.#options.server.execute(
      this.#kind === 'clickhouse'
        ? `alter table ${this.#options.table} update ${set} where id = ${row.id} settings mutations_sync = 1`
        : `update ${this.#options.table} set ${set} where id = ${row.id}`,
    )
  }

  async #delete(row: Row): Promise<void> {
    this.#rows = this.#rows.filter((one) => one !== row)
    await this.#options.server.execute(`delete from ${this.#options.table} where id = ${row.id}`)
  }

  #definitionText(): string {
    const { value, marked, where, ruled } = this.#definition
    const conditions = [...(where ? [where] : []), ...(marked ? ['gone = 0'] : [])]
    return [
      'metric: tried',
      `source: { connection: remote, table: ${this.#options.table} }`,
      'time: { column: paid_at, grain: hour }',
      `value: ${JSON.stringify(value)}`,
      `partitions: { reopen: ${REOPEN}d, deletes: ${marked ? 'marked, changed: changed' : 'none'} }`,
      ...(ruled ? ['rows: region = $reader.region'] : []),
      'tests: [ { not_null: region }, { accepted: { gone: [0] } }, { fresh: 2d } ]',
      ...(conditions.length > 0 ? [`where: ${JSON.stringify(conditions.join(' and '))}`] : []),
      '',
    ].join('\n')
  }

  #fence(): { block: SqlBlock; source: Source; tests: Source } {
    const { by, grain, period } = this.#definition
    const text = `metric: tried\ngrain: ${grain}\n${by ? 'by: region\n' : ''}${period ? `period: ${period}\n` : ''}`
    const fence = {
      kind: 'metric' as const,
      name: 'a',
      text,
      line: 1,
      at: null,
      days: null,
      opening: { line: 1, column: 1 },
    }
    const found = readMetricFence(fence, { 'metrics/tried.yaml': this.#definitionText() }, [], null)
    if (found.faults.length > 0) throw new Error(JSON.stringify(found.faults))
    const [source, tests] = found.sources
    return { block: found.block, source: source!, tests: tests! }
  }

  /** Returns the block. A row that is marked as deleted still shows the moment of its change. */
  #block(): Source {
    const { block, marked, where } = this.#definition
    const { table } = this.#options
    const day = dialectOf(this.#kind).step('paid_at', 'day')
    const kept = 'case when gone = 0 then 1 else 0 end'
    const text =
      block === 'rows'
        ? `select id, paid_at, region, amount, weight, gone, changed from ${table}${where ? ` where ${where}` : ''}; -- all`
        : `select ${day} as day_of_row, region, sum(amount * ${kept}) as total, sum(${kept}) as n, max(weight) as most, max(changed) as last_change from ${table}${where ? ` where ${where}` : ''} group by ${day}, region`
    const [column, changed] = block === 'rows' ? ['paid_at', 'changed'] : ['day_of_row', 'last_change']
    const deletes = marked ? ('marked' as const) : ('none' as const)
    const days = { column, rules: { reopen_days: REOPEN, deletes, changed: marked ? changed : null } }
    const opening = { line: 1, column: 1 }
    const fence = { kind: 'sql' as const, name: 'b', text, line: 1, at: 'remote', days, opening }
    return queryThere(fence, { connection: 'remote', template_id: 'tried' }, () => opening)
  }

  /** Reads the series, and what its tests count. */
  async #read(keeping: Pick<Keeping, 'keeper'>): Promise<[series: string, tests: string]> {
    const { block, source, tests } = this.#fence()
    const counted = `select cast(newest as varchar)[:10], n, test_0, test_1 from "${tests.name}"`
    return [await this.#attached(source, block.sql, keeping), await this.#attached(tests, counted, keeping)]
  }

  async #attached(source: Source, sql: string, keeping: Pick<Keeping, 'keeper'>): Promise<string> {
    const { engine, server, temp_folder } = this.#options
    const template: Template = { ...TEMPLATE, limits: DEFAULT_LIMITS, time_zone: 'UTC' }
    const acquire = async () => ({ connection: server.connection, release: () => undefined })
    const { signal } = new AbortController()
    const options = {
      source,
      template,
      vars: {},
      roots: this.#roots,
      acquire,
      signal,
      temp_folder,
      reader: { id: 'ada', region: 'north' },
      peek: false,
    }
    const started_at = `${this.#today}T20:00:00.000Z`
    if (source.query!.partitions) await attachSeries(engine, options, { ...keeping, started_at })
    else return 'read in full'
    const { rows } = await readTable(engine, sql, {}, Number.POSITIVE_INFINITY, { floats: 'raw' })
    await execute(engine, `drop table "${source.name}"`)
    return JSON.stringify(rows)
  }

  async compare(): Promise<void> {
    await this.#compareBlock()
    const [kept, keptTests] = await this.#read({ keeper: this.#keeper })
    const [empty, tests] = await this.#read({ keeper: null })
    const { value, by, grain, marked, where, period, ruled } = this.#definition
    const what = `${value} by ${by ? 'region' : 'nothing'} and ${grain}, where ${where ?? 'all'}, ${period ?? 'all days'}, ${marked ? 'marked' : 'none'}${ruled ? ', ruled' : ''}`
    const counts = this.#counts()
    if (keptTests !== tests || tests !== counts)
      this.broken.push(
        `tests of ${what}: ${keptTests} out of kept days, ${tests} from empty, ${counts} is true`,
      )
    if (kept !== empty) this.broken.push(`${what}: ${kept} is kept, ${empty} is read from empty`)
    const truth = this.#truth()
    if (truth !== null && truth !== empty) this.broken.push(`${what}: ${empty} is read, ${truth} is true`)
  }

  /** Compares the rows of the block, and their sum with that of the rows themselves. */
  async #compareBlock(): Promise<void> {
    const { block, marked, where } = this.#definition
    // Without rows SQLite's columns are texts.
    const living = 'case when cast(gone as double) = 0 then 1 else 0 end'
    const n = block === 'rows' ? `sum(${living})` : 'sum(cast(n as double))'
    const amount = block === 'rows' ? `sum(cast(amount as double) * ${living})` : 'sum(cast(total as double))'
    const source = this.#block()
    const read = async (keeper: PartitionKeeper | null): Promise<[all: string, sums: string]> => {
      const sql = `select (select list(b order by b) from b)::varchar as every, (select [coalesce(${n}, 0)::double, round(coalesce(${amount}, 0)::double * 100)] from b)::varchar as sums`
      const found = await this.#attached(source, sql, { keeper })
      const [[every, sums]] = JSON.parse(found) as [[string, string]]
      return [every, sums]
    }
    const [kept, sums] = await read(this.#keeper)
    const [empty] = await read(null)
    const what = `block of ${block}, where ${where ?? 'all'}, ${marked ? 'marked' : 'none'}`
    if (kept !== empty) this.broken.push(`${what}: ${kept} is kept, ${empty} is read from empty`)
    const rows = this.#rows.filter(
      ({ region, gone }) => !gone && (where === null || this.#isElsewhere(region)),
    )
    const total = rows.reduce((sum, row) => sum + row.amount, 0)
    const truth = `[${rows.length}.0, ${total}.0]`
    if (sums !== truth) this.broken.push(`${what}: ${sums} is read, ${truth} is true`)
  }

  /** Tells whether a region is other than the north, as the database compares texts. */
  #isElsewhere(region: string | null): boolean {
    if (region === null) return false
    return (this.#kind === 'mysql' ? region.toLowerCase() : region) !== 'north'
  }

  /** Returns the rows that count before `where`. */
  #ofReader(): Row[] {
    return this.#definition.ruled ? this.#rows.filter(({ region }) => region === 'north') : this.#rows
  }

  /** Returns what the tests count, from the rows themselves. */
  #counts(): string {
    const rows = this.#ofReader()
    const newest = rows.map(({ at }) => at.slice(0, 10)).reduce((a, b) => (a > b ? a : b), '')
    const [nulls, gone] = [rows.filter(({ region }) => region === null), rows.filter((row) => row.gone)]
    return JSON.stringify([[newest || null, rows.length, nulls.length, gone.length]])
  }

  /** Returns the sums of a day from the rows themselves, or null if they are not easily computed. */
  #truth(): string | null {
    const { value, by, grain, where, period } = this.#definition
    if (by || grain !== 'day' || where !== null || period !== null) return null
    if (value !== 'sum(amount)' && value !== 'sum(weight)' && value !== 'count(*)') return null
    const days = new Map<string, Row[]>()
    for (const row of this.#ofReader()) {
      if (row.gone) continue
      const day = row.at.slice(0, 10)
      days.set(day, [...(days.get(day) ?? []), row])
    }
    const total = (rows: readonly Row[]): number => {
      if (value === 'count(*)') return rows.length
      const units = (of: (row: Row) => number): number =>
        Number(rows.reduce((sum, row) => sum + unitsOf(of(row)), 0n)) / 2 ** 60
      if (value === 'sum(weight)') return units(({ weight }) => weight)
      // SQLite has no decimals.
      if (this.#kind === 'sqlite') return units(({ amount }) => amount / 100)
      return rows.reduce((sum, { amount }) => sum + amount, 0) / 100
    }
    return JSON.stringify(
      [...days].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([day, rows]) => [day, total(rows)]),
    )
  }

  /** Changes a row of a closed day without a mark. The audit must find that day, and no other. */
  async violate(): Promise<void> {
    const kept = new Set([...this.#keeper.series.values()].flatMap(({ days }) => Object.keys(days)))
    const closed = this.#rows.filter(({ at, gone }) => !gone && kept.has(at.slice(0, 10)))
    if (closed.length === 0) return
    const row = this.#one(closed)
    await this.#delete(row)
    await this.audit(row)
  }

  /** Reads the day of a deleted row again in each series, and some others. */
  async audit(deleted: Row | null): Promise<void> {
    const { engine, server, temp_folder } = this.#options
    const acquire = async () => ({ connection: server.connection, release: () => undefined })
    const { signal } = new AbortController()
    const isHit = (day: string): boolean => deleted !== null && deleted.at.slice(0, 10) === day
    const all = [...this.#keeper.series.values()].flatMap(({ about, days, looked_at }) =>
      Object.entries(days).map(([day, kept]) => ({ about, day, kept, looked_at })),
    )
    const others = all.filter(({ day }) => !isHit(day))
    const some = others.length === 0 ? [] : [this.#one(others), this.#one(others)]
    for (const { about, day, kept, looked_at } of [...all.filter((one) => isHit(one.day)), ...some]) {
      const options = { roots: this.#roots, acquire, signal, temp_folder }
      const same = await auditDay(engine, { recipe: about.recipe, day, kept, looked_at }, options)
      if (!same && !isHit(day)) this.broken.push(`the audit finds ${day} different, which nobody changed`)
      if (same && deleted && isHit(day) && this.#isCounted(about, deleted) && !this.#isMarked(day, looked_at))
        this.broken.push(`the audit finds ${day} as it was kept, and a row of it was deleted`)
    }
  }

  /** Tells whether a day has marked rows, so that the next run reads it again. */
  #isMarked(day: string, looked_at: string): boolean {
    if (!this.#definition.marked) return false
    const since = addDays(looked_at.slice(0, 10), -REOPEN)
    return this.#rows.some(({ at, changed }) => at.startsWith(day) && changed >= since)
  }

  /** Tells whether the row counts in a series. A change of a row that `where` leaves out changes nothing. */
  #isCounted({ recipe }: KeptDays, row: Row): boolean {
    const isRuled = recipe.query.parameters.some(({ name }) => name.startsWith('READER_'))
    if (isRuled && row.region !== 'north') return false
    if (
      recipe.query.sql.includes("<> 'north'") &&
      (row.region === null || row.region.toLowerCase() === 'north')
    )
      return false
    // A block has each row, or counts it.
    if (recipe.shape.statistics.length === 0) return true
    // A row may hold no extreme, no new region and no amount of the region north.
    return recipe.shape.statistics.some(({ kind }) => kind === 'rows' || kind === 'count' || kind === 'sum')
  }
}

/** Returns a double as units of 2^-60, cut off. */
function unitsOf(value: number): bigint {
  const whole = Math.trunc(value)
  return BigInt(whole) * 2n ** 60n + BigInt(Math.trunc((value - whole) * 2 ** 60))
}
