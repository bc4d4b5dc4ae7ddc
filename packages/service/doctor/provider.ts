/** Checks the sign-in provider: its metadata, its clock, and whether it accepts the client with its redirect address. */
import { systemClock } from '@assay/model/clock'
import type { Config } from '../config/config.ts'
import { guardedFetch, guardFor } from '../sign-in/guarded-fetch.ts'
import { createProvider } from '../sign-in/provider.ts'
import { SignInRefusal } from '../sign-in/refusal.ts'
import { type Finding, failed, ok, unused, warning } from './finding.ts'

const PART = 'sign-in provider'
const PATIENCE_MS = 10_000
/** The most milliseconds by which the clocks may differ at a sign-in. */
const SKEW_MS = 60_000
const CHECK = 'Check ASSAY_OIDC_ISSUER, and that this machine may reach the provider.'

/** Checks the provider with the first request of a sign-in, as a browser sends it. Nobody is signed in. */
export async function signInProvider(config: Config): Promise<Finding> {
  const { oidcIssuer, oidcClientId, publicUrl } = config
  const provider = createProvider(config, systemClock)
  if (oidcIssuer === null || provider === null)
    return unused(PART, 'Nobody signs in by a provider: ASSAY_OIDC_ISSUER is not set.')
  const guard = guardFor(oidcIssuer)
  try {
    const { address } = await provider.begin()
    const ask = (url: string) => {
      const signal = AbortSignal.timeout(PATIENCE_MS)
      return guardedFetch(guard, url, { method: 'GET', headers: { accept: 'text/html' }, signal })
    }
    const answer = await ask(address)
    const to = answer.headers.get('location')
    const told = to === null ? null : new URL(to, address).searchParams.get('error')
    const redirect = `${publicUrl}/auth/callback`
    if (answer.status >= 400 || told !== null)
      return failed(
        PART,
        `${oidcIssuer} refuses the client ${oidcClientId} with the redirect address ${redirect} (${told ?? answer.status}).`,
        `Enter ${redirect} as a redirect URI of the client at the provider, and check ASSAY_OIDC_CLIENT_ID, ASSAY_OIDC_SCOPES and ASSAY_PUBLIC_URL.`,
      )
    const theirs = Date.parse(answer.headers.get('date') ?? '')
    if (Math.abs(theirs - Date.now()) > SKEW_MS)
      return warning(
        PART,
        `The clock of ${oidcIssuer} says ${new Date(theirs).toISOString()}, and this machine ${new Date().toISOString()}.`,
        'Let both follow a time server: a sign-in fails where they are more than a minute apart.',
      )
    return ok(PART, `${oidcIssuer} begins a sign-in of ${oidcClientId}, which comes back to ${redirect}.`)
  } catch (error) {
    const { message } = error as Error
    const why = error instanceof SignInRefusal ? `${message}: ${error.told}` : message
    return failed(PART, `${oidcIssuer} cannot be used: ${why}.`, CHECK)
  } finally {
    await Promise.all([guard.close(), provider.close()])
  }
}
