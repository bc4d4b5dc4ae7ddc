/** The parts of the service that judging a commit needs. */
import type { Catalog } from '@assay/engine/reading/catalog'
import type { Pool } from '@assay/engine/run/pool'
import type { Roots } from '@assay/engine/run/protocol'
import type { Clock } from '@assay/model/clock'
import type { RepositoryOwned } from '@assay/model/repository'
import type { Store } from '@assay/store/store'
import type { ConnectionRegistry } from '../connections/connection-registry.ts'
import type { TemplateReader } from '../templates/template-reader.ts'
import type { Readers } from './layer.ts'

export interface JudgeParts extends Readers {
  templates: Pick<TemplateReader, 'read' | 'convert'>
  pool: Pool
  store: Pick<
    Store,
    'listMetrics' | 'findMetrics' | 'getTemplate' | 'getConnection' | 'findSubscriptions' | 'findReaderOf'
  >
  clock: Clock
  /** The catalog without the templates of the repository, because a commit is judged by itself. */
  catalog: Catalog
  connections: ConnectionRegistry
  /** Resolves with the folders that `file:` sources may read. */
  roots(): Promise<Roots>
  /** The folder for the small tables of tests. */
  tempRoot: string
}

export interface Judging extends JudgeParts {
  /** The ids that belong to the last accepted commit. */
  owned: RepositoryOwned
  where: Roots
  signal: AbortSignal
}
