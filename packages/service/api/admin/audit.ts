/**
 * The audit trail. A change is recorded by the store in its own transaction (`store.audited`); results that were read and
 * what was done to files are noted here and written once a second, many at once, so that they wait for nothing: a process
 * that is killed loses the notes of its last second. What the same token reads of the same thing from the same address
 * within that second is one record, so that a loop of reads fills no disk. Statuses, lists and live events are not recorded.
 */

import {
  ACTIONS,
  AUDIT_ACTIONS,
  type AuditAction,
  AuditRecord,
  type NewAuditRecord,
} from '@assay/model/audit'
import { type Clock, iso } from '@assay/model/clock'
import type { Store } from '@assay/store/store'
import Type from 'typebox'
import type { Logger } from '../../runtime/log.ts'
import { administered, OfWorkspace } from '../accounts/administration.ts'
import { LIMIT_DEFAULT, Name, pageOf, pageQuery, Time } from '../http/fields.ts'
import { type Call, operation } from '../http/route.ts'

const FLUSH_MS = 1000
/** More than these are not kept in memory while the store is away: the oldest are dropped, and the log says so. */
const NOTES_MOST = 10_000

const READINGS: readonly AuditAction[] = ['result.read', 'link.open', 'file.read']

export interface AuditNotes {
  /** What is recorded of a call. */
  record(action: AuditAction, call: Call): NewAuditRecord
  note(record: NewAuditRecord): void
  /** Writes what was noted. */
  flush(): Promise<void>
}

export function createAuditNotes(
  store: Pick<Store, 'writeAudit'>,
  { clock, log }: { clock: Clock; log: Logger },
): AuditNotes {
  let notes = new Map<string, NewAuditRecord>()
  let waiting = false

  async function flush(): Promise<void> {
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
      // Each of the others stands for itself.
      const key = READINGS.includes(record.action) ? JSON.stringify(same) : JSON.stringify(record)
      if (!notes.has(key)) notes.set(key, { ...record, at: iso(clock.now()) })
      plan()
    },
    flush,
  }
}

type Fields = Record<string, unknown>

function valueOf(from: unknown, key: string): string | undefined {
  const value = typeof from === 'object' && from !== null ? (from as Fields)[key] : undefined
  return typeof value === 'string' ? value : undefined
}

/** Who does what to which thing; what is created bears the id of the call. A change names its fields. */
function auditRecord(action: AuditAction, call: Call): NewAuditRecord {
  const { principal, params, query, body, id, request } = call
  const key = AUDIT_ACTIONS[action]
  const payload = typeof body === 'object' && body !== null ? (body as Fields).payload : undefined
  const own = action.startsWith('session.') ? principal.token_id : undefined
  // Paths of files are the same in every form of their letters.
  const object = (
    own ?? [params, body, payload, query].map((from) => valueOf(from, key)).find(Boolean)
  )?.normalize('NFC')
  const elsewhere = valueOf(query, 'workspace_id') ?? valueOf(body, 'workspace_id')
  return {
    // What an operator does to another workspace stands in that one's trail.
    workspace_id: key === 'workspace_id' ? principal.workspace_id : (elsewhere ?? principal.workspace_id),
    user_id: principal.user_id,
    token_id: principal.token_id,
    action,
    object_id: object ?? (id === '' ? null : id),
    fields: action.endsWith('.change') ? Object.keys(body ?? {}).toSorted() : [],
    address: request.ip,
    request_id: request.id,
  }
}

/** Of who has no token, but an address that opens something. */
export function strangersRecord(
  action: AuditAction,
  { ip, id }: Call['request'],
  of: { workspace_id: string; object_id: string; fields?: string[] },
): NewAuditRecord {
  return { fields: [], ...of, action, user_id: null, token_id: null, address: ip, request_id: id }
}

export const listAudit = operation({
  name: 'listAudit',
  tag: 'Administration',
  summary: 'Read the audit trail, newest first',
  description:
    'Who created, ran, read, changed or deleted what, from where. Recorded are all changes, in the transaction of the change, and the reads of results, by links too, within about a second. What the service does by itself (runs of schedules, retries, retention) is not among them. It holds no secrets and no values.',
  scope: 'admin',
  query: pageQuery({
    action: Type.Optional(Type.Enum([...ACTIONS])),
    user_id: Type.Optional(Name),
    object_id: Type.Optional(Name),
    created_after: Type.Optional(Time),
    created_before: Type.Optional(Time),
    workspace_id: OfWorkspace,
  }),
  replies: { 200: { description: 'A page of records', schema: pageOf(AuditRecord) } },
  errors: ['not_found'],
  async handle({ services, principal, query }) {
    const workspace_id = await administered(services, principal, query.workspace_id)
    await services.audit.flush()
    return services.store.listAudit({ limit: LIMIT_DEFAULT, ...query, workspace_id })
  },
})
