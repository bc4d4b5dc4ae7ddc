/**
 * Shows the form of a subscription, for a new one and for a change. The address of a chat is a secret: it is neither
 * kept in the tab's storage nor shown again, and a change without it keeps it.
 */
import type { SubscriptionInput } from '@assay/client'
import type { EventType } from '@assay/model/event'
import type { SubscriptionKind, SubscriptionView } from '@assay/model/subscription'
import { EVENT_OPTIONS, LINK_LIFETIMES } from '../../names.ts'
import { duration } from '../../words/durations.ts'
import { CheckField, ChecksField, LinesField, SelectField, TextField } from '../field.tsx'
import { FollowsField } from '../library/follows-field.tsx'

export const KIND_WORDS: Record<SubscriptionKind, string> = { email: 'Mail', slack: 'Chat' }

export interface SubscriptionDraft {
  kind: SubscriptionKind
  /** The readers, one on each line. */
  to: string
  presence_name: string
  events: EventType[]
  include_skipped: boolean
  personal: boolean
  follows: string[]
  /** The lifetime of a link in seconds; empty for no link. */
  link: string
  subject: SubscriptionView['subject']
  attach: boolean
  description: string
}

export const FIRST_DRAFT: SubscriptionDraft = {
  kind: 'email',
  to: '',
  presence_name: 'default',
  events: ['job.completed', 'job.failed', 'job.canceled'],
  include_skipped: false,
  personal: false,
  follows: [],
  link: '604800',
  subject: 'title',
  attach: false,
  description: '',
}

export function draftOf(subscription: SubscriptionView): SubscriptionDraft {
  const { kind, to, presence_name, events, include_skipped, personal, link_expires_in, description } =
    subscription
  return {
    kind,
    to: to.join('\n'),
    presence_name,
    events,
    include_skipped,
    personal,
    follows: subscription.follows,
    link: link_expires_in === null ? '' : String(link_expires_in),
    subject: subscription.subject,
    attach: subscription.attach !== null,
    description: description ?? '',
  }
}

const linesOf = (text: string): string[] =>
  text
    .split(/[\n,;]/)
    .map((line) => line.trim())
    .filter(Boolean)
const readersOf = ({ to }: SubscriptionDraft): string[] => linesOf(to)

/** Returns the input. An empty `url` keeps the chat's address. */
export function inputOf(draft: SubscriptionDraft, url: string): SubscriptionInput {
  const { kind, presence_name, events, include_skipped, personal, link, description } = draft
  return {
    kind,
    ...(kind === 'email'
      ? { to: readersOf(draft), subject: draft.subject, attach: draft.attach ? ('pdf' as const) : null }
      : {}),
    ...(kind === 'slack' && url.trim() !== '' ? { url: url.trim() } : {}),
    ...(presence_name.trim() === '' ? {} : { presence_name: presence_name.trim() }),
    events,
    include_skipped,
    personal,
    follows: draft.follows,
    link_expires_in: link === '' ? null : Number(link),
    description: description.trim() === '' ? null : description.trim(),
  }
}

/** Returns the faults of the list of readers, each with its address. */
function readersFault(draft: SubscriptionDraft, faults: Record<string, string>): string | undefined {
  const readers = readersOf(draft)
  const each = Object.entries(faults).flatMap(([path, message]) => {
    const index = /^to\.(\d+)$/.exec(path)?.[1]
    return index === undefined ? [] : [`“${readers[Number(index)]}” ${message}`]
  })
  return each.length > 0 ? each.join('; ') : faults.to
}

/** The fields of the form that may have faults. */
export const SUBSCRIPTION_FIELDS = [
  'kind',
  'to',
  'url',
  'presence_name',
  'events',
  'follows',
  'link_expires_in',
  'description',
]

interface FieldsProps {
  draft: SubscriptionDraft
  change(draft: SubscriptionDraft): void
  url: string
  setUrl(url: string): void
  faults: Record<string, string>
  /** The present address of an existing subscription, masked. */
  present?: string | null
}

