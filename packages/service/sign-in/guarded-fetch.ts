/** Requests to the sign-in provider through the guarded connector: vetted addresses, no redirect, bounded answers. */
import { createGuard, type Guard } from '@assay/net/guard'
import { parseTargets, portOf } from '@assay/net/target'

/** The most bytes of one answer. The largest answers of providers are lists of keys, with some 20 KB. */
const ANSWER_MOST = 500_000

/** Makes a guard that allows public addresses, and the host of the issuer wherever it is. */
export function guardFor(issuer: string): Guard {
  const url = new URL(issuer)
  return createGuard({ targets: parseTargets(['public', `${url.hostname}:${portOf(url)}`]) })
}

interface Asked {
  method: string
  headers: Record<string, string>
  body?: unknown
  signal?: AbortSignal | undefined
}

/**
 * Sends a request. Rejects with an Error if the answer is too large, and with the errors of the guard and of undici.
 */
export async function guardedFetch(
  { dispatcher }: Guard,
  url: string,
  { method, headers, body, signal }: Asked,
): Promise<Response> {
  const { fetch } = await import('undici')
  const answer = await fetch(url, {
    method,
    headers,
    redirect: 'manual',
    dispatcher,
    ...(typeof body === 'string' || body instanceof URLSearchParams ? { body: body.toString() } : {}),
    ...(signal ? { signal } : {}),
  })
  const parts: Uint8Array[] = []
  let length = 0
  for await (const part of answer.body ?? []) {
    length += part.length
    if (length > ANSWER_MOST) throw new Error(`The answer has more than ${ANSWER_MOST} bytes.`)
    parts.push(part)
  }
  const empty = [101, 204, 205, 304].includes(answer.status)
  return new Response(empty ? null : Buffer.concat(parts), {
    status: answer.status,
    headers: [...answer.headers],
  })
}
