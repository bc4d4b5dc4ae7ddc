/** Opens the traces where an endpoint is set; the libraries that trace are loaded only then. */
import type { Traces, TracesOptions } from './traces.ts'

/** Null: no endpoint is set. */
export async function openTraces({
  url,
  ...options
}: Omit<TracesOptions, 'url'> & { url: string | null }): Promise<Traces | null> {
  if (url === null) return null
  const { createTraces } = await import('./traces-otlp.ts')
  return createTraces({ url, ...options })
}
