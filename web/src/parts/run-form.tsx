/** The form that runs a template: its variables, and what else a job may be given. A refusal stands beside its field. */
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { type FormEvent, useRef } from 'react'
import type { JobInput } from '../../../src/client.ts'
import type { JobView } from '../../../src/job.ts'
import type { TemplateView } from '../../../src/template.ts'
import { api, faultsOf, useMay } from '../api.ts'
import { useDraft } from '../draft.ts'
import { firstValues, sentValues, type Values } from '../values.ts'
import { Fault } from './fault.tsx'
import { TextField } from './field.tsx'
import { VariableField } from './variable-field.tsx'

interface Draft {
  values: Values
  presence_name: string
  priority: string
}

const PATH = 'payload.template_vars.'

function inputOf({ template_id, variables }: TemplateView, draft: Draft): JobInput {
  return {
    template_id,
    template_vars: sentValues(variables, draft.values),
    ...(draft.presence_name.trim() === '' ? {} : { presence_name: draft.presence_name.trim() }),
    ...(draft.priority.trim() === '' ? {} : { priority: Number(draft.priority) }),
  }
}

/** Creates and runs. The key is the attempt's: a repeat after a broken connection makes no second job. */
function useRun(template: TemplateView, onCreated: () => void) {
  const cache = useQueryClient()
  const navigate = useNavigate()
  return useMutation({
    mutationFn: async (draft: Draft) => {
      const assignment_id = await api().jobs.create(inputOf(template, draft))
      return api().jobs.run(assignment_id)
    },
    onSuccess: async (job) => {
      onCreated()
      cache.setQueryData(['job', job.assignment_id], job)
      await navigate({ to: '/jobs/$assignment_id', params: { assignment_id: job.assignment_id } })
    },
  })
}

interface MoreProps {
  draft: Draft
  faults: Record<string, string>
  onChange(draft: Draft): void
}

function MoreFields({ draft, faults, onChange }: MoreProps) {
  return (
    <details open={'presence_name' in faults || 'priority' in faults || undefined}>
      <summary>Who is told, and how soon it runs</summary>
      <TextField
        label="Presence name"
        hint="Only webhooks of this name are told; left empty, all are."
        fault={faults.presence_name}
        value={draft.presence_name}
        onChange={({ target }) => onChange({ ...draft, presence_name: target.value })}
      />
      <TextField
        label="Priority"
        hint="From -100 to 100; higher runs first."
        inputMode="numeric"
        fault={faults.priority}
        value={draft.priority}
        onChange={({ target }) => onChange({ ...draft, priority: target.value })}
      />
    </details>
  )
}

/** A fault of an item of a list ("arms.0") stands at the list. */
function byVariable(faults: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(faults).map(([path, message]) => [path.split('.')[0]!, message]))
}

/** The first field with a fault gets the focus once the refusal is shown. */
function focusFault(form: HTMLFormElement | null): void {
  setTimeout(() => form?.querySelector<HTMLElement>('[aria-invalid=true]')?.focus())
}

export function RunForm({ template, earlier }: { template: TemplateView; earlier: JobView | undefined }) {
  const { template_id, variables, version } = template
  const form = useRef<HTMLFormElement>(null)
  const name = `run.${template_id}.${version}.${earlier?.assignment_id ?? ''}`
  const [draft, change, forget] = useDraft<Draft>(name, () => ({
    values: firstValues(variables, earlier?.template_vars),
    presence_name: earlier?.presence_name ?? '',
    priority: '',
  }))
  const run = useRun(template, forget)
  const analyst = useMay('analyst')
  const faults = byVariable(faultsOf(run.error, PATH))
  const others = faultsOf(run.error, 'payload.')
  const shown = Object.keys(faults).some((path) => variables.some((variable) => variable.name === path))
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    run.mutate(draft, { onError: () => focusFault(form.current) })
  }
  return (
    <form className="run-form" ref={form} onSubmit={submit} noValidate>
      {variables.length === 0 && <p>It has no variables: run it as it is.</p>}
      {variables.map((variable) => (
        <VariableField
          key={variable.name}
          template_id={template_id}
          variable={variable}
          value={draft.values[variable.name] ?? ''}
          fault={faults[variable.name]}
          onChange={(value) => change({ ...draft, values: { ...draft.values, [variable.name]: value } })}
        />
      ))}
      <MoreFields draft={draft} faults={others} onChange={change} />
      {run.isError && !shown && <Fault error={run.error} />}
      <div className="actions">
        <button type="submit" className="button primary" disabled={run.isPending || !analyst}>
          {run.isPending ? 'Starting…' : 'Run'}
        </button>
        {!analyst && <span className="small">Your token may only read.</span>}
      </div>
    </form>
  )
}
