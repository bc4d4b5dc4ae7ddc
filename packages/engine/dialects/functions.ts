/**
 * Lists the functions that a method's SQL may call if it is printed for another database, and how each is written
 * there.
 */
import type { Grain } from '@assay/model/metric'
import { NotAsked, type Printed, type Rank, type ValueType, type Writing } from './scope.ts'

export interface Call {
  all: readonly Printed[]
  printer: Writing
  distinct: boolean
  /** Returns the argument of an aggregate, null in rows that its filter leaves out. */
  only(sql: string): string
  /** The window of an aggregate over one; empty for any other. */
  over: string
  /** The rank of a row's value in its group, for a quantile. */
  rank?: Rank
}

type Writer = (call: Call) => Printed

const GRAINS = new Set(['hour', 'day', 'week', 'month', 'quarter', 'year'])
const ENGINE_TYPES: Partial<Record<ValueType, string>> = {
  integer: 'BIGINT',
  double: 'DOUBLE',
  word: 'VARCHAR',
  date: 'DATE',
  clock: 'TIMESTAMP',
  moment: 'TIMESTAMP WITH TIME ZONE',
  boolean: 'BOOLEAN',
}

const isWhole = ({ type }: Printed): boolean => type === 'integer' || type === 'boolean'

const arithmetic =
  (sign: string): Writer =>
  ({ all, printer }) => {
    const [left, right] = all as [Printed, Printed?]
    if (!right) return { sql: `(-${left.sql})`, type: left.type }
    if (isWhole(left) && isWhole(right)) return { sql: `(${left.sql} ${sign} ${right.sql})`, type: 'integer' }
    if (![left, right].every((one) => one.type === 'double' || isWhole(one))) throw new NotAsked(sign)
    return { sql: `(${printer.double(left)} ${sign} ${printer.double(right)})`, type: 'double' }
  }

const aggregate =
  (write: (sql: string, printer: Writing) => string, type?: ValueType): Writer =>
  ({ all, printer, only, over }) => {
    const [one] = all as [Printed]
    const sql = type === 'double' ? printer.double(one) : one.sql
    return { sql: `${write(only(sql), printer)}${over}`, type: type ?? one.type }
  }

/** Prints the smallest or the largest value. Not every database compares true and false. */
const end =
  (name: 'min' | 'max'): Writer =>
  ({ all, only, over }) => {
    const [{ sql, type }] = all as [Printed]
    if (type !== 'boolean') return { sql: `${name}(${only(sql)})${over}`, type }
    return {
      sql: `(${name}(${only(`case when ${sql} then 1 when not ${sql} then 0 end`)})${over} = 1)`,
      type,
    }
  }

const mean = aggregate((sql) => `avg(${sql})`, 'double')

/** Prints the larger or smaller of two values, of which one may be null. */
const ofTwo =
  (sign: string): Writer =>
  ({ all, printer }) => {
    if (all.length !== 2) throw new NotAsked('greatest of several')
    const type = all.every(isWhole)
      ? 'integer'
      : all.some((one) => one.type === 'double')
        ? 'double'
        : all[0]!.type
    const [left, right] = all.map((one) => (type === 'double' ? printer.double(one) : one.sql))
    return {
      sql: `(case when ${left} is null or ${right} ${sign} ${left} then ${right} else ${left} end)`,
      type,
    }
  }

const power: Writer = ({ all, printer }) => {
  const [base, exponent] = all as [Printed, Printed]
  const of = printer.double(base)
  const times = exponent.constant
  const sql =
    typeof times === 'number' && Number.isInteger(times) && times > 1 && times <= 4
      ? `(${Array.from({ length: times }, () => of).join(' * ')})`
      : printer.dialect.power(of, printer.double(exponent))
  return { sql, type: 'double' }
}

/** Prints `datediff('minute', date_trunc('day', T), T)`, which time/cut-days.ts uses for minutes after midnight. */
const clock: Writer = ({ all, printer }) => {
  const [unit, , time] = all as [Printed, Printed, Printed?]
  // A day begins and ends at midnight.
  if (time?.type === 'date') return { sql: `(case when ${time.sql} is not null then 0 end)`, type: 'integer' }
  if (unit.constant !== 'minute' || time?.type !== 'clock') throw new NotAsked('datediff')
  return { sql: printer.dialect.minutes(time.sql), type: 'integer' }
}

/** Quantiles that are linear between two values. */
export const BETWEEN: ReadonlySet<string> = new Set(['median', 'quantile_cont'])
export const QUANTILES: ReadonlySet<string> = new Set([...BETWEEN, 'quantile_disc'])

/** Prints quantiles by the ranks of values, linear between two of them. */
const quantile =
  (write: (value: string, share: number, rank: Rank, printer: Writing) => string): Writer =>
  ({ all: [one, share], printer, rank, only }) => {
    const at = share === undefined ? 0.5 : share.constant
    if (typeof at !== 'number') throw new NotAsked('quantile')
    // Rows are numbered only where the database has no such quantile.
    if (!rank && printer.dialect.quantile)
      return { sql: printer.dialect.quantile(only(printer.double(one!)), at), type: 'double' }
    if (!rank) throw new NotAsked('quantile')
    return { sql: write(printer.double(one!), at, rank, printer), type: 'double' }
  }

