/** The page of the metrics that templates read by name, searched by words in the address. */
import type { MetricView } from '@assay/client'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useDeferredValue, useState } from 'react'
import { api, useMay } from '../../api.ts'
import { KeptDrafts } from '../../parts/drafts/kept-drafts.tsx'
import { TextField } from '../../parts/field.tsx'
import { ListTable } from '../../parts/lists/list-table.tsx'
import { Paged, usePaged } from '../../parts/lists/paged.tsx'
import { Empty, Page } from '../../parts/page.tsx'
import { betterText, targetText, testsText } from './words.ts'

function Row({ metric }: { metric: MetricView }) {
  const { metric_id, label, description, unit, dimensions, origin } = metric
  return (
    <tr>
      <td>
        <Link className="sentence" to="/metric/$metric_id" params={{ metric_id }}>
          {label}
        </Link>
        <div className="small">
          <code>{metric_id}</code> {description}
        </div>
      </td>
      <td>{unit}</td>
      <td>{betterText(metric)}</td>
      <td>{targetText(metric)}</td>
      <td>{dimensions.join(', ')}</td>
      <td className="small">{testsText(metric)}</td>
      <td>{origin}</td>
    </tr>
  )
}

const COLUMNS = ['Metric', 'Unit', 'Better', 'Target', 'Dimensions', 'Tests', 'From'] as const

export function MetricsPage() {
  const { q = '' } = useSearch({ from: '/shell/metric' })
  const navigate = useNavigate({ from: '/metric' })
  const [words, setWords] = useState(q)
  const shown = useDeferredValue(words)
  const analyst = useMay('analyst')
  const query = usePaged(['metrics', shown], (cursor) =>
    api().metrics.list({ q: shown || undefined, limit: 100, cursor }),
  )
  const search = (text: string): void => {
    setWords(text)
    void navigate({ search: { q: text || undefined }, replace: true })
  }
  return (
    <Page
      title="Metrics"
      wide
      lead={<p>A metric is one number over time, defined once. Every template reads it by its name.</p>}
      actions={
        analyst && (
          <Link className="button" to="/metric/new" search={{}}>
            New metric
          </Link>
        )
      }
    >
      <KeptDrafts kind="metric" />
      <div className="filters" role="search">
        <TextField
          label="Search"
          type="search"
          value={words}
          onChange={({ target }) => search(target.value)}
          placeholder="revenue, flights"
        />
      </div>
      <Paged
        query={query}
        empty={
          <Empty title="No metric fits">
            <p>Try fewer words, or define a metric.</p>
          </Empty>
        }
      >
        {(items) => (
          <ListTable columns={COLUMNS}>
            {items.map((metric) => (
              <Row key={metric.metric_id} metric={metric} />
            ))}
          </ListTable>
        )}
      </Paged>
    </Page>
  )
}
