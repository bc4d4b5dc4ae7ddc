/**
 * The sign-in provider: OpenID Connect's authorization code flow with PKCE, state and nonce, by openid-client. The
 * library is loaded with the first sign-in. The metadata of the provider are read anew each hour and after an answer
 * that cannot be trusted; its keys are read again if a token names an unknown one. The signature of the ID token is
 * checked, too, although it comes by TLS: `none` and secrets shared with the provider are no signatures here.
 */
import type { Clock } from '@assay/model/clock'
import type { Identity } from '@assay/model/token'
import type * as Library from 'openid-client'
import { createRateLimiter } from '../api/http/rate-limiter.ts'
import type { Config } from '../config/config.ts'
import { groupsOf } from './groups.ts'
import { guardedFetch, guardFor } from './guarded-fetch.ts'
import { SignInRefusal } from './refusal.ts'
import { refusalOf } from './refusal-of.ts'

const KNOWN_MS = 3_600_000
/** The most exchanges of codes at a time. Each holds a connection for as long as the provider lets it wait. */
const UNDER_WAY_MOST = 100
/** How often the metadata are read again after answers that cannot be trusted. Anybody can bring such an answer. */
const RENEWALS = { burst: 5, perSecond: 1 / 60 }
const TIMEOUT_SECONDS = 10
/** The most seconds by which the clocks may differ. */
const SKEW_SECONDS = 60
/** The most characters of a subject (OpenID Connect Core, section 2). */
const SUBJECT_MOST = 255
const NAME_MOST = 255

/** The state that the browser keeps, sealed, until it returns from the provider. */
export interface Begun {
  state: string
  nonce: string
  verifier: string
}

/** The person that the provider has signed in. */
export interface Person extends Identity {
  username: string
  display_name: string | null
  groups: string[]
}

export interface Provider {
  /** The label of the button. */
  name: string
  /** Begins a sign-in. Resolves with the address at the provider for the browser. Rejects with SignInRefusal. */
  begin(): Promise<{ address: string; begun: Begun }>
  /**
   * Ends a sign-in. `search`: the query with which the provider has sent the browser back. Rejects with
   * SignInRefusal.
   */
  finish(search: string, begun: Begun): Promise<Person>
  /** Resolves with the address that ends the session at the provider; null if the provider has none. */
  signOut(): Promise<string | null>
  close(): Promise<void>
}

type Settings = Pick<
  Config,
  | 'oidcIssuer'
  | 'oidcName'
  | 'oidcClientId'
  | 'oidcClientSecret'
  | 'oidcScopes'
  | 'oidcGroupsClaim'
  | 'publicUrl'
>

/** The path of the redirect URI, to which the provider sends the browser back. */
const CALLBACK = '/auth/callback'

/** Creates the sign-in provider. Returns null if the settings name none. */
export function createProvider(config: Settings, clock: Clock): Provider | null {
  const { oidcIssuer, oidcClientId, publicUrl } = config
  if (oidcIssuer === null || oidcClientId === null || publicUrl === null) return null
  const given = { ...config, oidcIssuer, oidcClientId, publicUrl }
  const guard = guardFor(oidcIssuer)
  const renewals = createRateLimiter(clock, RENEWALS)
  let underWay = 0
  let known: { at: number; found: Promise<Found> } | undefined

  function found(): Promise<Found> {
    if (known && clock.now() - known.at < KNOWN_MS) return known.found
    const asked = { at: clock.now(), found: discover(given, guard) }
    known = asked
    // The next sign-in repeats a failed request.
    asked.found.catch(() => {
      if (known === asked) known = undefined
    })
    return asked.found
  }

  return {
    name: config.oidcName ?? new URL(oidcIssuer).host,
    begin: async () => beginWith(await found(), given),
    async finish(search, begun) {
      if (underWay >= UNDER_WAY_MOST)
        throw new SignInRefusal('provider_unreachable', `${underWay} sign-ins wait for its answer`)
      underWay += 1
      try {
        return await finishWith(await found(), given, search, begun)
      } catch (error) {
        // The provider may have new keys or addresses, so the next sign-in reads its metadata again.
        if (error instanceof SignInRefusal && error.reason === 'answer_invalid' && renewals.take('').allowed)
          known = undefined
        throw error
      } finally {
        underWay -= 1
      }
    },
    async signOut() {
      const { library, provider } = await found()
      if (provider.serverMetadata().end_session_endpoint === undefined) return null
      const back = { post_logout_redirect_uri: `${publicUrl}/sign-in` }
      return library.buildEndSessionUrl(provider, back).href
    },
    close: () => guard.close(),
  }
}

