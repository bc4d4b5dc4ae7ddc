/**
 * The page of the template editor, which checks while the user types, previews on the data, and saves. The text
 * outlives an expired session.
 */

import type { CallOptions } from '@assay/client'
import type { EditorView } from '@codemirror/view'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { type ReactNode, useEffect, useRef } from 'react'
import { api } from '../api.ts'
import { useDraft } from '../drafts/draft.ts'
import { attributesOf } from '../drafts/readers.ts'
import { freeId } from '../drafts/template-id.ts'
import { useOpened } from '../drafts/unchanged.ts'
import { Builder } from '../parts/builder/builder.tsx'
import { DraftMetrics, DraftNotes, type DraftOf, useDraftOf } from '../parts/drafts/draft-notes.tsx'
import { SaveOrKeep, useKeptDraft } from '../parts/drafts/kept-drafts.tsx'
import { DraftRows } from '../parts/drafts/table-rows.tsx'
import { Fault } from '../parts/fault.tsx'
import { TextField } from '../parts/field.tsx'
import { Loaded, Page } from '../parts/page.tsx'
import { type Asked, type Draft, PreviewPane, usePreview } from '../parts/templates/preview-pane.tsx'
import { goToLine, replaceAll } from '../parts/text/code-mirror.ts'
import { columnsOf } from '../parts/text/columns.ts'
import { Editor } from '../parts/text/editor.tsx'
import { FaultList, useSettled } from '../parts/text/fault-list.tsx'
import { firstValues, sentValues } from '../values.ts'

const NONE: readonly never[] = []

const START = `---
title: Penguins by species
description: How many penguins of each species were weighed, and how heavy they are.
tags: [example]
sources:
  penguins: { file: sample/penguins.json }
---

\`\`\`sql species
select "Species" as kind, count(*) as penguins, avg("Body Mass (g)") as grams
from penguins
group by kind order by kind
\`\`\`

# Penguins by species

{{ species.size }} species were weighed.

{% chart species, type: "bar", x: "kind", y: "grams", title: "Mean body mass in grams" %}

{% table species, fmt: { grams: "num0" } %}
`

/** Returns the faults of the text, which is checked once it has not changed for half a second. */
function useChecked(source: string) {
  const settled = useSettled(source)
  const query = useQuery({
    queryKey: ['check', settled],
    queryFn: () => api().templates.check(settled),
    enabled: settled.trim() !== '',
    gcTime: 60_000,
    placeholderData: (previous) => previous,
  })
  const isOf = (text: string): boolean => text === settled && query.isSuccess && !query.isPlaceholderData
  return { ...query, isOf }
}

/**
 * Previews a text that the console has written, once it is checked: a draft, or a choice of the builder. A typed text
 * is previewed on request.
 */
function useShownAtOnce(
  source: string,
  checked: ReturnType<typeof useChecked>,
  written: { current: string | null },
  show: () => void,
): void {
  const latest = useRef(show)
  useEffect(() => {
    latest.current = show
  })
  const ready = checked.isOf(source) && checked.data?.faults.length === 0
  useEffect(() => {
    if (!ready || written.current !== source) return
    written.current = null
    latest.current()
  }, [ready, source, written])
}

/** Pushes the text as a branch of the repository, for a template that is changed there. */
function usePropose(draft: Draft, forget: () => void) {
  return useMutation({
    mutationFn: () => api().repository.propose({ template_id: draft.template_id, source: draft.source }),
    onSuccess: forget,
  })
}

function Proposed({ branch }: { branch: string }) {
  return (
    <div className="notice" role="status">
      <p>
        The change is pushed as the branch <code>{branch}</code>. Open a merge request for it at the git
        server: once it is merged, it is served.
      </p>
    </div>
  )
}

/** Returns the ids of all templates that the user may see. */
function useTemplateIds(): string[] | undefined {
  const { data } = useQuery({ queryKey: ['templates'], queryFn: () => api().templates.list() })
  return data?.map(({ template_id }) => template_id)
}

function useSave(template_id: string, source: string, opened: CallOptions, forget: () => void) {
  const cache = useQueryClient()
  const navigate = useNavigate()
  return useMutation({
    mutationFn: () => api().templates.put(template_id, source, opened),
    onSuccess: async () => {
      forget()
      await cache.invalidateQueries({ queryKey: ['templates'] })
      await cache.invalidateQueries({ queryKey: ['template', template_id] })
      await cache.invalidateQueries({ queryKey: ['drafts', 'kept'] })
      await navigate({ to: '/templates/$template_id', params: { template_id }, search: {} })
    },
  })
}

