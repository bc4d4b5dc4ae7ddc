/**
 * An audit record: who did what, to which object, from which address. The list of actions is closed; each action names the
 * id that identifies its object. A record holds no values and no secrets: of a change it holds the names of the fields only.
 */
import type { Static } from 'typebox'
import { nullable, Type } from './schema.ts'

export const AUDIT_ACTIONS = {
  'job.create': 'assignment_id',
  'job.create_many': 'batch_id',
  'job.run': 'assignment_id',
  'job.cancel': 'assignment_id',
  'job.delete': 'assignment_id',
  'result.read': 'insight_id',
  'insight.list': 'insight_id',
  'insight.pin': 'insight_id',
  'insight.unpin': 'insight_id',
  'collection.create': 'collection_id',
  'collection.change': 'collection_id',
  'collection.delete': 'collection_id',
  'collection.add': 'collection_id',
  'collection.remove': 'collection_id',
  'link.create': 'link_id',
  'link.delete': 'link_id',
  'link.open': 'link_id',
  'template.put': 'template_id',
  'template.delete': 'template_id',
  'template.preview': 'version',
  'template.explain': 'version',
  'template.draft': 'version',
  'template.check': 'version',
  'template.choices': 'template_id',
  'repository.pull': 'repository_id',
  'repository.propose': 'template_id',
  'repository.take': 'commit_id',
  'repository.refuse': 'commit_id',
  'metric.put': 'metric_id',
  'metric.delete': 'metric_id',
  'metric.check': 'version',
  'metric.doubt': 'metric_id',
  'draft.keep': 'name',
  'draft.delete': 'draft_id',
  'schedule.create': 'schedule_id',
  'schedule.change': 'schedule_id',
  'schedule.delete': 'schedule_id',
  'schedule.run': 'schedule_id',
  'connection.create': 'name',
  'connection.change': 'name',
  'connection.delete': 'name',
  'connection.test': 'name',
  'agent.call': 'name',
  'file.put': 'path',
  'file.read': 'path',
  'file.delete': 'path',
  'file.declare': 'path',
  'webhook.create': 'webhook_id',
  'webhook.change': 'webhook_id',
  'webhook.delete': 'webhook_id',
  'webhook.test': 'webhook_id',
  'webhook.rotate_secret': 'webhook_id',
  'webhook.recover': 'webhook_id',
  'webhook.cancel_pending': 'webhook_id',
  'subscription.read': 'subscription_id',
  'subscription.create': 'subscription_id',
  'subscription.change': 'subscription_id',
  'subscription.delete': 'subscription_id',
  'subscription.test': 'subscription_id',
  'subscription.recover': 'subscription_id',
  'subscription.cancel_pending': 'subscription_id',
  'subscription.unsubscribe': 'subscription_id',
  'subscription.confirm': 'subscription_id',
  'delivery.read': 'delivery_id',
  'delivery.redeliver': 'delivery_id',
  'outgoing.change': 'workspace_id',
  'outgoing.refuse': 'kind',
  'session.begin': 'token_id',
  'session.refuse': 'token_id',
  'session.end': 'token_id',
  'sign_in.end': 'sign_in_id',
  'sign_in.end_all': 'user_id',
  'grant.create': 'token_id',
  'token.create': 'token_id',
  'token.change': 'token_id',
  'token.delete': 'token_id',
  'reader.read': 'reader_id',
  'reader.put': 'reader_id',
  'reader.put_many': 'workspace_id',
  'reader.delete': 'reader_id',
  'user.create': 'user_id',
  'user.admit': 'user_id',
  'user.change': 'user_id',
  'user.password': 'user_id',
  'user.sign_out': 'user_id',
  'user.delete': 'user_id',
  'user.erase': 'user_id',
  'workspace.create': 'workspace_id',
  'workspace.change': 'workspace_id',
  'workspace.delete': 'workspace_id',
} as const
export type AuditAction = keyof typeof AUDIT_ACTIONS

/** Actions that write nothing to the store, so that no transaction can hold their record. It is written within a second. */
export const NOTED: readonly AuditAction[] = [
  'reader.read',
  'result.read',
  'insight.list',
  'subscription.read',
  'delivery.read',
  'link.open',
  'file.put',
  'file.read',
  'file.delete',
  'repository.propose',
]

export const ACTIONS = Object.keys(AUDIT_ACTIONS) as AuditAction[]

export const AuditRecord = Type.Object(
  {
    audit_id: Type.String({ format: 'uuid' }),
    created_at: Type.String({ format: 'date-time' }),
    action: Type.Enum([...ACTIONS]),
    object_id: nullable(
      Type.String({ description: 'The id of the object, of the kind that the action names' }),
    ),
    fields: Type.Array(Type.String(), {
      description:
        'The names of the fields that a change set; of a list the filters that were given; of a preview, a draft, a check and choices the sources that were read, and `language model` where one was asked; of a test of a connection where it leads; of a refusal its cause',
    }),
    user_id: nullable(
      Type.String({
        description: 'The user; null before a user is known, and of what the service itself refuses',
      }),
    ),
    token_id: nullable(
      Type.String({ format: 'uuid', description: 'The token or the sign-in that was used' }),
    ),
    address: nullable(Type.String({ description: 'The address that the request came from' })),
    request_id: nullable(Type.String({ description: 'The x-request-id of the answer' })),
  },
  { title: 'AuditRecord' },
)
export type AuditRecord = Static<typeof AuditRecord>

/** A record that is not yet written. */
export type NewAuditRecord = Omit<AuditRecord, 'audit_id' | 'created_at'> & {
  workspace_id: string
  /** The time of the action, for a record that is written later. The default is the time of writing. */
  at?: string
}
