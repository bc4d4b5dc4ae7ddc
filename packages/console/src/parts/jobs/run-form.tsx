/**
 * Shows the form that runs a template: its variables and the options of a job. A refusal is shown beside its field.
 */

import type { JobInput } from '@assay/client'
import type { JobView } from '@assay/model/job'
import type { TemplateView } from '@assay/model/template'
import { useMutation } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import type { FormEvent } from 'react'
import { api, faultsOf, queryClient } from '../../api.ts'
import { useDraft } from '../../drafts/draft.ts'
import { metadataRows } from '../../drafts/metadata.ts'
import { firstValues, sentValues, type Values } from '../../values.ts'
import { Fault } from '../fault.tsx'
import { useFaultFocus } from '../field.tsx'
import { RunReader } from '../readers/reader.tsx'
import { Submit } from '../submit.tsx'
import { FIRST_JOB, isOfJobFields, type JobDraft, JobFields, jobSettings } from './job-fields.tsx'
import { byVariable, VariableFields } from './variable-fields.tsx'

interface Draft extends JobDraft {
  values: Values
  /** The reader of a personal template; empty for the own user. */
  reader_id: string
}

const PATH = 'payload.template_vars.'

function inputOf({ template_id, variables, personal }: TemplateView, draft: Draft): JobInput {
  return {
    template_id,
    template_vars: sentValues(variables, draft.values),
    ...jobSettings(draft),
    ...(!personal || draft.reader_id.trim() === '' ? {} : { reader_id: draft.reader_id.trim() }),
  }
}

/** Creates and runs a job. The idempotency key belongs to this submit, so a retry creates no second job. */
function useRun(template: TemplateView, onCreated: () => void) {
  const navigate = useNavigate()
  return useMutation({
    mutationFn: async (draft: Draft) => {
      const assignment_id = await api().jobs.create(inputOf(template, draft))
      return api().jobs.run(assignment_id)
    },
    onSuccess: async (job) => {
      onCreated()
      queryClient.keep(['job', job.assignment_id], job)
      await navigate({ to: '/jobs/$assignment_id', params: { assignment_id: job.assignment_id } })
    },
  })
}

interface RunFormProps {
  template: TemplateView
  earlier: JobView | undefined
  /** The metric under review, for a template with the variables `metrics` and `period`. */
  metric?: string | undefined
}

export function RunForm({ template, earlier, metric }: RunFormProps) {
  const { template_id, variables, version } = template
  const name = `run.${template_id}.${version}.${earlier?.assignment_id ?? metric ?? ''}`
  const asked = metric === undefined ? undefined : { metrics: [metric], period: 'last_week' }
  const [draft, change, forget] = useDraft<Draft>(name, () => ({
    values: firstValues(variables, earlier?.template_vars ?? asked),
    ...FIRST_JOB,
    reader_id: earlier?.reader_id ?? '',
    presence_name: earlier?.presence_name ?? '',
    metadata: metadataRows(earlier?.metadata),
  }))
  const run = useRun(template, forget)
  const faults = byVariable(faultsOf(run.error, PATH))
  const others = faultsOf(run.error, 'payload.')
  const shown =
    Object.keys(faults).some((path) => variables.some((variable) => variable.name === path)) ||
    Object.keys(others).some((path) => path === 'reader_id' || isOfJobFields(path))
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    run.mutate(draft)
  }
  return (
    <form className="run-form" ref={useFaultFocus(run.error)} onSubmit={submit} noValidate>
      {variables.length === 0 && <p>The template has no variables.</p>}
      <VariableFields
        template={template}
        values={draft.values}
        faults={faults}
        onChange={(variable, value) => change({ ...draft, values: { ...draft.values, [variable]: value } })}
      />
      {template.personal && (
        <RunReader
          value={draft.reader_id}
          fault={others.reader_id}
          onChange={(reader_id) => change({ ...draft, reader_id })}
        />
      )}
      <JobFields
        draft={draft}
        faults={others}
        tells={template.personal ? 'reader' : 'anybody'}
        onChange={(more) => change({ ...draft, ...more })}
      />
      {run.isError && !shown && <Fault error={run.error} />}
      <Submit pending={run.isPending}>{run.isPending ? 'Starting…' : 'Run'}</Submit>
    </form>
  )
}
