/**
 * Limits of wrong passwords. They count by network and by name, on all nodes together, and waits grow. A device that
 * has logged in as a user before has a count of its own, so that guesses from elsewhere do not lock the owner out
 * (OWASP, "Slow Down Online Guessing Attacks with Device Cookies").
 */
import { randomBytes } from 'node:crypto'
import { AppError } from '@assay/model/errors'
import { DEFAULT_WORKSPACE } from '@assay/model/token'
import { networkOf, siteOf } from '@assay/net/proxies'
import type { Bucket } from '@assay/store/contract/allowances'
import type { Store } from '@assay/store/store'
import { hashToken, type SecretBox, SecretError } from '../../runtime/secrets.ts'
import { rateHeaders } from '../http/auth.ts'
import { type CookieForm, cookieRest } from '../http/sign-in-cookie.ts'

const COOKIE = 'assay_device'
const DEVICE_SECONDS = 365 * 86_400
const CONTEXT = 'device'
const OF_DEFAULT = `@${DEFAULT_WORKSPACE}`

const FROM_A_NETWORK = { burst: 60, per_second: 1 }
/** The limit of a site of IPv6, which has 65,536 networks, or of 256 neighbours of IPv4. */
const FROM_A_SITE = { burst: 600, per_second: 10 }
/**
 * The limit of a name from one network, or from a known device: ten, then one in 30 seconds, and after 20 one in ten
 * minutes.
 */
const OF_ONE = [
  { burst: 10, per_second: 1 / 30 },
  { burst: 20, per_second: 1 / 600 },
]
/** The limit of a name from all unknown devices together: a hundred, then one a minute. */
const OF_ALL = { burst: 100, per_second: 1 / 60 }

/** Returns the device that the cookies of a request name if it has logged in as this user before, else null. */
export function deviceOf(secrets: SecretBox, cookies: string | undefined, user_id: string): string | null {
  const sealed = new RegExp(`(?:^|;\\s*)${COOKIE}=([\\w.-]{1,400})`).exec(cookies ?? '')?.[1]
  if (sealed === undefined) return null
  try {
    const [device, user] = secrets.open(sealed, CONTEXT).split(' ')
    return user === user_id ? device! : null
  } catch (error) {
    // The cookie belongs to another service on this host, or was sealed with a key that is gone.
    if (error instanceof SecretError) return null
    throw error
  }
}

/** Returns the cookie by which later logins know the device. The browser sends it to the login only. */
export function deviceCookie(secrets: SecretBox, user_id: string, form: CookieForm): string {
  const sealed = secrets.sealForOthers(`${randomBytes(16).toString('hex')} ${user_id}`, CONTEXT)
  return `${COOKIE}=${sealed}; ${cookieRest(DEVICE_SECONDS, 'Strict', form, '/v1alpha/auth')}`
}

/**
 * Returns the buckets that a login counts against. Names are hashed, because people sometimes type their password as
 * a name.
 */
export function bucketsOf(address: string, username: string, device: string | null): Bucket[] {
  const network = networkOf(address)
  // A user of the default workspace has two spellings, which count together.
  const name = hashToken(username.endsWith(OF_DEFAULT) ? username.slice(0, -OF_DEFAULT.length) : username)
  const ofOne = (who: string): Bucket[] =>
    OF_ONE.map((rate) => ({ key: `login as ${who}, ${rate.burst}`, ...rate }))
  if (device !== null) return ofOne(`device ${device}`)
  return [
    { key: `login from ${network}`, ...FROM_A_NETWORK },
    { key: `login from the site ${siteOf(address)}`, ...FROM_A_SITE },
    ...ofOne(`${name} from ${network}`),
    { key: `login as ${name}`, ...OF_ALL },
  ]
}

/** Throws `rate_limited` if a limit is reached. */
export async function countGuess(store: Store, buckets: Bucket[]): Promise<void> {
  const allowance = await store.takeAllowances(buckets)
  if (!allowance.allowed)
    throw new AppError('rate_limited', `Too many failed logins: wait ${allowance.reset} seconds.`, {
      retryAfter: allowance.reset,
      headers: rateHeaders(allowance),
    })
}
