/** Kept days: the statistics of days of metrics. They are kept whole or not at all, within the disk of their workspace. */
import type { DayToAudit, KeptDaysOf, KeptOfMetric, KeptSeriesKey } from '../../contract/jobs/kept-days.ts'
import type { Reader, Routine, Writer } from '../../rows.ts'
import type { Input } from '../../store.ts'
import { KEPT_DAYS, KEPT_SERIES } from '../../tables/jobs/kept-days.ts'
import { by } from '../../tables/table.ts'
import { LOCK_WORKSPACE } from '../workspace-lock.ts'

const OF_SERIES = by('workspace_id', 'series_key')
const FIND = KEPT_SERIES.select(OF_SERIES, ['first_day', 'looked_at', 'doubt'])
const DAYS = KEPT_DAYS.select(`${OF_SERIES} AND day >= :from AND day < :until ORDER BY day`, [
  'day',
  'statistics',
])
const BYTES = KEPT_DAYS.sql<{ bytes: number }>(
  `SELECT CAST(coalesce(sum(bytes), 0) AS bigint) AS bytes FROM kept_days ${by('workspace_id')}`,
)
const OF_METRICS = KEPT_SERIES.sql<KeptOfMetric>(
  `SELECT kept_series.metric, CAST(count(DISTINCT kept_series.series_key) AS integer) AS series,
     CAST(count(day) AS integer) AS days, CAST(coalesce(sum(bytes), 0) AS bigint) AS bytes, max(doubt) AS doubt
   FROM kept_series LEFT JOIN kept_days ON kept_days.workspace_id = kept_series.workspace_id
     AND kept_days.series_key = kept_series.series_key
   WHERE kept_series.workspace_id = :workspace_id AND metric = ANY (:metrics)
   GROUP BY kept_series.metric ORDER BY kept_series.metric`,
)
const KEEP_SERIES = KEPT_SERIES.insert(
  KEPT_SERIES.columns,
  `ON CONFLICT (workspace_id, series_key) DO UPDATE SET used_at = excluded.used_at,
     first_day = coalesce(excluded.first_day, kept_series.first_day),
     looked_at = CASE WHEN excluded.looked_at < kept_series.looked_at THEN excluded.looked_at ELSE kept_series.looked_at END`,
)
const LOOKED = KEPT_SERIES.update(['looked_at'], `${OF_SERIES} AND looked_at = :looked_since`)
// A run that began earlier may write later, so the later reading stays.
const KEEP_DAY = KEPT_DAYS.insert(
  KEPT_DAYS.columns,
  `ON CONFLICT (workspace_id, series_key, day) DO UPDATE
     SET statistics = excluded.statistics, bytes = excluded.bytes, read_at = excluded.read_at
     WHERE kept_days.read_at <= excluded.read_at`,
)
const DROP_SERIES = KEPT_SERIES.delete(`${by('workspace_id')} AND metric = ANY (:metrics)`)
const NEXT = KEPT_SERIES.select(
  'WHERE audited_at < :before ORDER BY audited_at LIMIT 1 FOR UPDATE SKIP LOCKED',
  ['workspace_id', 'series_key', 'metric', 'recipe', 'looked_at'],
)
const NOTE_AUDIT = KEPT_SERIES.update(['audited_at'], OF_SERIES)
const COUNT = KEPT_DAYS.sql<{ count: number }>(
  `SELECT CAST(count(*) AS integer) AS count FROM kept_days ${OF_SERIES}`,
)
const ONE_DAY = KEPT_DAYS.select(`${OF_SERIES} ORDER BY day LIMIT 1 OFFSET :before_it`, [
  'day',
  'statistics',
  'read_at',
])
const DROP_DAY = KEPT_DAYS.delete(`${by('workspace_id', 'series_key', 'day')} AND read_at = :read_at`)
const DOUBT = KEPT_SERIES.update(['doubt'], OF_SERIES)

/** The bytes of a row beside its statistics: its key, its times and its entry in an index. */
const ROW_BYTES = 200

export function* findKeptDays(from: Reader, query: Input<'findKeptDays'>): Routine<KeptDaysOf | null> {
  const found = yield* from.find(FIND, query)
  return found ? { ...found, days: yield* from.all(DAYS, query) } : null
}

export function* keptBytes(from: Reader, query: Input<'keptBytes'>): Routine<number> {
  return (yield* from.find(BYTES, query))!.bytes
}

export function keptOfMetrics(from: Reader, query: Input<'keptOfMetrics'>): Routine<KeptOfMetric[]> {
  return from.all(OF_METRICS, query)
}

export function* keepDays(tx: Writer, input: Input<'keepDays'>): Routine<boolean> {
  // The lock makes two calls at once see each other's bytes.
  if (!(yield* tx.find(LOCK_WORKSPACE, input))) return false
  const rows = input.days.map((one) => ({ ...one, bytes: Buffer.byteLength(one.statistics) + ROW_BYTES }))
  const added = rows.reduce((sum, { bytes }) => sum + bytes, 0)
  if ((yield* keptBytes(tx, input)) + added > input.most) return false
  const looked_at = input.read_at
  yield* tx.run(KEEP_SERIES, { ...input, looked_at, doubt: null, audited_at: tx.now, used_at: tx.now })
  if (input.looked_since !== null) yield* tx.run(LOOKED, { ...input, looked_at })
  for (const row of rows) yield* tx.run(KEEP_DAY, { ...input, ...row })
  return true
}

export function* dropKeptDays(tx: Writer, input: Input<'dropKeptDays'>): Routine<number> {
  return yield* tx.run(DROP_SERIES, input)
}

export function* claimDayToAudit(tx: Writer, input: Input<'claimDayToAudit'>): Routine<DayToAudit | null> {
  const series = yield* tx.find(NEXT, input)
  if (!series) return null
  yield* tx.run(NOTE_AUDIT, { ...series, audited_at: tx.now })
  const { count } = (yield* tx.find(COUNT, series))!
  const before_it = Math.floor(Math.random() * count)
  const day = yield* tx.find(ONE_DAY, { ...series, before_it })
  return day ? { ...series, ...day } : null
}

export function* doubtKeptDay(tx: Writer, input: KeptSeriesKey & Input<'doubtKeptDay'>): Routine<boolean> {
  if ((yield* tx.run(DROP_DAY, input)) === 0) return false
  return (yield* tx.run(DOUBT, input)) > 0
}
