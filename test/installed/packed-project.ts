/** Makes another project with our packages installed, packed as by "npm run pack". */
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { pack } from '../../deploy/pack.ts'

const root = path.dirname(path.dirname(import.meta.dirname))

/** Links a package of the repository's node_modules, so that no network is needed. */
function link(name: string, modules: string): void {
  mkdirSync(path.dirname(path.join(modules, name)), { recursive: true })
  symlinkSync(path.join(root, 'node_modules', name), path.join(modules, name), 'junction')
}

/** Packs the packages and unpacks them into `folder`, with the dependencies that they name and no others. */
export function installPacked(names: string[], folder: string): void {
  const modules = path.join(folder, 'node_modules')
  const others = new Set(['@types/node'])
  for (const tarball of pack(names, path.join(folder, 'tarballs'))) {
    const name = /assay-([a-z]+)-/.exec(path.basename(tarball))![1]!
    const at = path.join(modules, '@assay', name)
    mkdirSync(at, { recursive: true })
    execFileSync('tar', ['-xzf', path.basename(tarball), '--strip-components=1', '-C', at], {
      cwd: path.dirname(tarball),
    })
    const { dependencies = {} } = JSON.parse(readFileSync(path.join(at, 'package.json'), 'utf8')) as {
      dependencies?: Record<string, string>
    }
    for (const other of Object.keys(dependencies)) if (!other.startsWith('@assay/')) others.add(other)
  }
  for (const other of others) link(other, modules)
  writeFileSync(path.join(folder, 'package.json'), '{"type": "module"}')
}

/**
 * Compiles TypeScript files of the project under the strictest options. Returns the compiler's output. By the rules
 * of Node 16, a CommonJS file gets no types of a module that only serves `import`.
 */
export function compileStrictly(folder: string, files: string[]): string {
  const compilerOptions = { strict: true, target: 'es2023', module: 'node16', types: ['node'] }
  writeFileSync(path.join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }))
  const tsc = path.join(root, 'node_modules/typescript/bin/tsc')
  return spawnSync(process.execPath, [tsc, '-p', folder], { encoding: 'utf8', timeout: 300_000 }).stdout
}
