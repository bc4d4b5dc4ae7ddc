/** The actions of a webhook or subscription: enable, disable, recover failed deliveries, cancel pending ones, delete. */
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import { callsOf, keysOf, type Receiver, type ReceiverView } from '../../receivers.ts'
import { Confirm } from '../dialog.tsx'
import { Fault } from '../fault.tsx'
import { Menu, MenuItem } from '../menu.tsx'
import { RecoverDialog } from './recover.tsx'

type Question = 'recover' | 'cancel' | 'delete'

/** Invalidates every query that a change of the receiver affects. */
export function useRefresh(receiver: Receiver): () => Promise<void> {
  const cache = useQueryClient()
  return async () => {
    await Promise.all(keysOf(receiver).map((queryKey) => cache.invalidateQueries({ queryKey })))
  }
}

function useActs(receiver: Receiver, status: ReceiverView['status']) {
  const { noun, id } = receiver
  const cache = useQueryClient()
  const navigate = useNavigate()
  const onSuccess = useRefresh(receiver)
  const toggle = useMutation({
    mutationFn: (): Promise<unknown> => {
      const patch = { status: status === 'enabled' ? 'disabled' : 'enabled' } as const
      return callsOf(receiver).update(id, patch)
    },
    onSuccess,
  })
  const cancel = useMutation({ mutationFn: () => callsOf(receiver).cancelPending(id), onSuccess })
  const remove = useMutation({
    mutationFn: () => callsOf(receiver).delete(id),
    onSuccess: async () => {
      await navigate({ to: noun === 'webhook' ? '/webhooks' : '/subscriptions' })
      await cache.invalidateQueries({ queryKey: [`${noun}s`] })
    },
  })
  return { toggle, cancel, remove }
}

export function ReceiverActions(props: {
  receiver: Receiver
  status: ReceiverView['status']
  /** Further entries of the menu. */
  children?: ReactNode
}) {
  const { receiver, status, children } = props
  const [asked, setAsked] = useState<Question | null>(null)
  const { toggle, cancel, remove } = useActs(receiver, status)
  const close = (): void => setAsked(null)
  return (
    <>
      <button type="button" className="button" disabled={toggle.isPending} onClick={() => toggle.mutate()}>
        {status === 'enabled' ? 'Disable' : 'Enable'}
      </button>
      <button type="button" className="button" onClick={() => setAsked('recover')}>
        Recover
      </button>
      <Menu label="More">
        {children}
        <MenuItem onSelect={() => setAsked('cancel')}>Cancel pending deliveries</MenuItem>
        <MenuItem onSelect={() => setAsked('delete')}>Delete</MenuItem>
      </Menu>
      {toggle.isError && <Fault error={toggle.error} />}
      <RecoverDialog receiver={receiver} open={asked === 'recover'} onClose={close} />
      <Confirm
        title="Cancel the pending deliveries?"
        description="Pending deliveries are not tried again."
        action="Cancel them"
        open={asked === 'cancel'}
        request={cancel}
        onClose={close}
        onConfirm={() => cancel.mutate(undefined, { onSuccess: close })}
      />
      <Confirm
        title={`Delete this ${receiver.noun}?`}
        description="It gets no more events, and its deliveries are deleted, too."
        action={`Delete the ${receiver.noun}`}
        open={asked === 'delete'}
        request={remove}
        onClose={close}
        onConfirm={() => remove.mutate()}
      />
    </>
  )
}
