/**
 * Paths of routes in the forms of OpenAPI (`/jobs/{assignment_id}`) and of Fastify, and the methods of a path. A path that ends
 * in a star covers everything below it. A last parameter with dots (`{path...}`) does so too and holds the slashes. Pure.
 */

const REST = /\{(\w+)\.\.\.\}$/

export const fastifyPath = (path: string): string => path.replace(REST, '*').replaceAll(/\{(\w+)\}/g, ':$1')

/** Returns the path in the form of OpenAPI, which has no parameters with slashes. */
export const openapiPath = (path: string): string => path.replace(REST, '{$1}')

/** Returns the name of the parameter that takes the rest of the path; null if there is none. */
export const restOf = (path: string): string | null => REST.exec(path)?.[1] ?? null

/** Returns the path without slashes at its end. A pattern such as /\/+$/ takes a time that grows with the square of its length. */
export function withoutSlash(path: string): string {
  let end = path.length
  while (end > 1 && path[end - 1] === '/') end -= 1
  return path.slice(0, end)
}

/** The most steps of a path that are looked at. No route has as many. */
const STEPS_MOST = 20

/** Returns the first steps of a path. Anyone may send one of thousands. */
const stepsOf = (path: string): string[] => withoutSlash(path).split('/', STEPS_MOST)

function matches(pattern: string, path: string, given: string[]): boolean {
  if (REST.test(pattern))
    return path.startsWith(pattern.replace(REST, '')) && path.length > pattern.replace(REST, '').length
  if (pattern.endsWith('/*')) return path.startsWith(pattern.slice(0, -1))
  const wanted = stepsOf(pattern)
  return (
    wanted.length === given.length &&
    wanted.every((step, index) => (step.startsWith('{') ? given[index] !== '' : step === given[index]))
  )
}

/**
 * Returns the methods of a path, sorted, for the Allow header. Empty if there is no such path. A fixed path wins over
 * a pattern.
 */
export function allowedMethods(
  routes: readonly { method: string; path: string; operation: { streams: boolean } }[],
  url: string,
): string[] {
  const path = url.split('?', 1)[0]!
  const given = stepsOf(path)
  const found = routes.filter((route) => matches(route.path, path, given))
  const fixed = found.filter((route) => !route.path.includes('{'))
  const methods = (fixed.length > 0 ? fixed : found).flatMap(({ method, operation }) =>
    method === 'GET' && !operation.streams ? ['GET', 'HEAD'] : [method],
  )
  return [...new Set(methods)].toSorted()
}
