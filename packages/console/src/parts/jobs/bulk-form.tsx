/** Creates many jobs of one template in one call, from rows that are pasted or read from a file and checked first. */

import type { BatchInput, BatchView } from '@assay/client'
import type { TemplateView } from '@assay/model/template'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type FormEvent, useMemo, useState } from 'react'
import { api, faultsOf } from '../../api.ts'
import { useDraft } from '../../drafts/draft.ts'
import { readSets, SETS_MOST, type VariableSets } from '../../drafts/variable-sets.ts'
import { useSettled } from '../../settled.ts'
import { textOf } from '../../values.ts'
import { Fault } from '../fault.tsx'
import { CheckField, Field, TextField } from '../field.tsx'
import { Copy, ShortId } from '../show.tsx'
import { Curl } from '../text/curl.tsx'
import { BatchProgress } from './batch-progress.tsx'
import { FIRST_JOB, type JobDraft, JobFields, jobSettings } from './job-fields.tsx'
import { SetTable } from './set-table.tsx'

const CHECK_AFTER_MS = 400
/** The most bytes of the text: the largest body, less its other fields. */
const TEXT_MOST = 8_000_000

interface Draft extends JobDraft {
  text: string
  run: boolean
}

const FIRST: Draft = { text: '', run: true, ...FIRST_JOB }

/** The column of a personal template that names the reader of each row. */
const READER = 'reader_id'

/** Returns the columns of the text: the variables, and the reader of each run of a personal template. */
function namesOf({ variables, personal }: TemplateView): string[] {
  const names = variables.map(({ name }) => name)
  return personal && !names.includes(READER) ? [READER, ...names] : names
}

function itemsOf(template: TemplateView, { sets }: VariableSets): BatchInput['items'] {
  const [first] = namesOf(template)
  if (first !== READER || !template.personal) return sets.map((template_vars) => ({ template_vars }))
  return sets.map(({ [READER]: reader_id, ...template_vars }) =>
    reader_id === undefined ? { template_vars } : { template_vars, reader_id: textOf(reader_id) },
  )
}

const jobs = (count: number): string => (count === 1 ? 'one job' : `${count.toLocaleString('en')} jobs`)
const rows = (count: number): string => (count === 1 ? 'one row' : `${count.toLocaleString('en')} rows`)

const NOTHING: VariableSets = { columns: [], sets: [] }

/** Returns the rows of the text, and the service's check of each once typing has paused. */
function useSets(template: TemplateView, text: string) {
  const { template_id, version, variables } = template
  const settled = useSettled(text, CHECK_AFTER_MS)
  const parsed = useMemo(() => readSets(settled, variables), [settled, variables])
  const read = 'fault' in parsed ? NOTHING : parsed
  const check = useQuery({
    queryKey: ['check of sets', template_id, version, settled],
    queryFn: () => api().jobs.checkMany({ template_id, items: itemsOf(template, read) }),
    enabled: read.sets.length > 0,
    gcTime: 0,
  })
  const fault = 'fault' in parsed ? parsed.fault : undefined
  return { read, check, fault, fitting: settled === text ? check.data?.accepted : undefined }
}

interface TextProps {
  template: TemplateView
  text: string
  fault: string | undefined
  onChange(text: string): void
}

function TextFields({ template, text, fault, onChange }: TextProps) {
  const [refused, setRefused] = useState<string | undefined>()
  const names = namesOf(template).join(',')
  const read = async (file: File | undefined): Promise<void> => {
    if (!file) return
    const large = file.size > TEXT_MOST
    setRefused(large ? 'The file is larger than the 8 MB of one call: divide it.' : undefined)
    if (!large) onChange(await file.text())
  }
  return (
    <>
      <Field
        label="Sets of variables"
        hint={
          <>
            One row for each job, at most {SETS_MOST.toLocaleString('en')}. Paste cells of a spreadsheet, CSV,
            or JSON (a list of objects). An empty cell leaves the default. The first row names the variables:{' '}
            <code>{names || 'there are none'}</code> {names && <Copy text={names} label="Copy the names" />}
            {template.personal && (
              <>
                {' '}
                <code>{READER}</code> names the reader whose rows a job shows; an empty cell means yourself.
              </>
            )}
          </>
        }
        fault={fault}
      >
        {(parts) => (
          <textarea
            className="input sets-text"
            {...parts}
            rows={8}
            spellCheck={false}
            value={text}
            onChange={({ target }) => onChange(target.value)}
          />
        )}
      </Field>
      <TextField
        label="Or from a file"
        type="file"
        accept=".csv,.tsv,.txt,.json,.ndjson,.jsonl"
        fault={refused}
        onChange={({ target }) => {
          void read(target.files?.[0])
          // The input is reset, so that the same file can be chosen again after a correction.
          target.value = ''
        }}
      />
    </>
  )
}

