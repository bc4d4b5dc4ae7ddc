/** What can be done with a webhook: turn off and on, rotate its secret, recover what failed, cancel what waits, delete. */
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import type { WebhookView } from '../../../src/webhook.ts'
import { api } from '../api.ts'
import { Confirm, Dialog } from './dialog.tsx'
import { Fault } from './fault.tsx'
import { Menu, MenuItem } from './menu.tsx'
import { RecoverDialog } from './recover.tsx'
import { SigningKey } from './signing-key.tsx'

type Question = 'rotate' | 'recover' | 'cancel' | 'delete'

function useActs({ webhook_id, status }: WebhookView) {
  const cache = useQueryClient()
  const navigate = useNavigate()
  const refresh = async (): Promise<void> => {
    await cache.invalidateQueries({ queryKey: ['webhook', webhook_id] })
    await cache.invalidateQueries({ queryKey: ['deliveries', webhook_id] })
    await cache.invalidateQueries({ queryKey: ['webhooks'] })
  }
  const turn = useMutation({
    mutationFn: () =>
      api().webhooks.update(webhook_id, { status: status === 'enabled' ? 'disabled' : 'enabled' }),
    onSuccess: refresh,
  })
  const rotate = useMutation({
    mutationFn: () => api().webhooks.rotateSecret(webhook_id),
    onSuccess: refresh,
  })
  const cancel = useMutation({
    mutationFn: () => api().webhooks.cancelPending(webhook_id),
    onSuccess: refresh,
  })
  const remove = useMutation({
    mutationFn: () => api().webhooks.delete(webhook_id),
    onSuccess: async () => {
      await navigate({ to: '/webhooks' })
      await cache.invalidateQueries({ queryKey: ['webhooks'] })
    },
  })
  return { turn, rotate, cancel, remove }
}

type Acts = ReturnType<typeof useActs>

function RotateDialog({ rotate, open, onClose }: { rotate: Acts['rotate']; open: boolean; onClose(): void }) {
  const close = (): void => {
    rotate.reset()
    onClose()
  }
  return (
    <Dialog
      title="Rotate the signing secret"
      description="A new secret is made. For 24 hours both sign, so that receivers can change over."
      open={open}
      onClose={close}
    >
      {rotate.isError && <Fault error={rotate.error} />}
      {rotate.data && <SigningKey which="new" webhook={rotate.data} />}
      <div className="actions">
        {!rotate.data && (
          <button
            type="button"
            className="button primary"
            disabled={rotate.isPending}
            onClick={() => rotate.mutate()}
          >
            Rotate
          </button>
        )}
        <button type="button" className="button quiet" onClick={close}>
          Close
        </button>
      </div>
    </Dialog>
  )
}

export function WebhookActions({ webhook }: { webhook: WebhookView }) {
  const [asked, setAsked] = useState<Question | null>(null)
  const { turn, rotate, cancel, remove } = useActs(webhook)
  const close = (): void => setAsked(null)
  return (
    <>
      <button type="button" className="button" disabled={turn.isPending} onClick={() => turn.mutate()}>
        {webhook.status === 'enabled' ? 'Disable' : 'Enable'}
      </button>
      <button type="button" className="button" onClick={() => setAsked('recover')}>
        Recover
      </button>
      <Menu label="More">
        <MenuItem onSelect={() => setAsked('rotate')}>Rotate the secret</MenuItem>
        <MenuItem onSelect={() => setAsked('cancel')}>Cancel what waits</MenuItem>
        <MenuItem onSelect={() => setAsked('delete')}>Delete</MenuItem>
      </Menu>
      {turn.isError && <Fault error={turn.error} />}
      <RotateDialog rotate={rotate} open={asked === 'rotate'} onClose={close} />
      <RecoverDialog webhook_id={webhook.webhook_id} open={asked === 'recover'} onClose={close} />
      <Confirm
        title="Cancel what waits?"
        description="Deliveries that have not arrived yet will not be tried again."
        action="Cancel them"
        open={asked === 'cancel'}
        pending={cancel.isPending}
        onClose={close}
        onConfirm={() => cancel.mutate(undefined, { onSuccess: close })}
      >
        {cancel.isError && <Fault error={cancel.error} />}
      </Confirm>
      <Confirm
        title="Delete this webhook?"
        description="Nobody will be told at this address any more, and its deliveries go, too."
        action="Delete the webhook"
        open={asked === 'delete'}
        pending={remove.isPending}
        onClose={close}
        onConfirm={() => remove.mutate()}
      >
        {remove.isError && <Fault error={remove.error} />}
      </Confirm>
    </>
  )
}
