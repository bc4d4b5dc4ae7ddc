/** Makes what the operations share (`Services`) from the dependencies of the API. */

import type { Catalog } from '@assay/engine/reading/catalog'
import { sampleFiles } from '@assay/engine/reading/samples'
import { HERE, type Pool } from '@assay/engine/run/pool'
import { OneByOne } from '@assay/net/one-by-one'
import { createClients } from '../sign-in/client.ts'
import { createProvider } from '../sign-in/provider.ts'
import { createMetricReader } from '../templates/metric-reader.ts'
import { createTemplateReader } from '../templates/template-reader.ts'
import { createAuditTrail } from './admin/audit-trail.ts'
import { createGauges } from './admin/gauges.ts'
import { createHeldAnswers } from './answers/held-answers.ts'
import type { ApiDependencies, Services } from './dependencies.ts'
import { createRequestLimits, createTokenCache } from './http/auth.ts'
import { createIdempotency } from './http/idempotency.ts'
import { createOpenRequests } from './http/open-requests.ts'
import { createRateLimiter } from './http/rate-limiter.ts'
import { createChanges } from './jobs/changes.ts'
import { createChartRenderings } from './jobs/chart-renderings.ts'
import { createDocumentRenderings } from './jobs/document-renderings.ts'
import { readsInTurn } from './jobs/large-insights.ts'
import { createPageRenderings } from './jobs/page-renderings.ts'
import { createViewCounter } from './links/view-counter.ts'
import { openapiText } from './openapi.ts'
import { prefixOf } from './prefix.ts'

/** The limit for opening pages of links from one address, which several people may share. */
const READERS = { burst: 120, perSecond: 2 }
/** The most bytes of answers that the clients of one workspace have not read, on this node. */
const HELD_BYTES = Math.min(256_000_000, HERE.memory_bytes / 16)
/** The limit for documents that the service fetches from programs for one user. */
const DOCUMENTS = { burst: 10, perSecond: 1 / 6 }

export function createServices(
  given: ApiDependencies,
  signals: Pick<Services, 'leaving' | 'stopping'>,
): Services {
  if (given.roles.includes('api') && (given.pool === null || given.catalog === null))
    throw new Error('The role api needs the pool and the catalog.')
  const { clock, store, config, log } = given
  // Only operations of the role api use these two, and a node without the role does not serve them.
  const pool = given.pool as Pool
  const catalog = given.catalog as Catalog
  const charts = createChartRenderings(pool, clock, log)
  const open = createOpenRequests(config.maxStreams)
  let document: Buffer | undefined
  const oneByOne = new OneByOne()
  return {
    ...given,
    store: readsInTurn(store, oneByOne),
    oneByOne,
    held: createHeldAnswers(HELD_BYTES),
    pool,
    catalog,
    templates: createTemplateReader(pool),
    metricReader: createMetricReader(pool),
    tokens: createTokenCache(store, clock, log, config),
    audit: createAuditTrail(store, given),
    provider: createProvider(config, clock),
    clients: createClients({
      secrets: given.secrets,
      now: () => clock.monotonic(),
      ledger: given.ledger,
      fetches: createRateLimiter(clock, DOCUMENTS),
    }),
    changes: createChanges(store, clock),
    sample: sampleFiles(),
    charts,
    pages: createPageRenderings({ pool, clock, log }, charts),
    documents: createDocumentRenderings({ pool, clock, log }, charts),
    idempotency: createIdempotency({ ...given, stopping: signals.stopping }),
    requests: createRequestLimits(clock, config),
    open,
    readers: createRateLimiter(clock, READERS),
    linkViews: createViewCounter(store, clock, log),
    updateGauges: createGauges({ ...given, open }),
    openapi: () => (document ??= Buffer.from(openapiText(prefixOf(config.publicUrl)))),
    ...signals,
  }
}
