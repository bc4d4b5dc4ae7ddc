/**
 * The tests of the metrics that a run uses. Each metric is tested once, when the first block that uses it runs. A
 * failed test is a blocker of every analysis that reads the block, directly or through SQL, and stands above the
 * report.
 */
import { clockInZone } from '@assay/model/dates'
import type { Cell, Doubt } from '@assay/model/insight'
import type { FailedTest, MetricInBlock, MetricInfo, MetricLineage, MetricTest } from '@assay/model/metric'
import type { SqlBlock } from '@assay/model/template'
import { type Engine, readTable } from '../duckdb/duckdb.ts'
import { count } from '../methods/shared/sentence.ts'
import { testText } from '../metrics/definition.ts'
import type { Attached } from '../sources/source.ts'
import { opening } from '../verdicts/measure.ts'
import { timeInWords } from '../verdicts/times.ts'
import { doubt } from '../verdicts/verdict.ts'
import { quoted } from '../verdicts/words.ts'

const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000
const MINUTE_MS = 60_000

export class MetricTests {
  readonly #engine: Engine
  readonly #started: string
  readonly #sources: ReadonlyMap<string, Pick<Attached, 'doubt'>>
  readonly failed: FailedTest[] = []
  readonly #known = new Map<string, { lineage: MetricLineage; doubts: Doubt[] }>()

  constructor(engine: Engine, started_at: string, sources: ReadonlyMap<string, Pick<Attached, 'doubt'>>) {
    this.#engine = engine
    this.#started = started_at
    this.#sources = sources
  }

  /** Tests the metrics of a block that no earlier block used. */
  async of({ metrics = [] }: SqlBlock): Promise<void> {
    for (const metric of metrics) if (!this.#known.has(metric.info.metric)) await this.#test(metric)
  }

  /** Returns the doubts of one tested metric. */
  doubtsOf(metric: string): Doubt[] {
    return this.#known.get(metric)?.doubts ?? []
  }

  get lineage(): MetricLineage[] {
    return [...this.#known.values()].map(({ lineage }) => lineage)
  }

  async #test({ info, tests, kept }: MetricInBlock): Promise<void> {
    const lineage: MetricLineage = { metric: info.metric, version: info.version, tests: [] }
    const doubts: Doubt[] = []
    const [differing] = kept.flatMap((source) => this.#sources.get(source)?.doubt ?? [])
    if (differing !== undefined)
      doubts.push(doubt('kept_days_differ', `${opening(info.label)} may be wrong: ${differing}`))
    if (tests !== null) {
      const { columns, rows } = await readTable(this.#engine, tests, {}, 1)
      const found = Object.fromEntries(columns.map(({ name }, index) => [name, rows[0]?.[index] ?? null]))
      for (const [index, test] of info.tests.entries()) {
        const says = this.#fault(info, test, found, index)
        lineage.tests.push({ test: testText(test), ok: says === null, found: says ?? 'holds' })
        if (says === null) continue
        const late = test.kind === 'fresh'
        doubts.push(doubt(late ? 'data_stale' : 'test_failed', says))
        this.failed.push({ metric: info.metric, label: info.label, late, says })
      }
    }
    this.#known.set(info.metric, { lineage, doubts })
  }

  /** Returns the sentence for the reader, or null if the test holds. */
  #fault(info: MetricInfo, test: MetricTest, found: Record<string, Cell>, index: number): string | null {
    const label = opening(info.label)
    if (test.kind === 'fresh') return this.#staleness(info, test, found.newest ?? null)
    const failing = Number(found[`test_${index}`] ?? 0)
    if (failing === 0) return null
    const rows = failing === 1 ? 'one row' : `${failing} rows`
    const verb = failing === 1 ? 'has' : 'have'
    switch (test.kind) {
      case 'not_null':
        return `${label} must not be read: ${rows} ${verb} no ${quoted(test.column)}.`
      case 'unique':
        return `${label} must not be read: ${rows} ${failing === 1 ? 'repeats' : 'repeat'} a value of ${quoted(test.column)}, which must be unique.`
      case 'accepted':
        return `${label} must not be read: ${rows} ${verb} a value of ${quoted(test.column)} other than ${test.values.map((value) => quoted(String(value))).join(', ')}.`
    }
  }

  #staleness(info: MetricInfo, test: { ms: number; text: string }, newest: Cell): string | null {
    const label = opening(info.label)
    if (typeof newest !== 'string') return `${label} must not be read: there are no rows.`
    const time = newest.includes(' ') ? newest : newest.replace('T', ' ')
    const [day, clock = '00:00:00'] = time.split(' ') as [string, string?]
    const whole = /^00:00(:00(\.0+)?)?$/.test(clock)
    // A date stands for its whole day.
    const last = Date.parse(`${day}T${clock.slice(0, 8)}Z`) + (whole ? DAY_MS : 0)
    // Both times are read from the clock of the metric's zone.
    const now = Date.parse(`${clockInZone(this.#started, info.time.zone).replace(' ', 'T')}Z`)
    const age = now - last
    if (!(age > test.ms)) return null
    const old =
      age >= 2 * DAY_MS
        ? `${Math.floor(age / DAY_MS)} days`
        : `${Math.max(1, Math.floor(age / HOUR_MS))} hours`
    return `${label} must not be read as of now: the newest row is of ${timeInWords(`${day}T${whole ? '00:00' : clock.slice(0, 5)}`)}, ${old} ago, and at most ${spanInWords(test.ms)} is allowed.`
  }
}

/** Words a span, such as "2 days" or "36 hours". It uses whole days if they fit. */
function spanInWords(ms: number): string {
  const days = ms / DAY_MS
  if (Number.isInteger(days)) return count(days, 'day')
  return ms % HOUR_MS === 0 ? count(ms / HOUR_MS, 'hour') : count(Math.round(ms / MINUTE_MS), 'minute')
}
