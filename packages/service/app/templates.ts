/** Makes the catalog of templates from the settings: the shipped ones with folders, or with a git repository. */
import { type Catalog, createCatalog } from '@assay/engine/reading/catalog'
import { sampleFiles, templatesFolder } from '@assay/engine/reading/samples'
import type { Pool } from '@assay/engine/run/pool'
import type { Clock } from '@assay/model/clock'
import { DEFAULT_WORKSPACE } from '@assay/model/token'
import type { Store } from '@assay/store/store'
import type { ApiDependencies } from '../api/dependencies.ts'
import type { Config } from '../config/config.ts'
import type { ConnectionRegistry } from '../connections/connection-registry.ts'
import type { Files } from '../files/files.ts'
import { createLayeredCatalog } from '../git/layered-catalog.ts'
import { createRepositoryNode, repositoryName } from '../git/repository.ts'
import type { Logger } from '../runtime/log.ts'
import type { Service } from '../runtime/service.ts'
import { createMetricReader } from '../templates/metric-reader.ts'
import { createTemplateReader } from '../templates/template-reader.ts'

export interface TemplatesGiven {
  config: Config
  store: Store
  pool: Pool | null
  connections: ConnectionRegistry
  files: Files
  clock: Clock
  log: Logger
  tempRoot: string
}

export interface OpenTemplates {
  /** The catalog; null on a node without the role `api`. */
  catalog: Catalog | null
  repository: NonNullable<ApiDependencies['repository']> | null
}

/** Opens the templates. It adds the services that must run beside them to `services`. */
export async function openTemplates(given: TemplatesGiven, services: Service[]): Promise<OpenTemplates> {
  const { config, store, pool, connections, files, clock, log, tempRoot } = given
  const { roles, templates, templatesBranch: branch, templatesHookSecret: hookSecret } = config
  if (!roles.includes('api') || !pool) return { catalog: null, repository: null }
  const catalog = createCatalog({
    shipped: templatesFolder,
    folders: templates.folders,
    onBroken: ({ file, faults }) => log.warn({ file, faults }, 'a template cannot be used'),
  })
  if (templates.repository === null) return { catalog, repository: null }
  const served = createLayeredCatalog(catalog)
  const node = createRepositoryNode({
    config,
    store,
    pool,
    connections,
    clock,
    log,
    tempRoot,
    catalog,
    served,
    targets: connections.targets(DEFAULT_WORKSPACE),
    templates: createTemplateReader(pool, { patient: true }),
    metricReader: createMetricReader(pool, { patient: true }),
    async roots() {
      const own = (await store.getWorkspace(DEFAULT_WORKSPACE))?.data_folder ?? null
      const uploads = await files.roots(DEFAULT_WORKSPACE, true)
      return { sample: sampleFiles(), data: own ?? config.data, ...uploads }
    },
  })
  await node.open()
  services.push(node)
  const name = repositoryName({ address: templates.repository, branch })
  return {
    catalog: served,
    repository: { layer: served.layer, name, hookSecret, propose: node.propose.bind(node) },
  }
}