type Named = Settings & { oidcIssuer: string; oidcClientId: string; publicUrl: string }

interface Found {
  library: typeof Library
  provider: Library.Configuration
}

async function discover(given: Named, guard: ReturnType<typeof guardFor>): Promise<Found> {
  const library = await import('openid-client')
  const { oidcIssuer, oidcClientId, oidcClientSecret } = given
  const issuer = new URL(oidcIssuer)
  const metadata = { [library.clockTolerance]: SKEW_SECONDS }
  /**
   * Authenticates the service by HTTP Basic unless the metadata say otherwise (OpenID Connect Discovery, section 3).
   */
  const authenticate: Library.ClientAuth = (server, client, body, headers) => {
    const ways = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
    const way =
      oidcClientSecret === null
        ? library.None()
        : ways.includes('client_secret_basic')
          ? library.ClientSecretBasic(oidcClientSecret)
          : library.ClientSecretPost(oidcClientSecret)
    return way(server, client, body, headers)
  }
  try {
    const provider = await library.discovery(issuer, oidcClientId, metadata, authenticate, {
      timeout: TIMEOUT_SECONDS,
      execute: [
        library.enableNonRepudiationChecks,
        ...(issuer.protocol === 'http:' ? [library.allowInsecureRequests] : []),
      ],
      [library.customFetch]: (url, options) => guardedFetch(guard, url, options),
    })
    return { library, provider }
  } catch (error) {
    throw refusalOf(error, library)
  }
}

async function beginWith({ library, provider }: Found, given: Named) {
  const begun = {
    state: library.randomState(),
    nonce: library.randomNonce(),
    verifier: library.randomPKCECodeVerifier(),
  }
  const { href } = library.buildAuthorizationUrl(provider, {
    redirect_uri: `${given.publicUrl}${CALLBACK}`,
    scope: given.oidcScopes,
    state: begun.state,
    nonce: begun.nonce,
    code_challenge: await library.calculatePKCECodeChallenge(begun.verifier),
    code_challenge_method: 'S256',
  })
  return { address: href, begun }
}

async function finishWith(
  { library, provider }: Found,
  { publicUrl, oidcGroupsClaim }: Named,
  search: string,
  { state, nonce, verifier }: Begun,
): Promise<Person> {
  try {
    const tokens = await library.authorizationCodeGrant(
      provider,
      new URL(`${publicUrl}${CALLBACK}${search}`),
      { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier, idTokenExpected: true },
    )
    const claims = tokens.claims()!
    // Some providers put names and groups into the user info only.
    const asks =
      groupsOf(claims, oidcGroupsClaim) === null && provider.serverMetadata().userinfo_endpoint !== undefined
    const more = asks ? await library.fetchUserInfo(provider, tokens.access_token, claims.sub) : {}
    return personOf({ ...more, ...claims }, oidcGroupsClaim, provider.serverMetadata().issuer)
  } catch (error) {
    throw refusalOf(error, library)
  }
}

/** Returns the text without invisible characters if it has at most `most` characters; else null. */
function textOf(value: unknown, most = NAME_MOST): string | null {
  if (typeof value !== 'string') return null
  const text = value
    .toWellFormed()
    .replace(/\p{C}+/gu, ' ')
    .trim()
    .slice(0, most)
    .toWellFormed()
  return text === '' ? null : text
}

/** Reads the person from the claims. `expected`: the issuer that the provider publishes. Throws SignInRefusal. */
export function personOf(
  claims: Readonly<Record<string, unknown>>,
  groupsClaim: string,
  expected: string,
): Person {
  const { iss, sub, name, preferred_username, email } = claims
  // The library accepts any tenant that a token of a multi-tenant issuer names, so the issuer is compared here.
  if (iss !== expected)
    throw new SignInRefusal('answer_invalid', 'the issuer of the ID token is not the one that is published')
  const issuer = textOf(iss)
  const subject = textOf(sub, SUBJECT_MOST + 1)
  if (issuer === null || subject === null || subject !== sub || subject.length > SUBJECT_MOST)
    throw new SignInRefusal('answer_invalid', 'the claim sub is not a text of at most 255 characters')
  return {
    issuer,
    subject,
    username: textOf(preferred_username) ?? textOf(email) ?? subject,
    display_name: textOf(name),
    groups: groupsOf(claims, groupsClaim) ?? [],
  }
}
