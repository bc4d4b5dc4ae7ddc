/** What the operator looks at: nodes and settings. */
import Type from 'typebox'
import { JOB_STATUSES } from '../job.ts'
import { requireOperator } from './administration.ts'
import { pageOf, Time, whole } from './fields.ts'
import { operation } from './route.ts'

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
  summary: 'The settings of this node, secrets hidden',
  scope: 'admin',
  replies: { 200: { description: 'All settings', schema: pageOf(Setting) } },
  handle({ services, principal }) {
    requireOperator(principal)
    return whole(services.settings)
  },
})

const nullableTime = Type.Union([Time, Type.Null()])

export const readQueue = operation({
  name: 'readQueue',
  tag: 'Administration',
  summary: 'How much there is to do',
  description: 'Unfinished jobs by state with the oldest of each, and the deliveries that wait.',
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
            due: Type.Integer({ minimum: 0, description: 'To be sent now' }),
            waiting: Type.Integer({ minimum: 0, description: 'For their next try' }),
            oldest_at: nullableTime,
          }),
        },
        { title: 'Queue' },
      ),
    },
  },
  handle({ services, principal }) {
    requireOperator(principal)
    return services.store.counts()
  },
})