function MailFields({ draft, change }: FieldsProps) {
  return (
    <>
      <CheckField
        label="The first figure in the subject"
        hint="Such as “Late flights 27.3 %, up 3.7 points (Flight delays, June 2001)”. A doubtful figure is never named."
        checked={draft.subject === 'figure'}
        onChange={({ target }) => change({ ...draft, subject: target.checked ? 'figure' : 'title' })}
      />
      <CheckField
        label="Attach the PDF"
        hint="Without how it was computed, since mail is forwarded."
        checked={draft.attach}
        onChange={({ target }) => change({ ...draft, attach: target.checked })}
      />
    </>
  )
}

function TargetField(props: FieldsProps) {
  const { draft, change, url, setUrl, faults, present } = props
  if (draft.kind === 'email')
    return (
      <>
        <LinesField
          label="Readers"
          hint="One address a line, at most 50. Each reader gets a separate mail and can unsubscribe."
          required
          fault={readersFault(draft, faults)}
          placeholder="ada@example.com"
          value={draft.to}
          onChange={({ target }) => change({ ...draft, to: target.value })}
        />
        <MailFields {...props} />
      </>
    )
  return (
    <TextField
      label="Address of the incoming webhook"
      hint={
        present
          ? `Set: ${present}. Enter another to replace it, or leave this empty.`
          : 'The address that Slack, Mattermost or Rocket.Chat shows. It is stored encrypted and never shown again.'
      }
      type="password"
      autoComplete="off"
      required={!present}
      placeholder="https://hooks.slack.com/services/…"
      fault={faults.url}
      value={url}
      onChange={({ target }) => setUrl(target.value)}
    />
  )
}

/** Returns "seven days" for the seconds of a week. */
export function lifetimeWords(seconds: number): string {
  const listed = LINK_LIFETIMES.find(({ value }) => value === String(seconds))
  return listed?.label ?? duration(seconds * 1000)
}

function linkOptions(link: string) {
  const listed = LINK_LIFETIMES.map(({ value, label }) => ({ value, label: `that opens for ${label}` }))
  const known = link === '' || listed.some(({ value }) => value === link)
  const own = known ? [] : [{ value: link, label: `that opens for ${lifetimeWords(Number(link))}` }]
  return [{ value: '', label: 'no link' }, ...listed, ...own]
}

export function SubscriptionFields(props: FieldsProps) {
  const { draft, change, faults } = props
  return (
    <>
      <TargetField {...props} />
      <CheckField
        label="This is my own"
        hint="“Tell me” of a run or a schedule sends it here. One address."
        checked={draft.personal}
        onChange={({ target }) => change({ ...draft, personal: target.checked })}
      />
      <TextField
        label="Receiver name"
        hint="A run that names it is sent here; so is a run whose “Tell” chooses this subscription. The API calls it presence_name."
        fault={faults.presence_name}
        value={draft.presence_name}
        onChange={({ target }) => change({ ...draft, presence_name: target.value })}
      />
      <FollowsField
        follows={draft.follows}
        faults={faults}
        onChange={(follows) => change({ ...draft, follows })}
      />
      <ChecksField
        legend="Told when"
        options={EVENT_OPTIONS}
        chosen={draft.events}
        fault={faults.events}
        onChange={(events) => change({ ...draft, events })}
      />
      <CheckField
        label="Also runs that their condition skipped"
        hint="Sends one line for each run that had nothing to tell by the condition of its template."
        checked={draft.include_skipped}
        onChange={({ target }) => change({ ...draft, include_skipped: target.checked })}
      />
      <SelectField
        label="A link to the page in each message"
        hint="For readers who cannot sign in. It needs the public address of the service (ASSAY_PUBLIC_URL)."
        options={linkOptions(draft.link)}
        value={draft.link}
        fault={faults.link_expires_in}
        onChange={({ target }) => change({ ...draft, link: target.value })}
      />
      <TextField
        label="Description"
        fault={faults.description}
        value={draft.description}
        onChange={({ target }) => change({ ...draft, description: target.value })}
      />
    </>
  )
}
