/**
 * The service as the console sees it: the public API by the typed client, and TanStack Query's cache over it. The client
 * itself repeats what may be repeated, so the cache does not.
 */

import { type Client, ClientError, createClient } from '@assay/client'
import type { Scope } from '@assay/model/token'
import { MutationCache, QueryCache, QueryClient, useQuery } from '@tanstack/react-query'
import { endSession, isMadeByLogin, token } from './session.ts'

const RETRIES = 2
const clients = new Map<string, Client>()

/** The client of a token; by default the token of the session. */
export function api(given: string = token() ?? ''): Client {
  const known = clients.get(given)
  if (known) return known
  const client = createClient({ url: location.origin, token: given, retries: RETRIES })
  clients.clear()
  clients.set(given, client)
  return client
}

/** Ends the session if the service refuses its token, whatever the request. */
export function onError(error: unknown): void {
  if (error instanceof ClientError && error.status === 401 && token() !== null) endSession('expired')
}

export const queryClient = new QueryClient({
  queryCache: new QueryCache({ onError }),
  mutationCache: new MutationCache({ onError }),
  defaultOptions: { queries: { retry: false, staleTime: 5_000, refetchOnWindowFocus: true } },
})

/** OAuth's password flow; returns the token. */
export async function signIn(username: string, password: string): Promise<string> {
  const response = await fetch('/v1alpha/auth/login', {
    method: 'POST',
    body: new URLSearchParams({ username, password }),
  })
  const body = (await response.json().catch(() => ({}))) as { access_token?: string; detail?: string }
  if (!response.ok || body.access_token === undefined)
    throw new ClientError(body.detail ?? 'The service did not answer.', response.status, 'unauthorized', null)
  return body.access_token
}

/** Ends the session here at once, and at the service if a login created its token. Drafts of forms are deleted. */
export function signOut(): void {
  if (isMadeByLogin())
    void api()
      .logout()
      .catch(() => undefined)
  for (const key of Object.keys(sessionStorage))
    if (key.startsWith('assay.draft.')) sessionStorage.removeItem(key)
  endSession()
}

export function useMe() {
  return useQuery({ queryKey: ['me'], queryFn: () => api().me(), staleTime: Number.POSITIVE_INFINITY })
}

const ORDER: readonly Scope[] = ['viewer', 'analyst', 'admin']

/** Whether the session has this scope; false until that is known. */
export function useMay(scope: Scope): boolean {
  const scopes = useMe().data?.scopes ?? []
  return scopes.some((held) => ORDER.indexOf(held) >= ORDER.indexOf(scope))
}

/** The faults of a refusal, by their path without the prefix ("origin" for "payload.template_vars.origin"). */
export function faultsOf(error: unknown, prefix = ''): Record<string, string> {
  const errors = error instanceof ClientError ? (error.problem?.errors ?? []) : []
  const own = errors.filter(({ path }) => path.startsWith(prefix))
  return Object.fromEntries(own.map(({ path, message }) => [path.slice(prefix.length), message]))
}
