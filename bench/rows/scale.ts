/**
 * Measures analyses that stay in a database of very many rows, beside the database alone: their cost beside a query
 * written by hand, the rows and bytes that they bring here, and a brief in which one day is new.
 */
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import type { Lineage } from '@assay/model/insight'
import { atMost, type Figure, type Missing } from '../figure.ts'
import {
  type Form,
  inTurns,
  milliseconds,
  type Running,
  startPeer,
  withFolder,
  withService,
} from '../measure.ts'
import type { ClientAnswer } from '../peers/source-client.ts'
import { SALES, SALES_DATABASES, type Sales, type SalesDatabase } from '../sales.ts'

const TIMEOUT_S = 7000
/** The number of turns over more than MANY rows. One takes minutes. */
const LONG_TURNS = 2
/** Methods that sort, join rows or scan them many times. They are left out over more than MANY rows, where they take hours. */
const SLOW = new Set(['anova', 'experiment', 'profile', 'drivers', 'correlation', 'funnel', 'ab_test'])
const MANY = 200_000_000

/** The options of each method. */
const METHODS: Readonly<Record<string, string>> = {
  describe: 'method: describe\nvalue: price',
  pareto: 'method: pareto\nvalue: amount\nby: region',
  compare: 'method: compare\ntime: day\nvalue: amount\nperiod: week\naggregate: sum',
  trend: 'method: trend\ntime: day\nvalue: amount',
  seasonality: 'method: seasonality\ntime: day\nvalue: amount',
  forecast: 'method: forecast\ntime: day\nvalue: amount\nhorizon: 7',
  anova: 'method: anova\nvalue: amount\nby: region',
  ab_test: 'method: ab_test\nsuccess: won\ngroup: arm\ncontrol: control',
  experiment:
    'method: experiment\nunit: person\narm: arm\ncontrol: control\nmetrics: [{ name: amount, value: amount }]',
  profile: 'method: profile',
  cohorts: 'method: cohorts\nid: person\ntime: day\nevery: week',
  drivers: 'method: drivers\nvalue: amount\ntime: day\nperiod: week\nby: [region, arm]',
  regression: 'method: regression\ny: amount\nx: [price, won]',
  correlation: 'method: correlation\nvalues: [amount, price]',
  funnel: 'method: funnel\nid: person\nevent: event\ntime: day\nsteps: [visit, cart, order]',
}
/** Methods that are also timed beside a query written by hand. */
const BY_HAND = [
  ['pareto', 'regions', 'the query written by hand, by its own client'],
  ['trend', 'means', 'the query written by hand, by its own client'],
  [
    'describe',
    'shape',
    'the query written by hand, by its own client, with fewer digits of spread and shape',
  ],
  ['describe', 'digits', 'the query written by hand, by its own client, with the same digits'],
] as const

const LIMITS = `limits: { timeout: ${TIMEOUT_S}s, rows: 1000 }`

const templateOf = (options: string): string => `---
${LIMITS}
---

\`\`\`analysis found
of: sales.${SALES}
${options}
\`\`\`

# Sales

{{ found.summary }}
`

const METRIC = `metric: takings
source: { connection: sales, table: ${SALES} }
time: { column: day }
value: sum(amount)
dimensions: [region]
`
const KEPT = METRIC.replace('takings', 'kept_takings').concat('partitions: { reopen: 0d, deletes: none }\n')

const ofMetric = (metric: string, by: string): string => `---
${LIMITS}
---

\`\`\`metric daily
metric: ${metric}
${by}
\`\`\`

# Takings

{% table daily %}
`

const TEMPLATES: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    Object.entries(METHODS).map(([name, options]) => [`scale-${name}`, templateOf(options)]),
  ),
  'scale-series': ofMetric('takings', ''),
  'scale-brief': ofMetric('kept_takings', 'by: region'),
}

interface Ran {
  ms: number
  /** The statements that were sent to the database, and the rows and bytes that came. */
  sql: string[]
  rows: number
  bytes: number
}

async function runJob({ client }: Running, template_id: string): Promise<Ran> {
  const id = await client.jobs.create({ template_id })
  let insight_id = ''
  const ms = await milliseconds(async () => {
    await client.jobs.run(id)
    const job = await client.jobs.wait(id)
    if (job.insight_id === null) throw new Error(`${template_id}: ${job.error?.detail}`)
    insight_id = job.insight_id
  })
  const { lineage } = await client.jobs.json(insight_id)
  const asked = (lineage as unknown as Lineage).blocks.flatMap((block) => block.asked ?? [])
  return {
    ms,
    sql: asked.flatMap(({ sql }) => sql),
    rows: asked.reduce((sum, { rows }) => sum + rows, 0),
    bytes: asked.reduce((sum, { bytes }) => sum + bytes, 0),
  }
}

/** Resolves with the milliseconds of the statements, sent one after the other by the database's own client. */
async function alone({ ask }: Sales, statements: readonly string[]): Promise<number> {
  const peer = await startPeer('source-client.ts')
  let ms = 0
  for (const sql of statements) ms += (await peer.ask<ClientAnswer>({ ...ask(sql) })).ms
  await peer.stop()
  return ms
}

class Scale {
  readonly #service: Running
  readonly #sales: Sales
  readonly #turns: number
  readonly #work: string
  readonly #methods: readonly string[]

  constructor(
    service: Running,
    sales: Sales,
    { turns, work, isMany }: { turns: number; work: string; isMany: boolean },
  ) {
    this.#methods = Object.keys(METHODS).filter((name) => !isMany || !SLOW.has(name))
    this.#service = service
    this.#sales = sales
    this.#turns = turns
    this.#work = work
  }

