/** Shows the preview beside the editor: its values, its reader, and the insight that a run over the data gives. */

import type { VariableView } from '@assay/model/template'
import { useMutation } from '@tanstack/react-query'
import { api, faultsOf } from '../../api.ts'
import { attributesOf, faultBelow } from '../../drafts/readers.ts'
import { save } from '../../drafts/save.ts'
import type { Insight } from '../../insights.ts'
import { textOf, type Values } from '../../values.ts'
import { WhatRunsWhere } from '../drafts/explained.tsx'
import { Fault } from '../fault.tsx'
import { InsightText } from '../insight/insight-text.tsx'
import { LineageSection } from '../insight/lineage.tsx'
import { VariableField } from '../jobs/variable-field.tsx'
import { PreviewReader } from '../readers/reader.tsx'

const NONE: readonly never[] = []

export interface Asked {
  source: string
  values: Record<string, unknown>
  /** The reader whose rows to show, for a personal template. */
  reader: { reader?: Record<string, unknown> }
}

export function usePreview() {
  return useMutation({
    mutationFn: async ({ source, values, reader }: Asked) => {
      const asked = api().templates.preview({ source, template_vars: values, ...reader }, { charts: 'link' })
      const found = (await asked) as unknown as Insight
      return { ...found, insight_id: 'preview', assignment_id: '' }
    },
  })
}

/** Saves what the draft says now as a PDF. That is how a draft is shown to others: only a template has insights. */
function SavePdf({ given, name }: { given(): Asked; name: string }) {
  const load = useMutation({
    mutationFn: async () => {
      const { source, values, reader } = given()
      const pdf = await api().templates.previewPdf({ source, template_vars: values, ...reader })
      save(new Blob([pdf], { type: 'application/pdf' }), `${name}.pdf`)
    },
  })
  return (
    <>
      <div className="actions">
        <button
          type="button"
          className="button small"
          disabled={load.isPending}
          onClick={() => load.mutate()}
        >
          {load.isPending ? 'Setting the PDF…' : 'Save as PDF'}
        </button>
        <span className="small">to show to others before it is published</span>
      </div>
      {load.isError && <Fault error={load.error} />}
    </>
  )
}

function Preview({ preview }: { preview: ReturnType<typeof usePreview> }) {
  if (preview.isPending) return <p className="waiting">Running the template…</p>
  if (preview.isError) return <Fault error={preview.error} />
  if (!preview.data)
    return (
      <p className="small">
        “Preview” runs the template with its defaults and shows the insight here. Nothing is stored.
      </p>
    )
  return (
    <article className="insight">
      <h2 className="insight-title">{preview.data.title}</h2>
      <InsightText insight={preview.data} />
      <LineageSection insight={preview.data} />
    </article>
  )
}

export interface Draft {
  template_id: string
  source: string
  /** The values of the preview, by variable. */
  values: Values
  /** The reader whose rows the preview of a personal template shows, an attribute a line. */
  reader?: string
}

function PreviewValues(props: {
  variables: readonly VariableView[]
  values: Values
  faults: Record<string, string>
  onChange(values: Values): void
}) {
  const { variables, values, faults, onChange } = props
  if (variables.length === 0) return null
  return (
    <details className="facts" open={Object.keys(faults).length > 0 || undefined}>
      <summary>Values for the preview</summary>
      {variables.map((variable) => (
        <VariableField
          key={`${variable.name} ${variable.type}`}
          template_id={null}
          variable={variable}
          value={values[variable.name] ?? textOf(variable.default)}
          fault={faults[variable.name]}
          onChange={(value) => onChange({ ...values, [variable.name]: value })}
        />
      ))}
    </details>
  )
}

/** Shows the fields of the preview, and its result. */
export function PreviewPane(props: {
  checked: Awaited<ReturnType<ReturnType<typeof api>['templates']['check']>> | undefined
  draft: Draft
  preview: ReturnType<typeof usePreview>
  given(): Asked
  /** The name of the file that holds the preview. */
  name: string
  onChange(draft: Draft): void
}) {
  const { checked, draft, preview, given, name, onChange } = props
  const faults = faultsOf(preview.error)
  return (
    <section className="preview" aria-label="Preview">
      {checked?.personal && (
        <PreviewReader
          needs={checked.reader_attributes}
          value={draft.reader ?? ''}
          fault={attributesOf(draft.reader ?? '').fault ?? faultBelow(faults, 'reader')}
          onChange={(reader) => onChange({ ...draft, reader })}
        />
      )}
      <PreviewValues
        variables={checked?.variables ?? NONE}
        values={draft.values}
        faults={faultsOf(preview.error, 'template_vars.')}
        onChange={(values) => onChange({ ...draft, values })}
      />
      <Preview preview={preview} />
      {preview.data && <SavePdf given={given} name={name} />}
      <WhatRunsWhere given={given} />
    </section>
  )
}
