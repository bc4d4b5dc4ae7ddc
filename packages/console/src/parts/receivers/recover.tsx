/** Recovers failed deliveries since a time: counts them, asks, then shows the progress. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { callsOf, type Receiver } from '../../receivers.ts'
import { Dialog } from '../dialog.tsx'
import { Fault } from '../fault.tsx'
import { CheckField, TextField } from '../field.tsx'

const DAY_MS = 86_400_000
const ASK_MS = 500

/** Returns a time in the reader's zone for a datetime-local field. */
function localTime(at: number): string {
  return new Date(at - new Date(at).getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}

function useRecovery(receiver: Receiver) {
  const { id } = receiver
  const cache = useQueryClient()
  const count = useMutation({
    mutationFn: (input: { since: string; include_unsent: boolean }) =>
      callsOf(receiver).recover(id, { ...input, dry_run: true }),
  })
  const start = useMutation({
    mutationFn: (input: { since: string; include_unsent: boolean }) => callsOf(receiver).recover(id, input),
    onSuccess: () => cache.invalidateQueries({ queryKey: ['deliveries', id] }),
  })
  const recovery_id = start.data && 'recovery_id' in start.data ? start.data.recovery_id : undefined
  const progress = useQuery({
    queryKey: ['recovery', recovery_id],
    queryFn: () => callsOf(receiver).recovery(id, recovery_id!),
    enabled: recovery_id !== undefined,
    refetchInterval: ({ state }) => (state.data?.status === 'completed' ? false : ASK_MS),
  })
  return { count, start, progress }
}

export function RecoverDialog(props: { receiver: Receiver; open: boolean; onClose(): void }) {
  const { receiver, open, onClose } = props
  const [since, setSince] = useState(() => localTime(Date.now() - DAY_MS))
  const [include_unsent, setUnsent] = useState(false)
  const { count, start, progress } = useRecovery(receiver)
  const input = { since: since === '' ? '' : new Date(since).toISOString(), include_unsent }
  const close = (): void => {
    count.reset()
    start.reset()
    onClose()
  }
  const change = (act: () => void): void => {
    count.reset()
    act()
  }
  return (
    <Dialog
      title="Recover"
      description="Sends all deliveries again that failed since a time. Counting sends nothing."
      open={open}
      onClose={close}
    >
      <TextField
        label="Since"
        type="datetime-local"
        value={since}
        onChange={({ target }) => change(() => setSince(target.value))}
      />
      <CheckField
        label="Also events that were never sent"
        hint="Events from before it was created, or while it was disabled."
        checked={include_unsent}
        onChange={({ target }) => change(() => setUnsent(target.checked))}
      />
      <div role="status">
        {count.data && !start.data && <p className="notice">{count.data.count} would be sent again.</p>}
        {progress.data && (
          <p className="secret">
            {progress.data.status === 'completed' ? 'Done: ' : 'Under way: '}
            {progress.data.done} of {progress.data.count} created again.
          </p>
        )}
      </div>
      {[count, start].map((act) => act.isError && <Fault key={act.submittedAt} error={act.error} />)}
      <div className="actions">
        <button
          type="button"
          className="button"
          disabled={since === '' || count.isPending || start.data !== undefined}
          onClick={() => count.mutate(input)}
        >
          Count
        </button>
        <button
          type="button"
          className="button primary"
          disabled={!count.data || count.data.count === 0 || start.isPending || start.data !== undefined}
          onClick={() => start.mutate(input)}
        >
          Send again
        </button>
        <button type="button" className="button quiet" onClick={close}>
          Close
        </button>
      </div>
    </Dialog>
  )
}
