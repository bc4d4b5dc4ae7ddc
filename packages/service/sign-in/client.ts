/**
 * Clients that people authorize: programs without a secret. A client identifies itself by a document at its own https
 * address (client id metadata document), or it registers (RFC 7591). The id of a registered client is its sealed
 * registration, so nothing is stored for clients that never return.
 */
import { AppError } from '@assay/model/errors'
import { createGuard } from '@assay/net/guard'
import { parseTargets } from '@assay/net/target'
import { LRUCache } from 'lru-cache'
import type { Ledger } from '../outgoing/ledger.ts'
import { hostOf } from '../outgoing/refusal.ts'
import { type SecretBox, SecretError } from '../runtime/secrets.ts'
import { guardedFetch } from './guarded-fetch.ts'

export interface OauthClient {
  client_id: string
  name: string
  redirect_uris: string[]
  /** The host that vouches for the name; null if none does. */
  host: string | null
}

/** A fault of a client, for its author: a code such as "invalid_redirect_uri" with a sentence. */
export class ClientFault extends Error {
  readonly code: 'invalid_client_metadata' | 'invalid_redirect_uri' | 'invalid_client'

  constructor(code: ClientFault['code'], message: string) {
    super(message)
    this.code = code
  }
}

const CONTEXT = 'oauth client'
const NAME_MOST = 100
const URIS_MOST = 10
/** The most characters of a registration, because its sealed form is part of each address. */
const SAID_MOST = 700
const DOCUMENT_MOST = 20_000
const KEPT_MS = 600_000
/** Milliseconds after which a document that could not be used is fetched again. */
const FAILED_MS = 30_000

const isLoopback = ({ protocol, hostname }: URL): boolean =>
  protocol === 'http:' && ['127.0.0.1', '[::1]', 'localhost'].includes(hostname)

/**
 * Tells whether a text is an https address, or an http address on the person's own machine. Other schemes may belong
 * to any program there.
 */
function isRedirectUri(text: unknown): text is string {
  if (typeof text !== 'string' || text.length > 500 || /[\s\p{Cc}\\]/u.test(text) || !URL.canParse(text))
    return false
  const url = new URL(text)
  if (text.includes('#') || url.username !== '' || url.password !== '') return false
  return url.protocol === 'https:' || isLoopback(url)
}

/**
 * Tells whether a redirect URI is registered. It must be equal, except for the port on the person's own machine (RFC
 * 8252, 7.3).
 */
export function allowsRedirect({ redirect_uris }: OauthClient, given: string): boolean {
  if (!isRedirectUri(given)) return false
  const url = new URL(given)
  const withoutPort = (text: string): string => {
    const own = new URL(text)
    own.port = ''
    return own.href
  }
  return redirect_uris.some(
    (one) =>
      one === given ||
      (isLoopback(url) && isLoopback(new URL(one)) && withoutPort(one) === withoutPort(given)),
  )
}

