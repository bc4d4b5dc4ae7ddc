/** Shows the settings of a webhook, and the form that changes them. */

import { LINEAGE_EVENTS, type WebhookView } from '@assay/model/webhook'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { api, faultsOf } from '../../api.ts'
import { draftsOf, type HeaderDraft, headerChanges, rowFaults } from '../../drafts/headers.ts'
import { useOpened } from '../../drafts/unchanged.ts'
import { EVENT_TYPES, eventWords, namedEvents } from '../../names.ts'
import { triesOf } from '../../words/durations.ts'
import { ChangeForm, Editable } from '../editing.tsx'
import { ChecksField, TextField } from '../field.tsx'
import { FactList } from '../lists/fact-list.tsx'
import { HeaderFields } from './header-fields.tsx'
import { useRefresh } from './receiver-actions.tsx'

function WebhookFacts({ webhook }: { webhook: WebhookView }) {
  const { webhook_id, presence_name, user_id, events, headers, signature, public_key, retry_schedule } =
    webhook
  const isLineage = webhook.format === 'openlineage'
  const rows: [string, string][] = [
    ...(isLineage
      ? [['What it gets', 'the lineage of every run, as OpenLineage has it'] satisfies [string, string]]
      : [['Receiver name', presence_name] satisfies [string, string]]),
    ['User', user_id],
    ['Told when', eventWords(events)],
    ['Headers', headers.map(({ name, value }) => `${name}: ${value}`).join('; ') || 'none of its own'],
    ['Signature', public_key === null ? signature : `${signature}, public key ${public_key}`],
    ['Tries', triesOf(retry_schedule)],
    ['At a time', webhook.max_in_flight === null ? 'the usual 8' : String(webhook.max_in_flight)],
    ['A second at most', webhook.rate_per_second === null ? 'no limit' : String(webhook.rate_per_second)],
  ]
  return <FactList noun="Webhook" id={webhook_id} rows={rows} />
}

type Draft = Pick<WebhookView, 'url' | 'presence_name' | 'events'> & { description: string }

function useSave(webhook: WebhookView, onDone: () => void) {
  const { webhook_id } = webhook
  const refresh = useRefresh({ noun: 'webhook', id: webhook_id })
  const opened = useOpened(webhook)
  return useMutation({
    mutationFn: ({ draft, headers }: { draft: Draft; headers: HeaderDraft[] }) => {
      const { url, presence_name, description, events } = draft
      const changes = headerChanges(headers, webhook.headers)
      const patch = {
        url: url.trim(),
        presence_name: presence_name.trim(),
        description: description.trim() || null,
        ...(events.join() === webhook.events.join() ? {} : { events }),
        ...(changes.length === 0 ? {} : { headers: changes }),
      }
      return api().webhooks.update(webhook_id, patch, opened)
    },
    onSuccess: async () => {
      await refresh()
      onDone()
    },
  })
}

function EditForm({ webhook, onDone }: { webhook: WebhookView; onDone(): void }) {
  const [draft, setDraft] = useState<Draft>({
    url: webhook.url,
    presence_name: webhook.presence_name,
    events: webhook.events,
    description: webhook.description ?? '',
  })
  const [headers, setHeaders] = useState(() => draftsOf(webhook.headers))
  const save = useSave(webhook, onDone)
  const faults = faultsOf(save.error)
  const isLineage = webhook.format === 'openlineage'
  const shown = Object.keys(faults).some((path) => path in draft || path.startsWith('headers'))
  const text = (field: 'url' | 'presence_name' | 'description', label: string) => (
    <TextField
      label={label}
      fault={faults[field]}
      value={draft[field]}
      onChange={({ target }) => setDraft({ ...draft, [field]: target.value })}
    />
  )
  return (
    <ChangeForm save={save} shown={shown} onSubmit={() => save.mutate({ draft, headers })} onDone={onDone}>
      {text('url', 'Address')}
      {!isLineage && text('presence_name', 'Receiver name')}
      {text('description', 'Description')}
      <ChecksField
        legend="Told when"
        options={namedEvents(isLineage ? LINEAGE_EVENTS : EVENT_TYPES)}
        chosen={draft.events}
        fault={faults.events}
        onChange={(events) => setDraft({ ...draft, events })}
      />
      <HeaderFields
        headers={headers}
        faults={rowFaults(faults, headers, webhook.headers)}
        onChange={setHeaders}
      />
    </ChangeForm>
  )
}

export function WebhookSettings({ webhook, editable }: { webhook: WebhookView; editable: boolean }) {
  return (
    <Editable editable={editable} form={(onDone) => <EditForm webhook={webhook} onDone={onDone} />}>
      <WebhookFacts webhook={webhook} />
    </Editable>
  )
}
