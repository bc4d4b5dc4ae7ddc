/**
 * Finds the first and last day of the data behind a block, so that a method can tell a complete last week from one in
 * which the data end. Each column of a source or block that later SQL names is read once.
 */
import { dayNumber, isDay } from '@assay/model/dates'
import type { Column } from '@assay/model/insight'
import { NotAsked } from '../dialects/scope.ts'
import { type Engine, identifier, readTable } from '../duckdb/duckdb.ts'
import type { Extent, LastStep } from '../methods/shared/method.ts'
import { clock, clockSql, cutDays, type DayRows, endsEarly } from '../methods/shared/time/cut-days.ts'
import { dueDays } from '../methods/shared/time/due.ts'
import type { Attached } from '../sources/source.ts'
import type { DayCount } from '../sufficient/ask.ts'
import type { Plan } from './plan.ts'

/** The most days that are read to learn their distances, and the most hours that are read to learn how an hour ends. */
const RECENT = 400
/** The fewest hours of the same time of the day by which one is judged. */
const SAME_CLOCK = 8
const DAY_MS = 86_400_000

export interface ExtentInput {
  engine: Engine
  plan: Plan
  vars: Record<string, unknown>
  time_zone: string
  columns: ReadonlyMap<string, readonly Column[]>
  sources: ReadonlyMap<string, Pick<Attached, 'asked'>>
}

type Days = Extent['columns'][number]

export class Extents {
  readonly #run: ExtentInput
  readonly #known = new Map<string, Promise<Days | null>>()

  constructor(run: ExtentInput) {
    this.#run = run
  }

  /** Returns the extent of the block or source that a method reads. */
  async of(name: string): Promise<Extent> {
    const { relations, sql } = this.#behind(name)
    const found: Days[] = []
    for (const source of relations) {
      for (const column of this.#run.columns.get(source) ?? []) {
        if (column.type !== 'date' && column.type !== 'timestamp') continue
        if (sql !== '' && !sql.includes(column.name.toLowerCase())) continue
        const key = JSON.stringify([source, column.name])
        const days = this.#known.get(key) ?? this.#daysOf(source, column)
        this.#known.set(key, days)
        const known = await days
        if (known) found.push(known)
      }
    }
    return { periods: this.#periods(), columns: found }
  }

  /** Returns the sources and blocks that a block reads, directly or through others, and all SQL between them. */
  #behind(name: string): { relations: string[]; sql: string } {
    const relations = new Set<string>()
    const texts: string[] = []
    const visit = (one: string): void => {
      const planned = this.#run.plan.sql.get(one)
      if (!planned) {
        relations.add(one)
        return
      }
      texts.push(planned.sql.toLowerCase())
      for (const read of planned.reads.filter((each) => !relations.has(each))) {
        relations.add(read)
        visit(read)
      }
    }
    visit(name)
    return { relations: [...relations], sql: texts.join('\n') }
  }

