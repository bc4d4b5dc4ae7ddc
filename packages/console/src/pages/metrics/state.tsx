/**
 * Shows whether the tests of a metric hold now, and how far its data extend, by a run of its series that stores
 * nothing.
 */
import type { MetricView } from '@assay/client'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { api, useMay } from '../../api.ts'
import { Loaded } from '../../parts/page.tsx'
import { testText } from './words.ts'

/** The milliseconds for which a result is shown. A run reads all rows of the metric. */
const FRESH_MS = 300_000

interface Tested {
  test: string
  ok: boolean
  found: string
}

interface State {
  tests: Tested[]
  newest: string | null
  steps: number
}

/** Returns a template that reads the whole series, and so runs the tests. */
function sourceOf(metric_id: string): string {
  return `---\nlineage: none\n---\n\n\`\`\`metric series\nmetric: ${metric_id}\n\`\`\`\n\n\`\`\`sql newest\nselect cast(max("time") as varchar) as newest, count(*) as steps from series\n\`\`\`\n\n# State\n`
}

async function stateOf(metric_id: string): Promise<State> {
  const { tables, lineage } = await api().templates.preview({ source: sourceOf(metric_id) })
  const { rows } = tables.newest as { rows: [string | null, number][] }
  const [metric] = (lineage as { metrics?: { tests: Tested[] }[] }).metrics ?? []
  const [newest, steps] = rows[0]!
  return { tests: metric?.tests ?? [], newest, steps }
}

function Tests({ tests }: { tests: readonly Tested[] }) {
  if (tests.length === 0) return <p className="small">The metric has no tests.</p>
  return (
    <ul>
      {tests.map(({ test, ok, found }) => (
        <li key={test}>
          <span className={`state state-${ok ? 'delivered' : 'failed'}`} aria-hidden="true">
            {ok ? '✓' : '✕'}
          </span>{' '}
          {testText(test)}
          {!ok && <strong>: fails. {found}</strong>}
        </li>
      ))}
    </ul>
  )
}

/** Links to the place where the rows of a metric whose test fails are mended. */
function Mend({ connections }: Pick<MetricView, 'connections'>) {
  const [name] = connections
  return (
    <p>
      {name === undefined ? (
        <Link className="button" to="/files">
          Bring its file up to date
        </Link>
      ) : (
        <Link className="button" to="/system/connections/$name" params={{ name }}>
          See its connection
        </Link>
      )}
    </p>
  )
}

/** Shows the state to users who may run it. Over a connection only admins may. */
export function MetricState({ metric: { metric_id, version, grain, connections } }: { metric: MetricView }) {
  const analyst = useMay('analyst')
  const admin = useMay('admin')
  const query = useQuery({
    queryKey: ['metrics', 'state', metric_id, version],
    queryFn: () => stateOf(metric_id),
    enabled: connections.length > 0 ? admin : analyst,
    staleTime: FRESH_MS,
    retry: false,
  })
  if (!(connections.length > 0 ? admin : analyst)) return null
  return (
    <section aria-label="State of its data">
      <h2>State of its data</h2>
      <Loaded query={query}>
        {({ tests, newest, steps }) => (
          <>
            <p>
              {newest === null
                ? 'No row counts.'
                : `The newest ${grain} is ${newest}. Steps with values: ${steps.toLocaleString('en')}.`}
            </p>
            <Tests tests={tests} />
            {tests.some(({ ok }) => !ok) && <Mend connections={connections} />}
          </>
        )}
      </Loaded>
    </section>
  )
}
