/** Operations on what leaves a workspace: the ledger, the budgets, and the switch that stops all of it. */
import { isIP } from 'node:net'
import { tagOfOutgoing } from '@assay/model/entity-tag'
import { AppError, notFound } from '@assay/model/errors'
import {
  dayOf,
  KIND_WORDS,
  OUTGOING_KINDS,
  type OutgoingKind,
  type OutgoingRules,
  OutgoingView,
} from '@assay/model/outgoing'
import { nullable, Type } from '@assay/model/schema'
import { DEFAULT_WORKSPACE, type Principal } from '@assay/model/token'
import type { Static } from 'typebox'
import { isDomain } from '../../config/values.ts'
import { budgetOf } from '../../outgoing/refusal.ts'
import { administered, OfWorkspace } from '../accounts/administration.ts'
import { type Call, operation } from '../http/operation.ts'
import { invalid } from '../http/validate.ts'

const DAY_MS = 86_400_000
const DAYS = { usual: 7, most: 92 }
const HOSTS_MOST = 200
const BUDGET_MOST = 1_000_000_000
/** A host name or an address as it stands in a URL, or `*.` and a host name. */
const HOST = /^(\*\.)?[a-z0-9]([a-z0-9._-]{0,251}[a-z0-9])?$/

const Budget = (kind: OutgoingKind) =>
  Type.Optional(
    nullable(
      Type.Integer({
        minimum: 0,
        maximum: BUDGET_MOST,
        description: `${KIND_WORDS[kind]} a day (UTC); null: ASSAY_BUDGET_${kind.toUpperCase()}`,
      }),
    ),
  )

const OutgoingChange = Type.Object({
  stopped: Type.Optional(
    Type.Boolean({ description: 'true stops all that leaves the workspace, false opens it again' }),
  ),
  reason: Type.Optional(
    nullable(
      Type.String({
        minLength: 1,
        maxLength: 500,
        description: 'The reason, for the people of the workspace',
      }),
    ),
  ),
  budgets: Type.Optional(
    Type.Object(
      {
        mail: Budget('mail'),
        chat: Budget('chat'),
        model: Budget('model'),
        webhook: Budget('webhook'),
        download: Budget('download'),
        query: Budget('query'),
      },
      { description: 'Budgets of this workspace a day. Those that are left out stay' },
    ),
  ),
  model: Type.Optional(Type.Boolean({ description: 'Whether templates may ask the language model' })),
  hosts: Type.Optional(
    nullable(
      Type.Array(Type.String({ minLength: 1, maxLength: 253 }), {
        maxItems: HOSTS_MOST,
        uniqueItems: true,
        description:
          'The hosts that connections, downloads, webhooks and chat messages may reach, of those that the service may: names, addresses, or `*.example.com` for the names below it; null: all of them',
      }),
    ),
  ),
  mail_domains: Type.Optional(
    nullable(
      Type.Array(Type.String({ minLength: 1, maxLength: 253 }), {
        maxItems: HOSTS_MOST,
        uniqueItems: true,
        description:
          'Domains whose addresses get mail without the agreement of their owners, from now on: `example.com`, `*.example.com` for those below it, `*` for all; null: ASSAY_MAIL_DOMAINS',
      }),
    ),
  ),
})
type OutgoingChange = Static<typeof OutgoingChange>

async function viewOf(
  { services: { store, ledger, clock }, reply }: Pick<Call, 'services' | 'reply'>,
  workspace_id: string,
  days: number,
): Promise<OutgoingView> {
  const now = clock.now()
  const day = dayOf(now)
  await ledger.refresh(workspace_id)
  const [found] = await store.readOutgoing({ workspace_ids: [workspace_id], day })
  if (!found) throw notFound('workspace', workspace_id)
  const { rules, counts } = found
  void reply.header('etag', tagOfOutgoing(rules))
  return {
    workspace_id,
    stopped: rules.stopped,
    model: rules.model,
    hosts: rules.hosts,
    mail_domains: rules.mail_domains,
    budgets: OUTGOING_KINDS.map((kind) => ({
      kind,
      budget: budgetOf(rules, kind, ledger.budgets),
      own: typeof rules.budgets[kind] === 'number',
      today: counts.find((count) => count.kind === kind)?.count ?? 0,
    })),
    days: await store.listOutgoing({ workspace_id, since: dayOf(now - (days - 1) * DAY_MS) }),
  }
}

