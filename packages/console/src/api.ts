/**
 * Calls the service for the console: the public API by the typed client, and TanStack Query's cache over it. The
 * client itself repeats requests, so the cache does not.
 */

import { type Client, ClientError, carryTag, createClient } from '@assay/client'
import type { Scope } from '@assay/model/token'
import {
  type InvalidateOptions,
  type InvalidateQueryFilters,
  MutationCache,
  QueryCache,
  QueryClient,
  type QueryKey,
  replaceEqualDeep,
  useQuery,
} from '@tanstack/react-query'
import { below, SERVICE } from './pages/address.ts'
import { endSession, signInId } from './session.ts'

const RETRIES = 2
let client: Client | undefined

/** Returns the client. The browser adds the cookie of the sign-in to its requests. */
export function api(): Client {
  client ??= createClient({ url: SERVICE, token: null, retries: RETRIES })
  return client
}

/** Returns what a request gives, or null if there is no such object. Other faults are thrown. */
export async function orNull<T>(asked: Promise<T>): Promise<T | null> {
  try {
    return await asked
  } catch (error) {
    if (error instanceof ClientError && error.status === 404) return null
    throw error
  }
}

/** Ends the session if the service refuses its cookie in any request. */
export function onError(error: unknown): void {
  if (error instanceof ClientError && error.status === 401 && signInId() !== null) endSession('expired')
}

/**
 * A client that drops requests under way after a change, because their answers can be older than the change. TanStack
 * alone waits for the first request of a page and shows its answer as the new one, until the page is opened again.
 */
class FreshQueryClient extends QueryClient {
  override async invalidateQueries<Key extends QueryKey = QueryKey>(
    filters?: InvalidateQueryFilters<Key>,
    options?: InvalidateOptions,
  ): Promise<void> {
    await this.cancelQueries(filters)
    await super.invalidateQueries(filters, options)
  }

  /** Keeps the service's answer to a change. */
  keep(queryKey: QueryKey, answer: unknown): void {
    void this.cancelQueries({ queryKey, exact: true })
    this.setQueryData(queryKey, answer)
  }
}

/** Keeps unchanged parts of an answer, so that the page need not be drawn anew, and the tag of the new answer. */
function sharedWith(before: unknown, after: unknown): unknown {
  const shared: unknown = replaceEqualDeep(before, after)
  const isObject = typeof shared === 'object' && shared !== null
  return isObject && typeof after === 'object' && after !== null ? carryTag(after, shared) : shared
}

export const queryClient = new FreshQueryClient({
  queryCache: new QueryCache({ onError }),
  mutationCache: new MutationCache({ onError }),
  defaultOptions: {
    queries: {
      retry: false,
      staleTime: 5_000,
      refetchOnWindowFocus: true,
      structuralSharing: sharedWith,
    },
  },
})

/** Ends the session here and at the service. Drafts of forms are deleted. Throws if the service cannot be reached. */
export async function signOut(
  end: (client: Client) => Promise<unknown> = ({ logout }) => logout(),
): Promise<void> {
  const isProvided = queryClient.getQueryData<{ by_provider?: boolean }>(['me'])?.by_provider === true
  await end(api()).catch((error: unknown) => {
    // A refusal with 401 means that the session has ended already.
    if (!(error instanceof ClientError && error.status === 401)) throw error
  })
  for (const key of Object.keys(sessionStorage))
    if (key.startsWith('assay.draft.')) sessionStorage.removeItem(key)
  endSession()
  // The provider's session is ended too. Otherwise the next person at this browser would be signed in by one click.
  if (isProvided) location.assign(below('/auth/end'))
}

export function useMe() {
  return useQuery({ queryKey: ['me'], queryFn: () => api().me(), staleTime: Number.POSITIVE_INFINITY })
}

const ORDER: readonly Scope[] = ['viewer', 'analyst', 'publisher', 'admin']

/** Tells whether the session has this scope; false until that is known. */
export function useMay(scope: Scope): boolean {
  const scopes = useMe().data?.scopes ?? []
  return scopes.some((held) => ORDER.indexOf(held) >= ORDER.indexOf(scope))
}

/** Tells whether the sign-in is of a token that is limited to templates; true until that is known. */
export function useIsLimited(): boolean {
  const me = useMe().data
  return me === undefined || me.templates !== null
}

/** Returns the faults of a refusal, by their path without the prefix ("origin" for "payload.template_vars.origin"). */
export function faultsOf(error: unknown, prefix = ''): Record<string, string> {
  const errors = error instanceof ClientError ? (error.problem?.errors ?? []) : []
  const own = errors.filter(({ path }) => path.startsWith(prefix))
  return Object.fromEntries(own.map(({ path, message }) => [path.slice(prefix.length), message]))
}

/** Tells whether a refusal has faults, and a form with these fields shows all of them. */
export function areShown(faults: Record<string, string>, fields: readonly string[]): boolean {
  const paths = Object.keys(faults)
  return paths.length > 0 && paths.every((path) => fields.includes(path.split('.')[0]!))
}
