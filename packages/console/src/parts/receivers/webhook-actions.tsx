/** The actions of a webhook: those of every receiver, and the rotation of its secret. */

import type { WebhookView } from '@assay/model/webhook'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../../api.ts'
import type { Receiver } from '../../receivers.ts'
import { Dialog } from '../dialog.tsx'
import { Fault } from '../fault.tsx'
import { MenuItem } from '../menu.tsx'
import { ReceiverActions, useRefresh } from './receiver-actions.tsx'
import { SigningKey } from './signing-key.tsx'

function RotateDialog({ receiver, open, onClose }: { receiver: Receiver; open: boolean; onClose(): void }) {
  const rotate = useMutation({
    mutationFn: () => api().webhooks.rotateSecret(receiver.id),
    onSuccess: useRefresh(receiver),
  })
  const close = (): void => {
    rotate.reset()
    onClose()
  }
  return (
    <Dialog
      title="Rotate the signing secret"
      description="Creates a new secret. Both secrets sign for 24 hours, so that receivers can change theirs."
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

export function WebhookActions({ webhook: { webhook_id, status } }: { webhook: WebhookView }) {
  const [rotating, setRotating] = useState(false)
  const receiver: Receiver = { noun: 'webhook', id: webhook_id }
  return (
    <>
      <ReceiverActions receiver={receiver} status={status}>
        <MenuItem onSelect={() => setRotating(true)}>Rotate the secret</MenuItem>
      </ReceiverActions>
      <RotateDialog receiver={receiver} open={rotating} onClose={() => setRotating(false)} />
    </>
  )
}
