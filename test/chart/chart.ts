/**
 * Reads the Helm chart for tests: its values with those of an example, and the files whose bytes decide whether a
 * rendering is up to date.
 */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { parse, parseAllDocuments } from 'yaml'

const root = path.join(import.meta.dirname, '../..')
export const CHART = path.join(root, 'deploy/chart')
export const EXAMPLES = ['plain', 'everything'] as const
export type Example = (typeof EXAMPLES)[number]

export type Values = Record<string, unknown>
export type Manifest = { kind: string; apiVersion: string; metadata: { name: string }; spec: Values }

const isMap = (value: unknown): value is Values =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Merges values over those of the chart, as Helm does. */
function merged(base: Values, over: Values): Values {
  const all = Object.entries(over).map(([name, value]) => {
    const own = base[name]
    return [name, isMap(own) && isMap(value) ? merged(own, value) : value] as const
  })
  return { ...base, ...Object.fromEntries(all) }
}

export const defaultValues = (): Values =>
  parse(readFileSync(path.join(CHART, 'values.yaml'), 'utf8')) as Values

export function valuesOf(example: Example): Values {
  const text = readFileSync(path.join(import.meta.dirname, `${example}.yaml`), 'utf8')
  return merged(defaultValues(), parse(text) as Values)
}

export const renderedFile = (example: Example): string =>
  path.join(import.meta.dirname, `${example}.rendered.yaml`)

/**
 * Returns the first line of a rendering, which names the files that it was made from. The version is not one of them,
 * so a release needs no new rendering.
 */
export function stampOf(example: Example): string {
  const templates = readdirSync(path.join(CHART, 'templates')).toSorted()
  const files = ['values.yaml', ...templates.map((name) => `templates/${name}`)]
  const hash = createHash('sha256').update(readFileSync(path.join(import.meta.dirname, `${example}.yaml`)))
  for (const file of files) hash.update(readFileSync(path.join(CHART, file)))
  return `# Written by "npm run proof -- chart --write 1" from files with the hash ${hash.digest('hex')}.`
}

export const manifestsIn = (text: string): Manifest[] =>
  parseAllDocuments(text)
    .map((document) => document.toJS() as Manifest | null)
    .filter((manifest) => manifest !== null)
