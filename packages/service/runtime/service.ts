/** The contract of every long-running part. It runs until its signal is aborted and then finishes its work. */
import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from './log.ts'

export interface Service {
  name: string
  /** Resolves once the service has stopped. Rejects only if it cannot continue, which stops the process. */
  run(signal: AbortSignal): Promise<void>
}

/**
 * Makes a service that waits for the stop and then cleans up. Start it before the services that need it, so that it
 * ends after them.
 */
export function untilStopped(name: string, end: () => Promise<void>): Service {
  return {
    name,
    async run(signal) {
      if (!signal.aborted) {
        await new Promise<void>((resolve) =>
          signal.addEventListener('abort', () => resolve(), { once: true }),
        )
      }
      await end()
    },
  }
}

/** The milliseconds for a service that is told to stop when the time for all of them is over. */
const LATE_MS = 100

/**
 * Runs all services until the signal is aborted. Then it stops them in reverse order, each before the next. A service
 * that fails stops the others, and its error is thrown once they have stopped. `withinMs` is the longest time for all
 * of them, in milliseconds: a service that waits for a silent database or receiver is left behind, and named in the log.
 */
export async function supervise(
  services: Service[],
  signal: AbortSignal,
  log: Logger,
  withinMs: number,
): Promise<void> {
  let failure: unknown
  let stopAll: () => void = () => undefined
  const stopping = new Promise<void>((resolve) => {
    stopAll = resolve
    if (signal.aborted) resolve()
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
  const running = services.map((service) => {
    const control = new AbortController()
    const done = service.run(control.signal).then(
      () => {
        if (!control.signal.aborted) log.warn({ service: service.name }, 'a service ended by itself')
      },
      (error: unknown) => {
        log.error({ service: service.name, err: error }, 'a service failed')
        failure ??= error
        stopAll()
      },
    )
    return { service, control, done }
  })
  await stopping
  const over = new AbortController()
  const late = delay(withinMs, undefined, { signal: over.signal }).then(
    () => true,
    () => false,
  )
  for (const { service, control, done } of running.toReversed()) {
    control.abort()
    const isLate = await Promise.race([
      done.then(() => false),
      late.then(async (isOver) => isOver && (await delay(LATE_MS, true))),
    ])
    if (isLate)
      log.error(
        { service: service.name },
        'a service did not stop in time: what it held is taken over when its lease ends',
      )
  }
  over.abort()
  if (failure !== undefined) throw failure
}
