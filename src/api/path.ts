/** Paths of routes: as OpenAPI writes them (`/jobs/{assignment_id}`), as Fastify does, and which methods one has. A path ending in
 * a star covers all that is below it. Pure. */

export const fastifyPath = (path: string): string => path.replaceAll(/\{(\w+)\}/g, ':$1')

const withoutSlash = (path: string): string => path.replace(/\/+$/, '') || '/'

function matches(pattern: string, path: string): boolean {
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
