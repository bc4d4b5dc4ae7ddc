/**
 * Installs the packages of others that a program carries for one platform, by its lock, without files that nothing
 * reads when the program runs. Licenses stay.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, globSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { SAMPLES } from '@assay/engine/reading/samples'

export interface Target {
  os: 'linux'
  cpu: 'x64' | 'arm64'
}

/** The package that differs by platform, so that it is not part of a tarball for all of them. */
const OF_A_PLATFORM = '@duckdb/node-api'

/** Files of a package that only other programs read: compilers, debuggers, other runtimes. */
const UNREAD = ['**/*.map', '**/*.d.ts', '**/*.d.mts', '**/*.d.cts', 'bare-*/prebuilds/**/*.bare']

const USED_DATA = new Set(SAMPLES.filter(({ from }) => from === 'package').map(({ name }) => name))
const USED_FONTS = new Set(['DejaVuSans.ttf', 'DejaVuSans-Bold.ttf', 'DejaVuSansMono.ttf'])

/** Folders of which the program reads only a few files. */
const PARTLY_READ: [folder: string, used: ReadonlySet<string>][] = [
  ['vega-datasets/data', USED_DATA],
  ['dejavu-fonts-ttf/ttf', USED_FONTS],
]

const npm = (folder: string, args: string[]): string =>
  execFileSync('npm', args, { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })

/** Packages that compile native code for ssh2, which works without it. */
const NATIVE = ['cpu-features', 'buildcheck', 'nan']

interface Manifest {
  scripts?: Record<string, string>
  optionalDependencies?: Record<string, string>
}

/** Removes the scripts of packages, so that no later npm runs one or loads a native helper. */
function dropScripts(modules: string): void {
  const files = globSync('**/package.json', { cwd: modules })
  for (const file of files) {
    const at = path.join(modules, file)
    const manifest = JSON.parse(readFileSync(at, 'utf8')) as Manifest
    const { preinstall, install, postinstall, ...scripts } = manifest.scripts ?? {}
    const optional = Object.entries(manifest.optionalDependencies ?? {})
    const kept = optional.filter(([name]) => !NATIVE.includes(name))
    if ((preinstall ?? install ?? postinstall) || kept.length < optional.length) {
      const changed = { ...manifest, scripts, optionalDependencies: Object.fromEntries(kept) }
      writeFileSync(at, `${JSON.stringify(changed, null, 2)}\n`)
    }
  }
}

function prune(modules: string): void {
  for (const name of NATIVE) rmSync(path.join(modules, name), { recursive: true, force: true })
  dropScripts(modules)
  for (const file of globSync(UNREAD, { cwd: modules })) rmSync(path.join(modules, file))
  for (const [folder, used] of PARTLY_READ)
    for (const file of globSync('*', { cwd: path.join(modules, folder) }))
      if (!used.has(file)) rmSync(path.join(modules, folder, file), { recursive: true })
  // npm's own notes hold the addresses from which it loaded, so they are removed.
  rmSync(path.join(modules, '.package-lock.json'), { force: true })
}

/** Installs the packages that the program in `folder` needs on the platform. */
export function installModules(folder: string, { os, cpu }: Target): void {
  const platform = [`--os=${os}`, `--cpu=${cpu}`, '--libc=glibc']
  npm(folder, [
    'ci',
    '--omit=dev',
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
    '--loglevel=error',
    ...platform,
  ])
  // They are optional for npm, which leaves out a missing one without a word.
  const native = `@duckdb/node-bindings-${os}-${cpu}`
  if (!existsSync(path.join(folder, 'node_modules', native, 'duckdb.node')))
    throw new Error(
      `npm has no ${native} of the version in package-lock.json: choose a version of DuckDB that it has.`,
    )
  prune(path.join(folder, 'node_modules'))
}

/** Packs the program with its packages for npm. The installing npm adds the packages of its own platform. */
export function packForNpm(folder: string, to: string): string {
  const file = path.join(folder, 'package.json')
  const manifest = JSON.parse(readFileSync(file, 'utf8')) as { dependencies: Record<string, string> }
  const bundled = Object.keys(manifest.dependencies).filter((name) => name !== OF_A_PLATFORM)
  writeFileSync(file, `${JSON.stringify({ ...manifest, bundleDependencies: bundled }, null, 2)}\n`)
  rmSync(path.join(folder, 'npm-shrinkwrap.json'))
  rmSync(path.join(folder, 'node_modules/@duckdb'), { recursive: true })
  return path.join(to, npm(folder, ['pack', '--silent', '--pack-destination', to]).trim())
}
