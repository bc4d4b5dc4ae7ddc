/**
 * Enters mail addresses to notify besides the existing subscriptions. They become a subscription, or the one that has
 * them is chosen.
 */
import type { SubscriptionView } from '@assay/model/subscription'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, faultsOf } from '../../api.ts'
import { Fault } from '../fault.tsx'
import { TextField } from '../field.tsx'

const addressesIn = (text: string): string[] => [...new Set(text.split(/[\s,;]+/).filter(Boolean))]

/** Returns an enabled subscription with exactly these addresses, so that none is made twice. */
function sameAs(known: readonly SubscriptionView[], to: readonly string[]): SubscriptionView | undefined {
  const asked = to.toSorted().join()
  return known.find((one) => one.status === 'enabled' && !one.personal && one.to.toSorted().join() === asked)
}

interface MailToProps {
  known: readonly SubscriptionView[]
  onAdd(subscription_id: string): void
}

export function MailTo({ known, onAdd }: MailToProps) {
  const cache = useQueryClient()
  const [text, setText] = useState('')
  const add = useMutation({
    mutationFn: async () => {
      const to = addressesIn(text)
      return sameAs(known, to) ?? api().subscriptions.create({ kind: 'email', to })
    },
    onSuccess: async ({ subscription_id }) => {
      setText('')
      await cache.invalidateQueries({ queryKey: ['subscriptions'] })
      onAdd(subscription_id)
    },
  })
  const faults = faultsOf(add.error)
  const messages = Object.entries(faults).filter(([path]) => /^to(\.|$)/.test(path))
  return (
    <div className="row-form mail-to">
      <TextField
        label="Mail it to"
        hint="Addresses, divided by commas. They are kept as a subscription, which gets nothing else."
        autoComplete="off"
        placeholder="ada@example.com, bob@example.com"
        fault={messages.map(([, message]) => message).join('; ') || undefined}
        value={text}
        onChange={({ target }) => setText(target.value)}
        onKeyDown={(event) => {
          if (event.key !== 'Enter') return
          event.preventDefault()
          if (text.trim() !== '' && !add.isPending) add.mutate()
        }}
      />
      <button
        type="button"
        className="button"
        disabled={add.isPending || text.trim() === ''}
        onClick={() => add.mutate()}
      >
        Add
      </button>
      {add.isError && messages.length === 0 && <Fault error={add.error} />}
    </div>
  )
}
