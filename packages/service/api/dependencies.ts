/** The dependencies of the API, and the services that its operations use. */

import type { Catalog } from '@assay/engine/reading/catalog'
import type { Pool } from '@assay/engine/run/pool'
import type { Clock } from '@assay/model/clock'
import type { OneByOne } from '@assay/net/one-by-one'
import type { Targets } from '@assay/net/target'
import type { Store } from '@assay/store/store'
import type { Config, describeConfig, Role } from '../config/config.ts'
import type { ConnectionRegistry } from '../connections/connection-registry.ts'
import type { Files } from '../files/files.ts'
import type { Layer } from '../git/layer.ts'
import type { Propose } from '../git/proposal.ts'
import type { Ledger } from '../outgoing/ledger.ts'
import type { Logger } from '../runtime/log.ts'
import type { Metrics } from '../runtime/metrics.ts'
import type { LanguageModel } from '../runtime/narrator.ts'
import type { SecretBox } from '../runtime/secrets.ts'
import type { Traces } from '../runtime/traces.ts'
import type { LostSecrets } from '../secrets/lost.ts'
import type { Clients } from '../sign-in/client.ts'
import type { Provider } from '../sign-in/provider.ts'
import type { MetricReader } from '../templates/metric-reader.ts'
import type { TemplateReader } from '../templates/template-reader.ts'
import type { AuditTrail } from './admin/audit-trail.ts'
import type { NodeHealth } from './admin/gauges.ts'
import type { HeldAnswers } from './answers/held-answers.ts'
import type { RequestLimits, TokenCache } from './http/auth.ts'
import type { Idempotency } from './http/idempotency.ts'
import type { OpenRequests } from './http/open-requests.ts'
import type { RateLimiter } from './http/rate-limiter.ts'
import type { Changes } from './jobs/changes.ts'
import type { ChartRenderings } from './jobs/chart-renderings.ts'
import type { DocumentRenderings } from './jobs/document-renderings.ts'
import type { PageRenderings } from './jobs/page-renderings.ts'
import type { ViewCounter } from './links/view-counter.ts'

export interface ApiDependencies {
  config: Pick<
    Config,
    | 'host'
    | 'port'
    | 'data'
    | 'rateLimit'
    | 'workspaceRateLimit'
    | 'maxQueued'
    | 'maxRunning'
    | 'maxProcessorSeconds'
    | 'maxStreams'
    | 'maxDrafts'
    | 'maxSpill'
    | 'workspaceSpill'
    | 'workspaceStored'
    | 'filesQuota'
    | 'trustProxy'
    | 'metricsToken'
    | 'publicUrl'
    | 'frameParents'
    | 'corsOrigins'
    | 'smtpUrl'
    | 'oidcIssuer'
    | 'oidcName'
    | 'oidcClientId'
    | 'oidcClientSecret'
    | 'oidcScopes'
    | 'oidcGroupsClaim'
    | 'oidcGroups'
    | 'passwordLogin'
    | 'signInIdle'
    | 'signInLife'
    | 'mailFrom'
    | 'mailDomains'
  >
  /** The settings with their secrets hidden. */
  settings: ReturnType<typeof describeConfig>
  store: Store
  /** Null on a node without the role `api`. */
  pool: Pool | null
  /** Null on a node without the role `api`. */
  catalog: Catalog | null
  /** The git repository of templates. Null or absent if the settings name none. */
  repository?: {
    layer(): Layer | null
    name: string
    hookSecret: string | null
    propose: Propose
  } | null
  files: Files
  /** Absent if the settings name no language model. */
  model?: LanguageModel | undefined
  secrets: SecretBox
  /** Absent in tests that lose no key. */
  lostSecrets?: LostSecrets
  connections: ConnectionRegistry
  targets: Targets
  clock: Clock
  log: Logger
  metrics: Metrics
  ledger: Ledger
  /** Null or absent: tracing is off. */
  traces?: Traces | null
  node_id: string
  version: string
  roles: readonly Role[]
  /** Absent in tests, which hold no lease. */
  lease?: NodeHealth
  /** The folder of the home, whose disk is measured. */
  home?: string
  /** The folder into which analyses spill rows. */
  spill?: string
  /** Milliseconds for which the server still answers after `close` is called (default 0). */
  lingerMs?: number
}

/** What the operations of the role `api` use. */
export interface Services extends ApiDependencies {
  pool: Pool
  catalog: Catalog
  templates: TemplateReader
  metricReader: MetricReader
  tokens: TokenCache
  audit: AuditTrail
  /** Null if the settings name none. */
  provider: Provider | null
  /** Programs that people let in. */
  clients: Clients
  changes: Changes
  charts: ChartRenderings
  pages: PageRenderings
  documents: DocumentRenderings
  idempotency: Idempotency
  /** The shipped tables: name and absolute path. */
  sample: Record<string, string>
  requests: RequestLimits
  /** Work on large answers, one piece at a time. */
  oneByOne: OneByOne
  held: HeldAnswers
  open: OpenRequests
  /** Limits readers of links by address. */
  readers: RateLimiter
  linkViews: ViewCounter
  /** Brings the gauges of /metrics up to date. */
  updateGauges(): Promise<void>
  /** The text of the OpenAPI document. */
  openapi(): Buffer
  /** Aborted when the node is told to stop. /readyz then answers 503, so that load balancers leave the node. */
  leaving: AbortSignal
  /** Aborted when the server begins to close. Requests that wait are then answered at once. */
  stopping: AbortSignal
}
