/**
 * The station that delivers: claims what is due, signs, sends, records. Nothing here can stop the line: a delivery that
 * cannot even be made is recorded as a failed attempt, and a store that is away is waited for, the outcome in hand. What a
 * dead process had claimed is repeated by another, with the same webhook-id.
 */
import { AppError } from '../errors.ts'
import { eventBody } from '../event.ts'
import { createGuard, type Guard } from '../outgoing/guard.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/log.ts'
import { runLoop } from '../runtime/loop.ts'
import type { Metrics } from '../runtime/metrics.ts'
import { type SecretBox, SecretError } from '../runtime/secrets.ts'
import type { Service } from '../runtime/service.ts'
import type { AttemptOutcome, ClaimedDelivery, Store } from '../store/store.ts'
import type { Targets } from '../target.ts'
import { nextStep } from './retry.ts'
import { type Sent, send, unsent } from './send.ts'
import { createSigner, type Signer } from './sign.ts'

/** A webhook's rate is spaced within a quarter of a second, so the store is asked that often. */
const POLL_MS = 250
const RECOVER_MS = 1000
const RECOVER_ROWS = 500
/** Receivers that hang hold their places for the whole deadline: the store leaves room for the others. */
export const CONCURRENCY = 512
const FIRST_WAIT_MS = 100
const LONGEST_WAIT_MS = 5000

export interface DispatcherOptions {
  store: Store
  secrets: SecretBox
  targets: Targets
  node_id: string
  /** Of this program. */
  version: string
  /** Deliveries under way at a time; CONCURRENCY unless given. */
  concurrency?: number
  /** Milliseconds that requests under way may take when the service stops; the rest is given back. */
  drainMs: number
  /** Whether this node's lease holds: without it nothing is claimed. */
  holds(): boolean
  clock: Clock
  log: Logger
  metrics: Metrics
  /** In tests: another resolver, other certificates. The caller closes it. */
  guard?: Guard
  /** Milliseconds for one exchange; 15 s unless given. */
  deadline?: number
  random?: () => number
}

type Work = Required<Omit<DispatcherOptions, 'deadline'>> & { deadline: number | undefined; signer: Signer }

function isStoreAway(error: unknown): boolean {
  return error instanceof AppError && error.code === 'store_unavailable'
}

/** Null: given up while stopping. */
async function attempt(work: Work, claimed: ClaimedDelivery, giveUp: AbortSignal): Promise<Sent | null> {
  const { webhook, event } = claimed
  const now = work.clock.now()
  const body = Buffer.from(eventBody(event), 'utf8')
  const request = { number: claimed.attempt, now, url: webhook.url, body }
  try {
    const { guard, targets, deadline } = work
    const headers = work.signer({ webhook, event, body, now })
    const sender = { guard, targets, ...(deadline === undefined ? {} : { deadline }) }
    return await send(sender, { ...request, headers, signal: giveUp })
  } catch (error) {
    work.log.error(
      { webhook_id: webhook.webhook_id, delivery_id: claimed.delivery_id, err: error },
      'a delivery cannot be made',
    )
    const detail =
      error instanceof SecretError
        ? 'A stored secret cannot be opened: rotate the signing secret and set the headers again.'
        : 'The request could not be made: set the headers again, and rotate the signing secret.'
    return unsent(request, { class: 'request_invalid', detail })
  }
}

/** One wide line and the measures of an attempt. The address may hold a secret: only its host is shown. */
function report(work: Work, claimed: ClaimedDelivery, { record }: Sent, outcome: AttemptOutcome): void {
  const { webhook, event } = claimed
  const result = record.error?.class ?? 'delivered'
  work.metrics.attempts.observe({ outcome: result }, record.duration_ms / 1000)
  if (record.number === 1) {
    const lag = Date.parse(record.started_at) - Date.parse(event.timestamp)
    work.metrics.deliveryLag.observe(Math.max(0, lag) / 1000)
  }
  const fields = {
    delivery_id: claimed.delivery_id,
    webhook_id: webhook.webhook_id,
    workspace_id: claimed.workspace_id,
    event_id: event.event_id,
    event_type: event.type,
    host: URL.canParse(webhook.url) ? new URL(webhook.url).host : null,
    attempt: record.number,
    outcome: result,
    status_code: record.status_code,
    detail: record.error?.detail,
    duration_ms: record.duration_ms,
    phases: record.phases,
    next: outcome.next.status,
    wait_ms: outcome.next.status === 'pending' ? outcome.next.wait_ms : undefined,
    disabled: outcome.disable?.reason,
  }
  if (outcome.disable) work.log.warn(fields, 'attempted a delivery and disabled the webhook')
  else work.log.info(fields, 'attempted a delivery')
}

/**
 * Writes until the store has it or we must go: a claim of a living node never runs out, so an outcome must not be
 * dropped while we live.
 */
