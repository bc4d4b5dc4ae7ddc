/** What the API is made of: the parts that app.ts hands over, and what the operations share among themselves. */

import type { Catalog } from '@assay/engine/reading/catalog'
import type { Pool } from '@assay/engine/run/pool'
import type { Clock } from '@assay/model/clock'
import type { Targets } from '@assay/net/target'
import type { Store } from '@assay/store/store'
import type { Config, describeConfig, Role } from '../../config/config.ts'
import type { ConnectionRegistry } from '../../connections/connection-registry.ts'
import type { Files } from '../../files/files.ts'
import type { Logger } from '../../runtime/log.ts'
import type { Metrics } from '../../runtime/metrics.ts'
import type { SecretBox } from '../../runtime/secrets.ts'
import type { Traces } from '../../runtime/traces.ts'
import type { AuditNotes } from '../admin/audit.ts'
import type { Drawings } from '../jobs/drawings.ts'
import type { Hints } from '../jobs/hints.ts'
import type { PageRenderings } from '../jobs/page-renderings.ts'
import type { Statuses } from '../jobs/statuses.ts'
import type { Openings } from '../links/openings.ts'
import type { RequestLimits, TokenCache } from './auth.ts'
import type { Idempotency } from './idempotency.ts'
import type { Limiter } from './limiter.ts'
import type { NodeHealth } from './measure.ts'

export interface ApiParts {
  config: Pick<
    Config,
    | 'host'
    | 'port'
    | 'data'
    | 'rateLimit'
    | 'workspaceRateLimit'
    | 'maxQueued'
    | 'maxRunning'
    | 'trustProxy'
    | 'metricsToken'
    | 'publicUrl'
    | 'smtpUrl'
  >
  /** The settings as people may see them, secrets hidden. */
  settings: ReturnType<typeof describeConfig>
  store: Store
  /** Null on a node without the role `api`. */
  pool: Pool | null
  catalog: Catalog | null
  files: Files
  secrets: SecretBox
  connections: ConnectionRegistry
  targets: Targets
  clock: Clock
  log: Logger
  metrics: Metrics
  /** Null or left out: nothing is traced. */
  traces?: Traces | null
  node_id: string
  version: string
  roles: readonly Role[]
  /** Left out where there is no lease: in tests. */
  lease?: NodeHealth
  /** The folder of the state, whose disk is watched. */
  home?: string
  /** Milliseconds that it goes on answering once it is told to close; left out: none. */
  lingerMs?: number
}

/** What the operations of the role `api` work with. */
export interface Services extends ApiParts {
  pool: Pool
  catalog: Catalog
  tokens: TokenCache
  audit: AuditNotes
  hints: Hints
  statuses: Statuses
  drawings: Drawings
  pages: PageRenderings
  idempotency: Idempotency
  /** The shipped tables: name and absolute path. */
  sample: Record<string, string>
  requests: RequestLimits
  /** Who reads by links, by address. */
  readers: Limiter
  openings: Openings
  /** Brings the gauges up to date. */
  measure(): Promise<void>
  /** The text of the OpenAPI document. */
  openapi(): string
  /** Aborted when the node is told to stop: balancers are to leave it. */
  leaving: AbortSignal
  /** Aborted when the server begins to close: what waits answers now. */
  stopping: AbortSignal
}