function saidBy(document: unknown): { name: string; redirect_uris: string[] } {
  const {
    client_name,
    redirect_uris,
    token_endpoint_auth_method = 'none',
  } = (document ?? {}) as Record<string, unknown>
  if (!Array.isArray(redirect_uris) || redirect_uris.length === 0 || redirect_uris.length > URIS_MOST)
    throw new ClientFault('invalid_redirect_uri', `redirect_uris must list 1 to ${URIS_MOST} addresses.`)
  const wrong: unknown = redirect_uris.find((one) => !isRedirectUri(one))
  if (wrong !== undefined)
    throw new ClientFault(
      'invalid_redirect_uri',
      'Each of redirect_uris must be https, or http on 127.0.0.1, [::1] or localhost, without "#" and a name.',
    )
  if (token_endpoint_auth_method !== 'none')
    throw new ClientFault('invalid_client_metadata', 'token_endpoint_auth_method must be none: use PKCE.')
  const name = typeof client_name === 'string' ? client_name : ''
  const tidy = name
    .toWellFormed()
    // The page shows the name in quotes, so the name must not end them.
    .replace(/["\p{Pi}\p{Pf}\u201a\u201e\u301d-\u301f\uff02]/gu, '')
    .replace(/[\p{C}\s]+/gu, ' ')
    .trim()
    .slice(0, NAME_MOST)
    .toWellFormed()
  return { name: tidy, redirect_uris: redirect_uris as string[] }
}

/** Returns the client of a registration. Throws ClientFault. */
export function register(secrets: SecretBox, document: unknown): OauthClient {
  const { name, redirect_uris } = saidBy(document)
  const said = JSON.stringify([name, redirect_uris])
  if (said.length > SAID_MOST)
    throw new ClientFault(
      'invalid_client_metadata',
      `client_name and redirect_uris may have ${SAID_MOST} characters together.`,
    )
  return { client_id: secrets.sealForOthers(said, CONTEXT), name, redirect_uris, host: null }
}

function registered(secrets: SecretBox, client_id: string): OauthClient {
  try {
    const [name, redirect_uris] = JSON.parse(secrets.open(client_id, CONTEXT)) as [string, string[]]
    return { client_id, name, redirect_uris, host: null }
  } catch (error) {
    if (!(error instanceof SecretError)) throw error
    throw new ClientFault('invalid_client', 'This client is not registered here: let it register again.')
  }
}

const unread = (why: string): ClientFault =>
  new ClientFault('invalid_client', `The document of the client at its own address cannot be used: ${why}.`)

/** Returns the client of a document at its own address. Throws ClientFault. */
export function documented(client_id: string, document: unknown): OauthClient {
  const own = (document as { client_id?: unknown } | null)?.client_id
  if (own !== client_id) throw unread('its client_id is another address')
  const said = saidBy(document)
  if (said.name === '') throw unread('client_name is missing')
  return { client_id, ...said, host: new URL(client_id).host }
}

/** Tells whether the id is an https address with a path, and without parts that hide where it leads. */
export function isDocumentAddress(client_id: string): boolean {
  if (!/^https:\/\/[^/?#@\\\s]+\/[^#\\\s]+$/.test(client_id) || !URL.canParse(client_id)) return false
  return new URL(client_id).href === client_id
}

/** The user and workspace for whom a client is read. */
interface Asker {
  workspace_id: string
  user_id: string
}

export interface Clients {
  /**
   * Resolves with the client. Rejects with ClientFault, also if the workspace may not reach the host, and with
   * `rate_limited` for a user who asks for too many.
   */
  read(client_id: string, asker: Asker): Promise<OauthClient>
  close(): Promise<void>
}

interface ClientsOptions {
  secrets: SecretBox
  /** Returns monotonic milliseconds. */
  now: () => number
  /** Counts a fetched document as a download of the workspace. */
  ledger: Pick<Ledger, 'vetHost' | 'take' | 'addBytes'>
  /** Limits the documents that a user may have fetched. */
  fetches: { take(key: string): { allowed: boolean; reset: number } }
  /** Fetches a document; tests replace it. */
  fetchText?: (url: string) => Promise<string>
}

export function createClients({ secrets, now, ledger, fetches, fetchText }: ClientsOptions): Clients {
  const guard = createGuard({ targets: parseTargets(['public']) })
  /** The cached clients. A fetch under way is cached too, so that two requests at once share it. */
  const kept = new LRUCache<string, Promise<OauthClient>>({
    max: 200,
    ttl: KEPT_MS,
    ttlResolution: 0,
    // The library treats a time of 0 as no time, so the clock begins at 1.
    perf: { now: () => now() + 1 },
  })

  async function fetched(url: string): Promise<string> {
    const signal = AbortSignal.timeout(5000)
    const answer = await guardedFetch(guard, url, {
      method: 'GET',
      headers: { accept: 'application/json' },
      signal,
    })
    if (answer.status !== 200) throw unread(`it answers ${answer.status}`)
    return answer.text()
  }

  async function readDocument(client_id: string, { workspace_id }: Asker): Promise<OauthClient> {
    const text = await (fetchText ?? fetched)(client_id).catch((error: unknown) => {
      throw error instanceof ClientFault ? error : unread('it cannot be reached')
    })
    ledger.addBytes(workspace_id, 'download', text.length)
    if (text.length > DOCUMENT_MOST) throw unread('it is too long')
    let document: unknown
    try {
      document = JSON.parse(text)
    } catch {
      throw unread('it is not JSON')
    }
    return documented(client_id, document)
  }

  return {
    async read(client_id, asker) {
      if (!client_id.startsWith('https:')) return registered(secrets, client_id)
      if (!isDocumentAddress(client_id)) throw unread('the address must be https with a path')
      const { workspace_id, user_id } = asker
      // The host is checked for a cached document too, because another workspace may have fetched it.
      const barred = await ledger.vetHost(workspace_id, 'download', hostOf(client_id))
      if (barred) throw unread(barred.text)
      const known = kept.get(client_id)
      if (known) return known
      const { allowed, reset } = fetches.take(`${workspace_id} ${user_id}`)
      if (!allowed)
        throw new AppError('rate_limited', `Too many programs at once: wait ${reset} seconds.`, {
          retryAfter: reset,
        })
      const refusal = await ledger.take(workspace_id, 'download')
      if (refusal) throw unread(refusal.text)
      // Another fetch may have begun while the ledger answered.
      const meanwhile = kept.get(client_id)
      if (meanwhile) return meanwhile
      const reading = readDocument(client_id, asker)
      kept.set(client_id, reading)
      reading.catch(() => kept.set(client_id, reading, { ttl: FAILED_MS }))
      return reading
    },
    close: () => guard.close(),
  }
}
