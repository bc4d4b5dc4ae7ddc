/** What operators and their machines ask every node, whatever its roles: alive, ready, measured. */
import { timingSafeEqual } from 'node:crypto'
import Type from 'typebox'
import { AppError } from '../errors.ts'
import { hashToken } from '../runtime/secrets.ts'
import type { Services } from './parts.ts'
import { operation } from './route.ts'

const State = (word: string) => Type.Object({ status: Type.Literal(word) })

export const alive = operation({
  name: 'alive',
  tag: 'Service',
  summary: 'Whether the process is alive',
  scope: null,
  replies: { 200: { description: 'It is', schema: State('ok') } },
  handle: () => ({ status: 'ok' }),
})

export const ready = operation({
  name: 'ready',
  tag: 'Service',
  summary: 'Whether the node can do its work',
  description: 'The store can be reached and its schema is that of this program.',
  scope: null,
  replies: { 200: { description: 'It can', schema: State('ready') } },
  errors: ['store_unavailable', 'stopping'],
  async handle({ services }) {
    if (services.stopping.aborted) throw new AppError('stopping', 'The node is stopping: ask another.')
    await services.store.ping()
    return { status: 'ready' }
  },
})

function mayMeasure(wanted: string | null, header: string | undefined): boolean {
  if (wanted === null) return true
  const given = /^bearer +(\S+)$/i.exec(header ?? '')?.[1] ?? ''
  return timingSafeEqual(Buffer.from(hashToken(given)), Buffer.from(hashToken(wanted)))
}

/** Gauges of what the store holds are set when they are asked for; without the store the rest is still told. */
async function measureStore({ store, metrics, clock, log }: Services): Promise<void> {
  const counts = await store.counts().catch((error: unknown) => {
    log.warn({ err: error }, 'the store could not be counted')
    return null
  })
  if (!counts) return
  const age = (at: string | null): number =>
    at === null ? 0 : Math.max(0, (clock.now() - Date.parse(at)) / 1000)
  metrics.jobs.reset()
  let oldest = 0
  for (const { job_status, count, oldest_at } of counts.jobs) {
    metrics.jobs.inc({ job_status }, count)
    if (job_status === 'queued') oldest = Math.max(oldest, age(oldest_at))
  }
  metrics.oldestQueued.set(oldest)
  metrics.deliveriesPending.set({ state: 'due' }, counts.deliveries.due)
  metrics.deliveriesPending.set({ state: 'waiting' }, counts.deliveries.waiting)
}

export const measurements = operation({
  name: 'measurements',
  tag: 'Service',
  summary: 'Measurements for Prometheus',
  description: 'Asks for the bearer token `ASSAY_METRICS_TOKEN` where that is set.',
  scope: null,
  replies: { 200: { description: 'The text format', media: ['text/plain'] } },
  errors: ['unauthorized'],
  async handle({ services, request, reply }) {
    if (!mayMeasure(services.config.metricsToken, request.headers.authorization))
      throw new AppError('unauthorized', 'Send the token of ASSAY_METRICS_TOKEN as a bearer token.', {
        headers: { 'www-authenticate': 'Bearer' },
      })
    await measureStore(services)
    void reply.type(services.metrics.registry.contentType)
    return services.metrics.registry.metrics()
  },
})
