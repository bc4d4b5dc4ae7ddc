/**
 * The bill of materials of a release: every package that runs in production, or that the built console holds, with its version, its
 * license and its hash, as CycloneDX 1.5 (https://cyclonedx.org/docs/1.5/json/). npm makes it from package-lock.json alone, without
 * the network.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import path from 'node:path'

const root = path.dirname(import.meta.dirname)

interface Component {
  'bom-ref': string
  name: string
  version: string
  scope?: string
  properties?: { name: string; value: string }[]
  hashes?: { alg: string; content: string }[]
  licenses?: { license: { id?: string; name?: string } }[]
}

export interface BillOfMaterials {
  metadata: { timestamp?: string; component: Component }
  serialNumber?: string
  components: Component[]
  dependencies: { ref: string; dependsOn: string[] }[]
}

const DEVELOPMENT = 'cdx:npm:package:development'
const isOfDevelopment = ({ properties = [] }: Component): boolean =>
  properties.some(({ name }) => name === DEVELOPMENT)

/** The licenses that the lock lacks, because the manifests give them in an old form or in words. */
const LICENSES: Record<string, { id?: string; name?: string }> = {
  buildcheck: { id: 'MIT' },
  'cpu-features': { id: 'MIT' },
  'dejavu-fonts-ttf': { name: 'Bitstream Vera License' },
  ssh2: { id: 'MIT' },
}

/** Packages that build the console and are not in it. */
const BUILDERS = ['vite', '@vitejs/plugin-react']

/** Returns the packages that are built into the console, with their versions. */
function builtIn(): string[] {
  const manifest = readFileSync(path.join(root, 'packages/console/package.json'), 'utf8')
  const { devDependencies } = JSON.parse(manifest) as { devDependencies: Record<string, string> }
  return Object.entries(devDependencies)
    .filter(([name]) => !BUILDERS.includes(name))
    .map(([name, version]) => `${name}@${version}`)
}

/** Returns the packages and all that they need. */
function withNeeded(references: readonly string[], { dependencies }: BillOfMaterials): Set<string> {
  const needs = new Map(dependencies.map(({ ref, dependsOn }) => [ref, dependsOn]))
  const all = new Set<string>()
  const add = (reference: string): void => {
    if (all.has(reference)) return
    all.add(reference)
    for (const other of needs.get(reference) ?? []) add(other)
  }
  for (const reference of references) add(reference)
  return all
}

/**
 * Returns a component in its public form. npm names our own packages by their folders, and marks packages that are
 * built in as development ones.
 */
function shown({ properties = [], ...component }: Component): Component {
  const reference = component['bom-ref']
  const name = reference.slice(0, reference.lastIndexOf('@'))
  const license = LICENSES[name]
  return {
    ...component,
    name,
    ...(license ? { licenses: [{ license }] } : {}),
    scope: isOfDevelopment({ ...component, properties }) ? 'required' : (component.scope ?? 'required'),
    properties: properties.filter(({ name }) => name !== DEVELOPMENT),
  }
}

/** Returns the bill of materials. The same lock gives the same bill: it holds neither a time nor an id of its own. */
export function billOfMaterials(): BillOfMaterials {
  const said = execFileSync(
    'npm',
    ['sbom', '--sbom-format', 'cyclonedx', '--package-lock-only', '--include', 'dev', '--offline'],
    { cwd: root, encoding: 'utf8', maxBuffer: 64e6, shell: process.platform === 'win32' },
  )
  const { serialNumber: _, ...bill } = JSON.parse(said) as BillOfMaterials
  const { timestamp: __, ...metadata } = bill.metadata
  const production = bill.components.filter((one) => !isOfDevelopment(one)).map((one) => one['bom-ref'])
  const kept = new Set([...production, ...withNeeded(builtIn(), bill)])
  const own = metadata.component['bom-ref']
  return {
    ...bill,
    metadata: { ...metadata, component: shown(metadata.component) },
    components: bill.components.filter((one) => kept.has(one['bom-ref'])).map(shown),
    dependencies: bill.dependencies
      .filter(({ ref }) => kept.has(ref) || ref === own)
      .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((other) => kept.has(other)) })),
  }
}
