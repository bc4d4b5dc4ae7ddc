/** What a subscription is set to, and the form that changes it. */
import { useMutation } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import type { SubscriptionView } from '../../../src/subscription.ts'
import { api, faultsOf } from '../api.ts'
import { triesOf } from '../times.ts'
import { FactList } from './fact-list.tsx'
import { Fault } from './fault.tsx'
import { useRefresh } from './receiver-actions.tsx'
import {
  areShown,
  draftOf,
  inputOf,
  KIND_WORDS,
  lifetimeWords,
  SubscriptionFields,
} from './subscription-form.tsx'

function Facts({ subscription }: { subscription: SubscriptionView }) {
  const { subscription_id, kind, to, url, link_expires_in, max_in_flight, rate_per_second } = subscription
  const rows: [string, string][] = [
    ['By', KIND_WORDS[kind]],
    ['Goes to', kind === 'email' ? to.join(', ') || 'nobody any more' : (url ?? '')],
    ['Presence name', subscription.presence_name],
    ['User', subscription.user_id],
    ['Events', subscription.events.join(', ') || 'none'],
    ['Skipped runs', subscription.include_skipped ? 'told, in a line' : 'not told'],
    ['Link to the page', link_expires_in === null ? 'none' : `opens for ${lifetimeWords(link_expires_in)}`],
    ['Tries', triesOf(subscription.retry_schedule)],
    ['At a time', max_in_flight === null ? 'the usual 8' : String(max_in_flight)],
    ['A second at most', rate_per_second === null ? 'no limit' : String(rate_per_second)],
  ]
  return <FactList noun="Subscription" id={subscription_id} rows={rows} />
}

function EditForm({ subscription, onDone }: { subscription: SubscriptionView; onDone(): void }) {
  const { subscription_id } = subscription
  const refresh = useRefresh({ noun: 'subscription', id: subscription_id })
  const [draft, change] = useState(() => draftOf(subscription))
  const [url, setUrl] = useState('')
  const save = useMutation({
    mutationFn: () => {
      const { kind: _kind, ...patch } = inputOf(draft, url)
      return api().subscriptions.update(subscription_id, patch)
    },
    onSuccess: async () => {
      await refresh()
      onDone()
    },
  })
  const faults = faultsOf(save.error)
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    save.mutate()
  }
  return (
    <form className="run-form" onSubmit={submit} noValidate>
      <SubscriptionFields
        draft={draft}
        change={change}
        url={url}
        setUrl={setUrl}
        faults={faults}
        present={subscription.url}
      />
      {save.isError && !areShown(faults) && <Fault error={save.error} />}
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

export function SubscriptionSettings(props: { subscription: SubscriptionView; editable: boolean }) {
  const { subscription, editable } = props
  const [editing, setEditing] = useState(false)
  if (editing) return <EditForm subscription={subscription} onDone={() => setEditing(false)} />
  return (
    <>
      <Facts subscription={subscription} />
      {editable && (
        <button type="button" className="button" onClick={() => setEditing(true)}>
          Change
        </button>
      )}
    </>
  )
}