async function persist(work: Work, write: () => Promise<unknown>, giveUp: AbortSignal): Promise<void> {
  for (let wait = FIRST_WAIT_MS; ; wait = Math.min(wait * 2, LONGEST_WAIT_MS)) {
    try {
      await write()
      return
    } catch (error) {
      if (!isStoreAway(error) || giveUp.aborted) throw error
    }
    await work.clock.sleep(wait, giveUp)
  }
}

async function release(work: Work, claimed: ClaimedDelivery, giveUp: AbortSignal): Promise<void> {
  const { delivery_id, attempt, node_id } = claimed
  await persist(work, () => work.store.releaseDeliveries([{ delivery_id, attempt, node_id }]), giveUp)
}

/** An outcome that the store will not take is a fault of ours: the delivery goes back, slowly, so that it is not lost. */
async function record(work: Work, claimed: ClaimedDelivery, sent: Sent, giveUp: AbortSignal): Promise<void> {
  const { webhook, delivery_id, attempt, node_id } = claimed
  const step = nextStep({ webhook, ...sent, now: work.clock.now(), random: work.random })
  const outcome = { delivery_id, attempt, node_id, record: sent.record, ...step }
  report(work, claimed, sent, outcome)
  try {
    await persist(work, () => work.store.recordAttempt(outcome), giveUp)
  } catch (error) {
    work.log.error({ delivery_id, err: error }, 'an attempt could not be recorded, it will be repeated')
    await work.clock.sleep(LONGEST_WAIT_MS, giveUp)
    await release(work, claimed, giveUp)
  }
}

/**
 * A place is free again when the request has ended, not when its record is written: so the next claim goes into the same
 * commit as the records (measured: a quarter more deliveries a second). While too many are not yet written nothing is
 * claimed; `wake` is called when there is room again.
 */
function createSettling(work: Work, giveUp: AbortSignal) {
  const settling = new Set<Promise<void>>()
  let [full, wake] = [false, (): void => undefined]
  const settle = (claimed: ClaimedDelivery, sent: Sent | null): void => {
    const settled: Promise<void> = (
      sent === null ? release(work, claimed, giveUp) : record(work, claimed, sent, giveUp)
    )
      .catch((error: unknown) =>
        work.log.error({ delivery_id: claimed.delivery_id, err: error }, 'a delivery could not be settled'),
      )
      .finally(() => {
        settling.delete(settled)
        if (full) wake()
      })
    settling.add(settled)
  }
  return {
    deliver: async (claimed: ClaimedDelivery) => settle(claimed, await attempt(work, claimed, giveUp)),
    hasRoom() {
      full = settling.size >= work.concurrency
      return !full
    },
    onRoom(callback: () => void) {
      wake = callback
    },
    end: () => Promise.all(settling),
  }
}

async function recover(work: Work, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      while (!signal.aborted && (await work.store.advanceRecoveries({ limit: RECOVER_ROWS }))) continue
    } catch (error) {
      work.log.warn({ err: error }, 'a recovery could not be advanced')
    }
    await work.clock.sleep(RECOVER_MS, signal)
  }
}

/** Aborted `drainMs` after `signal`, unless all has ended before. */
function drainLimit({ clock, drainMs }: Work, signal: AbortSignal) {
  const [giveUp, ended] = [new AbortController(), new AbortController()]
  const count = async (): Promise<void> => {
    await clock.sleep(drainMs, ended.signal)
    giveUp.abort()
  }
  signal.addEventListener('abort', () => void count(), { once: true })
  return { giveUp: giveUp.signal, end: () => ended.abort() }
}

export function createDispatcher(options: DispatcherOptions): Service {
  return {
    name: 'dispatcher',
    async run(signal) {
      const guard = options.guard ?? createGuard({ targets: options.targets })
      const signer = createSigner({ box: options.secrets, version: options.version })
      const defaults = { random: Math.random, concurrency: CONCURRENCY, deadline: undefined }
      const work: Work = { ...defaults, ...options, guard, signer }
      const { store, node_id, concurrency } = work
      const drain = drainLimit(work, signal)
      const settling = createSettling(work, drain.giveUp)
      const mayClaim = (): boolean => options.holds() && settling.hasRoom()
      const loop = runLoop<ClaimedDelivery>(
        {
          concurrency,
          pollMs: POLL_MS,
          clock: work.clock,
          claim: async (limit) => (mayClaim() ? store.claimDeliveries({ node_id, limit }) : []),
          work: settling.deliver,
          subscribe(wake) {
            settling.onRoom(wake)
            return store.subscribe((hint) => {
              if (hint.topic === 'deliveries') wake()
            })
          },
          onError: (error) => work.log.warn({ err: error }, 'deliveries could not be claimed'),
        },
        signal,
      )
      await Promise.all([loop, recover(work, signal)])
      await settling.end()
      drain.end()
      if (!options.guard) await guard.close()
    },
  }
}
