/**
 * The page of the editor of a metric, which checks while the user types, also against the columns of the data, and
 * saves.
 */
import type { CallOptions } from '@assay/client'
import type { EditorView } from '@codemirror/view'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { type ReactNode, useRef } from 'react'
import { api } from '../../api.ts'
import type { BuiltOf } from '../../drafts/builder/choices.ts'
import { useDraft } from '../../drafts/draft.ts'
import { useOpened } from '../../drafts/unchanged.ts'
import { Builder } from '../../parts/builder/builder.tsx'
import { SaveOrKeep, useKeptDraft } from '../../parts/drafts/kept-drafts.tsx'
import { Fault } from '../../parts/fault.tsx'
import { Loaded, Page } from '../../parts/page.tsx'
import { goToLine, replaceAll } from '../../parts/text/code-mirror.ts'
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

function useSave(source: string, metric_id: string, opened: CallOptions, forget: () => void) {
  const cache = useQueryClient()
  const navigate = useNavigate()
  return useMutation({
    mutationFn: () => api().metrics.put(metric_id, source, opened),
    onSuccess: async () => {
      forget()
      await cache.invalidateQueries({ queryKey: ['metrics'] })
      await cache.invalidateQueries({ queryKey: ['drafts', 'kept'] })
      await navigate({ to: '/metric/$metric_id', params: { metric_id } })
    },
  })
}

/** Renders the part above the editor, from its text and the function that replaces it. */
type Above = (source: string, write: (text: string) => void) => ReactNode

/** `of`: the metric that is edited. */
function Desk(props: { name: string; first: string; fixed: string | null; above?: Above; of?: object }) {
  const { name, first, fixed, above, of } = props
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
  const save = useSave(source, metric_id, useOpened(of), forget)
  const faults = checked.data?.faults ?? NONE
  const built = above?.(source, (text) => view.current && replaceAll(view.current, text))
  const text = (
    <div>
      <div className="actions">
        <SaveOrKeep
          kind="metric"
          name={metric_id}
          source={source}
          save={{
            isPending: save.isPending,
            mutate: () => save.mutate(),
            label: `Save ${metric_id}`.trim(),
          }}
        />
      </div>
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
    </div>
  )
  return built ? (
    <div className="pair">
      <div>{built}</div>
      {text}
    </div>
  ) : (
    text
  )
}

function useDefinition(metric_id: string | undefined) {
  return useQuery({
    queryKey: ['metrics', 'one', metric_id],
    queryFn: () => api().metrics.get(metric_id!),
    enabled: metric_id !== undefined,
  })
}

function builtOf(given: {
  file?: string | undefined
  connection?: string | undefined
  table?: string | undefined
}): BuiltOf | undefined {
  const { file, connection, table } = given
  if (file !== undefined) return { file, lines: [] }
  return connection !== undefined && table !== undefined ? { connection, table } : undefined
}

function Kept({ draft_id }: { draft_id: string }) {
  return (
    <Loaded query={useKeptDraft(draft_id)}>
      {({ source, updated_at }) => (
        <Desk name={`kept.${draft_id}.${updated_at}`} first={source} fixed={null} />
      )}
    </Loaded>
  )
}

export function NewMetricPage() {
  const { from, draft, file, connection, table } = useSearch({ from: '/shell/metric/new' })
  const query = useDefinition(from)
  return (
    <Page title="New metric" wide trail={<Link to="/metric">Metrics</Link>}>
      {draft !== undefined ? (
        <Kept key={draft} draft_id={draft} />
      ) : from === undefined ? (
        <Desk
          key={`${file} ${connection} ${table}`}
          name={file ?? table ?? 'new'}
          first={START}
          fixed={null}
          above={(source, write) => (
            <Builder
              kind="metric"
              of={builtOf({ file, connection, table })}
              begins
              source={source}
              write={write}
            />
          )}
        />
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
        {(metric) => (
          <Desk name={`${metric_id}.${metric.version}`} first={metric.source} fixed={metric_id} of={metric} />
        )}
      </Loaded>
    </Page>
  )
}
