/** Puts together what the operations share. */
import type { Pool } from '../analysis/pool.ts'
import type { Catalog } from '../templates/catalog.ts'
import { sampleFiles } from '../templates/samples.ts'
import { createAuditNotes } from './audit.ts'
import { createRequestLimits, createTokenCache } from './auth.ts'
import { createDrawings } from './drawings.ts'
import { createHints } from './hints.ts'
import { createIdempotency } from './idempotency.ts'
import { createLimiter } from './limiter.ts'
import { createMeasure } from './measure.ts'
import { openapiText } from './openapi.ts'
import { createOpenings } from './openings.ts'
import { createPageRenderings } from './page-renderings.ts'
import type { ApiParts, Services } from './parts.ts'
import { createStatuses } from './statuses.ts'

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
