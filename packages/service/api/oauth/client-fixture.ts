/**
 * For tests: the provider of the official client library. It holds what a client keeps between its steps, and the
 * address to which it is sent.
 */
import type { OAuthClientProvider } from '@modelcontextprotocol/client'

export function keeper(redirectUrl: string) {
  const kept: Record<string, unknown> = {}
  const provider = {
    redirectUrl,
    clientMetadata: {
      client_name: 'Lantern',
      redirect_uris: [redirectUrl],
      token_endpoint_auth_method: 'none',
    },
    state: () => '12345678901234567890',
    clientInformation: () => kept.client,
    saveClientInformation: (client: unknown) => void (kept.client = client),
    tokens: () => kept.tokens,
    saveTokens: (tokens: unknown) => void (kept.tokens = tokens),
    redirectToAuthorization: (url: URL) => void (kept.address = url),
    saveCodeVerifier: (verifier: string) => void (kept.verifier = verifier),
    codeVerifier: () => kept.verifier,
    discoveryState: () => kept.found,
    saveDiscoveryState: (found: unknown) => void (kept.found = found),
  }
  return { kept, provider: provider as unknown as OAuthClientProvider }
}

export type Tokens = { access_token: string; refresh_token: string; scope: string; expires_in: number }
