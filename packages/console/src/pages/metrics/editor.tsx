/** The editor of a metric: checks while you type, also against the columns of the data, and saves. */
import type { EditorView } from '@codemirror/view'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { useRef } from 'react'
import { api } from '../../api.ts'
import { useDraft } from '../../drafts/draft.ts'
import { Fault } from '../../parts/fault.tsx'
import { Loaded, Page } from '../../parts/page.tsx'
import { goToLine } from '../../parts/text/code-mirror.ts'
import { Editor } from '../../parts/text/editor.tsx'
import { FaultList, useSettled } from '../../parts/text/fault-list.tsx'

const NONE: readonly never[] = []

const START = `metric: births_by_day
label: Births
description: Children born in the USA
source: { file: sample/us-births.csv }
time: { column: date, grain: day }
value: sum(births)
tests: [ { not_null: births } ]
`

function nameIn(source: string): string {
  return /^metric:[ \t]*["']?([a-z_][a-z0-9_]*)/m.exec(source)?.[1] ?? ''
}

function useSave(source: string, metric_id: string, forget: () => void) {
  const cache = useQueryClient()
  const navigate = useNavigate()
  return useMutation({
    mutationFn: () => api().metrics.put(metric_id, source),
    onSuccess: async () => {
      forget()
      await cache.invalidateQueries({ queryKey: ['metrics'] })
      await navigate({ to: '/metric/$metric_id', params: { metric_id } })
    },
  })
}

function Desk({ name, first, fixed }: { name: string; first: string; fixed: string | null }) {
  const [{ source }, change, forget] = useDraft(`metric.${name}`, () => ({ source: first }))
  const view = useRef<EditorView | null>(null)
  const settled = useSettled(source)
  const checked = useQuery({
    queryKey: ['metrics', 'check', settled],
    queryFn: () => api().metrics.check(settled),
    enabled: settled.trim() !== '',
    gcTime: 60_000,
    placeholderData: (previous) => previous,
  })
  const metric_id = fixed ?? nameIn(source)
  const save = useSave(source, metric_id, forget)
  const faults = checked.data?.faults ?? NONE
  return (
    <>
      <p className="actions">
        <button
          type="button"
          className="button primary"
          disabled={save.isPending || metric_id === ''}
          onClick={() => save.mutate()}
        >
          Save {metric_id}
        </button>
      </p>
      {save.isError && <Fault error={save.error} />}
      <Editor
        first={source}
        label="Definition of the metric"
        faults={faults}
        view={view}
        onChange={(text) => change({ source: text })}
      />
      {checked.isError && <Fault error={checked.error} />}
      <FaultList
        faults={faults}
        pending={checked.isFetching}
        onGo={({ line, column }) => view.current && goToLine(view.current, line, column)}
      />
    </>
  )
}

function useDefinition(metric_id: string | undefined) {
  return useQuery({
    queryKey: ['metrics', 'one', metric_id],
    queryFn: () => api().metrics.get(metric_id!),
    enabled: metric_id !== undefined,
  })
}

export function NewMetricPage() {
  const { from } = useSearch({ from: '/shell/metric/new' })
  const query = useDefinition(from)
  return (
    <Page title="New metric" trail={<Link to="/metric">Metrics</Link>}>
      {from === undefined ? (
        <Desk name="new" first={START} fixed={null} />
      ) : (
        <Loaded query={query}>
          {({ source }) => (
            <Desk
              name={`from.${from}`}
              first={source.replace(/^metric:.*$/m, `metric: my_${from}`)}
              fixed={null}
            />
          )}
        </Loaded>
      )}
    </Page>
  )
}

export function EditMetricPage() {
  const { metric_id } = useParams({ from: '/shell/metric/$metric_id/edit' })
  const query = useDefinition(metric_id)
  return (
    <Page title={`Edit ${metric_id}`} trail={<Link to="/metric">Metrics</Link>}>
      <Loaded query={query}>
        {({ source, version }) => <Desk name={`${metric_id}.${version}`} first={source} fixed={metric_id} />}
      </Loaded>
    </Page>
  )
}
