/**
 * Entity tags of what clients change (RFC 9110, section 8.8.3), and the conditions of a request on them (section 13.1). A tag is made
 * from what a client can set, so it stays while deliveries or due times change the counts beside it.
 */
import { hash } from 'node:crypto'
import type { Connection } from '../connection.ts'
import { AppError } from '../errors.ts'
import type { Collection } from '../insights/collection.ts'
import type { Job } from '../job.ts'
import type { StoredReader } from '../personal/readers.ts'
import type { Schedule } from '../schedule.ts'
import type { Token, User, Workspace } from '../token.ts'
import type { OutgoingRules } from '../webhooks/outgoing.ts'
import type { Webhook } from '../webhooks/webhook.ts'

/** The headers If-Match and If-None-Match; null if they were not sent. */
export interface Conditions {
  match: string | null
  noneMatch: string | null
}

/** The kinds of objects whose changes take conditions. */
export type Versioned =
  | 'template'
  | 'metric'
  | 'draft'
  | 'job'
  | 'schedule'
  | 'connection'
  | 'webhook'
  | 'collection'
  | 'reader'
  | 'user'
  | 'token'
  | 'workspace'
  | 'outgoing'

/** The condition of a change on its object. `id`: the id of the object in its workspace. */
export interface Expected extends Conditions {
  noun: Versioned
  workspace_id: string
  id: string
}

/** The reason of a webhook that is disabled while it is deleted in steps. Its tag stays as it was. */
export const BEING_DELETED = 'It is being deleted.'

const tagOf = (fields: unknown): string => `"${hash('sha256', JSON.stringify(fields)).slice(0, 20)}"`

const byName = ([one]: [string, unknown], [other]: [string, unknown]): number => (one < other ? -1 : 1)

export function tagOfSource(source: string): string {
  return tagOf(source)
}

export function tagOfSchedule(schedule: Schedule): string {
  const { name, template_id, variables, cron, time_zone, starts_at, ends_at, missed, missed_limit } = schedule
  const { overlap, paused, presence_name, notify, priority, metadata, readers } = schedule
  return tagOf([
    [name, template_id, variables, cron, time_zone, starts_at, ends_at, missed, missed_limit],
    [overlap, paused, presence_name, notify, priority, metadata, readers],
  ])
}

export function tagOfConnection({ kind, description, options, secrets, limits }: Connection): string {
  return tagOf([
    kind,
    description,
    options,
    secrets.map(({ name, fingerprint }) => [name, fingerprint]),
    limits,
  ])
}

/**
 * Returns the tag of a webhook or a subscription. Sealed texts (targets, secrets) differ under another key, so the
 * time of the last change stands for them.
 */
export function tagOfWebhook(webhook: Webhook): string {
  const { url, headers, updated_at, user_id, presence_name, events, description, signature, public_key } =
    webhook
  const { retry_schedule, max_in_flight, rate_per_second, tells_skipped, personal, follows } = webhook
  const status = webhook.disabled_reason === BEING_DELETED ? 'enabled' : webhook.status
  return tagOf([
    [
      url,
      headers.map(({ name, fingerprint }) => [name, fingerprint]),
      updated_at,
      user_id,
      presence_name,
      events,
    ],
    [description, signature, public_key, retry_schedule, max_in_flight, rate_per_second, status],
    [tells_skipped, personal, follows],
  ])
}

/** A job changes by its state alone, so its tag is readable: `"queued.1"`. */
export function tagOfJob({ job_status, attempt }: Pick<Job, 'job_status' | 'attempt'>): string {
  return `"${job_status}.${attempt}"`
}

export function tagOfCollection({ name, description }: Pick<Collection, 'name' | 'description'>): string {
  return tagOf([name, description])
}

export function tagOfReader({
  name,
  email,
  user_id,
  attributes,
}: Pick<StoredReader, 'name' | 'email' | 'user_id' | 'attributes'>): string {
  return tagOf([name, email, user_id, attributes])
}

/** Returns the tag of a user. It says nothing about the password, which no answer shows. */
export function tagOfUser({ display_name, scopes, disabled, issuer }: User): string {
  return tagOf([display_name, scopes, disabled, issuer])
}

export function tagOfToken({ name, scopes, expires_at }: Token): string {
  return tagOf([name, scopes, expires_at])
}

export function tagOfWorkspace({ workspace_id: _id, created_at: _at, ...settable }: Workspace): string {
  return tagOf(Object.entries(settable).toSorted(byName))
}

export function tagOfOutgoing({ stopped, budgets, model, hosts, mail_domains }: OutgoingRules): string {
  return tagOf([stopped, Object.entries(budgets).toSorted(byName), model, hosts, mail_domains])
}

/** The content coding that the tag of a compressed answer names at its end: `"9f2c.gzip"`. */
const CODED = /\.(?:zstd|br|gzip)"$/

/** Returns the tag of the answer itself, whatever coding it was sent in. */
const plain = (tag: string): string => tag.trim().replace(/^W\//, '').replace(CODED, '"')

/** Tells whether `If-None-Match` names the tag (weak comparison). */
export function matchesTag(header: string | undefined, tag: string): boolean {
  if (header === undefined) return false
  return header.trim() === '*' || header.split(',').some((part) => plain(part) === plain(tag))
}

/** Tells whether a header names the tag by strong comparison. A weak tag names nothing. */
function names(header: string, tag: string): boolean {
  if (header.trim() === '*') return true
  return header.split(',').some((part) => !part.trim().startsWith('W/') && plain(part) === plain(tag))
}

/** Throws `precondition_failed` if the present tag (null for no object) does not meet the conditions. */
export function vetConditions(noun: string, tag: string | null, { match, noneMatch }: Conditions): void {
  if (match !== null && (tag === null || !names(match, tag)))
    throw new AppError(
      'precondition_failed',
      tag === null
        ? `The ${noun} does not exist, and If-Match requires it.`
        : `The ${noun} is not the one that If-Match names: it has the ETag ${tag} now. Read it again, and send the change with that.`,
    )
  if (noneMatch !== null && tag !== null && matchesTag(noneMatch, tag))
    throw new AppError(
      'precondition_failed',
      `The ${noun} exists with the ETag ${tag}, and If-None-Match requires that it does not.`,
    )
}
