/** What the operator looks at: nodes and settings. */
import Type from 'typebox'
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
