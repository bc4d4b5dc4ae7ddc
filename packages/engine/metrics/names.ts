/** Finds the names of metrics in the fences of a template, and among its partials, which hold their definitions. */
import type { TemplateSource } from '@assay/model/template'
import { splitTemplate } from '../language/fences.ts'

const FOLDER = 'metrics/'
const ENDING = '.yaml'

export function metricPartial(name: string): string {
  return `${FOLDER}${name}${ENDING}`
}

/** Tells whether a partial is the definition of a metric. */
export function isMetricPartial(name: string): boolean {
  return name.startsWith(FOLDER)
}

/** Returns the names of the metrics among partials. */
export function metricNames(partials: Record<string, string>): string[] {
  return Object.keys(partials)
    .filter((name) => name.startsWith(FOLDER))
    .map((name) => name.slice(FOLDER.length, -ENDING.length))
}

const NAMED = /^[ \t{]*["']?metric["']?[ \t]*:[ \t]*["']?(\$?[a-z_][a-z0-9_]*)/m

/** Returns the name in a definition. */
export function metricNameIn(definition: string): string | null {
  const name = NAMED.exec(definition)?.[1]
  return name === undefined || name.startsWith('$') ? null : name
}

/** Returns the names in the fences of a text: metrics, or `$NAME` of variables. */
function namedIn(text: string): string[] {
  if (!/^ {0,3}(?:`{3}|~{3})[`~]*[ \t]*metric[ \t]/m.test(text)) return []
  return splitTemplate(text).fences.flatMap(({ kind, text: options }) =>
    kind === 'metric' ? (NAMED.exec(options)?.[1] ?? []) : [],
  )
}

/** Returns the metrics that the fences of a text name; `any` if a variable names them. */
export function usedMetrics(text: string): string[] | 'any' {
  const found = namedIn(text)
  return found.some((name) => name.startsWith('$')) ? 'any' : [...new Set(found)]
}

/**
 * Returns the metrics that a run of the template reads, with these values of its variables, as far as it can reach
 * them.
 */
export function metricsRead(
  { source, partials }: Pick<TemplateSource, 'source' | 'partials'>,
  values: Readonly<Record<string, unknown>>,
): string[] {
  const reachable = new Set<unknown>(metricNames(partials))
  const named = namedIn(source).flatMap((name) => (name.startsWith('$') ? values[name.slice(1)] : name))
  return [...new Set(named)].filter((name): name is string => reachable.has(name))
}

/** Returns the variables that name metrics. */
export function metricVariables(text: string): string[] {
  return namedIn(text).flatMap((name) => (name.startsWith('$') ? [name.slice(1)] : []))
}
