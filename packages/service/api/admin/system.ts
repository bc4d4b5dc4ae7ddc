/** The operator's view of the service: its nodes, its settings and its queue. */

import { JOB_STATUSES } from '@assay/model/job'
import { Type } from '@assay/model/schema'
import { requireOperator } from '../accounts/administration.ts'
import { pageOf, Time, whole } from '../http/fields.ts'
import { operation } from '../http/operation.ts'
import { diskOf } from './gauges.ts'

const Node = Type.Object(
  {
    node_id: Type.String(),
    name: Type.String(),
    roles: Type.Array(Type.String()),
    version: Type.String(),
    started_at: Time,
    lease_until: Time,
  },
  { title: 'Node' },
)

export const listNodes = operation({
  name: 'listNodes',
  tag: 'Administration',
  summary: 'List the nodes that are alive',
  scope: 'admin',
  replies: { 200: { description: 'All nodes', schema: pageOf(Node) } },
  async handle({ services, principal }) {
    requireOperator(principal)
    return whole(await services.store.listNodes())
  },
})

const Setting = Type.Object(
  {
    name: Type.String(),
    env: Type.String(),
    value: Type.String(),
    origin: Type.String({ description: 'default, environment or flag' }),
    doc: Type.String(),
  },
  { title: 'Setting' },
)

export const listSettings = operation({
  name: 'listSettings',
  tag: 'Administration',
  summary: 'List the settings of this node, with secrets hidden',
  scope: 'admin',
  replies: { 200: { description: 'All settings', schema: pageOf(Setting) } },
  handle({ services, principal }) {
    requireOperator(principal)
    return whole(services.settings)
  },
})

/** The schema of `LostSecret`. */
const Lost = Type.Object({
  kind: Type.Enum(['webhook', 'subscription', 'connection']),
  workspace_id: Type.String(),
  id: Type.String({ description: 'Of the webhook or subscription, or the name of the connection' }),
  what: Type.Array(Type.String(), {
    description: 'Such as "the header x-key", "the signing secret", "its readers"',
  }),
})

const nullableTime = Type.Union([Time, Type.Null()])

export const readQueue = operation({
  name: 'readQueue',
  tag: 'Administration',
  summary: 'Read the backlog',
  description:
    'Unfinished jobs by state with the oldest of each, pending deliveries (counted up to 100,000), failing and disabled webhooks, secrets that cannot be opened, and the disk.',
  scope: 'admin',
  replies: {
    200: {
      description: 'The counts of all workspaces',
      schema: Type.Object(
        {
          jobs: Type.Array(
            Type.Object({
              workspace_id: Type.String(),
              job_status: Type.Enum([...JOB_STATUSES]),
              count: Type.Integer({ minimum: 0 }),
              oldest_at: nullableTime,
            }),
          ),
          deliveries: Type.Object({
            due: Type.Integer({ minimum: 0, description: 'Due now' }),
            waiting: Type.Integer({ minimum: 0, description: 'Due later, for their next try' }),
            oldest_at: nullableTime,
          }),
          webhooks: Type.Object({
            failing: Type.Integer({ minimum: 0, description: 'Enabled, and the last attempts failed' }),
            disabled: Type.Integer({ minimum: 0 }),
          }),
          secrets: Type.Object(
            {
              missing_key: Type.Union([Type.String(), Type.Null()], {
                description:
                  'What is missing where this node lacks the key of the secrets: jobs and deliveries wait then',
              }),
              lost: Type.Array(Lost, {
                description: 'What must be entered again, because no key opens it (at most 100)',
              }),
            },
            { description: 'Secrets that cannot be opened' },
          ),
          disk: Type.Union(
            [
              Type.Object({
                free_bytes: Type.Integer({ minimum: 0 }),
                total_bytes: Type.Integer({ minimum: 0 }),
              }),
              Type.Null(),
            ],
            { description: 'The disk with the home of this node' },
          ),
        },
        { title: 'Queue' },
      ),
    },
  },
  async handle({ services, principal }) {
    requireOperator(principal)
    const disk = services.home === undefined ? null : await diskOf(services.home)
    const { lostSecrets, store } = services
    const secrets = { missing_key: services.secrets.locked, lost: (await lostSecrets?.list()) ?? [] }
    const { jobs, deliveries, webhooks } = await store.counts()
    return { jobs, deliveries, webhooks, secrets, disk }
  },
})
