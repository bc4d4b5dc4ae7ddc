/** Reads the templates and metrics of the served commit once. */
import type { CatalogEntry, CatalogMetric } from '@assay/engine/reading/catalog'
import type { RepositoryTree } from '@assay/model/repository'
import type { Fault } from '@assay/model/template'
import { DEFAULT_WORKSPACE } from '@assay/model/token'
import type { MetricReader } from '../templates/metric-reader.ts'
import type { TemplateReader } from '../templates/template-reader.ts'
import { metricsOf, partialsOf, partsOfTexts, templatesOf } from './tree.ts'

export interface Layer {
  commit_id: string
  templates: ReadonlyMap<string, CatalogEntry>
  metrics: ReadonlyMap<string, CatalogMetric>
  /** The partials that the templates may include, by name. */
  partials: Record<string, string>
  /** Files that this version of the program cannot read. */
  broken: { file: string; faults: Fault[] }[]
}

export interface Readers {
  templates: Pick<TemplateReader, 'read'>
  metricReader: MetricReader
}

/** Reads the layer. Rejects if the pool is not available. */
export async function layerOf(
  { commit_id, tree }: { commit_id: string; tree: RepositoryTree },
  { templates: reader, metricReader }: Readers,
): Promise<Layer> {
  const parts = partsOfTexts(tree.files)
  const broken: Layer['broken'] = []
  const metrics = new Map<string, CatalogMetric>()
  const named = metricsOf(parts)
  const heads = await metricReader.read(
    named.map(({ name, text }) => ({ metric_id: name, source: text })),
    DEFAULT_WORKSPACE,
  )
  for (const [index, { name, file, text }] of named.entries()) {
    const { view, faults } = heads[index]!
    if (view) metrics.set(name, { origin: 'git', file, source: text, view: { ...view, origin: 'git' } })
    else broken.push({ file, faults })
  }
  const templates = new Map<string, CatalogEntry>()
  for (const { file, source } of templatesOf(parts)) {
    const { found, faults } = await reader.read(source, DEFAULT_WORKSPACE)
    if (!found) {
      broken.push({ file, faults })
      continue
    }
    const { template_id } = found.template
    const brought = tree.versions[template_id]?.commit_id ?? commit_id
    templates.set(template_id, {
      origin: 'git',
      file,
      template: found.template,
      source: { ...found.source, template_id, commit_id: brought },
      view: { ...found.view, origin: 'git', commit_id: brought },
    })
  }
  return { commit_id, templates, metrics, partials: partialsOf(parts), broken }
}
