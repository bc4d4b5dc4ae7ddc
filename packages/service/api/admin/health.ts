/** Health and metrics, which every node serves whatever its roles. */
import { timingSafeEqual } from 'node:crypto'
import { AppError } from '@assay/model/errors'
import { Type } from '@assay/model/schema'
import { DEFAULT_WORKSPACE, includesScope } from '@assay/model/token'
import type { FastifyRequest } from 'fastify'
import { SKEW_MOST_MS, skewText } from '../../queue/store-clock.ts'
import { hashToken } from '../../runtime/secrets.ts'
import type { Services } from '../dependencies.ts'
import { bearerOf } from '../http/auth.ts'
import { asksFromHere } from '../http/client-address.ts'
import { operation } from '../http/operation.ts'
import { diskOf, soon } from './gauges.ts'

const State = (word: string) => Type.Object({ status: Type.Literal(word) })

/** Free bytes that SQLite needs in the home. With less, new rows may fail although the lease can still be renewed. */
const FREE_LEAST = 1_048_576

export const alive = operation({
  name: 'alive',
  tag: 'Service',
  summary: 'Check that the process is alive',
  scope: null,
  replies: { 200: { description: 'The process is alive', schema: State('ok') } },
  handle: () => ({ status: 'ok' }),
})

export const ready = operation({
  name: 'ready',
  tag: 'Service',
  summary: 'Check that the node is ready',
  description:
    'Ready means: the store takes a write within a second and a half and has the schema of this program, the last renewal of the lease of this node succeeded, the clock of the machine is within a minute of that of the store, it has the key of the secrets, and with SQLite the disk has free space.',
  scope: null,
  replies: { 200: { description: 'The node is ready', schema: State('ready') } },
  errors: ['store_unavailable', 'stopping'],
  async handle({ services }) {
    if (services.leaving.aborted) throw new AppError('stopping', 'The node is stopping: ask another.')
    await soon(services.clock, services.store.ping())
    const disk = services.store.kind === 'sqlite' && services.home ? await diskOf(services.home) : null
    if (disk && disk.free_bytes < FREE_LEAST)
      throw new AppError('store_unavailable', 'The disk of the home is full: free some space on it.')
    if (services.secrets.locked !== null)
      throw new AppError('store_unavailable', 'The key of the secrets is missing on this node.')
    const trouble = services.lease?.trouble() ?? null
    if (trouble !== null)
      throw new AppError('store_unavailable', `The lease of this node cannot be renewed: ${trouble}`)
    const skew = services.lease?.skewMs() ?? 0
    if (Math.abs(skew) > SKEW_MOST_MS)
      throw new AppError(
        'store_unavailable',
        `The clock of this machine is ${skewText(skew)} that of the store: set it by NTP.`,
      )
    return { status: 'ready' }
  },
})

/**
 * Tells whether a caller may read the metrics without a token, although they name workspaces and their load. Only
 * programs of this machine may, and only on a node without a proxy, because a proxy on this machine asks for anybody.
 * ASSAY_PUBLIC_URL or ASSAY_TRUST_PROXY show that there is a proxy.
 */
function isOpenTo(
  { metricsToken, publicUrl, trustProxy }: Services['config'],
  request: FastifyRequest,
): boolean {
  const isAlone = metricsToken === null && publicUrl === null && trustProxy === null
  return isAlone && asksFromHere(request)
}

/**
 * Tells whether the caller may read the metrics. The token of the settings is checked without the store, so that
 * metrics can be read while the store fails.
 */
async function mayMeasure(
  { config, tokens, clock }: Pick<Services, 'config' | 'tokens' | 'clock'>,
  request: FastifyRequest,
): Promise<boolean> {
  const given = bearerOf(request)
  if (given === null) return isOpenTo(config, request)
  const wanted = config.metricsToken
  if (wanted !== null && timingSafeEqual(Buffer.from(hashToken(given)), Buffer.from(hashToken(wanted))))
    return true
  const caller = await soon(clock, tokens.find(given))
  return (
    caller !== null &&
    caller.workspace_id === DEFAULT_WORKSPACE &&
    caller.templates === null &&
    includesScope(caller.scopes, 'admin')
  )
}

export const measurements = operation({
  name: 'measurements',
  tag: 'Service',
  summary: 'Read the metrics for Prometheus',
  description:
    'Requires the bearer token `ASSAY_METRICS_TOKEN`, or one of an admin of the default workspace. While `ASSAY_METRICS_TOKEN`, `ASSAY_PUBLIC_URL` and `ASSAY_TRUST_PROXY` are empty, programs of the same machine need none.',
  scope: null,
  replies: { 200: { description: 'The text format', media: ['text/plain'] } },
  errors: ['unauthorized', 'store_unavailable'],
  async handle({ services, request, reply }) {
    if (!(await mayMeasure(services, request)))
      throw new AppError(
        'unauthorized',
        'Set ASSAY_METRICS_TOKEN, and send it as a bearer token, or one of an admin of the default workspace.',
        { headers: { 'www-authenticate': 'Bearer' } },
      )
    await services.updateGauges()
    void reply.type(services.metrics.registry.contentType)
    return services.metrics.registry.metrics()
  },
})
