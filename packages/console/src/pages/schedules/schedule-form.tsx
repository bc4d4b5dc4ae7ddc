/** Creates or changes a schedule: template, values, due times, and the rules for missed and overlapping runs. */

import type { ScheduleView } from '@assay/model/schedule'
import type { TemplateView } from '@assay/model/template'
import { useMutation, useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router'
import type { FormEvent, ReactNode } from 'react'
import { api, faultsOf, queryClient } from '../../api.ts'
import { useDraft } from '../../drafts/draft.ts'
import {
  firstDraft,
  readersFault,
  type ScheduleDraft,
  scheduleInput,
  shownValues,
} from '../../drafts/schedule-draft.ts'
import { useOpened } from '../../drafts/unchanged.ts'
import { Fault } from '../../parts/fault.tsx'
import { CheckField, SelectField, TextField, useFaultFocus } from '../../parts/field.tsx'
import { isOfJobFields, JobFields } from '../../parts/jobs/job-fields.tsx'
import { byVariable, VariableFields } from '../../parts/jobs/variable-fields.tsx'
import { Loaded, Page } from '../../parts/page.tsx'
import { ScheduleReaders } from '../../parts/readers/schedule-readers.tsx'
import { useSchedule } from '../../parts/schedules/schedule-name.tsx'
import { TimingFields } from '../../parts/schedules/timing-fields.tsx'
import { Submit } from '../../parts/submit.tsx'

const PATH = 'template_vars.'

interface PartProps {
  draft: ScheduleDraft
  faults: Record<string, string>
  onChange(changed: Partial<ScheduleDraft>): void
}

function useTemplate(template_id: string) {
  return useQuery({
    queryKey: ['template', template_id],
    queryFn: () => api().templates.get(template_id),
    enabled: template_id !== '',
  })
}

function TemplateFields(props: PartProps & { templates: readonly TemplateView[]; schedule?: ScheduleView }) {
  const { draft, faults, onChange, templates, schedule } = props
  const query = useTemplate(draft.template_id)
  const known = templates.map(({ template_id, title }) => ({
    value: template_id,
    label: `${title} (${template_id})`,
  }))
  const gone = draft.template_id !== '' && !templates.some((one) => one.template_id === draft.template_id)
  return (
    <>
      <SelectField
        label="Template"
        required
        fault={faults.template_id}
        value={draft.template_id}
        onChange={({ target }) => onChange({ template_id: target.value })}
        options={[
          { value: '', label: 'Choose one' },
          ...(gone ? [{ value: draft.template_id, label: `${draft.template_id} (deleted)` }] : []),
          ...known,
        ]}
      />
      {draft.template_id !== '' && (
        <fieldset className="group">
          <legend>Variables</legend>
          <Loaded query={query}>
            {(template) => (
              <>
                {template.variables.length === 0 && <p>The template has no variables.</p>}
                <VariableFields
                  template={template}
                  values={shownValues(draft, template.variables, schedule)}
                  faults={byVariable(
                    Object.fromEntries(
                      Object.entries(faults)
                        .filter(([path]) => path.startsWith(PATH))
                        .map(([path, message]) => [path.slice(PATH.length), message]),
                    ),
                  )}
                  onChange={(name, value) => onChange({ values: { ...draft.values, [name]: value } })}
                />
              </>
            )}
          </Loaded>
        </fieldset>
      )}
      {query.data && (
        <ScheduleReaders template={query.data} draft={draft} faults={faults} onChange={onChange} />
      )}
    </>
  )
}

function TroubleFields({ draft, faults, onChange }: PartProps) {
  return (
    <>
      <SelectField
        label="Missed due times"
        hint="Due times that no node ran within five minutes."
        fault={faults.missed}
        value={draft.missed}
        onChange={({ target }) => onChange({ missed: target.value as ScheduleDraft['missed'] })}
        options={[
          { value: 'skip', label: 'Do not run them' },
          { value: 'once', label: 'One run, for the latest' },
          { value: 'all', label: 'One run for each' },
        ]}
      />
      {draft.missed === 'all' && (
        <TextField
          label="Missed due times to run, at most"
          inputMode="numeric"
          fault={faults.missed_limit}
          value={draft.missed_limit}
          onChange={({ target }) => onChange({ missed_limit: target.value })}
        />
      )}
      <SelectField
        label="While an earlier job has not ended"
        fault={faults.overlap}
        value={draft.overlap}
        onChange={({ target }) => onChange({ overlap: target.value as ScheduleDraft['overlap'] })}
        options={[
          { value: 'queue', label: 'Queue another job' },
          { value: 'skip', label: 'Skip the due time' },
        ]}
      />
    </>
  )
}

/** Says that the typed readers cannot be sent. */
class ReadersFault extends Error {}

function useSave(schedule: ScheduleView | undefined, onSaved: () => void) {
  const navigate = useNavigate()
  const opened = useOpened(schedule)
  return useMutation({
    mutationFn: async (draft: ScheduleDraft) => {
      const fault = readersFault(draft)
      if (fault !== undefined) throw new ReadersFault(fault)
      const template = draft.template_id === '' ? null : await api().templates.get(draft.template_id)
      const input = scheduleInput(draft, template?.variables ?? [], schedule)
      return schedule
        ? api().schedules.update(schedule.schedule_id, input, opened)
        : api().schedules.create(input)
    },
    onSuccess: async (saved) => {
      onSaved()
      const { schedule_id } = saved
      queryClient.keep(['schedule', schedule_id], saved)
      await queryClient.invalidateQueries({ queryKey: ['schedules'] })
      await navigate({ to: '/schedules/$schedule_id', params: { schedule_id } })
    },
    // The refusal may name a variable that the template got after the page had read it.
    onError: (_error, { template_id }) =>
      queryClient.invalidateQueries({ queryKey: ['template', template_id] }),
  })
}

/** Tells whom the runs may notify. Readers with an address get their insights in any case. */
function tellsOf({ readers_for, template_id }: ScheduleDraft, listed: readonly TemplateView[]) {
  if (readers_for !== 'nobody') return 'nobody'
  return listed.some((one) => one.template_id === template_id && one.personal) ? 'reader' : 'anybody'
}

function ScheduleForm(props: { schedule?: ScheduleView; template_id?: string; leave: ReactNode }) {
  const { schedule, template_id = '', leave } = props
  const key = schedule ? `${schedule.schedule_id}.${schedule.updated_at}` : `new.${template_id}`
  const [draft, change, forget] = useDraft(`schedule.${key}`, () => firstDraft(template_id, schedule))
  const templates = useQuery({ queryKey: ['templates'], queryFn: () => api().templates.list() })
  const save = useSave(schedule, forget)
  const form = useFaultFocus(save.error)
  const faults: Record<string, string> =
    save.error instanceof ReadersFault ? { readers: save.error.message } : faultsOf(save.error)
  const shown = Object.keys(faults).some(
    (path) => path in draft || /^readers(\.|$)/.test(path) || path.startsWith(PATH) || isOfJobFields(path),
  )
  const part: PartProps = { draft, faults, onChange: (changed) => change({ ...draft, ...changed }) }
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    save.mutate(draft)
  }
  return (
    <Loaded query={templates}>
      {(listed) => (
        <form className="run-form" ref={form} onSubmit={submit} noValidate>
          <TextField
            label="Name"
            required
            placeholder="Delays, every working morning"
            fault={faults.name}
            value={draft.name}
            onChange={({ target }) => part.onChange({ name: target.value })}
          />
          <TemplateFields {...part} templates={listed} schedule={schedule} />
          <TimingFields timing={draft} faults={faults} onChange={part.onChange} />
          <TroubleFields {...part} />
          <JobFields draft={draft} faults={faults} tells={tellsOf(draft, listed)} onChange={part.onChange} />
          <CheckField
            label="Paused"
            hint="A paused schedule has no due times until it is resumed."
            checked={draft.paused}
            onChange={({ target }) => part.onChange({ paused: target.checked })}
          />
          {save.isError && !shown && <Fault error={save.error} />}
          <Submit pending={save.isPending} beside={leave}>
            {schedule ? 'Save' : 'Create'}
          </Submit>
        </form>
      )}
    </Loaded>
  )
}

export function NewSchedulePage() {
  const { template } = useSearch({ from: '/shell/schedules/new' })
  return (
    <Page
      title="New schedule"
      trail={<Link to="/schedules">Schedules</Link>}
      lead={<p>Runs a report by itself at the times that you choose, and tells whom you name.</p>}
    >
      <ScheduleForm key={template} template_id={template} leave={null} />
    </Page>
  )
}

export function EditSchedulePage() {
  const { schedule_id } = useParams({ from: '/shell/schedules/$schedule_id/edit' })
  const query = useSchedule(schedule_id)
  const back = (
    <Link to="/schedules/$schedule_id" params={{ schedule_id }}>
      {query.data?.name ?? 'Schedule'}
    </Link>
  )
  return (
    <Page
      title="Edit the schedule"
      trail={
        <>
          <Link to="/schedules">Schedules</Link>
          {' / '}
          {back}
        </>
      }
    >
      <Loaded query={query}>
        {(schedule) => (
          <ScheduleForm
            key={schedule.updated_at}
            schedule={schedule}
            leave={
              <Link className="button quiet" to="/schedules/$schedule_id" params={{ schedule_id }}>
                Leave it
              </Link>
            }
          />
        )}
      </Loaded>
    </Page>
  )
}
