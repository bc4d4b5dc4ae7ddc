/** Tests a connection from an analysis process and shows the server's answer. */

import { ClientError, type ConnectionTest as Found } from '@assay/client'
import { useMutation } from '@tanstack/react-query'
import { api } from '../../api.ts'
import { duration } from '../../words/durations.ts'
import { Fault } from '../fault.tsx'

/** The result of a test. `isUntried`: no server was asked, and the answer says why. */
type Answer = Found & { isUntried?: true }

export function Told({ found, small = false }: { found: Answer; small?: boolean }) {
  const { ok, server, read_only, detail, elapsed_ms, isUntried } = found
  const words = ok ? (
    <>
      {server} answered in {duration(elapsed_ms)}. {read_only}
    </>
  ) : (
    <>
      {isUntried ? 'It was not tried.' : 'It cannot be used.'} {detail}
    </>
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

/**
 * Makes the answer for a workspace that has used up its hour. It can test nothing until the next hour, but a new
 * password can still be saved.
 */
function untried(error: unknown): Answer {
  if (!(error instanceof ClientError) || error.code !== 'workspace_busy') throw error
  const detail = error.problem?.detail ?? error.message
  return { ok: false, isUntried: true, server: null, read_only: null, detail, elapsed_ms: 0 }
}

interface Tried {
  ask(): Promise<Found>
  save(): Promise<unknown>
}

/**
 * Saves a connection after a successful test. If the test fails, only `saveAnyway` saves it. `found`: the result of
 * the last test.
 */
export function useTriedSave({ ask, save }: Tried) {
  const saving = useMutation({
    mutationFn: async ({ isTried }: { isTried: boolean }): Promise<Answer | null> => {
      const found: Answer | null = isTried ? await ask().catch(untried) : null
      if (found === null || found.ok) await save()
      return found
    },
  })
  const { data, reset, mutate, isPending, isError, error } = saving
  return {
    isPending,
    isError,
    error,
    found: data ?? null,
    forget: reset,
    /**
     * Submits. `isTried`: false if the change does not affect whether the connection can be used, so that it is not
     * tested.
     */
    submit: (isTried = true): void => mutate({ isTried }),
    saveAnyway: (): void => mutate({ isTried: false }),
  }
}

/** Shows why the connection was not saved, and the button that saves it anyway. */
export function Refused({ tried, action }: { tried: ReturnType<typeof useTriedSave>; action: string }) {
  const { found, isPending, saveAnyway } = tried
  return (
    <div role="status">
      {isPending && <p className="small">Trying it…</p>}
      {found !== null && !found.ok && (
        <>
          <Told found={found} />
          <p>
            Nothing is saved yet. Correct it above, or{' '}
            <button type="button" className="button small" disabled={isPending} onClick={saveAnyway}>
              {action}
            </button>
          </p>
        </>
      )}
    </div>
  )
}
