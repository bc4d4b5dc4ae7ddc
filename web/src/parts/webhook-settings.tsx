/** What a webhook is set to, and the form that changes it. */
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import type { WebhookView } from '../../../src/webhook.ts'
import { api, faultsOf } from '../api.ts'
import { EVENT_TYPES } from '../names.ts'
import { triesOf } from '../times.ts'
import { FactList } from './fact-list.tsx'
import { Fault } from './fault.tsx'
import { ChecksField, TextField } from './field.tsx'

export function WebhookFacts({ webhook }: { webhook: WebhookView }) {
  const { webhook_id, presence_name, user_id, events, headers, signature, public_key, retry_schedule } =
    webhook
  const rows: [string, string][] = [
    ['Presence name', presence_name],
    ['User', user_id],
    ['Events', events.join(', ') || 'none'],
    ['Headers', headers.map(({ name, value }) => `${name}: ${value}`).join('; ') || 'none of its own'],
    ['Signature', public_key === null ? signature : `${signature}, public key ${public_key}`],
    ['Tries', triesOf(retry_schedule)],
    ['At a time', webhook.max_in_flight === null ? 'the usual 8' : String(webhook.max_in_flight)],
    ['A second at most', webhook.rate_per_second === null ? 'no limit' : String(webhook.rate_per_second)],
  ]
  return <FactList noun="Webhook" id={webhook_id} rows={rows} />
}

function EditForm({ webhook, onDone }: { webhook: WebhookView; onDone(): void }) {
  const { webhook_id } = webhook
  const cache = useQueryClient()
  const [draft, setDraft] = useState({
    url: webhook.url,
    presence_name: webhook.presence_name,
    description: webhook.description ?? '',
    events: webhook.events,
  })
  const save = useMutation({
    mutationFn: () => {
      const { events, ...rest } = draft
      const changed = events.join() === webhook.events.join() ? {} : { events }
      return api().webhooks.update(webhook_id, { ...rest, ...changed })
    },
    onSuccess: async () => {
      await cache.invalidateQueries({ queryKey: ['webhook', webhook_id] })
      await cache.invalidateQueries({ queryKey: ['webhooks'] })
      onDone()
    },
  })
  const faults = faultsOf(save.error)
  const shown = Object.keys(faults).some((path) => path in draft)
  const set = (field: 'url' | 'presence_name' | 'description') => (event: { target: { value: string } }) =>
    setDraft({ ...draft, [field]: event.target.value })
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    save.mutate()
  }
  return (
    <form className="run-form" onSubmit={submit} noValidate>
      <TextField label="Address" fault={faults.url} value={draft.url} onChange={set('url')} />
      <TextField
        label="Presence name"
        fault={faults.presence_name}
        value={draft.presence_name}
        onChange={set('presence_name')}
      />
      <TextField
        label="Description"
        fault={faults.description}
        value={draft.description}
        onChange={set('description')}
      />
      <ChecksField
        legend="Events"
        options={EVENT_TYPES.map((type) => ({ value: type, label: type }))}
        chosen={draft.events}
        fault={faults.events}
        onChange={(events) => setDraft({ ...draft, events })}
      />
      {save.isError && !shown && <Fault error={save.error} />}
      <div className="actions">
        <button type="submit" className="button primary" disabled={save.isPending}>
          Save
        </button>
        <button type="button" className="button quiet" onClick={onDone}>
          Leave it
        </button>
      </div>
    </form>
  )
}

export function WebhookSettings({ webhook, editable }: { webhook: WebhookView; editable: boolean }) {
  const [editing, setEditing] = useState(false)
  if (editing) return <EditForm webhook={webhook} onDone={() => setEditing(false)} />
  return (
    <>
      <WebhookFacts webhook={webhook} />
      {editable && (
        <button type="button" className="button" onClick={() => setEditing(true)}>
          Change
        </button>
      )}
    </>
  )
}
