/**
 * The metrics that a template can reach: those of the folders and those that were put into its workspace. A metric of a
 * folder takes precedence over one of the same name. Their definitions become partials of the template, so a job keeps
 * them and its version covers them.
 */

import { metricNames, metricPartial, usedMetrics } from '@assay/engine/metrics/names'
import type { Catalog } from '@assay/engine/reading/catalog'
import { sourceOf } from '@assay/engine/reading/lookup'
import { templateVersion } from '@assay/engine/reading/partials'
import { suggest } from '@assay/engine/values/near'
import type { Fault, TemplateSource } from '@assay/model/template'
import type { Store, StoredMetric } from '@assay/store/store'

export interface MetricsOf {
  store: Pick<Store, 'listMetrics' | 'findMetrics'>
  catalog: Pick<Catalog, 'metrics'>
}

const PAGE = 200

/** Yields the stored metrics by id, page by page. A workspace has at most METRICS_MOST characters of them. */
export async function* storedMetrics(
  { store }: Pick<MetricsOf, 'store'>,
  workspace_id: string,
  after = '',
): AsyncGenerator<StoredMetric[]> {
  for (let last: string | undefined = after; last !== undefined; ) {
    const page = await store.listMetrics({ workspace_id, after: last, limit: PAGE })
    if (page.length > 0) yield page
    last = page.length < PAGE ? undefined : page.at(-1)!.metric_id
  }
}

/** Returns lookups that read the workspace's metrics once for many templates. */
export function readOnce({ store, catalog }: MetricsOf): MetricsOf {
  let kept: Promise<StoredMetric[]> | undefined
  const all = (workspace_id: string): Promise<StoredMetric[]> =>
    (kept ??= Array.fromAsync(storedMetrics({ store }, workspace_id)).then((pages) => pages.flat()))
  return {
    catalog,
    store: {
      listMetrics: async ({ workspace_id, after, limit }) =>
        (await all(workspace_id)).filter(({ metric_id }) => metric_id > after).slice(0, limit),
      findMetrics: async ({ workspace_id, metric_ids }) =>
        (await all(workspace_id)).filter(({ metric_id }) => metric_ids.includes(metric_id)),
    },
  }
}

type Texts = Record<string, string>

/** Returns the definitions as partials. */
async function textsOf(given: MetricsOf, workspace_id: string, names: string[] | 'any'): Promise<Texts> {
  const isWanted = (name: string): boolean => names === 'any' || names.includes(name)
  const texts: Texts = {}
  const add = (name: string, source: string): void => {
    if (isWanted(name) && !Object.hasOwn(texts, metricPartial(name))) texts[metricPartial(name)] = source
  }
  const ofFiles = given.catalog.metrics()
  for (const { view, source, origin } of ofFiles) if (origin !== 'git') add(view.metric_id, source)
  if (names === 'any')
    for await (const page of storedMetrics(given, workspace_id))
      for (const { metric_id, source } of page) add(metric_id, source)
  else {
    const metric_ids = names.filter((name) => !Object.hasOwn(texts, metricPartial(name)))
    const found = metric_ids.length === 0 ? [] : await given.store.findMetrics({ workspace_id, metric_ids })
    for (const { metric_id, source } of found) add(metric_id, source)
  }
  // A metric that the workspace put before the repository had a file of that name stays the workspace's.
  for (const { view, source } of ofFiles) add(view.metric_id, source)
  return texts
}

/** Returns the template with the definitions that it can reach, or unchanged if it reads none. */
export async function withMetrics(
  given: MetricsOf,
  workspace_id: string,
  template: TemplateSource,
): Promise<TemplateSource> {
  const names = usedMetrics(template.source)
  if (names !== 'any' && names.length === 0) return template
  // A metric that stands beside a file of a folder wins.
  const partials = { ...(await textsOf(given, workspace_id, names)), ...template.partials }
  return { ...template, partials, version: templateVersion(template.source, partials) }
}

/** Makes a template source from a text that a client wrote. */
export function ownSource(
  given: MetricsOf,
  workspace_id: string,
  template_id: string,
  source: string,
): Promise<TemplateSource> {
  return withMetrics(given, workspace_id, sourceOf(template_id, source))
}

/** Names the nearest existing metric in faults of metrics that do not exist. `also`: metrics that are not served yet. */
export async function nameNearest(
  given: MetricsOf,
  workspace_id: string,
  faults: readonly Fault[],
  also: readonly string[] = [],
): Promise<Fault[]> {
  if (!faults.some(({ code }) => code === 'unknown_metric')) return [...faults]
  const known = [...also, ...metricNames(await textsOf(given, workspace_id, 'any'))]
  return faults.map((fault) => {
    const name = fault.code === 'unknown_metric' ? /"([^"]*)"/.exec(fault.message)?.[1] : undefined
    if (name === undefined) return fault
    return { ...fault, remedy: suggest(name, known, `Put it at /v1alpha/metrics/${name}.`) }
  })
}