  async figures(): Promise<(Figure | Missing)[]> {
    const { days } = this.#sales.hand
    return [
      ...(await this.#tried('a metric by day', async () => [
        await this.#ratio('a metric by day', 'scale-series', days),
      ])),
      ...(await this.#byHand()),
      ...(await this.#moved()),
      ...(await this.#tried('a brief', () => this.#brief())),
    ]
  }

  /** Resolves to figures, or to the reason why there are none, so that the others are still measured. */
  async #tried(what: string, measure: () => Promise<Figure[]>): Promise<(Figure | Missing)[]> {
    try {
      return await measure()
    } catch (error) {
      return [{ work: `${this.#work}: ${what}`, beside: '', aim: '', reason: (error as Error).message }]
    }
  }

  async #ratio(
    what: string,
    template: string,
    hand: string,
    { note = '', beside = 'the query written by hand, by its own client' } = {},
  ): Promise<Figure> {
    const turns = await inTurns(
      this.#turns,
      async () => (await runJob(this.#service, template)).ms,
      () => alone(this.#sales, [hand]),
    )
    return {
      work: `${this.#work}: ${what}`,
      beside,
      aim: atMost(1.1),
      compare: 'ratio',
      unit: 'ms',
      turns,
      note,
    }
  }

  async #byHand(): Promise<(Figure | Missing)[]> {
    const found: (Figure | Missing)[] = []
    for (const [method, hand, beside] of BY_HAND)
      found.push(
        ...(await this.#tried(method, async () => {
          const template = `scale-${method}`
          const { sql } = await runJob(this.#service, template)
          const note = `ours asks ${sql.length} ${sql.length === 1 ? 'statement' : 'statements'}`
          return [
            await this.#ratio(method, template, this.#sales.hand[hand], { note, beside }),
            ...(hand === 'digits' ? [] : [await this.#besideOwn(method, template, sql)]),
          ]
        })),
      )
    return found
  }

  async #besideOwn(method: string, template: string, sql: readonly string[]): Promise<Figure> {
    return {
      work: `${this.#work}: ${method}`,
      beside: 'the statements of ours, by its own client',
      aim: atMost(1.1),
      compare: 'ratio',
      unit: 'ms',
      turns: await inTurns(
        this.#turns,
        async () => (await runJob(this.#service, template)).ms,
        () => alone(this.#sales, sql),
      ),
    }
  }

  async #moved(): Promise<(Figure | Missing)[]> {
    const found: (Figure | Missing)[] = []
    for (const method of this.#methods) {
      const work = `${this.#work}: bytes that ${method} brings here`
      const text = 'at most 1 MB and 200 bytes for each group'
      const ran = await runJob(this.#service, `scale-${method}`).catch((error: Error) => error)
      if (ran instanceof Error) {
        found.push({ work, beside: '', aim: text, reason: ran.message })
        continue
      }
      const { ms, bytes, rows, sql } = ran
      found.push({
        work,
        beside: '',
        aim: { text, holds: () => bytes <= 1e6 + 200 * rows },
        compare: 'value',
        unit: 'kB',
        turns: [{ ours: bytes / 1000, theirs: 0 }],
        note: `${rows} rows of ${sql.length} answers, in ${(ms / 1000).toFixed(1)} s`,
      })
    }
    return found
  }

  async #brief(): Promise<Figure[]> {
    const first = await runJob(this.#service, 'scale-brief')
    const turns = await inTurns(
      this.#turns,
      async () => (await runJob(this.#service, 'scale-brief')).ms,
      () => alone(this.#sales, [this.#sales.hand.today]),
    )
    const common = {
      work: `${this.#work}: a brief of 32 days by region, of which one is new`,
      beside: 'the query of that day alone, by its own client',
      turns,
    }
    const note = `the first run, which reads all days, took ${(first.ms / 1000).toFixed(1)} s`
    return [
      { ...common, aim: atMost(1.2), compare: 'ratio', unit: 'ms', note },
      { ...common, beside: '', aim: atMost(2000, 'ms'), compare: 'value', unit: 'ms' },
    ]
  }
}

async function figuresOf(
  database: SalesDatabase,
  { short, turns, rows: given }: Form,
): Promise<(Figure | Missing)[]> {
  const rows = given ?? (short ? database.rows.short : database.rows.long)
  const work = `${(rows / 1e6).toLocaleString('en-US')} million rows in ${database.name}`
  const reason = await database.missing()
  if (reason !== null) return [{ work, beside: 'the database alone', aim: '', reason }]
  const sales = await database.start(rows)
  try {
    return await withFolder(async (folder) => {
      const file = path.join(folder, 'connections.json')
      const connection = { ...sales.connection, limits: { timeout_seconds: TIMEOUT_S } }
      await writeFile(file, JSON.stringify({ connections: { sales: connection } }))
      const settings = { ASSAY_DATA: folder, ASSAY_CONNECTIONS: file, ASSAY_MAX_TIMEOUT: '2h' }
      return withService(settings, async (service) => {
        await service.client.metrics.put('takings', METRIC)
        await service.client.metrics.put('kept_takings', KEPT)
        for (const [id, text] of Object.entries(TEMPLATES)) await service.client.templates.put(id, text)
        const isMany = rows > MANY
        const few = isMany ? Math.min(turns, LONG_TURNS) : turns
        return new Scale(service, sales, { turns: few, work, isMany }).figures()
      })
    })
  } finally {
    // The engine may have ended for want of memory. Its process then frees the disk.
    await sales.close().catch(() => undefined)
  }
}

export const scaleRow = {
  name: 'scale',
  async run(form: Form): Promise<(Figure | Missing)[]> {
    const found: (Figure | Missing)[] = []
    for (const database of SALES_DATABASES.filter(({ name }) => name.includes(form.of)))
      found.push(...(await figuresOf(database, form)))
    return found
  },
}
