/** Creates a subscription by mail or chat. */

import type { SubscriptionKind } from '@assay/model/subscription'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { api, areShown, faultsOf } from '../../api.ts'
import { useDraft } from '../../drafts/draft.ts'
import { Fault } from '../../parts/fault.tsx'
import { SelectField, useFaultFocus } from '../../parts/field.tsx'
import { Page } from '../../parts/page.tsx'
import {
  FIRST_DRAFT,
  inputOf,
  SUBSCRIPTION_FIELDS,
  type SubscriptionDraft,
  SubscriptionFields,
} from '../../parts/receivers/subscription-form.tsx'
import { Submit } from '../../parts/submit.tsx'

const KINDS: { value: SubscriptionKind; label: string }[] = [
  { value: 'email', label: 'by mail' },
  { value: 'slack', label: 'in a chat that takes Slack’s incoming webhooks' },
]

export function NewSubscriptionPage() {
  const cache = useQueryClient()
  const navigate = useNavigate()
  const { follows } = useSearch({ from: '/shell/subscriptions/new' })
  const [draft, change, forget] = useDraft<SubscriptionDraft>(
    follows === undefined ? 'subscription' : `subscription.${follows}`,
    () => (follows === undefined ? FIRST_DRAFT : { ...FIRST_DRAFT, personal: true, follows: [follows] }),
  )
  const [url, setUrl] = useState('')
  const create = useMutation({
    mutationFn: () => api().subscriptions.create(inputOf(draft, url)),
    onSuccess: async ({ subscription_id }) => {
      forget()
      await cache.invalidateQueries({ queryKey: ['subscriptions'] })
      await navigate({ to: '/subscriptions/$subscription_id', params: { subscription_id }, search: {} })
    },
  })
  const faults = faultsOf(create.error)
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    create.mutate()
  }
  return (
    <Page
      title="New subscription"
      trail={<Link to="/subscriptions">Subscriptions</Link>}
      lead={
        follows !== undefined && (
          <p>
            You have no subscription of your own yet. Say where yours goes; it then follows{' '}
            <code>{follows}</code>.
          </p>
        )
      }
    >
      <form className="run-form" ref={useFaultFocus(create.error)} onSubmit={submit} noValidate>
        <SelectField
          label="Send"
          options={KINDS}
          value={draft.kind}
          onChange={({ target }) => {
            create.reset()
            change({ ...draft, kind: KINDS.find(({ value }) => value === target.value)!.value })
          }}
        />
        <SubscriptionFields draft={draft} change={change} url={url} setUrl={setUrl} faults={faults} />
        {create.isError && !areShown(faults, SUBSCRIPTION_FIELDS) && <Fault error={create.error} />}
        <Submit pending={create.isPending}>Create</Submit>
      </form>
    </Page>
  )
}
