/** Paths of routes: as OpenAPI writes them (`/jobs/{assignment_id}`), as Fastify does, and which methods one has. A path ending in
 * a star covers all that is below it; so does a last parameter with dots (`{path...}`), which gets its slashes, too. Pure. */

const REST = /\{(\w+)\.\.\.\}$/

export const fastifyPath = (path: string): string => path.replace(REST, '*').replaceAll(/\{(\w+)\}/g, ':$1')

/** As OpenAPI writes it, which knows no parameter with slashes. */
export const openapiPath = (path: string): string => path.replace(REST, '{$1}')

/** The name of the parameter that takes the rest; null: there is none. */
export const restOf = (path: string): string | null => REST.exec(path)?.[1] ?? null

const withoutSlash = (path: string): string => path.replace(/\/+$/, '') || '/'

function matches(pattern: string, path: string): boolean {
  if (REST.test(pattern))
    return path.startsWith(pattern.replace(REST, '')) && path.length > pattern.replace(REST, '').length
  if (pattern.endsWith('/*')) return path.startsWith(pattern.slice(0, -1))
  const wanted = withoutSlash(pattern).split('/')
  const given = withoutSlash(path).split('/')
  return (
    wanted.length === given.length &&
    wanted.every((step, index) => (step.startsWith('{') ? given[index] !== '' : step === given[index]))
  )
}

/** The methods of a path, sorted, for the Allow header; empty where there is no such path. A fixed path hides patterns. */
export function allowedMethods(
  routes: readonly { method: string; path: string; operation: { streams: boolean } }[],
  url: string,
): string[] {
  const path = url.split('?')[0]!
  const found = routes.filter((route) => matches(route.path, path))
  const fixed = found.filter((route) => !route.path.includes('{'))
  const methods = (fixed.length > 0 ? fixed : found).flatMap(({ method, operation }) =>
    method === 'GET' && !operation.streams ? ['GET', 'HEAD'] : [method],
  )
  return [...new Set(methods)].toSorted()
}
