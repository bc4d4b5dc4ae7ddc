/** Sends a test event and shows the answer. */
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { callsOf, type Receiver } from '../../receivers.ts'
import { Fault } from '../fault.tsx'
import { AttemptDetails } from './attempt.tsx'

export function TestDelivery({ receiver }: { receiver: Receiver }) {
  const cache = useQueryClient()
  const test = useMutation({
    mutationFn: () => callsOf(receiver).test(receiver.id),
    onSettled: () => cache.invalidateQueries({ queryKey: ['deliveries', receiver.id] }),
  })
  return (
    <div>
      <button type="button" className="button" disabled={test.isPending} onClick={() => test.mutate()}>
        {test.isPending ? 'Sending…' : 'Send a test'}
      </button>
      {test.isError && <Fault error={test.error} />}
      {test.data && (
        <div role="status">
          <ol className="timeline">
            <AttemptDetails attempt={test.data} />
          </ol>
        </div>
      )}
    </div>
  )
}