function Made({ batch, read, onAgain }: { batch: BatchView; read: VariableSets; onAgain(): void }) {
  const ids = batch.items.map(({ assignment_id }) => assignment_id)
  return (
    <>
      <h2>
        {batch.created === 0 ? 'No job was created' : `${jobs(batch.created)} created`}
        {batch.refused > 0 && `, ${rows(batch.refused)} refused`}
      </h2>
      {batch.created > 0 && (
        <>
          <BatchProgress batch_id={batch.batch_id} />
          <p>
            <Link to="/jobs" search={{ batch: batch.batch_id }}>
              All jobs of this call
            </Link>
          </p>
        </>
      )}
      <SetTable
        label="The result of each row"
        {...read}
        faults={batch.items.map(({ errors }) => errors)}
        good={(index) => (
          <Link to="/jobs/$assignment_id" params={{ assignment_id: ids[index]! }}>
            job <ShortId id={ids[index]!} />
          </Link>
        )}
      />
      <button type="button" className="button" onClick={onAgain}>
        Create more
      </button>
    </>
  )
}

function verdict(refused: number, all: number): string {
  if (refused === 0) return all === 1 ? 'The row is valid.' : `All ${rows(all)} are valid.`
  if (all === 1) return 'The row has a fault: correct it.'
  if (refused === 1) return `One of ${rows(all)} has a fault: correct it, or no job is created from it.`
  return `${refused.toLocaleString('en')} of ${rows(all)} have faults: correct them, or no jobs are created from them.`
}

function Preview({ check, read }: Pick<ReturnType<typeof useSets>, 'check' | 'read'>) {
  const { data, error } = check
  if (error) return <Fault error={error} onRetry={() => void check.refetch()} />
  return (
    <>
      <p role="status">
        {data === undefined ? 'Checking each row…' : verdict(data.refused, read.sets.length)}
      </p>
      <SetTable
        label="Preview of the rows"
        {...read}
        faults={data?.items.map(({ errors }) => errors) ?? []}
        good={() => (data === undefined ? '…' : '✓ valid')}
      />
    </>
  )
}

function useMake(template: TemplateView, onMade: () => void) {
  const { template_id } = template
  const cache = useQueryClient()
  return useMutation({
    mutationFn: async ({ read, draft }: { read: VariableSets; draft: Draft }) => {
      const input = { template_id, items: itemsOf(template, read), run: draft.run, ...jobSettings(draft) }
      return { read, batch: await api().jobs.createMany(input) }
    },
    onSuccess: async () => {
      onMade()
      await cache.invalidateQueries({ queryKey: ['jobs'] })
    },
  })
}

export function BulkForm({ template }: { template: TemplateView }) {
  const { template_id } = template
  const [draft, change, forget] = useDraft<Draft>(`bulk.${template_id}`, () => FIRST)
  const { read, check, fault, fitting } = useSets(template, draft.text)
  const make = useMake(template, forget)
  const faults = faultsOf(make.error)
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    make.mutate({ read, draft })
  }
  if (make.data) {
    const again = (): void => {
      change(FIRST)
      make.reset()
    }
    return <Made {...make.data} onAgain={again} />
  }
  return (
    <form onSubmit={submit} noValidate>
      <div className="run-form">
        <TextFields
          template={template}
          text={draft.text}
          fault={fault}
          onChange={(text) => change({ ...draft, text })}
        />
        <CheckField
          label="Run them at once"
          hint="Otherwise they stay drafts that you run one by one."
          checked={draft.run}
          onChange={({ target }) => change({ ...draft, run: target.checked })}
        />
        <JobFields
          draft={draft}
          faults={faults}
          tells={template.personal ? 'reader' : 'anybody'}
          onChange={(more) => change({ ...draft, ...more })}
        />
      </div>
      {read.sets.length > 0 && <Preview check={check} read={read} />}
      {make.isError && <Fault error={make.error} />}
      <div className="actions">
        <button
          type="submit"
          className="button primary"
          disabled={make.isPending || fitting === undefined || fitting === 0}
        >
          {make.isPending ? 'Creating…' : fitting ? `Create ${jobs(fitting)}` : 'Create'}
        </button>
      </div>
      {read.sets.length === 0 && (
        <Curl
          path="/jobs/bulk"
          body={{
            template_id,
            run: true,
            items: [{ template_vars: exampleOf(template) }, { template_vars: {} }],
          }}
        />
      )}
    </form>
  )
}

function exampleOf({ variables }: TemplateView): Record<string, unknown> {
  const [first] = variables.filter((variable) => variable.default !== null)
  return first ? { [first.name]: first.default } : {}
}
