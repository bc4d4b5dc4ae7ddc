/** Reports of dispatchers about deliveries that they hold, fenced by attempt and owner: a lost claim writes nothing. */
import { iso } from '@assay/model/clock'
import { latencyBucket } from '@assay/model/delivery'
import type { AttemptOutcome } from '../../contract/webhooks/deliveries.ts'
import { type Routine, type Transaction, together, type Writer } from '../../rows.ts'
import type { Input } from '../../store.ts'
import { ATTEMPTS, DELIVERIES, type DeliveryRow } from '../../tables/webhooks/deliveries.ts'
import { ATTEMPT_COUNTS, type AttemptCountRow } from '../../tables/webhooks/recoveries.ts'
import { givenBack, tried } from './delivery-move.ts'
import { afterAttempts, afterHold, type Settled } from './sending-state.ts'
import { type LockedWebhook, lockOfDeliveries, refreshFreed, writeStates } from './states.ts'
import { writeClaims } from './waiting.ts'
import { disableWebhook, warnOfFailing, writeHealth } from './webhooks.ts'

const CLAIM = [
  'delivery_id',
  'webhook_id',
  'status',
  'due_at',
  'owner',
  'last_try',
  'ahead',
  'attempt_count',
] as const
type Claim = Pick<DeliveryRow, (typeof CLAIM)[number]>

const LOCK = DELIVERIES.select(
  'WHERE delivery_id = ANY (:delivery_ids) ORDER BY delivery_id FOR NO KEY UPDATE',
  CLAIM,
)
const WRITE = DELIVERIES.updateAll(['owner', 'status', 'due_at', 'attempt_count'])
const INSERT_ATTEMPT = ATTEMPTS.insert()
const COUNT = ATTEMPT_COUNTS.insert(
  ATTEMPT_COUNTS.columns,
  'ON CONFLICT (webhook_id, hour, bucket) DO UPDATE SET count = attempt_counts.count + excluded.count',
)

type Lease = Input<'releaseDeliveries'>[number]

/** Locks the webhooks of the deliveries. Returns them with the claimed deliveries by lease. */
function* lockClaims(
  tx: Writer,
  leases: readonly Lease[],
  tells: boolean,
): Routine<[LockedWebhook[], Map<string, Claim>]> {
  const delivery_ids = leases.map(({ delivery_id }) => delivery_id)
  const [states, rows] = yield* together(
    lockOfDeliveries(tx, delivery_ids, tells),
    tx.all(LOCK, { delivery_ids }),
  )
  const claims = new Map<string, Claim>()
  for (const row of rows) {
    const { delivery_id, owner: node_id, attempt_count } = row
    if (node_id !== null && row.status === 'pending')
      claims.set(leaseKey({ delivery_id, node_id, attempt: attempt_count + 1 }), row)
  }
  return [states, claims]
}

function leaseKey({ delivery_id, node_id, attempt }: Lease): string {
  return `${delivery_id} ${node_id} ${attempt}`
}

interface Attempted extends Settled {
  row: Claim
}

/** Counts attempts by webhook, hour and latency. */
function countsOf(attempted: readonly Attempted[], now: string): AttemptCountRow[] {
  const hour = `${now.slice(0, 13)}:00:00.000Z`
  const counts = new Map<string, AttemptCountRow>()
  for (const { row, outcome } of attempted) {
    const { next, record } = outcome
    const bucket = next.status === 'delivered' ? latencyBucket(record.duration_ms) : -1
    const key = `${row.webhook_id} ${bucket}`
    const known = counts.get(key)
    if (known) known.count += 1
    else counts.set(key, { webhook_id: row.webhook_id, hour, bucket, count: 1 })
  }
  // In the order of their keys, so that no two transactions wait for each other.
  return [...counts.values()].toSorted(
    (a, b) => (a.webhook_id < b.webhook_id ? -1 : a.webhook_id > b.webhook_id ? 1 : 0) || a.bucket - b.bucket,
  )
}

/** Updates a webhook by these outcomes, in their order. */
function* updateHealth(
  tx: Writer,
  before: LockedWebhook,
  settled: readonly Settled[],
): Routine<LockedWebhook> {
  const after = afterAttempts(before, settled, Date.parse(tx.now))
  if (after.failing_since !== before.failing_since || after.failing_reason !== before.failing_reason)
    yield* writeHealth(tx, after.webhook_id, after)
  return after
}

/** Writes attempts in their order. Returns for each whether it was written. */
export function* recordAttempts(tx: Transaction, outcomes: readonly AttemptOutcome[]): Routine<boolean[]> {
  const tells = outcomes.some(({ disable, warn }) => disable || warn)
  const [states, claims] = yield* lockClaims(tx, outcomes, tells)
  const now = Date.parse(tx.now)
  const attempted: Attempted[] = []
  const written = outcomes.map((outcome) => {
    const key = leaseKey(outcome)
    const claim = claims.get(key)
    // An attempt that is reported twice is written once.
    claims.delete(key)
    if (!claim) return false
    const { next, delivery_id } = outcome
    const due_at = next.status === 'pending' ? iso(now + next.wait_ms) : null
    const row = tried(claim, next.status, due_at)
    attempted.push({ outcome, row, due_at: row.due_at, freed: !row.ahead })
    tx.hint({ topic: 'delivery', delivery_id })
    return true
  })
  yield* tx.writeAll(
    WRITE,
    attempted.map(({ row }) => row),
  )
  yield* tx.writeAll(
    INSERT_ATTEMPT,
    attempted.map(({ outcome }) => ({ ...outcome, number: outcome.attempt })),
  )
  yield* tx.writeAll(COUNT, countsOf(attempted, tx.now))
  const of = Map.groupBy(attempted, ({ row }) => row.webhook_id)
  const after: LockedWebhook[] = []
  for (const state of states) {
    const own = of.get(state.webhook_id)
    if (own) after.push(yield* updateHealth(tx, state, own))
  }
  yield* writeStates(tx, after)
  const among = states.map(({ webhook_id }) => webhook_id)
  for (const [webhook_id, own] of of) {
    const told = own.map(({ outcome }) => outcome)
    const off = told.find(({ disable }) => disable)
    const fails = told.find(({ warn }) => warn)
    if (off?.disable) yield* disableWebhook(tx, { ...off, webhook_id, among }, off.disable.reason)
    else if (fails) yield* warnOfFailing(tx, { ...fails, webhook_id, among })
  }
  return written
}

export function* releaseDeliveries(tx: Transaction, leases: readonly Lease[]): Routine<void> {
  const [states, claims] = yield* lockClaims(tx, leases, false)
  const given = new Set(leases.map(leaseKey))
  const released = [...given].flatMap((key) => claims.get(key) ?? [])
  if (released.length === 0) return
  yield* writeClaims(tx, released.map(givenBack))
  const touched = new Set(released.map(({ webhook_id }) => webhook_id))
  const held = new Map<string, string>()
  for (const lease of leases) {
    const claim = lease.held === undefined ? undefined : claims.get(leaseKey(lease))
    if (claim) held.set(claim.webhook_id, lease.held!)
  }
  yield* refreshFreed(
    tx,
    states
      .filter(({ webhook_id }) => touched.has(webhook_id))
      .map((state) => {
        const reason = held.get(state.webhook_id)
        return reason === undefined ? state : afterHold(state, reason, Date.parse(tx.now))
      }),
    released,
  )
  tx.hint({ topic: 'deliveries' })
}
