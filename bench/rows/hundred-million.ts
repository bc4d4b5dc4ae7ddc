/**
 * Measures a heavy analysis (group by, join and quantiles over many rows of Parquet), beside DuckDB alone with equal
 * threads.
 */
import { writeFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import path from 'node:path'
import { atMost, type Figure } from '../figure.ts'
import { type Form, milliseconds, type Running, startPeer, withFolder, withService } from '../measure.ts'
import type { DuckDbAnswer } from '../peers/duckdb.ts'

const THREADS = Math.min(4, availableParallelism())
const MEMORY = '3GB'

export const hundredMillionRow = {
  name: 'hundred-million',
  run: (form: Form): Promise<Figure[]> =>
    withFolder((data) => withService({ ASSAY_DATA: data }, (service) => measure(form, service, data))),
}

/** The statements. Each side gets them with its own names of the tables. */
const QUERIES = {
  by_key:
    'select key, count(*) as n, sum(value) as total, avg(value) as mean from facts group by key order by key',
  by_region:
    'select keys.region, count(*) as n, sum(facts.value) as total from facts join keys on keys.key = facts.key group by keys.region order by keys.region',
  quantiles:
    'select key % 10 as part, approx_quantile(value, 0.5) as median, approx_quantile(value, 0.99) as high from facts group by part order by part',
}

const TEMPLATE = `---
sources:
  facts: { file: facts.parquet }
  keys: { file: keys.csv }
limits: { timeout: 600s, memory: ${MEMORY}, threads: ${THREADS}, rows: 1000 }
---

${Object.entries(QUERIES)
  .map(([name, sql]) => `\`\`\`sql ${name}\n${sql}\n\`\`\`\n`)
  .join('\n')}
# Many rows

{% table by_region %}
`

async function makeData(folder: string, rows: number): Promise<void> {
  const peer = await startPeer('duckdb.ts')
  const facts = path.join(folder, 'facts.parquet')
  const sql = [
    `copy (select (hash(i) % 1000)::smallint as key, (hash(i + 1) % 1000000) / 1000 as value from range(${rows}) r(i)) to '${facts}' (format parquet)`,
  ]
  await peer.ask<DuckDbAnswer>({ sql, threads: THREADS, memory: MEMORY, times: 1 })
  await peer.stop()
  const lines = Array.from({ length: 1000 }, (_, key) => `${key},region ${key % 20}`)
  await writeFile(path.join(folder, 'keys.csv'), `key,region\n${lines.join('\n')}\n`)
}

async function runJob({ client }: Running): Promise<{ ms: number; peak: number }> {
  const id = await client.jobs.create({ template_id: 'many-rows' })
  let insight_id = ''
  const ms = await milliseconds(async () => {
    await client.jobs.run(id)
    const job = await client.jobs.wait(id)
    if (job.insight_id === null) throw new Error(`The analysis failed: ${job.error?.detail}`)
    insight_id = job.insight_id
  })
  const { lineage } = await client.jobs.json(insight_id)
  return { ms, peak: lineage.peak_memory_bytes as number }
}

async function measure({ turns, short }: Form, service: Running, data: string): Promise<Figure[]> {
  const rows = short ? 10_000_000 : 100_000_000
  await makeData(data, rows)
  await service.client.templates.put('many-rows', TEMPLATE)
  const views = [
    `create view facts as from read_parquet('${path.join(data, 'facts.parquet')}')`,
    `create view keys as from read_csv('${path.join(data, 'keys.csv')}')`,
  ]
  const ask = { sql: [...views, ...Object.values(QUERIES)], threads: THREADS, memory: MEMORY, times: 1 }
  const times: Figure['turns'] = []
  const peaks: Figure['turns'] = []
  for (let turn = -1; turn < turns; turn += 1) {
    const ours = await runJob(service)
    // Each turn starts a process, because ours has also done at most one analysis before.
    const peer = await startPeer('duckdb.ts')
    const theirs = await peer.ask<DuckDbAnswer>(ask)
    await peer.stop()
    if (turn < 0) continue
    times.push({ ours: ours.ms, theirs: theirs.ms })
    peaks.push({ ours: ours.peak / 1e6, theirs: theirs.peak_bytes / 1e6 })
  }
  const work = `${rows / 1e6} million rows: group by, join, quantiles`
  const figure = {
    beside: `DuckDB alone, ${THREADS} threads, same statements`,
    aim: atMost(1.05),
    compare: 'ratio' as const,
  }
  return [
    {
      ...figure,
      work: `${work}: time`,
      unit: 'ms',
      turns: times,
      note: 'ours from the request until it is known to be completed',
    },
    { ...figure, work: `${work}: peak memory`, unit: 'MB', turns: peaks, note: 'of the analysis process' },
  ]
}
