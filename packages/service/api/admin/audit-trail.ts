/**
 * The audit trail. The store records a change in the transaction of the change (`store.audited`). Reads of results and
 * changes of files are gathered here and written once a second, so that no request waits for them; a killed process
 * loses those of its last second. Reads of the same object by the same token from the same address within that second
 * are one record. For insights and subscriptions, which pages request every few seconds, that span is ten minutes.
 * Reads of statuses, of other lists and live events are not recorded.
 */

import { AUDIT_ACTIONS, type AuditAction, type NewAuditRecord } from '@assay/model/audit'
import { type Clock, iso } from '@assay/model/clock'
import type { Principal } from '@assay/model/token'
import type { Store } from '@assay/store/store'
import type { FastifyRequest } from 'fastify'
import type { Logger } from '../../runtime/log.ts'
import { createOnce } from '../../runtime/once.ts'
import { addressOf } from '../http/client-address.ts'

const FLUSH_MS = 1000
/** The time within which repeated looks by the same token are one record. */
const LOOK_MS = 600_000
/** Most records in memory while the store cannot be reached. Older ones are dropped, and the log says how many. */
const NOTES_MOST = 10_000

/** The actions of lists and of reads that pages repeat. */
const LOOKS: readonly AuditAction[] = ['insight.list', 'subscription.read', 'reader.read']

const READINGS: readonly AuditAction[] = [
  ...LOOKS,
  'result.read',
  'delivery.read',
  'link.open',
  'file.read',
  'template.preview',
  'template.explain',
  'template.draft',
  'template.check',
  'template.choices',
  'metric.check',
]

/** The parts of a call that a record is made of. */
export interface AuditedCall {
  principal: Principal
  params: unknown
  query: unknown
  body: unknown
  /** The id of what the call creates. */
  id: string
  request: FastifyRequest
}

export interface AuditTrail {
  /** Makes the record of a call. */
  record(action: AuditAction, call: AuditedCall): NewAuditRecord
  /** Writes a record within a second. */
  note(record: NewAuditRecord): void
  /** Writes the gathered records now. */
  flush(): Promise<void>
}

export function createAuditTrail(
  store: Pick<Store, 'writeAudit'>,
  { clock, log }: { clock: Clock; log: Logger },
): AuditTrail {
  let notes = new Map<string, NewAuditRecord>()
  let waiting = false
  const isTold = createOnce(clock, LOOK_MS)

  let writing = Promise.resolve()

  /** Writes follow each other, so that `flush` also waits for a write under way. */
  function flush(): Promise<void> {
    writing = writing.then(write)
    return writing
  }

  async function write(): Promise<void> {
    const given = notes
    notes = new Map()
    if (given.size === 0) return
    try {
      await store.writeAudit([...given.values()])
    } catch (error) {
      const kept = [...new Map([...given, ...notes])]
      notes = new Map(kept.slice(-NOTES_MOST))
      log.warn(
        { err: error, dropped: kept.length - notes.size },
        'reads could not be written to the audit trail',
      )
      plan()
    }
  }

  function plan(): void {
    if (waiting) return
    waiting = true
    void clock.sleep(FLUSH_MS).then(() => {
      waiting = false
      return flush()
    })
  }

  return {
    record: auditRecord,
    note(record) {
      const { request_id: _, ...same } = record
      // Other actions are recorded each time, so their key holds the request id.
      const key = READINGS.includes(record.action) ? JSON.stringify(same) : JSON.stringify(record)
      if (LOOKS.includes(record.action) && !isTold(key)) return
      if (!notes.has(key)) notes.set(key, { ...record, at: iso(clock.now()) })
      plan()
    },
    flush,
  }
}

/** Actions that people take on their own user. */
const OF_ONESELF: readonly AuditAction[] = ['user.password', 'sign_in.end_all']

type Fields = Record<string, unknown>

function valueOf(from: unknown, key: string): string | undefined {
  const value = typeof from === 'object' && from !== null ? (from as Fields)[key] : undefined
  return typeof value === 'string' ? value : undefined
}

/** Parameters of a query that do not filter: those of a page and those that the limit of a token adds. */
const NO_FILTERS = ['limit', 'cursor', 'template_ids', 'seen_by']

/** Returns the names of the fields that a change sets, or of the filters of a list. It never returns their values. */
function fieldsOf(action: AuditAction, { body, query }: AuditedCall): string[] {
  if (action.endsWith('.change')) return Object.keys(body ?? {}).toSorted()
  if (!LOOKS.includes(action)) return []
  return Object.keys(query ?? {})
    .filter((name) => !NO_FILTERS.includes(name))
    .toSorted()
}

/** Makes a record. The object of a creation is the id of the call. */
function auditRecord(action: AuditAction, call: AuditedCall): NewAuditRecord {
  const { principal, params, query, body, id, request } = call
  const key = AUDIT_ACTIONS[action]
  const payload = typeof body === 'object' && body !== null ? (body as Fields).payload : undefined
  const own = action.startsWith('session.')
    ? principal.token_id
    : OF_ONESELF.includes(action)
      ? principal.user_id
      : undefined
  // The same path in another Unicode form is the same file.
  const object = (
    own ?? [params, body, payload, query].map((from) => valueOf(from, key)).find(Boolean)
  )?.normalize('NFC')
  const elsewhere = valueOf(query, 'workspace_id') ?? valueOf(body, 'workspace_id')
  return {
    // An act of the operator on another workspace belongs to the trail of that workspace.
    workspace_id: action.startsWith('workspace.')
      ? principal.workspace_id
      : (elsewhere ?? principal.workspace_id),
    user_id: principal.user_id,
    token_id: principal.token_id,
    action,
    object_id: object ?? (id === '' ? null : id),
    fields: fieldsOf(action, call),
    address: addressOf(request),
    request_id: request.id,
  }
}

/** Returns the record of a caller who opened the address of a link without a token. */
export function linkRecord(
  action: AuditAction,
  { ip, id }: FastifyRequest,
  of: { workspace_id: string; object_id: string; fields?: string[] },
): NewAuditRecord {
  return { fields: [], ...of, action, user_id: null, token_id: null, address: ip, request_id: id }
}
