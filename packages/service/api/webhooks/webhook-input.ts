/** What a client may set of a webhook: its address, its headers, its events and the pace of its deliveries. */

import type { FieldError } from '@assay/model/errors'
import { EVENT_TYPES } from '@assay/model/event'
import { nullable, Type } from '@assay/model/schema'
import type { Principal } from '@assay/model/token'
import {
  FORMATS,
  HEADERS_MOST,
  type HeaderChange,
  headerContext,
  LINEAGE_EVENTS,
  type SealedHeader,
  SIGNATURES,
} from '@assay/model/webhook'
import { vetUrl } from '@assay/net/target'
import type { Static } from 'typebox'
import { hostFaults } from '../../outgoing/host-faults.ts'
import { hostOf } from '../../outgoing/refusal.ts'
import { fingerprint, type SecretBox } from '../../runtime/secrets.ts'
import type { Services } from '../dependencies.ts'
import { Name } from '../http/fields.ts'

const WEEK_SECONDS = 7 * 24 * 3600
const VALUE_MOST = 4096

const Url = Type.String({
  minLength: 1,
  maxLength: 2048,
  description:
    'http or https, without user info. ASSAY_WEBHOOK_TARGETS decides which addresses are allowed, and the hosts of `GET /v1alpha/outgoing` which of them this workspace may reach',
})
const Events = Type.Array(Type.Enum([...EVENT_TYPES, '*']), {
  minItems: 1,
  uniqueItems: true,
  description: 'Event types; `*`: all; absent: the three that end a job',
})
const HeaderName = Type.String({ minLength: 1, maxLength: 255 })
const Public = Type.Boolean({
  description: 'Whether answers and attempts show the value, because it is no secret (default false)',
})
const Description = Type.String({ maxLength: 1000 })
const Schedule = Type.Array(Type.Number({ minimum: 0, maximum: WEEK_SECONDS }), {
  maxItems: 20,
  description: 'Seconds between tries, each with a fifth of jitter; empty: a single try',
})
const InFlight = Type.Integer({ minimum: 1, maximum: 1000 })
/**
 * A rate in deliveries a second. The least is one in about 17 minutes. At a lower rate deliveries would wait for
 * longer than they are tried.
 */
const Rate = Type.Number({ minimum: 0.001, maximum: 10_000 })

/** The fields that a client may set of a webhook and of a subscription alike, when it creates or changes one. */
export const PaceInput = {
  description: Type.Optional(nullable(Description)),
  retry_schedule: Type.Optional(nullable(Schedule)),
  max_in_flight: Type.Optional(nullable(InFlight)),
  rate_per_second: Type.Optional(nullable(Rate)),
}

export const WebhookInput = Type.Object({
  url: Url,
  headers: Type.Optional(
    Type.Array(Type.Object({ name: HeaderName, value: Type.String(), public: Type.Optional(Public) }), {
      maxItems: HEADERS_MOST,
      description:
        'Sent with every request. Values are stored encrypted and never shown again, unless they are public',
    }),
  ),
  user_id: Name,
  presence_name: Name,
  events: Type.Optional(Events),
  signature: Type.Optional(Type.Enum([...SIGNATURES])),
  format: Type.Optional(
    Type.Enum([...FORMATS], {
      description:
        'What the requests hold: the events as Standard Webhooks has them (default), or every run of the workspace as OpenLineage has it. It does not change',
    }),
  ),
  ...PaceInput,
})
export type WebhookInput = Static<typeof WebhookInput>

export const WebhookChange = Type.Object({
  url: Type.Optional(Url),
  headers: Type.Optional(
    nullable(
      Type.Array(
        Type.Object({ name: HeaderName, value: nullable(Type.String()), public: Type.Optional(Public) }),
        {
          minItems: 1,
          maxItems: HEADERS_MOST,
          description:
            'By name: a value sets the header, null removes it, other headers stay. null instead of the list removes all',
        },
      ),
    ),
  ),
  user_id: Type.Optional(Name),
  presence_name: Type.Optional(Name),
  events: Type.Optional(nullable(Events)),
  status: Type.Optional(Type.Enum(['enabled', 'disabled'])),
  ...PaceInput,
})
export type WebhookChange = Static<typeof WebhookChange>

/** Returns the faults of a webhook for OpenLineage whose events are not of runs. */
export function lineageFaults(events: readonly string[] | null | undefined): FieldError[] {
  const known: readonly string[] = LINEAGE_EVENTS
  if (events !== null && (events ?? []).every((one) => known.includes(one))) return []
  return [{ path: 'events', message: `must be among ${known.join(', ')} with the format openlineage` }]
}

/** Headers that the service sets itself, or that would change the framing of the message. */
const REFUSED =
  /^(host|content-.*|connection|keep-alive|te|trailer|transfer-encoding|upgrade|expect|proxy-.*|user-agent|webhook-.*)$/

interface GivenHeader {
  name: string
  value: string | null
  public?: boolean
}

export function headerFaults(headers: readonly GivenHeader[]): FieldError[] {
  const faults: FieldError[] = []
  const names = new Set<string>()
  for (const [index, { name, value }] of headers.entries()) {
    const lower = name.toLowerCase()
    const fault = (field: string, message: string): void =>
      void faults.push({ path: `headers.${index}.${field}`, message })
    if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name))
      fault('name', 'must be the name of an HTTP header: letters, digits and hyphens')
    else if (REFUSED.test(lower))
      fault('name', `${lower} is set by the service or frames the message: leave it out`)
    else if (names.has(lower)) fault('name', `${lower} is given twice`)
    names.add(lower)
    if (value === null) continue
    if (!/^[\x20-\x7e\xa0-\xff]*$/.test(value))
      fault('value', 'must be visible Latin-1 characters and spaces')
    else if (value.length > VALUE_MOST) fault('value', `must be at most ${VALUE_MOST} bytes`)
  }
  return faults
}

/**
 * Returns the faults of an address, if one is given. The address may lead only to where the service and the workspace
 * may send.
 */
export async function urlFaults(
  { targets, ledger }: Pick<Services, 'targets' | 'ledger'>,
  { workspace_id }: Pick<Principal, 'workspace_id'>,
  kind: 'webhook' | 'chat',
  url: string | undefined,
): Promise<FieldError[]> {
  if (url === undefined) return []
  const vetted = vetUrl(url, targets)
  if (!vetted.ok) return [{ path: 'url', message: vetted.fault }]
  return hostFaults({ ledger, workspace_id, kind }, hostOf(url), 'url')
}

export function sealHeader(
  secrets: SecretBox,
  webhook_id: string,
  { name, value, public: open = false }: GivenHeader & { value: string },
): SealedHeader {
  return {
    name,
    sealed: secrets.seal(value, headerContext(webhook_id, name)),
    fingerprint: fingerprint(value),
    ...(open ? { public_value: value } : {}),
  }
}

export function headerChanges(
  secrets: SecretBox,
  webhook_id: string,
  given: readonly GivenHeader[] | null,
): HeaderChange[] | null {
  if (given === null) return null
  return given.map((header) => {
    const { name, value } = header
    return { name, sealed: value === null ? null : sealHeader(secrets, webhook_id, { ...header, value }) }
  })
}
