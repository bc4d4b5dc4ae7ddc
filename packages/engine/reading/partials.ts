/** Finds the partials that a template can reach, and computes its version: a hash of its source and these partials. */
import { hash } from 'node:crypto'
import { normaliseNewlines } from '../language/fences.ts'
import { isMetricPartial, metricPartial, usedMetrics } from '../metrics/names.ts'

const RENDER = /\{%-?\s*render\s+(?:"([^"]*)"|'([^']*)')/g

/** Returns the names of the partials that a text renders, in order. */
function renderedPartials(text: string): string[] {
  return [...text.matchAll(RENDER)].map((match) => (match[1] ?? match[2])!)
}

/**
 * Returns the `partials` that the source renders, directly or through others, and the definitions of the metrics that
 * it uses.
 */
export function reachablePartials(source: string, partials: Record<string, string>): Record<string, string> {
  const found = new Map<string, string>()
  const waiting = renderedPartials(source)
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    if (found.has(name) || !Object.hasOwn(partials, name)) continue
    found.set(name, partials[name]!)
    waiting.push(...renderedPartials(partials[name]!))
  }
  const metrics = usedMetrics(source)
  const names = metrics === 'any' ? Object.keys(partials).filter(isMetricPartial) : metrics.map(metricPartial)
  for (const name of names) if (Object.hasOwn(partials, name)) found.set(name, partials[name]!)
  return Object.fromEntries([...found].toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

/** Returns a partial that renders itself, directly or through others; null if there is none. */
export function partialCycle(partials: Record<string, string>): string | null {
  const state = new Map<string, 'open' | 'done'>()
  const visit = (name: string): string | null => {
    if (state.get(name) === 'open') return name
    if (state.has(name) || !Object.hasOwn(partials, name)) return null
    state.set(name, 'open')
    for (const next of renderedPartials(partials[name]!)) {
      const cycle = visit(next)
      if (cycle !== null) return cycle
    }
    state.set(name, 'done')
    return null
  }
  for (const name of Object.keys(partials)) {
    const cycle = visit(name)
    if (cycle !== null) return cycle
  }
  return null
}

/** Returns the version: the first 16 hex digits of the SHA-256 over the source and every partial that it can reach. */
export function templateVersion(source: string, partials: Record<string, string>): string {
  const texts = [source, ...Object.entries(reachablePartials(source, partials)).flat()].map(normaliseNewlines)
  const hashed = texts.map((text) => `${Buffer.byteLength(text)}:${text}`).join('')
  return hash('sha256', hashed).slice(0, 16)
}
