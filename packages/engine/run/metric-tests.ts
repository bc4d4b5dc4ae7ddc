/**
 * The tests of the metrics that a run uses. Each metric is tested once, when the first block that uses it is run; what
 * fails is a blocker of every analysis that reads the block, at once or through SQL, and stands above the report.
 */
import type { Cell, Doubt } from '@assay/model/insight'
import type { MetricInBlock, MetricInfo, MetricLineage, MetricTest } from '@assay/model/metric'
import type { SqlBlock } from '@assay/model/template'
import { type Engine, readTable } from '../duckdb/duckdb.ts'
import { testText } from '../metrics/definition.ts'
import { opening } from '../verdicts/measure.ts'
import { doubt } from '../verdicts/verdict.ts'

const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000

export class MetricTests {
  readonly #engine: Engine
  readonly #started: string
  readonly #known = new Map<string, { lineage: MetricLineage; doubts: Doubt[] }>()

  constructor(engine: Engine, started_at: string) {
    this.#engine = engine
    this.#started = started_at
  }

  /** What stands against the metrics of a block. */
  async of({ metrics = [] }: SqlBlock): Promise<Doubt[]> {
    const doubts: Doubt[] = []
    for (const metric of metrics) doubts.push(...(await this.#test(metric)))
    return doubts
  }

  /** Of one metric that was tested. */
  doubtsOf(metric: string): Doubt[] {
    return this.#known.get(metric)?.doubts ?? []
  }

  all(): Doubt[] {
    return [...this.#known.values()].flatMap(({ doubts }) => doubts)
  }

  get lineage(): MetricLineage[] {
    return [...this.#known.values()].map(({ lineage }) => lineage)
  }

  async #test({ info, tests }: MetricInBlock): Promise<Doubt[]> {
    const known = this.#known.get(info.metric)
    if (known) return known.doubts
    const lineage: MetricLineage = { metric: info.metric, version: info.version, tests: [] }
    const doubts: Doubt[] = []
    if (tests !== null) {
      const { columns, rows } = await readTable(this.#engine, tests, {}, 1)
      const found = Object.fromEntries(columns.map(({ name }, index) => [name, rows[0]?.[index] ?? null]))
      for (const [index, test] of info.tests.entries()) {
        const says = this.#fault(info, test, found, index)
        lineage.tests.push({ test: testText(test), ok: says === null, found: says ?? 'holds' })
        if (says !== null) doubts.push(doubt(test.kind === 'fresh' ? 'data_stale' : 'test_failed', says))
      }
    }
    this.#known.set(info.metric, { lineage, doubts })
    return doubts
  }

  /** The sentence for the reader, or null if the test holds. */
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
        return `${label} must not be read: ${rows} ${failing === 1 ? 'repeats' : 'repeat'} a ${quoted(test.column)} that must be unique.`
      case 'accepted':
        return `${label} must not be read: ${rows} ${verb} a ${quoted(test.column)} other than ${test.values.map((value) => quoted(String(value))).join(', ')}.`
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
    const age = localNow(this.#started, info.time.zone) - last
    if (!(age > test.ms)) return null
    const old =
      age >= 2 * DAY_MS
        ? `${Math.floor(age / DAY_MS)} days`
        : `${Math.max(1, Math.floor(age / HOUR_MS))} hours`
    return `${label} must not be read as of now: the newest row is of ${whole ? day : `${day} ${clock.slice(0, 5)}`}, ${old} ago, and at most ${test.text} is allowed.`
  }
}

function quoted(text: string): string {
  return `"${text}"`
}

/** The clock on the wall of a zone, as milliseconds that UTC would show so. */
function localNow(instant: string, zone: string): number {
  const parts = new Intl.DateTimeFormat('en-CA', {
    timeZone: zone,
    hourCycle: 'h23',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  }).formatToParts(new Date(instant))
  const of = (type: string): string => parts.find((part) => part.type === type)?.value ?? '00'
  return Date.parse(
    `${of('year')}-${of('month')}-${of('day')}T${of('hour')}:${of('minute')}:${of('second')}Z`,
  )
}