/** Shows the id of a new template, which is made from its title until somebody writes another. */
function IdField({ draft, id, onChange }: { draft: Draft; id: string; onChange(draft: Draft): void }) {
  return (
    <details className="id-choice">
      <summary>
        It is saved as <code>{id}</code>
      </summary>
      <TextField
        label="Id"
        hint="Lower-case letters, digits, - and _. The API uses this id. Left empty, it is made from the title."
        value={draft.template_id}
        placeholder={id}
        onChange={({ target }) => onChange({ ...draft, template_id: target.value })}
      />
    </details>
  )
}

function DeskHead(props: {
  draft: Draft
  id: string
  fixed: boolean
  preview: ReturnType<typeof usePreview>
  save: { isPending: boolean; mutate(): void; label: string }
  onChange(draft: Draft): void
  onPreview(): void
}) {
  const { draft, id, fixed, preview, save, onChange, onPreview } = props
  return (
    <div className="desk-head">
      <div className="actions">
        <button type="button" className="button" disabled={preview.isPending} onClick={onPreview}>
          Preview
        </button>
        <SaveOrKeep kind="template" name={id} source={draft.source} save={save} />
      </div>
      {!fixed && id !== '' && <IdField draft={draft} id={id} onChange={onChange} />}
    </div>
  )
}

function Desk({
  name,
  first,
  fixed,
  proposes = false,
  of,
  drafted = false,
  wish = '',
  line,
  above,
}: {
  name: string
  first: Draft
  fixed: boolean
  /** True if the template is the repository's. */
  proposes?: boolean
  /** The template that is edited. */
  of?: object
  /** True if the text is a draft of data, which is previewed at once. */
  drafted?: boolean
  /** The id that a new template gets if none is written and no template has it; empty for one from its title. */
  wish?: string
  /** The line at which the cursor begins. */
  line?: number | undefined
  /** Renders the part above the editor, from its text and the function that replaces it. */
  above?: (source: string, write: (text: string) => void) => ReactNode
}) {
  const [draft, change, forget] = useDraft<Draft>(`template.${name}`, () => first)
  const view = useRef<EditorView | null>(null)
  const checked = useChecked(draft.source)
  const preview = usePreview()
  const written = useRef(drafted ? first.source : null)
  const taken = useTemplateIds()
  // Nothing is saved before the ids of the others are known.
  const id = draft.template_id.trim() || (taken ? freeId(wish, draft.source, taken) : '')
  const put = useSave(id, draft.source, useOpened(of), forget)
  const propose = usePropose(draft, forget)
  const save = proposes ? propose : put
  const faults = checked.data?.faults ?? NONE
  const variables = checked.data?.variables ?? NONE
  const person = checked.data?.personal ? attributesOf(draft.reader ?? '').attributes : {}
  const given = (): Asked => ({
    source: draft.source,
    values: sentValues(variables, { ...firstValues(variables), ...draft.values }),
    reader: Object.keys(person).length > 0 ? { reader: person } : {},
  })
  const write = (text: string): void => {
    written.current = text
    if (view.current) replaceAll(view.current, text)
  }
  useShownAtOnce(draft.source, checked, written, () => {
    // A personal template is previewed for a reader, who must be named first.
    if (!checked.data?.personal) preview.mutate(given())
  })
  useEffect(() => {
    if (line === undefined) return
    // The frame of the pages gives the focus to a new page first.
    const frame = requestAnimationFrame(() => view.current && goToLine(view.current, line, 1))
    return () => cancelAnimationFrame(frame)
  }, [line])
  return (
    <>
      <DeskHead
        draft={draft}
        id={id}
        fixed={fixed}
        preview={preview}
        save={{
          isPending: save.isPending,
          mutate: () => save.mutate(),
          label: proposes ? 'Push as a branch' : 'Save',
        }}
        onChange={change}
        onPreview={() => preview.mutate(given())}
      />
      {save.isError && <Fault error={save.error} />}
      {propose.data && <Proposed branch={propose.data.branch} />}
      {above?.(draft.source, write)}
      <div className="pair">
        <div>
          <Editor
            first={draft.source}
            label="Source of the template"
            columnsOf={columnsOf}
            faults={faults}
            view={view}
            onChange={(source) => change({ ...draft, source })}
          />
          {checked.isError && <Fault error={checked.error} />}
          <FaultList
            faults={faults}
            pending={checked.isFetching}
            onGo={({ line, column }) => view.current && goToLine(view.current, line, column)}
          />
        </div>
        <PreviewPane
          checked={checked.data}
          draft={draft}
          preview={preview}
          given={given}
          name={id || 'draft'}
          onChange={change}
        />
      </div>
    </>
  )
}

