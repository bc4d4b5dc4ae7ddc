/**
 * The beginnings of transactions: each is a statement after BEGIN that reads the time and makes settings for its
 * transaction only. Most settings keep the planner to indexes.
 */

/** The milliseconds after which the database ends a statement. */
const STATEMENT_MS = 30_000
/**
 * The most milliseconds between two statements of a transaction. A transaction that pauses for longer is stopped or
 * gone, and holds locks.
 */
const PAUSE_MS = 5000

const settings = (values: Record<string, number | string>): string =>
  Object.entries(values)
    .map(([name, value]) => `set_config('${name}', '${value}', true)`)
    .join(', ')
const without = (off: readonly string[]): string =>
  settings(Object.fromEntries(off.map((name) => [name, 'off'])))

/** Begins a transaction, without its settings. */
export const BEGIN = 'BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE'

/** Returns the statement after BEGIN. It reads the time, and makes settings for this transaction only. */
function beginning(off: readonly string[], also: Record<string, string> = {}): string {
  const times = settings({
    statement_timeout: STATEMENT_MS,
    idle_in_transaction_session_timeout: PAUSE_MS,
    ...also,
  })
  const all = [times, without(off)].filter((part) => part !== '')
  return `SELECT clock_timestamp()::timestamptz(3) AS now, ${all.join(', ')}`
}

/** The beginning for requests. */
export const PLAIN = beginning([])

/** The settings that are turned off so that rows are read from indexes, and nothing is compiled (0.15 s each time). */
const INDEXES = ['jit', 'enable_seqscan', 'enable_bitmapscan']

/**
 * Further settings for leases, settles and deliveries, which read row by row from the indexes, however old the
 * statistics are. Otherwise the planner reads all waiting deliveries to settle a few (11 ms with five thousand, 1 ms
 * with this). Their statements are few and keep one plan each: planning each claim anew took a fifth of what a job
 * costs the database one at a time.
 */
const ROW_BY_ROW = [...INDEXES, 'enable_hashjoin', 'enable_mergejoin']
const KEPT = { plan_cache_mode: 'force_generic_plan' }
/** The beginning for leases, settles and deliveries. */
export const CONTROL = beginning(ROW_BY_ROW, KEPT)
/** The beginning for claims of jobs, whose plans also keep to the order of indexes. */
export const CLAIM = beginning([...ROW_BY_ROW, 'enable_sort'], KEPT)

/**
 * Makes rows come from an index in its order until the transaction ends, also for foreign keys. Otherwise a claim
 * mistakes a burst of jobs for a short queue and sorts it (187 ms at 300,000 jobs, 3 ms with this).
 */
export const OUT_OF_INDEXES = `SELECT ${without([...INDEXES, 'enable_sort'])}`
