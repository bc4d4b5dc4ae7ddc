/** Shows the settings of a subscription, and the form that changes them. */

import type { SubscriptionView } from '@assay/model/subscription'
import { useMutation } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { api, areShown, faultsOf } from '../../api.ts'
import { useOpened } from '../../drafts/unchanged.ts'
import { eventWords } from '../../names.ts'
import { triesOf } from '../../words/durations.ts'
import { ChangeForm, Editable } from '../editing.tsx'
import { FollowsWords } from '../library/follows-field.tsx'
import { FactList } from '../lists/fact-list.tsx'
import { useRefresh } from './receiver-actions.tsx'
import {
  draftOf,
  inputOf,
  KIND_WORDS,
  lifetimeWords,
  SUBSCRIPTION_FIELDS,
  SubscriptionFields,
} from './subscription-form.tsx'

function mailRows({ subject, attach }: SubscriptionView): [string, string][] {
  return [
    ['Subject', subject === 'figure' ? 'the first figure, and the title' : 'the title'],
    ['Attached', attach === null ? 'nothing' : 'the PDF'],
  ]
}

const WAITING_WORDS = { unconfirmed: 'has not agreed yet', left: 'has unsubscribed' } as const

/** Returns the readers. A reader who gets nothing is shown with the reason. */
function readersOf(to: readonly string[], waiting: SubscriptionView['waiting']): string {
  const reasons = new Map(waiting.map((one) => [one.to, WAITING_WORDS[one.reason]]))
  return to.map((one) => (reasons.has(one) ? `${one} (${reasons.get(one)})` : one)).join(', ')
}

function Facts({ subscription }: { subscription: SubscriptionView }) {
  const { subscription_id, kind, to, waiting, url, link_expires_in, max_in_flight, rate_per_second } =
    subscription
  const rows: [string, ReactNode][] = [
    ['By', KIND_WORDS[kind]],
    ['Goes to', kind === 'email' ? readersOf(to, waiting) || 'no reader' : (url ?? '')],
    ...(kind === 'email' ? mailRows(subscription) : []),
    ['Receiver name', subscription.presence_name],
    ['User', subscription.user_id],
    ['Own', subscription.personal ? 'yes: “me” of this user' : 'no'],
    ['Follows', <FollowsWords key="follows" follows={subscription.follows} />],
    ['Told when', eventWords(subscription.events)],
    ['Skipped runs', subscription.include_skipped ? 'reported in one line' : 'not told'],
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
  const opened = useOpened(subscription)
  const [draft, change] = useState(() => draftOf(subscription))
  const [url, setUrl] = useState('')
  const save = useMutation({
    mutationFn: () => {
      const { kind: _kind, ...patch } = inputOf(draft, url)
      return api().subscriptions.update(subscription_id, patch, opened)
    },
    onSuccess: async () => {
      await refresh()
      onDone()
    },
  })
  const faults = faultsOf(save.error)
  return (
    <ChangeForm
      save={save}
      shown={areShown(faults, SUBSCRIPTION_FIELDS)}
      onSubmit={() => save.mutate()}
      onDone={onDone}
    >
      <SubscriptionFields
        draft={draft}
        change={change}
        url={url}
        setUrl={setUrl}
        faults={faults}
        present={subscription.url}
      />
    </ChangeForm>
  )
}

export function SubscriptionSettings(props: { subscription: SubscriptionView; editable: boolean }) {
  const { subscription, editable } = props
  return (
    <Editable editable={editable} form={(onDone) => <EditForm subscription={subscription} onDone={onDone} />}>
      <Facts subscription={subscription} />
    </Editable>
  )
}