export const readOutgoing = operation({
  name: 'readOutgoing',
  tag: 'Administration',
  summary: 'Read what leaves a workspace',
  description:
    'Counts mails, chat messages, questions to the language model, requests of webhooks, downloads and queries over connections by day (UTC), with the budgets and whether all of it is stopped.',
  scope: 'admin',
  query: Type.Object({
    workspace_id: OfWorkspace,
    days: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: DAYS.most,
        description: `Days to list, today included (default ${DAYS.usual})`,
      }),
    ),
  }),
  replies: { 200: { description: 'The ledger and the rules', schema: OutgoingView } },
  errors: ['not_found'],
  async handle({ services, principal, query, reply }) {
    const workspace_id = await administered(services, principal, query.workspace_id)
    return viewOf({ services, reply }, workspace_id, query.days ?? DAYS.usual)
  },
})

function hostsOf(hosts: string[]): string[] {
  const lower = hosts.map((host) => host.toLowerCase())
  const faults = lower.flatMap((host, index) =>
    HOST.test(host) || isIP(host) !== 0
      ? []
      : [
          {
            path: `hosts.${index}`,
            message: 'must be a host such as db.example.com, an address, or *.example.com, without a port',
          },
        ],
  )
  if (faults.length > 0) throw invalid(faults)
  return lower
}

function domainsOf(domains: string[]): string[] {
  const lower = domains.map((domain) => domain.toLowerCase())
  const faults = lower.flatMap((domain, index) =>
    isDomain(domain)
      ? []
      : [
          {
            path: `mail_domains.${index}`,
            message: 'must be a domain such as example.com, *.example.com or *',
          },
        ],
  )
  if (faults.length > 0) throw invalid(faults)
  return lower
}

/** Returns the rules to write. Throws `forbidden` for a change that only the operator may make. */
function patchOf(
  { stopped, reason = null, budgets, model, hosts, mail_domains }: OutgoingChange,
  { present, principal, at }: { present: OutgoingRules; principal: Principal; at: string },
): Partial<OutgoingRules> {
  const by_operator = principal.workspace_id === DEFAULT_WORKSPACE
  const isOperators = [budgets, model, hosts, mail_domains].some((given) => given !== undefined)
  if (isOperators && !by_operator)
    throw new AppError(
      'forbidden',
      `Budgets, hosts, domains of mail and the language model take an admin token of the workspace ${DEFAULT_WORKSPACE}: an admin of this workspace may set "stopped".`,
    )
  if (present.stopped?.by_operator === true && !by_operator && stopped !== undefined)
    throw new AppError(
      'forbidden',
      'The operator has stopped what leaves this workspace, and opens it again.',
    )
  return {
    ...(stopped === undefined
      ? {}
      : { stopped: stopped ? { at, user_id: principal.user_id, by_operator, reason } : null }),
    ...(budgets === undefined ? {} : { budgets: { ...present.budgets, ...budgets } }),
    ...(model === undefined ? {} : { model }),
    ...(hosts === undefined ? {} : { hosts: hosts && hostsOf(hosts) }),
    ...(mail_domains === undefined ? {} : { mail_domains: mail_domains && domainsOf(mail_domains) }),
  }
}

export const changeOutgoing = operation({
  name: 'changeOutgoing',
  audit: 'outgoing.change',
  tag: 'Administration',
  summary: 'Stop what leaves a workspace, or change its budgets',
  description:
    'An admin stops all that leaves the own workspace and opens it again. Deliveries wait meanwhile and go out afterwards; what a job asks of the model, of a connection or of another host is refused. Only an admin of the default workspace sets budgets, hosts, domains of mail and the model, and opens what it has stopped. Other nodes follow within two seconds.',
  scope: 'admin',
  query: Type.Object({ workspace_id: OfWorkspace }),
  body: OutgoingChange,
  replies: { 200: { description: 'The ledger and the rules as they are now', schema: OutgoingView } },
  errors: ['not_found', 'forbidden'],
  async handle({ services, principal, query, body, reply }) {
    const { store, ledger, clock } = services
    const workspace_id = await administered(services, principal, query.workspace_id)
    const day = dayOf(clock.now())
    const [found] = await store.readOutgoing({ workspace_ids: [workspace_id], day })
    if (!found) throw notFound('workspace', workspace_id)
    const at = new Date(clock.now()).toISOString()
    const patch = patchOf(body, { present: found.rules, principal, at })
    await ledger.refresh(workspace_id)
    if (!(await store.changeOutgoing({ workspace_id, patch }))) throw notFound('workspace', workspace_id)
    return viewOf({ services, reply }, workspace_id, DAYS.usual)
  },
})
