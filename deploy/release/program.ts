/**
 * The program of a release: one folder of JavaScript with the command `assay`, the console, the templates
 * and the migrations. Its package.json names all that it needs, and its npm-shrinkwrap.json pins the versions. The
 * folder is the same in a tarball, an archive and an image.
 */
import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { type Manifest, manifestOf, READ, withNeeded } from '../pack.ts'
import { bundle } from './bundle.ts'

const root = path.join(import.meta.dirname, '../..')
const jsonOf = (file: string): unknown => JSON.parse(readFileSync(path.join(root, file), 'utf8'))
const write = (file: string, value: unknown): void =>
  writeFileSync(file, `${JSON.stringify(value, null, 2)}\n`)

/** The package of which no file is compiled here: the built console is copied. */
const BUILT = 'console'

interface Locked {
  dev?: boolean
  link?: boolean
  [field: string]: unknown
}

/** Returns the version of the whole program. */
export const versionOf = (): string => (jsonOf('package.json') as Manifest).version

/** Returns the packages of others that the program needs, each with the one version of the lock. */
function dependencies(names: readonly string[]): Record<string, string> {
  const all = names.flatMap((name) => Object.entries(manifestOf(name).dependencies ?? {}))
  const others = all.filter(([name]) => !name.startsWith('@assay/'))
  return Object.fromEntries(others.toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

function manifest(names: readonly string[]): object {
  const { name, version, description, license } = jsonOf('package.json') as Manifest
  return {
    name,
    version,
    description,
    license,
    type: 'module',
    bin: { assay: 'bin/assay.js' },
    engines: { node: '>=24' },
    dependencies: dependencies(names),
  }
}

/**
 * Returns the lock of the repository without the packages that only development, a workspace or the packaged Node
 * needs.
 */
function shrinkwrap(manifest: object): object {
  const { packages, ...lock } = jsonOf('package-lock.json') as { packages: Record<string, Locked> }
  const optional = Object.keys(
    (jsonOf('package.json') as { optionalDependencies: Record<string, string> }).optionalDependencies,
  )
  const kept = Object.entries(packages).filter(
    ([at, { dev, link }]) =>
      at.startsWith('node_modules/') && !dev && !link && !optional.includes(at.slice('node_modules/'.length)),
  )
  return { ...lock, packages: { '': manifest, ...Object.fromEntries(kept) } }
}

/** Adds the command. `bin/runtime.js` finds a Node for it. */
function addCommand(folder: string): void {
  mkdirSync(path.join(folder, 'bin'))
  cpSync(path.join(root, 'bin/runtime.js'), path.join(folder, 'bin/runtime.js'))
  const command = readFileSync(path.join(root, 'bin/assay.js'), 'utf8')
  const started = command.replace("'packages/cli/main.ts'", "'cli/main.js'")
  if (started === command) throw new Error('bin/assay.js does not start packages/cli/main.ts any more')
  writeFileSync(path.join(folder, 'bin/assay.js'), started)
  chmodSync(path.join(folder, 'bin/assay.js'), 0o755)
}

/** Writes the program into `folder`, which must not exist. The console must be built. */
export async function writeProgram(folder: string): Promise<void> {
  if (!existsSync(path.join(root, 'packages/console/dist/index.html')))
    throw new Error(
      'The console is not built: run "npm ci" or "node bin/runtime.js packages/console/build.ts".',
    )
  const names = withNeeded(['cli'])
  mkdirSync(folder, { recursive: true })
  await bundle(names, folder)
  for (const name of [...names, BUILT])
    for (const [from, to] of READ[name] ?? [])
      cpSync(path.join(root, from), path.join(folder, name, to), { recursive: true })
  const { version } = jsonOf('package.json') as Manifest
  write(path.join(folder, 'service/package.json'), { name: '@assay/service', version, type: 'module' })
  const own = manifest(names)
  write(path.join(folder, 'package.json'), own)
  write(path.join(folder, 'npm-shrinkwrap.json'), shrinkwrap(own))
  for (const file of ['LICENSE', 'README.md', 'CHANGELOG.md'])
    cpSync(path.join(root, file), path.join(folder, file))
  addCommand(folder)
}