  #periods(): Extent['periods'] {
    return Object.values(this.#run.vars).flatMap((value) => {
      const { start, end } = (value ?? {}) as { start?: unknown; end?: unknown }
      const isPeriod = typeof start === 'string' && typeof end === 'string' && isDay(start) && isDay(end)
      return isPeriod ? [{ start: dayNumber(start), end: dayNumber(end) }] : []
    })
  }

  async #daysOf(source: string, column: Column): Promise<Days | null> {
    const from = `(select t, cast(t as date) as day from ${this.#timesOf(source, column)})`
    const timed = column.type === 'timestamp'
    const clocks = timed ? `, ${clockSql('min')} as first, ${clockSql('max')} as last` : ''
    const sql = `with days as (select day, count(*) as n${clocks} from ${from} group by day)
      select (min(day) over ())::varchar as first_day, day::varchar as day, n${timed ? ', first, last' : ''}
      from days order by days.day desc limit ${RECENT}`
    const noted = this.#run.sources.get(source)?.asked?.days.get(column.name)
    const rows = noted ? rowsOfDays(noted) : await this.#rowsOf(source, sql)
    const found = rows.filter(([, day]) => isDay(day as string)).toReversed()
    const first = rows[0]?.[0] as string | undefined
    if (found.length === 0 || first === undefined || !isDay(first)) return null
    const days = found.map(([, day]) => dayNumber(day as string))
    const due = dueDays(days)
    const ends = { first: dayNumber(first), last: due.last, due: due.after(due.last) - due.last }
    // Times that are all midnight show no hour of the day.
    const hours = timed ? found.map(dayRows) : []
    if (!hours.some(({ last }) => last > 0)) return ends
    const ended = { ...ends, hours: hoursOf(hours, days[0] === ends.first) }
    if (this.#run.sources.get(source)?.asked) return ended
    const steps = new Map<number, Promise<LastStep | null>>()
    return {
      ...ended,
      lastStep: (minutes) => {
        const known = steps.get(minutes) ?? this.#lastStep(source, column, minutes)
        steps.set(minutes, known)
        return known
      },
    }
  }

  /**
   * Returns the rows of a query over a source. A database runs it in its own SQL; if it cannot, the result is empty.
   */
  async #rowsOf(source: string, sql: string): Promise<readonly (readonly unknown[])[]> {
    const asked = this.#run.sources.get(source)?.asked
    if (!asked) return (await readTable(this.#run.engine, sql, {}, RECENT)).rows
    try {
      const rows = await asked.query(sql, {}, this.#run.columns.get(source)!)
      return rows.map((row) => Object.values(row))
    } catch (error) {
      if (error instanceof NotAsked) return []
      throw error
    }
  }

  /** Returns SQL of the column's times as `t`, on the clock of the template's zone. */
  #timesOf(source: string, column: Column): string {
    const name = identifier(column.name)
    const zone = this.#run.time_zone.replaceAll("'", "''")
    const local = column.database_type.includes('ZONE') ? `timezone('${zone}', ${name})` : name
    return `(select ${local} as t from ${identifier(source)} where isfinite(${name}))`
  }

  /**
   * Compares the last step with steps of the same time of the day if enough days are known, so that a night does not
   * count as a cut.
   */
  async #lastStep(source: string, column: Column, minutes: number): Promise<LastStep | null> {
    const times = this.#timesOf(source, column)
    const step = `interval '${minutes} minutes'`
    const sql = `with s as (select time_bucket(${step}, t::timestamp) as step, count(*) as n,
        date_diff('second', time_bucket(${step}, min(t)::timestamp), min(t)::timestamp) as first,
        date_diff('second', time_bucket(${step}, max(t)::timestamp), max(t)::timestamp) as last
      from ${times} where t > (select max(t) from ${times}) - ${RECENT} * ${step} group by step)
      select epoch_ms(step)::double, step::varchar, n, first, last from s order by s.step desc limit ${RECENT}`
    const { rows } = await readTable(this.#run.engine, sql, {}, RECENT)
    const [last, ...before] = rows.map((row) => ({ start: Number(row[0]), ...dayRows(row) }))
    if (!last) return null
    const alike = before.filter(({ start }) => (last.start - start) % DAY_MS === 0)
    const others = alike.length >= SAME_CLOCK ? alike : before
    const cut = endsEarly(last, others, 60 * minutes)
    const minute = Math.floor((((last.start % DAY_MS) + DAY_MS) % DAY_MS) / 60_000 + last.last / 60)
    return { start: last.start, until: cut ? clock(minute) : null }
  }
}

/** Returns what the query of the days of a column gives: the first day, a day and its rows, for the last days. */
function rowsOfDays(days: readonly DayCount[]): (readonly unknown[])[] {
  const sorted = days.filter(([day]) => isDay(day)).toSorted(([a], [b]) => (a < b ? 1 : -1))
  return sorted.slice(0, RECENT).map(([day, n]) => [sorted.at(-1)![0], day, n])
}

const dayRows = ([, , n, first, last]: readonly unknown[]): DayRows => ({
  n: Number(n),
  first: Number(first),
  last: Number(last),
})

/** Returns the hours within a day at which the data begin and end. The beginning is known only if all days were read. */
function hoursOf(days: readonly DayRows[], whole: boolean): NonNullable<Days['hours']> {
  const cut = cutDays(days)
  return { from: whole && cut.first ? days[0]!.first : null, until: cut.last ? days.at(-1)!.last : null }
}
