/** Registers a webhook, shows its secret once, and sends it a test. */

import type { NewWebhook, WebhookInput } from '@assay/client'
import type { EventType } from '@assay/model/event'
import { FORMATS, type Format, LINEAGE_EVENTS, type SignatureVersion } from '@assay/model/webhook'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { api, faultsOf, useMe } from '../../api.ts'
import { useDraft } from '../../drafts/draft.ts'
import { type HeaderDraft, headerChanges, rowFaults } from '../../drafts/headers.ts'
import { EVENT_TYPES, namedEvents } from '../../names.ts'
import { Fault } from '../../parts/fault.tsx'
import { ChecksField, SelectField, TextField, useFaultFocus } from '../../parts/field.tsx'
import { Page } from '../../parts/page.tsx'
import { HeaderFields } from '../../parts/receivers/header-fields.tsx'
import { SigningKey } from '../../parts/receivers/signing-key.tsx'
import { TestDelivery } from '../../parts/receivers/test-delivery.tsx'
import { Submit } from '../../parts/submit.tsx'

interface Draft {
  url: string
  format: Format
  presence_name: string
  description: string
  events: EventType[]
  signature: SignatureVersion
}

const FIRST: Draft = {
  url: '',
  format: 'standard',
  presence_name: '',
  description: '',
  events: ['job.completed', 'job.failed', 'job.canceled'],
  signature: 'v1',
}

const FORMAT_WORDS: Record<Format, string> = {
  standard: 'Events, signed (Standard Webhooks)',
  openlineage: 'Lineage for a data catalog (OpenLineage)',
}

/**
 * The name of a receiver of the format for data catalogs. Its events do not depend on a name, but the service requires
 * one.
 */
const CATALOG_NAME = 'lineage'

/** Returns the draft with another format and the events with which that begins. */
function withFormat(draft: Draft, format: Format): Draft {
  return { ...draft, format, events: format === 'openlineage' ? [...LINEAGE_EVENTS] : FIRST.events }
}

function inputOf(draft: Draft, headers: HeaderDraft[], user_id: string): WebhookInput {
  return {
    url: draft.url.trim(),
    user_id,
    presence_name: draft.format === 'openlineage' ? CATALOG_NAME : draft.presence_name.trim(),
    format: draft.format,
    events: draft.events,
    headers: headerChanges(headers).flatMap(({ value, ...rest }) =>
      value === null ? [] : [{ ...rest, value }],
    ),
    signature: draft.signature,
    ...(draft.description.trim() === '' ? {} : { description: draft.description.trim() }),
  }
}

function Made({ webhook }: { webhook: NewWebhook }) {
  const { webhook_id } = webhook
  return (
    <>
      <SigningKey webhook={webhook} />
      <h2>Try it</h2>
      <TestDelivery receiver={{ noun: 'webhook', id: webhook_id }} />
      <p>
        <Link to="/webhooks/$webhook_id" params={{ webhook_id }} search={{}}>
          Go to the webhook
        </Link>
      </p>
    </>
  )
}

interface FormProps {
  draft: Draft
  change(draft: Draft): void
  faults: Record<string, string>
}

function FormatField({ draft, change }: Omit<FormProps, 'faults'>) {
  return (
    <SelectField
      label="What it gets"
      hint={
        draft.format === 'openlineage'
          ? 'The catalog learns which run read which data and what it made: names, sizes and counts, no rows and no text.'
          : 'This cannot be changed later.'
      }
      value={draft.format}
      onChange={({ target }) => change(withFormat(draft, FORMATS.find((one) => one === target.value)!))}
      options={FORMATS.map((value) => ({ value, label: FORMAT_WORDS[value] }))}
    />
  )
}

function Fields({ draft, change, faults }: FormProps) {
  const isLineage = draft.format === 'openlineage'
  const set = (field: keyof Draft) => (event: { target: { value: string } }) =>
    change({ ...draft, [field]: event.target.value })
  return (
    <>
      <TextField
        label="Address"
        hint="http or https; it must answer with 2xx within 15 seconds."
        type="url"
        required
        placeholder="https://example.com/hooks/assay"
        fault={faults.url}
        value={draft.url}
        onChange={set('url')}
      />
      <FormatField draft={draft} change={change} />
      {!isLineage && (
        <TextField
          label="Receiver name"
          hint="A run that names a receiver notifies only the webhooks with that name. A run that names none notifies all. The name of an event, such as job.failed, narrows the webhook to that event. The API calls it presence_name."
          required
          fault={faults.presence_name}
          value={draft.presence_name}
          onChange={set('presence_name')}
        />
      )}
      <ChecksField
        legend="Told when"
        options={namedEvents(isLineage ? LINEAGE_EVENTS : EVENT_TYPES)}
        chosen={draft.events}
        fault={faults.events}
        onChange={(events) => change({ ...draft, events })}
      />
      <TextField
        label="Description"
        fault={faults.description}
        value={draft.description}
        onChange={set('description')}
      />
      <SelectField
        label="Signature"
        value={draft.signature}
        onChange={set('signature')}
        options={[
          { value: 'v1', label: 'v1: a shared secret (HMAC-SHA256)' },
          { value: 'v1a', label: 'v1a: a key pair (Ed25519)' },
        ]}
      />
    </>
  )
}

export function NewWebhookPage() {
  const me = useMe().data
  const cache = useQueryClient()
  const [draft, change, forget] = useDraft<Draft>('webhook', () => FIRST)
  // Header values are secrets and are not kept in the tab's storage.
  const [headers, setHeaders] = useState<HeaderDraft[]>([])
  const create = useMutation({
    mutationFn: () => api().webhooks.create(inputOf(draft, headers, me?.user_id ?? 'console')),
    onSuccess: async () => {
      forget()
      await cache.invalidateQueries({ queryKey: ['webhooks'] })
    },
  })
  const form = useFaultFocus(create.error)
  const faults = faultsOf(create.error)
  const shown = Object.keys(faults).some((path) => path in FIRST || path.startsWith('headers'))
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    create.mutate()
  }
  return (
    <Page title="New webhook" trail={<Link to="/webhooks">Webhooks</Link>}>
      {create.data ? (
        <Made webhook={create.data} />
      ) : (
        <form className="run-form" ref={form} onSubmit={submit} noValidate>
          <Fields draft={draft} change={change} faults={faults} />
          <HeaderFields headers={headers} faults={rowFaults(faults, headers)} onChange={setHeaders} />
          {create.isError && !shown && <Fault error={create.error} />}
          <Submit pending={create.isPending}>Create</Submit>
        </form>
      )}
    </Page>
  )
}
