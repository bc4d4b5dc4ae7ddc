/**
 * The station that delivers: claims what is due, signs, sends, records. Nothing here can stop the line: a delivery that
 * cannot even be made is recorded as a failed attempt, and a store that is away is waited for, the outcome in hand. What a
 * dead process had claimed is repeated by another, with the same webhook-id.
 */

import type { Clock } from '@assay/model/clock'
import type { Event } from '@assay/model/event'
import type { Webhook } from '@assay/model/webhook'
import { createGuard, type Guard } from '@assay/net/guard'
import type { Targets } from '@assay/net/target'
import type { AttemptOutcome, ClaimedDelivery, Store } from '@assay/store/store'
import { type Logger, writeLine } from '../runtime/log.ts'
import { doubting, runLoop } from '../runtime/loop.ts'
import type { Metrics } from '../runtime/metrics.ts'
import { type SecretBox, SecretError } from '../runtime/secrets.ts'
import type { Service } from '../runtime/service.ts'
import type { Traces } from '../runtime/traces.ts'
import { nextStep } from './retry.ts'
import { createRuns, RUN_MS } from './runs.ts'
import { post, type Sender, type Sent, unsent } from './send.ts'
import type { Senders } from './senders/senders.ts'
import { createSettling, isStoreAway, type Settling } from './settling.ts'
import { type AttemptHeaders, createSigner, type Signer } from './sign.ts'
import { type DeliveryTrace, traceDelivery } from './trace.ts'

/** A webhook's rate is spaced within a quarter of a second, so the store is asked that often. */
const POLL_MS = 250
const RECOVER_MS = 1000
const RECOVER_ROWS = 500
/** Receivers that hang hold their places for the whole deadline: the store leaves room for the others. */
export const CONCURRENCY = 512
export interface DispatcherOptions {
  store: Store
  secrets: SecretBox
  targets: Targets
  /** Of the kinds that are no plain webhook; without them such deliveries fail. */
  senders?: (guard: Guard) => Senders
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
  /** Null or left out: nothing is traced. */
  traces?: Traces | null
  /** In tests: another resolver, other certificates. The caller closes it. */
  guard?: Guard
  /** Milliseconds for one exchange; 15 s unless given. */
  deadline?: number
  random?: () => number
}

type Work = Required<Omit<DispatcherOptions, 'deadline' | 'guard' | 'targets' | 'senders' | 'traces'>> & {
  traces?: Traces | null
  sender: Sender
  signer: Signer
  senders: Senders | undefined
}

async function tell(
  work: Work,
  claimed: ClaimedDelivery,
  now: number,
  giveUp: AbortSignal,
): Promise<Sent | null> {
  const { delivery_id, workspace_id, webhook, attempt: number } = claimed
  const { data } = JSON.parse(claimed.body) as { data: Event['data'] }
  const event = { ...claimed.event, data }
  const sender = webhook.kind === 'webhook' ? undefined : work.senders?.[webhook.kind]
  if (!sender) throw new Error(`There is no sender of the kind ${webhook.kind}.`)
  return sender.send({ delivery_id, workspace_id, webhook, event, attempt: number, now }, giveUp)
}

const UNMADE = 'set the headers, or where it goes, again'

/** What is recorded where the attempt could not even be made. Null: nothing, it goes back and no try is counted. */
function unmade(work: Work, claimed: ClaimedDelivery, now: number, error: unknown): Sent | null {
  // What is to be told could not be read.
  if (isStoreAway(error)) return null
  const { webhook, delivery_id, attempt: number } = claimed
  work.log.error({ webhook_id: webhook.webhook_id, delivery_id, err: error }, 'a delivery cannot be made')
  const detail =
    error instanceof SecretError
      ? `A stored secret cannot be opened: rotate the signing secret and ${UNMADE}.`
      : `The request could not be made: ${UNMADE}, and rotate the signing secret.`
  return unsent(
    { number, now, url: webhook.url, body: Buffer.alloc(0) },
    { class: 'request_invalid', detail },
  )
}

async function tellThen(
  work: Work,
  claimed: ClaimedDelivery,
  now: number,
  giveUp: AbortSignal,
  done: (sent: Sent | null) => void,
): Promise<void> {
  let sent: Sent | null
  try {
    sent = await tell(work, claimed, now, giveUp)
  } catch (error) {
    sent = unmade(work, claimed, now, error)
  }
  done(sent)
}

/** `done` with null: given up while stopping. It is called once, at once or later, and must not throw. */
function attempt(
  work: Work,
  claimed: ClaimedDelivery,
  giveUp: AbortSignal,
  traceparent: string | undefined,
  done: (sent: Sent | null) => void,
): void {
  const { webhook, event } = claimed
  const now = work.clock.now()
  const failed = (error: unknown): void => done(unmade(work, claimed, now, error))
  if (webhook.kind !== 'webhook') return void tellThen(work, claimed, now, giveUp, done)
  const body = Buffer.from(claimed.body, 'utf8')
  let headers: AttemptHeaders
  try {
    headers = work.signer({ webhook, event, body, now, traceparent })
  } catch (error) {
    return failed(error)
  }
  const request = { number: claimed.attempt, now, url: webhook.url, headers, body, signal: giveUp }
  post(work.sender, request, done, failed)
}

