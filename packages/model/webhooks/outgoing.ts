/**
 * What leaves a workspace in the operator's name: mail, chat messages, questions to a language model, requests of webhooks,
 * downloads and queries over connections. The ledger counts it by day; the rules of a workspace bound it.
 */
import type { Static } from 'typebox'
import { nullable, Type } from '../schema.ts'

export const OUTGOING_KINDS = ['mail', 'chat', 'model', 'webhook', 'download', 'query'] as const
export type OutgoingKind = (typeof OUTGOING_KINDS)[number]

/** How many of each may leave a day; null: no limit. */
export type Budgets = Record<OutgoingKind, number | null>

/** What a budget counts, in words. */
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
  /** Null while sending is open. */
  stopped: Stop | null
  /** Its own budgets a day; what is null or absent is as the service has it. */
  budgets: Partial<Record<OutgoingKind, number | null>>
  /** Whether its templates may ask the language model. */
  model: boolean
  /** The hosts that its connections, downloads, webhooks and chat messages may reach, of those that the service may; null: all of them. */
  hosts: string[] | null
  /** Domains whose addresses get mail without the agreement of their owners; null: as the service has it. `*`: all. */
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
  /** `2026-11-23`, in UTC. */
  day: string
  kind: OutgoingKind
  count: number
  /** Asked for and refused. */
  refused: number
  /** Those of mail, chat, model and webhook; 0 where they are not known. */
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

/** The day of a time, in UTC. `ms`: milliseconds since 1970. */
export function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10)
}

/**
 * Whether a host is one of a list: a name, an address, or `*.name` for the names below it. A host is as in a URL: lower
 * case, without brackets.
 */
export function isListed(host: string, hosts: readonly string[]): boolean {
  return hosts.some((one) => (one.startsWith('*.') ? host.endsWith(one.slice(1)) : host === one))
}