const between = quantile((value, share, { place, size }, { dialect }) => {
  const at = `(${dialect.number(share)} * (max(${size}) - 1))`
  const here = `(${dialect.number(share)} * (${size} - 1))`
  const low = `max(case when ${place} - 1 <= ${here} then ${value} end)`
  const high = `min(case when ${place} - 1 >= ${here} then ${value} end)`
  return `(${low} + (${high} - ${low}) * (${at} - ${dialect.floor(at)}))`
})

export const FUNCTIONS: Readonly<Record<string, Writer>> = {
  '+': arithmetic('+'),
  '-': arithmetic('-'),
  '*': arithmetic('*'),
  '/': ({ all, printer }) => {
    const [left, right] = all.map((one) => printer.double(one)) as [string, string]
    return {
      sql: all[1]!.constant === undefined ? printer.dialect.over(left, right) : `(${left} / ${right})`,
      type: 'double',
    }
  },
  '**': power,
  abs: ({ all: [one] }) => ({ sql: `abs(${one!.sql})`, type: one!.type }),
  floor: ({ all: [one], printer }) => ({ sql: printer.dialect.floor(printer.double(one!)), type: 'double' }),
  greatest: ofTwo('>'),
  least: ofTwo('<'),
  nullif: ({ all, printer }) => {
    const type = all[0]!.type
    const [one, other] = all.map((each) => (type === 'double' ? printer.double(each) : each.sql))
    return { sql: `nullif(${one}, ${other})`, type }
  },
  isfinite: ({ all: [one], printer }) =>
    one!.type === 'double'
      ? { sql: printer.dialect.finite(one!.sql), type: 'boolean' }
      : { sql: `(${one!.sql} is not null)`, type: 'boolean' },
  typeof: ({ all: [one], printer }) => {
    const name = ENGINE_TYPES[one!.type]
    if (name === undefined) throw new NotAsked('typeof')
    return printer.literal(name)
  },
  ends_with: () => {
    throw new NotAsked('ends_with')
  },
  left: ({ all: [one, length], printer }) => {
    if (typeof length!.constant !== 'number' || length!.constant < 0) throw new NotAsked('left')
    return { sql: printer.dialect.start(one!.sql, length!.constant), type: one!.type }
  },
  // A database writes a time in its own form, so Assay converts the text afterwards.
  replace: ({ all: [one] }) => {
    if (one!.type !== 'stamp') throw new NotAsked('replace')
    return one!
  },
  // This handles "Z" after a moment.
  '||': ({ all: [one, other] }) => {
    if (one!.type !== 'stamp' || other!.constant !== 'Z') throw new NotAsked('||')
    return { ...one!, type: 'moment stamp' }
  },
  make_timestamp: () => {
    throw new NotAsked('make_timestamp')
  },
  count_star: ({ only, over }) => ({
    sql: `count(${only('1') === '1' ? '*' : only('1')})${over}`,
    type: 'integer',
  }),
  count: ({ all: [one], distinct, only, over }) => ({
    sql: `count(${one ? `${distinct ? 'distinct ' : ''}${only(one.sql)}` : '*'})${over}`,
    type: 'integer',
  }),
  sum: ({ all: [one], printer, only, over }) =>
    isWhole(one!)
      ? { sql: printer.dialect.integer(`sum(${only(one!.sql)})${over}`), type: 'integer' }
      : { sql: `${printer.dialect.sum(only(printer.double(one!)))}${over}`, type: 'double' },
  fsum: aggregate((sql, { dialect }) => dialect.sum(sql), 'double'),
  avg: mean,
  favg: mean,
  min: end('min'),
  max: end('max'),
  median: quantile(
    (value, _, { place, size }) =>
      `avg(case when 2 * ${place} in (${size}, ${size} + 1, ${size} + 2) then ${value} end)`,
  ),
  quantile_cont: between,
  quantile_disc: quantile(
    (value, share, { place, size }, { dialect }) =>
      `min(case when ${place} >= ${dialect.number(share)} * ${size} then ${value} end)`,
  ),
  // The function is used only for values that are the same in every row.
  any_value: end('min'),
  bool_and: aggregate((sql) => `(min(case when ${sql} then 1 else 0 end) = 1)`),
  bool_or: aggregate((sql) => `(max(case when ${sql} then 1 else 0 end) = 1)`),
  date_trunc: ({ all: [unit, time], printer }) => {
    const grain = unit!.constant
    if (typeof grain !== 'string' || !GRAINS.has(grain)) throw new NotAsked('date_trunc')
    return { sql: printer.dialect.step(time!.sql, grain as Grain), type: grain === 'hour' ? 'clock' : 'date' }
  },
  datediff: clock,
  date_diff: clock,
  epoch_us: ({ all: [time], printer }) => {
    const { type, sql } = time!
    if (type !== 'moment' && type !== 'clock' && type !== 'date') throw new NotAsked('epoch_us')
    return { sql: printer.dialect.micros(sql, type), type: 'integer' }
  },
  timezone: ({ all: [zone, time], printer }) => {
    const sql = printer.dialect.local(time!.sql, String(zone!.constant))
    if (sql === null) throw new NotAsked('timezone')
    return { sql, type: 'clock' }
  },
}
