/**
 * The dispatcher claims due deliveries, signs, sends and records them. A delivery that cannot be made is recorded as a failed
 * attempt. While the store cannot be reached, the dispatcher waits. Deliveries of a lost node are sent again by another node,
 * with the same webhook-id.
 */

import type { Clock } from '@assay/model/clock'
import { createGuard, type Guard } from '@assay/net/guard'
import type { Targets } from '@assay/net/target'
import type { ClaimedDelivery, Store } from '@assay/store/store'
import type { Ledger } from '../outgoing/ledger.ts'
import type { Logger } from '../runtime/log.ts'
import { doubting, runLoop } from '../runtime/loop.ts'
import type { Metrics } from '../runtime/metrics.ts'
import type { SecretBox } from '../runtime/secrets.ts'
import type { Service } from '../runtime/service.ts'
import type { Traces } from '../runtime/traces.ts'
import { type AttemptContext, attempt, report } from './attempt.ts'
import { Recorder } from './recorder.ts'
import { nextStep } from './retry.ts'
import { createRuns, RUN_MS } from './runs.ts'
import type { Senders } from './senders/senders.ts'
import { createSigner } from './sign.ts'
import { traceDelivery } from './trace.ts'

/** Milliseconds between claims while idle. A webhook's rate is spaced to a quarter of a second. */
const POLL_MS = 250
const RECOVER_MS = 1000
const RECOVER_ROWS = 500
/**
 * The default number of deliveries at a time. A receiver that hangs holds its slots for the whole deadline, and the
 * store leaves slots for the others.
 */
export const CONCURRENCY = 512
export interface DispatcherOptions {
  store: Store
  secrets: SecretBox
  targets: Targets
  /** Makes the senders of subscriptions. Without it their deliveries fail. */
  senders?: (guard: Guard) => Senders
  node_id: string
  /** The version of this program. */
  version: string
  /** The public address of the service. Null or absent if it has none. */
  publicUrl?: string | null
  /** The most deliveries under way at a time (default CONCURRENCY). */
  concurrency?: number
  /** Milliseconds for requests under way when the service stops. Other deliveries are released. */
  drainMs: number
  /** Tells whether this node's lease holds. Without it nothing is claimed. */
  holds(): boolean
  clock: Clock
  log: Logger
  metrics: Metrics
  ledger: Pick<Ledger, 'take' | 'untake' | 'addBytes' | 'vetHost'>
  /** Null or absent: tracing is off. */
  traces?: Traces | null
  /** The guard of requests. Tests give another resolver or other certificates. The caller closes it. */
  guard?: Guard
  /** The time in milliseconds for one exchange (default 15,000). */
  deadline?: number
  random?: () => number
}

type Context = AttemptContext &
  Pick<DispatcherOptions, 'store' | 'holds' | 'drainMs' | 'traces'> & { random: () => number }

interface RunEnd {
  /** The reason why the rules of the workspace hold the rest back. */
  held?: string
  /** The deliveries that were not sent. */
  left: readonly ClaimedDelivery[]
  failed: boolean
  elapsedMs: number
}

/** Sends the deliveries of one slot in sequence until one fails, RUN_MS are over or the service stops. */
async function sendRun(
  context: Context,
  run: readonly ClaimedDelivery[],
  recorder: Recorder,
  { stop, giveUp }: { stop: AbortSignal; giveUp: AbortSignal },
): Promise<RunEnd> {
  const { clock, random, traces, holds } = context
  const began = performance.now()
  const end = (sent: number, failed: boolean): RunEnd => ({
    left: run.slice(sent),
    failed,
    elapsedMs: performance.now() - began,
  })
  const inTime = (): boolean => !stop.aborted && holds() && performance.now() - began < RUN_MS
  /** Waits while the store is behind. Returns false if the rest of the run is not sent. */
  const mayGoOn = async (): Promise<boolean> => {
    while (inTime() && !recorder.hasRoom()) await recorder.room()
    return inTime()
  }
  for (const [index, claimed] of run.entries()) {
    if (index > 0 && !(await mayGoOn())) return end(index, false)
    const trace = traceDelivery(traces, claimed)
    const sent = await attempt(context, claimed, giveUp, trace?.traceparent)
    trace?.end(sent && 'held' in sent ? null : sent)
    if (sent === null) return end(index, false)
    if ('held' in sent) return { ...end(index, false), held: sent.held.text }
    const step = nextStep({ webhook: claimed.webhook, ...sent, now: clock.now(), random })
    const { delivery_id, attempt: number, node_id } = claimed
    const outcome = { delivery_id, attempt: number, node_id, record: sent.record, ...step }
    report(context, claimed, sent, outcome)
    recorder.record(claimed, outcome)
    if (sent.record.error !== null) return end(index + 1, true)
  }
  return end(run.length, false)
}

