/**
 * Shows the series of a metric as a chart, whether its tests hold now, and how far its data extend, by a run of the
 * series that stores nothing.
 */
import type { MetricView } from '@assay/client'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { api, useMay } from '../../api.ts'
import { GRAINS, type Grain } from '../../drafts/builder/choices.ts'
import type { DrawnChart } from '../../insights.ts'
import { SelectField } from '../../parts/field.tsx'
import { ChartFigure } from '../../parts/insight/chart.tsx'
import { Loaded } from '../../parts/page.tsx'
import { testText } from './words.ts'

/** The milliseconds for which a result is shown. A run reads all rows of the metric. */
const FRESH_MS = 300_000
/** The most steps of the chart, the latest ones. */
const DRAWN = 750

interface Tested {
  test: string
  ok: boolean
  found: string
}

interface State {
  tests: Tested[]
  newest: string | null
  steps: number
  chart: DrawnChart | undefined
}

/** Returns a template that reads the whole series, and so runs the tests, and draws its latest steps. */
function sourceOf(metric_id: string, step: Grain): string {
  return `---
lineage: none
---

\`\`\`metric series
metric: ${metric_id}
grain: ${step}
\`\`\`

\`\`\`sql newest
select cast(max("time") as varchar) as newest, count(*) as steps from series
\`\`\`

\`\`\`sql latest
select * from series order by "time" desc limit ${DRAWN}
\`\`\`

\`\`\`sql drawn
select "time", "value" from latest order by "time"
\`\`\`

# State

{% if drawn.size > 1 %}{% chart drawn, type: "line", x: "time", y: "value" %}{% endif %}
`
}

async function stateOf(metric_id: string, step: Grain): Promise<State> {
  const asked = api().templates.preview({ source: sourceOf(metric_id, step) }, { charts: 'link' })
  const { tables, lineage, charts } = await asked
  const { rows } = tables.newest as { rows: [string | null, number][] }
  const [metric] = (lineage as { metrics?: { tests: Tested[] }[] }).metrics ?? []
  const [newest, steps] = rows[0]!
  const [chart] = charts as unknown as DrawnChart[]
  return { tests: metric?.tests ?? [], newest, steps, chart }
}

/** Returns the steps in which the series of a metric can be shown. Weeks do not make months. */
export function stepsOf(grain: Grain): Grain[] {
  return GRAINS.slice(GRAINS.indexOf(grain)).filter((step) => step === 'week' || grain !== 'week')
}

/** Returns the step of the target, which is drawn with values of that step only; without one the metric's own. */
function firstStep({ grain, target }: MetricView): Grain {
  return target && stepsOf(grain).includes(target.per) ? target.per : grain
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

function Series({ chart, steps }: Pick<State, 'chart' | 'steps'>) {
  if (!chart) return <p className="small">A chart takes values of two steps at least.</p>
  return (
    <>
      <ChartFigure chart={chart} />
      {steps > DRAWN && <p className="small">The chart shows the latest {DRAWN} steps.</p>}
    </>
  )
}

/** Shows the state to users who may run it. Over a connection only those who may publish. */
export function MetricState({ metric }: { metric: MetricView }) {
  const { metric_id, version, grain, connections } = metric
  const analyst = useMay('analyst')
  const publisher = useMay('publisher')
  const may = connections.length > 0 ? publisher : analyst
  const [step, setStep] = useState(() => firstStep(metric))
  const query = useQuery({
    queryKey: ['metrics', 'state', metric_id, version, step],
    queryFn: () => stateOf(metric_id, step),
    enabled: may,
    staleTime: FRESH_MS,
    retry: false,
    placeholderData: (previous) => previous,
  })
  if (!may) return null
  return (
    <section aria-label="State of its data">
      <h2>State of its data</h2>
      {stepsOf(grain).length > 1 && (
        <SelectField
          label="One value for each"
          value={step}
          options={stepsOf(grain).map((value) => ({ value, label: value }))}
          onChange={({ target }) => setStep(target.value as Grain)}
        />
      )}
      <Loaded query={query}>
        {({ tests, newest, steps, chart }) => (
          <>
            <Series chart={chart} steps={steps} />
            <p>
              {newest === null
                ? 'No row counts.'
                : `The newest ${step} is ${newest}. Steps with values: ${steps.toLocaleString('en')}.`}
            </p>
            <Tests tests={tests} />
            {tests.some(({ ok }) => !ok) && <Mend connections={connections} />}
          </>
        )}
      </Loaded>
    </section>
  )
}
