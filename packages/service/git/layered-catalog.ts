/**
 * The catalog of the repository before the shipped one. All templates and metrics of the repository change together.
 */
import type { Catalog } from '@assay/engine/reading/catalog'
import type { Layer } from './layer.ts'

export interface LayeredCatalog extends Catalog {
  serve(layer: Layer): void
  layer(): Layer | null
}

export function createLayeredCatalog(base: Catalog): LayeredCatalog {
  let layer: Layer | null = null
  return {
    serve(next) {
      layer = next
    },
    layer: () => layer,
    list() {
      const own = layer?.templates ?? new Map()
      const others = base.list().filter(({ view }) => !own.has(view.template_id))
      return [...others, ...own.values()].toSorted((a, b) =>
        a.view.template_id < b.view.template_id ? -1 : 1,
      )
    },
    get: (template_id) => layer?.templates.get(template_id) ?? base.get(template_id),
    metrics() {
      const own = layer?.metrics ?? new Map()
      const others = base.metrics().filter(({ view }) => !own.has(view.metric_id))
      return [...others, ...own.values()].toSorted((a, b) => (a.view.metric_id < b.view.metric_id ? -1 : 1))
    },
    broken: () => base.broken(),
  }
}