async function recover({ store, clock, log }: Context, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      while (!signal.aborted && (await store.advanceRecoveries({ limit: RECOVER_ROWS }))) continue
    } catch (error) {
      log.warn({ err: error }, 'a recovery could not be advanced')
    }
    await clock.sleep(RECOVER_MS, signal)
  }
}

/** Returns a signal that is aborted `drainMs` after `signal`, unless all deliveries have ended before. */
function drainLimit({ clock, drainMs }: Context, signal: AbortSignal) {
  const [giveUp, ended] = [new AbortController(), new AbortController()]
  const count = async (): Promise<void> => {
    await clock.sleep(drainMs, ended.signal)
    giveUp.abort()
  }
  signal.addEventListener('abort', () => void count(), { once: true })
  return { giveUp: giveUp.signal, end: () => ended.abort() }
}

function contextOf(options: DispatcherOptions, guard: Guard): Context {
  const { targets, deadline, secrets, version, senders, ...rest } = options
  return {
    random: Math.random,
    ...rest,
    publicUrl: rest.publicUrl ?? null,
    // The lines of attempts hold no header and no token, and redaction takes four times as long as writing a line.
    attemptLog: rest.log.child({}, { redact: [] }),
    sender: { guard, targets, ...(deadline === undefined ? {} : { deadline }) },
    signer: createSigner({ box: secrets, version }),
    senders: senders?.(guard),
  }
}

export function createDispatcher(options: DispatcherOptions): Service {
  const { store, clock, log, node_id, holds, concurrency = CONCURRENCY } = options
  return {
    name: 'dispatcher',
    async run(signal) {
      const guard = options.guard ?? createGuard({ targets: options.targets })
      const context = contextOf(options, guard)
      const drain = drainLimit(context, signal)
      const recorder = new Recorder({ store, clock, log, concurrency }, drain.giveUp)
      const runs = createRuns()
      const claim = async (limit: number): Promise<ClaimedDelivery[][]> => {
        const claimed = await store.claimDeliveries({ node_id, limit, runs: runs.lengths })
        recorder.claimed(claimed)
        return [...Map.groupBy(claimed, ({ slot }) => slot).values()]
      }
      const claimSafely = doubting(claim, () =>
        store.giveBackUnknown({ node_id, deliveries: recorder.openIds() }),
      )
      const loop = runLoop<ClaimedDelivery[]>(
        {
          concurrency,
          pollMs: POLL_MS,
          clock,
          async claim(limit) {
            while (!recorder.hasRoom()) await recorder.room()
            return holds() && !signal.aborted ? claimSafely(limit) : []
          },
          async work(run) {
            const signals = { stop: signal, giveUp: drain.giveUp }
            const { left, failed, elapsedMs, held } = await sendRun(context, run, recorder, signals)
            await recorder.given()
            // The rest is released after the outcomes, so that the store knows of a failure before the rest is due again.
            if (left.length > 0) recorder.release(left, held)
            const whole = !failed && left.length === 0
            runs.ended({ webhook_id: run[0]!.webhook.webhook_id, length: run.length, whole, elapsedMs })
          },
          subscribe: (wake) =>
            store.subscribe((hint) => {
              if (hint.topic === 'deliveries') wake()
            }),
          onError: (error) => log.warn({ err: error }, 'deliveries could not be claimed'),
        },
        signal,
      )
      await Promise.all([loop, recover(context, signal)])
      await recorder.end()
      drain.end()
      if (!options.guard) await guard.close()
    },
  }
}
