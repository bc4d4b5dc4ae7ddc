/** What judging a commit needs of the service. */
import type { Catalog } from '@assay/engine/reading/catalog'
import type { Pool } from '@assay/engine/run/pool'
import type { Roots } from '@assay/engine/run/protocol'
import type { Store } from '@assay/store/store'
import type { ConnectionRegistry } from '../connections/connection-registry.ts'
import type { Readers } from './layer.ts'

export interface JudgeParts extends Readers {
  pool: Pool
  store: Pick<Store, 'listMetrics' | 'findMetrics'>
  /** Without the templates of the repository: a commit is judged by itself. */
  catalog: Catalog
  connections: ConnectionRegistry
  /** Of the default workspace. */
  roots(): Promise<Roots>
  /** A folder for the tables of tests. */
  tempRoot: string
}

export interface Judging extends JudgeParts {
  where: Roots
  signal: AbortSignal
}
