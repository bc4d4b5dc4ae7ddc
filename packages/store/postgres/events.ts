/**
 * Writes events and a delivery for each webhook that gets them, in the transaction of the change. One statement
 * writes all. It needs no answer, so it goes into the pipeline of a settle.
 */
import { uuidv7 } from '@assay/model/ids'
import { EVERY_NAME } from '@assay/model/webhook'
import { lock, writeStates } from '../nouns/webhooks/states.ts'
import type { NewEvent, Routine } from '../rows.ts'
import { statement } from '../statement.ts'
import type { Transaction, Woken } from './connection.ts'

/**
 * `notifies` of webhook.ts as a query over `webhook_events`, with one search of an index for each of its rules:
 * webhooks of the name, or all; webhooks of every name; subscriptions of the name; those in `notify`; for an event of
 * no job all subscriptions. The id of a delivery begins as that of its event, so that deliveries that are due at once
 * are sent in the order of their events.
 */
const wanted = (also: string): string => `
      SELECT webhook_id FROM webhook_events
      WHERE workspace_id = given.workspace_id AND event_type = given.type AND skipped >= given.skipped AND ${also}`
const WRITE_EVENTS = statement<Woken>(`
  WITH begun AS MATERIALIZED (SELECT begin_events()), given AS MATERIALIZED (
    SELECT given.*, nextval('events_seq_seq') AS seq
    FROM begun, ROWS FROM (unnest(:ids::text[]), unnest(:workspace_ids::text[]), unnest(:types::text[]), unnest(:times::timestamptz[]),
      unnest(:assignment_ids::text[]), unnest(:presence_names::text[]), unnest(:notify::text[]), unnest(:of_job::boolean[]),
      unnest(:skipped::boolean[]), unnest(:personal::boolean[]), unnest(:among::text[]), json_array_elements(:data::json))
      AS given (event_id, workspace_id, type, at, assignment_id, presence_name, notify, of_job, skipped, personal, among, data)
  ), told AS (
    INSERT INTO events (seq, event_id, workspace_id, type, timestamp, data) OVERRIDING SYSTEM VALUE
    SELECT seq, event_id, workspace_id, type, at, data FROM given
  ), sent AS (
    INSERT INTO deliveries (delivery_id, workspace_id, webhook_id, event_seq, event_id, event_type, event_at,
      assignment_id, status, due_at, created_at)
    SELECT left(event_id, 24) || right(gen_random_uuid()::text, 12), given.workspace_id, webhook_id, seq, event_id, type,
      at, assignment_id, 'pending', :due_at, :due_at
    FROM given CROSS JOIN LATERAL (
      ${wanted('NOT people AND presence_name = coalesce(given.presence_name, presence_name)')}
      UNION ALL ${wanted(`NOT people AND presence_name = '${EVERY_NAME}' AND given.presence_name IS NOT NULL`)}
      UNION ALL ${wanted('people AND presence_name = given.presence_name AND NOT given.personal')}
      UNION ALL ${wanted(`people AND webhook_id = ANY (string_to_array(given.notify, ' '))
        AND (given.personal OR presence_name IS DISTINCT FROM given.presence_name)`)}
      UNION ALL ${wanted('people AND NOT given.of_job')}
    ) AS wanted
    WHERE given.among IS NULL OR webhook_id = ANY (string_to_array(given.among, ' '))
    RETURNING webhook_id
  )
  SELECT set_config('assay.woken', concat_ws(' ', current_setting('assay.woken', true), string_agg(DISTINCT webhook_id, ' ')), true)
    AS webhook_ids
  FROM sent`)

/**
 * Writes the events. The webhooks are woken at the end of the transaction or beside its last statement, so that
 * others wait for little but the commit.
 */
export function writeEvents(tx: Transaction, events: readonly NewEvent[]): void {
  if (events.length === 0) return
  const told = tx.start(WRITE_EVENTS, {
    ids: events.map(() => uuidv7()),
    workspace_ids: events.map(({ workspace_id }) => workspace_id),
    types: events.map(({ type }) => type),
    times: events.map(({ at }) => at),
    assignment_ids: events.map(({ job }) => job?.assignment_id ?? null),
    presence_names: events.map(({ job }) => job?.presence_name ?? null),
    notify: events.map(({ job }) => job?.notify?.join(' ') ?? null),
    of_job: events.map(({ job }) => job !== null),
    skipped: events.map(({ job }) => (job?.skipped ?? null) !== null),
    personal: events.map(({ job }) => job?.personal ?? false),
    among: events.map(({ among }) => among?.join(' ') ?? null),
    data: `[${events.map(({ data }) => JSON.stringify(data)).join(',')}]`,
    due_at: tx.now,
  })
  tx.wake(told)
}

// A setting of the transaction holds their ids, so that no answer is needed.
const LOCK_WOKEN = lock(`webhook_id = ANY (string_to_array(current_setting('assay.woken'), ' '))`)
const FORGET = statement('DELETE FROM deliveries WHERE webhook_id = ANY (:webhook_ids)')

/**
 * Wakes the webhooks for which this transaction has made deliveries: they are due now, unless an earlier one waits
 * already. This is the first lock on them. A lock while the deliveries are made would follow no order, and a deletion
 * that waits for it would delay others who wait for the webhook. A webhook that was deleted meanwhile takes its
 * deliveries with it here. `told`: the answers of `WRITE_EVENTS`.
 */
export function* wakeWebhooks(tx: Transaction, told: Promise<Woken[]>): Routine<void> {
  const webhooks = yield* tx.all(LOCK_WOKEN)
  const [last] = (yield told) as Woken[]
  const there = new Set(webhooks.map(({ webhook_id }) => webhook_id))
  const gone = last!.webhook_ids.split(' ').filter((id) => id !== '' && !there.has(id))
  if (gone.length > 0) yield* tx.run(FORGET, { webhook_ids: gone })
  if (webhooks.length === 0) return
  const later = webhooks.filter(({ due_at }) => due_at === null || due_at > tx.now)
  yield* writeStates(
    tx,
    later.map((webhook) => ({ ...webhook, due_at: tx.now })),
  )
  tx.hint({ topic: 'deliveries' })
}
