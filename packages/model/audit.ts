/**
 * The audit trail: who did what to which thing, from where. The list of actions is closed; each names what tells the thing
 * apart. Neither values of variables nor secrets are in a record: of a change it holds the names of the fields alone.
 */
import Type, { type Static } from 'typebox'

export const AUDIT_ACTIONS = {
  'job.create': 'assignment_id',
  'job.create_many': 'batch_id',
  'job.run': 'assignment_id',
  'job.cancel': 'assignment_id',
  'job.delete': 'assignment_id',
  'result.read': 'insight_id',
  'link.create': 'link_id',
  'link.delete': 'link_id',
  'link.open': 'link_id',
  'template.put': 'template_id',
  'template.delete': 'template_id',
  'schedule.create': 'schedule_id',
  'schedule.change': 'schedule_id',
  'schedule.delete': 'schedule_id',
  'schedule.run': 'schedule_id',
  'connection.create': 'name',
  'connection.change': 'name',
  'connection.delete': 'name',
  'file.put': 'path',
  'file.read': 'path',
  'file.delete': 'path',
  'webhook.create': 'webhook_id',
  'webhook.change': 'webhook_id',
  'webhook.delete': 'webhook_id',
  'webhook.test': 'webhook_id',
  'webhook.rotate_secret': 'webhook_id',
  'webhook.recover': 'webhook_id',
  'webhook.cancel_pending': 'webhook_id',
  'subscription.create': 'subscription_id',
  'subscription.change': 'subscription_id',
  'subscription.delete': 'subscription_id',
  'subscription.test': 'subscription_id',
  'subscription.recover': 'subscription_id',
  'subscription.cancel_pending': 'subscription_id',
  'subscription.unsubscribe': 'subscription_id',
  'delivery.redeliver': 'delivery_id',
  'session.begin': 'token_id',
  'session.refuse': 'token_id',
  'session.end': 'token_id',
  'token.create': 'token_id',
  'token.delete': 'token_id',
  'user.create': 'user_id',
  'user.delete': 'user_id',
  'user.erase': 'user_id',
  'workspace.create': 'workspace_id',
  'workspace.change': 'workspace_id',
  'workspace.delete': 'workspace_id',
} as const
export type AuditAction = keyof typeof AUDIT_ACTIONS

/** No change of the store, so that no transaction can hold the record: it is noted and written within a second. */
export const NOTED: readonly AuditAction[] = [
  'result.read',
  'link.open',
  'file.put',
  'file.read',
  'file.delete',
]

export const ACTIONS = Object.keys(AUDIT_ACTIONS) as AuditAction[]

const nullable = <T extends Type.TSchema>(schema: T) => Type.Union([schema, Type.Null()])

export const AuditRecord = Type.Object(
  {
    audit_id: Type.String({ format: 'uuid' }),
    created_at: Type.String({ format: 'date-time' }),
    action: Type.Enum([...ACTIONS]),
    object_id: nullable(Type.String({ description: 'What it was done to: the id that the action names' })),
    fields: Type.Array(Type.String(), {
      description: 'Of a change: the names of the fields that were given',
    }),
    user_id: nullable(Type.String({ description: 'Who; null: nobody was known yet' })),
    token_id: nullable(Type.String({ format: 'uuid', description: 'By which token' })),
    address: nullable(Type.String({ description: 'From which address' })),
    request_id: nullable(Type.String({ description: 'The x-request-id of the answer' })),
  },
  { title: 'AuditRecord' },
)
export type AuditRecord = Static<typeof AuditRecord>

/** A record that is still to be written. */
export type NewAuditRecord = Omit<AuditRecord, 'audit_id' | 'created_at'> & {
  workspace_id: string
  /** Of what was noted and is written later; the time of the writing unless given. */
  at?: string
}
