/** What judging a commit needs of the service. */
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
  /** Without the templates of the repository: a commit is judged by itself. */
  catalog: Catalog
  connections: ConnectionRegistry
  /** Of the default workspace. */
  roots(): Promise<Roots>
  /** A folder for the tables of tests. */
  tempRoot: string
}

export interface Judging extends JudgeParts {
  /** By the commit that was taken before. */
  owned: RepositoryOwned
  where: Roots
  signal: AbortSignal
}
