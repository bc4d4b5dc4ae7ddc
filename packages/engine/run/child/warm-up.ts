/**
 * Runs one small template before the first job, so that the code of every run is loaded and compiled, with that of the
 * methods. Measured: the first
 * job of a process takes 15 ms instead of 50 ms. A process for a single job skips it.
 */
import { DEFAULT_LIMITS } from '@assay/model/template'
import { openEngine } from '../../duckdb/duckdb.ts'
import { catalogOfMethods } from '../../reading/methods-on-demand.ts'
import { runTask } from '../run.ts'

const SOURCE = `---
variables:
  least: { type: integer, default: 1 }
---

\`\`\`sql rows
select i, i / 2 as half, 'text' as t from range(10) r(i) where i >= $least order by 1
\`\`\`

# Up to {{ rows | max: "i" | fmt: "num0" }}

{% if rows.size > 0 %}{% table rows, limit: 2 %}{% endif %}
`

export async function warmUp(): Promise<void> {
  catalogOfMethods()
  const engine = await openEngine()
  const template = { template_id: 'warm-up', version: 'warm-up', source: SOURCE, partials: {} }
  const result = await runTask(
    {
      kind: 'run',
      template,
      variables: { least: 1 },
      started_at: '2000-01-01T00:00:00.000Z',
      roots: { sample: {}, data: null },
      caps: DEFAULT_LIMITS,
    },
    {
      engine,
      temp_folder: '',
      onStarted: () => Promise.resolve(),
      onProgress: () => undefined,
      acquire: () => Promise.reject(new Error('The warm-up has no connections.')),
      narrate: () => Promise.resolve([]),
      signal: new AbortController().signal,
    },
  )
  engine.close()
  if (result.status !== 'done') throw new Error(`The first run of a child failed: ${JSON.stringify(result)}`)
}
