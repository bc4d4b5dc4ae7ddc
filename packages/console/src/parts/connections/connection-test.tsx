/** Tests a connection from an analysis process and shows the server's answer. */

import type { ConnectionTest as Found } from '@assay/client'
import { useMutation } from '@tanstack/react-query'
import { api } from '../../api.ts'
import { duration } from '../../words/durations.ts'
import { Fault } from '../fault.tsx'

function Told({ found, small }: { found: Found; small: boolean }) {
  const { ok, server, read_only, detail, elapsed_ms } = found
  const words = ok ? (
    <>
      {server} answered in {duration(elapsed_ms)}. {read_only}
    </>
  ) : (
    <>It cannot be used. {detail}</>
  )
  if (!small) return <p className={ok ? 'secret' : 'fault'}>{words}</p>
  return (
    <p className="small">
      <span className={`state state-${ok ? 'delivered' : 'failed'}`} aria-hidden="true">
        {ok ? '✓' : '✕'}
      </span>{' '}
      {words}
    </p>
  )
}

export function ConnectionTest({ name, small = false }: { name: string; small?: boolean }) {
  const test = useMutation({ mutationFn: () => api().connections.test(name) })
  const button = (
    <button
      type="button"
      className={small ? 'button quiet small' : 'button'}
      aria-label={small ? `Test ${name}` : undefined}
      disabled={test.isPending}
      onClick={() => test.mutate()}
    >
      {test.isPending ? 'Trying…' : 'Test'}
    </button>
  )
  return (
    <>
      {small ? button : <p>{button}</p>}
      {test.isError && <Fault error={test.error} />}
      <div role="status">{test.data && <Told found={test.data} small={small} />}</div>
    </>
  )
}
