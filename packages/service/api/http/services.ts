/** Puts together what the operations share. */

import type { Catalog } from '@assay/engine/reading/catalog'
import { sampleFiles } from '@assay/engine/reading/samples'
import type { Pool } from '@assay/engine/run/pool'
import { createAuditNotes } from '../admin/audit.ts'
import { createDrawings } from '../jobs/drawings.ts'
import { createHints } from '../jobs/hints.ts'
import { createPageRenderings } from '../jobs/page-renderings.ts'
import { createStatuses } from '../jobs/statuses.ts'
import { createOpenings } from '../links/openings.ts'
import { openapiText } from '../openapi.ts'
import { createRequestLimits, createTokenCache } from './auth.ts'
import { createIdempotency } from './idempotency.ts'
import { createLimiter } from './limiter.ts'
import { createMeasure } from './measure.ts'
import type { ApiParts, Services } from './parts.ts'

/** Pages opened by links: people behind one address share it. */
const READERS = { burst: 120, perSecond: 2 }

export function createServices(parts: ApiParts, signals: Pick<Services, 'leaving' | 'stopping'>): Services {
  if (parts.roles.includes('api') && (parts.pool === null || parts.catalog === null))
    throw new Error('The role api needs the pool and the catalog.')
  const { clock, store, config } = parts
  // Only operations of the role api reach for these two, and without the role they are not served.
  const pool = parts.pool as Pool
  const catalog = parts.catalog as Catalog
  const drawings = createDrawings(pool, clock, parts.log)
  let document: string | undefined
  return {
    ...parts,
    pool,
    catalog,
    tokens: createTokenCache(store, clock),
    audit: createAuditNotes(store, parts),
    hints: createHints(store, clock),
    statuses: createStatuses(store),
    sample: sampleFiles(),
    drawings,
    pages: createPageRenderings({ pool, clock, log: parts.log }, drawings),
    idempotency: createIdempotency({ ...parts, stopping: signals.stopping }),
    requests: createRequestLimits(clock, config),
    readers: createLimiter(clock, READERS),
    openings: createOpenings(store, clock, parts.log),
    measure: createMeasure(parts),
    openapi: () => (document ??= openapiText()),
    ...signals,
  }
}
