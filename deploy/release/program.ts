/**
 * The program of a release: one folder of compiled JavaScript with the command `assay`, the console, the templates
 * and the migrations. Its package.json names all that it needs, and its npm-shrinkwrap.json pins the versions. The
 * folder is the same in a tarball, an archive and an image.
 */
import {
  chmodSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import { compile, exportedFiles, type Manifest, manifestOf, READ, withNeeded } from '../pack.ts'

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

/** Replaces imports of our packages by the paths of their files in the program. */
function nameFiles(folder: string): void {
  const files = new Map(
    Object.entries(exportedFiles()).map(([specifier, [file]]) => [
      specifier,
      path.relative(path.join(root, 'packages'), file).replace(/\.ts$/, '.js'),
    ]),
  )
  for (const one of globSync('**/*.js', { cwd: folder })) {
    const at = path.join(folder, one)
    const text = readFileSync(at, 'utf8')
    const named = text.replaceAll(/(['"])(@assay\/[\w/-]+)\1/g, (_, quote: string, specifier: string) => {
      const file = files.get(specifier)
      if (file === undefined) throw new Error(`${one} imports ${specifier}, which no package exports`)
      const relative = path.posix.relative(path.posix.dirname(one), file)
      return `${quote}${relative.startsWith('.') ? relative : `./${relative}`}${quote}`
    })
    if (named !== text) writeFileSync(at, named)
  }
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
export function writeProgram(folder: string): void {
  if (!existsSync(path.join(root, 'packages/console/dist/index.html')))
    throw new Error(
      'The console is not built: run "npm ci" or "node bin/runtime.js packages/console/build.ts".',
    )
  const names = withNeeded(['cli'])
  mkdirSync(folder, { recursive: true })
  compile(names, folder, { declaration: false })
  rmSync(path.join(folder, 'tsconfig.json'))
  nameFiles(folder)
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