/** Returns a template's text without the id of its front matter, so that a copy gets another id. */
function copyOf(source: string): string {
  return source.replace(/^(---\n[\s\S]*?)^id:.*\n/m, '$1')
}

/** Shows a draft of a table in the editor. An answer to one of its questions drafts again. */
function Drafted({ of }: { of: DraftOf }) {
  const query = useDraftOf(of)
  const read = query.data?.dialect.join('\n') ?? ''
  const name = 'file' in of ? `draft.${of.file}.${read}` : `draft.${of.connection}.${of.table}`
  return (
    <Loaded query={query}>
      {(draft) => (
        <>
          <DraftNotes of={of} draft={draft} />
          <DraftRows of={of} draft={draft} />
          {'table' in of && <DraftMetrics metrics={draft.metrics} />}
          <Desk
            key={name}
            name={name}
            first={{ template_id: '', source: draft.source, values: {} }}
            fixed={false}
            drafted
            wish={draft.name}
            {...('file' in of && {
              above: (source: string, write: (text: string) => void) => (
                <Builder
                  kind="template"
                  of={{ file: of.file, lines: draft.dialect }}
                  source={source}
                  write={write}
                />
              ),
            })}
          />
        </>
      )}
    </Loaded>
  )
}

/** Shows a draft that the service keeps. The tab's own text of it has precedence. */
function Kept({ draft_id }: { draft_id: string }) {
  return (
    <Loaded query={useKeptDraft(draft_id)}>
      {({ name, source, updated_at }) => (
        <Desk
          name={`kept.${draft_id}.${updated_at}`}
          first={{ template_id: name, source, values: {} }}
          fixed={false}
        />
      )}
    </Loaded>
  )
}

function titleOf({ file, table }: { file?: string | undefined; table?: string | undefined }): string {
  const data = file?.replace(/^.*\//, '') ?? table
  return data === undefined ? 'New template' : `New report from ${data}`
}

export function NewTemplatePage() {
  const {
    from,
    draft,
    file,
    lines = '',
    connection,
    table,
    metric,
  } = useSearch({ from: '/shell/templates/new' })
  const query = useQuery({
    queryKey: ['template', from],
    queryFn: () => api().templates.get(from!),
    enabled: from !== undefined,
  })
  return (
    <Page title={titleOf({ file, table })} wide trail={<Link to="/templates">Templates</Link>}>
      {draft !== undefined ? (
        <Kept key={draft} draft_id={draft} />
      ) : file !== undefined ? (
        <Drafted of={{ file, lines }} />
      ) : connection !== undefined && table !== undefined ? (
        <Drafted of={{ connection, table }} />
      ) : from === undefined ? (
        <Desk
          key={metric}
          name={metric === undefined ? 'new' : `metric.${metric}`}
          first={{ template_id: '', source: START, values: {} }}
          fixed={false}
          above={(source, write) => (
            <Builder
              kind="template"
              of={metric === undefined ? undefined : { metric }}
              begins={metric !== undefined}
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
              first={{ template_id: '', source: copyOf(source), values: {} }}
              fixed={false}
            />
          )}
        </Loaded>
      )}
    </Page>
  )
}

export function EditTemplatePage() {
  const { template_id } = useParams({ from: '/shell/templates/$template_id/edit' })
  const { line } = useSearch({ from: '/shell/templates/$template_id/edit' })
  const query = useQuery({
    queryKey: ['template', template_id],
    queryFn: () => api().templates.get(template_id),
  })
  return (
    <Page
      title={`Edit ${template_id}`}
      wide
      trail={
        <>
          <Link to="/templates">Templates</Link>
          {' / '}
          <Link to="/templates/$template_id" params={{ template_id }} search={{}}>
            {template_id}
          </Link>
        </>
      }
    >
      <Loaded query={query}>
        {(template) => (
          <Desk
            name={`${template_id}.${template.version}`}
            first={{ template_id, source: template.source, values: {} }}
            fixed
            of={template}
            proposes={template.origin === 'git'}
            line={line}
          />
        )}
      </Loaded>
    </Page>
  )
}
