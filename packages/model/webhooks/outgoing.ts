/**
 * Everything that leaves a workspace in the operator's name: mail, chat messages, questions to a language model,
 * requests of webhooks, downloads and queries over connections. The ledger counts it by day; the rules of a workspace
 * bound it.
 */
import type { Static } from 'typebox'
import { nullable, Type } from '../schema.ts'

export const OUTGOING_KINDS = ['mail', 'chat', 'model', 'webhook', 'download', 'query'] as const
export type OutgoingKind = (typeof OUTGOING_KINDS)[number]

/** How many of each kind may leave a day; null for no limit. */
export type Budgets = Record<OutgoingKind, number | null>

/** The words for the things that a budget counts. */
export const KIND_WORDS: Record<OutgoingKind, string> = {
  mail: 'mails',
  chat: 'chat messages',
  model: 'questions to the language model',
  webhook: 'webhook requests',
  download: 'downloads',
  query: 'queries over connections',
}

const Stop = Type.Object(
  {
    at: Type.String({ format: 'date-time' }),
    user_id: Type.String(),
    by_operator: Type.Boolean({ description: 'Only the operator lifts what the operator has stopped' }),
    reason: nullable(Type.String()),
  },
  { description: 'Who stopped all that leaves the workspace, and when' },
)
export type Stop = Static<typeof Stop>

/** The rules of one workspace. */
export interface OutgoingRules {
  /** The stop of the workspace; null while sending is open. */
  stopped: Stop | null
  /** The workspace's own budgets a day. An absent budget is the service's; null means no limit. */
  budgets: Partial<Record<OutgoingKind, number | null>>
  /** True if its templates may ask the language model. */
  model: boolean
  /**
   * The hosts that its connections, downloads, webhooks and chat messages may reach, of those that the service may
   * reach; null for all of them.
   */
  hosts: string[] | null
  /**
   * The domains whose addresses get mail without the agreement of their owners; `*` for all. Null for the service's
   * list.
   */
  mail_domains: string[] | null
}

export const OPEN_RULES: OutgoingRules = {
  stopped: null,
  budgets: {},
  model: true,
  hosts: null,
  mail_domains: null,
}

/** What left a workspace on one day. */
export interface OutgoingCount {
  /** The day in UTC: `2026-11-23`. */
  day: string
  kind: OutgoingKind
  count: number
  /** The number of requests that were refused. */
  refused: number
  /** The bytes of mail, chat, model and webhook; 0 if they are not known. */
  bytes: number
}

const Count = Type.Object({
  day: Type.String({ format: 'date' }),
  kind: Type.Enum([...OUTGOING_KINDS]),
  count: Type.Integer({ description: 'How many left' }),
  refused: Type.Integer({ description: 'How many were refused or held back' }),
  bytes: Type.Integer({ description: 'Bytes of mail, chat, model and webhook; 0 of the others' }),
})

export const OutgoingView = Type.Object(
  {
    workspace_id: Type.String(),
    stopped: nullable(Stop),
    model: Type.Boolean({ description: 'Whether templates may ask the language model' }),
    hosts: nullable(
      Type.Array(Type.String(), {
        description:
          'The hosts that connections, downloads, webhooks and chat messages may reach; null: all that the service may',
      }),
    ),
    mail_domains: nullable(
      Type.Array(Type.String(), {
        description:
          'Domains whose addresses get mail without the agreement of their owners; null: ASSAY_MAIL_DOMAINS',
      }),
    ),
    budgets: Type.Array(
      Type.Object({
        kind: Type.Enum([...OUTGOING_KINDS]),
        budget: nullable(Type.Integer({ description: 'How many may leave a day; null: no limit' })),
        own: Type.Boolean({ description: 'Whether it is set for this workspace' }),
        today: Type.Integer({ description: 'How many have left since 00:00 UTC' }),
      }),
      { description: 'One for each kind' },
    ),
    days: Type.Array(Count, { description: 'What left, newest day first' }),
  },
  { title: 'Outgoing' },
)
export type OutgoingView = Static<typeof OutgoingView>

/** Returns the day of a time, in UTC. `ms`: milliseconds since 1970. */
export function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10)
}

/**
 * Tells whether a host is in a list of names, addresses, or `*.name` for the names below it. A host is as in a URL:
 * lower case, without brackets.
 */
export function isListed(host: string, hosts: readonly string[]): boolean {
  return hosts.some((one) => (one.startsWith('*.') ? host.endsWith(one.slice(1)) : host === one))
}
