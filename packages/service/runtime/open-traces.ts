/** Opens the traces if an endpoint is set. Only then are the libraries loaded. */
import type { Traces, TracesOptions } from './traces.ts'

/** Opens the sender of traces. Returns null if no endpoint is set. */
export async function openTraces({
  url,
  ...options
}: Omit<TracesOptions, 'url'> & { url: string | null }): Promise<Traces | null> {
  if (url === null) return null
  const { createTraces } = await import('./traces-otlp.ts')
  return createTraces({ url, ...options })
}