function hostOf(url: string): string | null {
  return /^https?:\/\/([^/?#]+)/i.exec(url)?.[1] ?? null
}

/** What the lines of one webhook have in common: made once for each of a claim. The address may hold a secret: only its host is shown. */
const shared = new WeakMap<Webhook, string>()

function sharedFields({ webhook, workspace_id }: ClaimedDelivery): string {
  const known = shared.get(webhook)
  if (known !== undefined) return known
  const { webhook_id, url } = webhook
  const text = JSON.stringify({ webhook_id, workspace_id, host: hostOf(url) }).slice(1, -1)
  shared.set(webhook, text)
  return text
}

/** The members of a line: ids, numbers and words of closed lists are JSON as they are. */
function members(
  claimed: ClaimedDelivery,
  record: Sent['record'],
  { next, disable }: AttemptOutcome,
): string {
  const { event, delivery_id } = claimed
  const { number, error, status_code, duration_ms, phases } = record
  const { dns, connect, tls, first_byte, total } = phases
  return (
    `,"delivery_id":"${delivery_id}",${sharedFields(claimed)},"event_id":"${event.event_id}"` +
    `,"event_type":"${event.type}","attempt":${number},"outcome":"${error?.class ?? 'delivered'}"` +
    `,"status_code":${status_code}${error === null ? '' : `,"detail":${JSON.stringify(error.detail)}`}` +
    `,"duration_ms":${duration_ms},"phases":{"dns":${dns},"connect":${connect},"tls":${tls},"first_byte":${first_byte}` +
    `,"total":${total}},"next":"${next.status}"${next.status === 'pending' ? `,"wait_ms":${next.wait_ms}` : ''}` +
    (disable ? `,"disabled":${JSON.stringify(disable.reason)}` : '')
  )
}

/** One wide line and the measures of an attempt. */
function report(work: Work, claimed: ClaimedDelivery, { record }: Sent, outcome: AttemptOutcome): void {
  const { metrics, log } = work
  metrics.attempts.observe({ outcome: record.error?.class ?? 'delivered' }, record.duration_ms / 1000)
  if (record.number === 1) {
    const lag = Date.parse(record.started_at) - Date.parse(claimed.event.timestamp)
    metrics.deliveryLag.observe(Math.max(0, lag) / 1000)
  }
  if (outcome.disable)
    writeLine(log, 'warn', members(claimed, record, outcome), 'attempted a delivery and disabled the webhook')
  else if (log.isLevelEnabled('info'))
    writeLine(log, 'info', members(claimed, record, outcome), 'attempted a delivery')
}

interface RunEnd {
  /** What was not sent. */
  left: readonly ClaimedDelivery[]
  failed: boolean
  elapsedMs: number
}

/**
 * Sends the deliveries of one place, one after the other; answers those that were left where it had to end before. One
 * promise for all of them: the next is sent in the call that brings the end of an answer, over the same connection.
 */
function sendRun(
  work: Work,
  run: readonly ClaimedDelivery[],
  settling: Settling,
  { stop, giveUp }: { stop: AbortSignal; giveUp: AbortSignal },
): Promise<RunEnd> {
  const began = performance.now()
  const goesOn = (): boolean => !stop.aborted && work.holds() && performance.now() - began < RUN_MS
  return new Promise((resolve, reject) => {
    let done = 0
    let trace: DeliveryTrace | null = null
    const end = (failed: boolean): void =>
      resolve({ left: run.slice(done), failed, elapsedMs: performance.now() - began })
    const sendNext = (): void => {
      trace = traceDelivery(work.traces, run[done]!)
      attempt(work, run[done]!, giveUp, trace?.traceparent, sent)
    }
    const next = (): void => {
      if (!goesOn()) return end(false)
      if (settling.hasRoom()) return sendNext()
      settling.onceRoom(next)
    }
    const settle = (result: Sent | null): void => {
      const claimed = run[done]!
      trace?.end(result)
      if (result === null) return end(false)
      const step = nextStep({
        webhook: claimed.webhook,
        ...result,
        now: work.clock.now(),
        random: work.random,
      })
      const { delivery_id, attempt: number, node_id } = claimed
      const outcome = { delivery_id, attempt: number, node_id, record: result.record, ...step }
      report(work, claimed, result, outcome)
      settling.record(claimed, outcome)
      done += 1
      const failed = result.record.error !== null
      if (failed || done === run.length) return end(failed)
      next()
    }
    const sent = (result: Sent | null): void => {
      try {
        settle(result)
      } catch (error) {
        reject(error)
      }
    }
    sendNext()
  })
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
      const { targets, deadline } = options
      const sender = { guard, targets, ...(deadline === undefined ? {} : { deadline }) }
      const senders = options.senders?.(guard)
      const work: Work = {
        random: Math.random,
        concurrency: CONCURRENCY,
        ...options,
        sender,
        signer,
        senders,
      }
      const { store, node_id, concurrency } = work
      const drain = drainLimit(work, signal)
      const settling = createSettling(work, drain.giveUp)
      const runs = createRuns()
      const mayClaim = (): boolean => options.holds() && settling.hasRoom()
      const claim = async (limit: number): Promise<ClaimedDelivery[][]> => {
        const claimed = await store.claimDeliveries({ node_id, limit, runs: runs.lengths })
        settling.known.add(claimed)
        return [...Map.groupBy(claimed, ({ place }) => place).values()]
      }
      const takes = doubting(claim, () =>
        store.giveBackUnknown({ node_id, deliveries: settling.known.ids() }),
      )
      const loop = runLoop<ClaimedDelivery[]>(
        {
          concurrency,
          pollMs: POLL_MS,
          clock: work.clock,
          claim: async (limit) => (mayClaim() ? takes(limit) : []),
          async work(run) {
            const signals = { stop: signal, giveUp: drain.giveUp }
            const { left, failed, elapsedMs } = await settling.place(() =>
              sendRun(work, run, settling, signals),
            )
            // After what was sent: a webhook that fails is to be known as such before the rest is due again.
            if (left.length > 0) settling.release(left)
            const whole = !failed && left.length === 0
            runs.ended({ webhook_id: run[0]!.webhook.webhook_id, length: run.length, whole, elapsedMs })
          },
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
