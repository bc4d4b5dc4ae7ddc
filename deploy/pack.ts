/**
 * Packs packages for other projects. "npm run pack -- engine client" writes a tarball of each, and of our packages
 * that they need, into dist/packages (or the folder after --to). A tarball holds compiled JavaScript, its types, the
 * files read at run time, the README and the license; `exports` name the compiled files. The repository itself runs
 * the TypeScript as it is. Beside the tarballs lies sbom.cdx.json, the bill of materials.
 */
import { execFileSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { billOfMaterials } from './bill-of-materials.ts'

export interface Manifest {
  name: string
  version: string
  description: string
  private?: boolean
  exports: Record<string, string>
  /** The file that replaces another one in a browser. */
  browser?: Record<string, string>
  dependencies?: Record<string, string>
  devDependencies?: Record<string, string>
  [field: string]: unknown
}

const root = path.dirname(import.meta.dirname)
const folderOf = (name: string): string => path.join(root, 'packages', name)
export const manifestOf = (name: string): Manifest =>
  JSON.parse(readFileSync(path.join(folderOf(name), 'package.json'), 'utf8')) as Manifest

/** Files that are started by name, so that no import shows them. */
export const STARTED: Record<string, string[]> = {
  engine: ['run/child/child.ts', 'run/child/fill-cache.ts', 'methods/catalog.ts'],
  cli: ['main.ts'],
  service: ['git/pull-thread.ts', 'recovery/thread.ts'],
}
const BIN: Record<string, Record<string, string>> = { cli: { assay: './main.js' } }
/** Files that are read at run time: from, relative to the repository, and to, relative to the package. */
export const READ: Record<string, [from: string, to: string][]> = {
  engine: [
    ['templates', 'templates'],
    ['packages/engine/pdf/insight.typ', 'pdf/insight.typ'],
  ],
  console: [['packages/console/dist', 'dist']],
  store: ['sqlite', 'postgres'].map((kind) => [`packages/store/${kind}/migrations`, `${kind}/migrations`]),
}

/**
 * Files of our other packages that a package carries itself, so that it depends on nothing: the import, and the
 * compiled file.
 */
const CARRIED: Record<string, [specifier: string, file: string][]> = {
  client: [['@assay/model/signature', 'model/webhooks/signature']],
}
/** Packages that also serve CommonJS, with types: the folder `cjs` holds them compiled a second time. */
const DUAL = ['client']

/** Returns the names with those of our packages that they need. */
export function withNeeded(names: string[]): string[] {
  const all = new Set<string>()
  const add = (name: string): void => {
    if (all.has(name)) return
    all.add(name)
    for (const other of Object.keys(manifestOf(name).dependencies ?? {}))
      if (other.startsWith('@assay/') && name !== 'console' && !CARRIED[name])
        add(other.slice('@assay/'.length))
  }
  for (const name of names) add(name)
  return [...all]
}

/** The options that CommonJS needs beside those of the repository. */
const COMMON_JS = { module: 'commonjs', moduleResolution: 'bundler', verbatimModuleSyntax: false }

/** Returns the source of each import of our packages, for the compiler. */
export function exportedFiles(): Record<string, [file: string]> {
  return Object.fromEntries(
    globSync('packages/*/package.json', { cwd: root }).flatMap((file) => {
      const name = file.split(path.sep)[1]!
      return Object.entries(manifestOf(name).exports ?? {}).map(([subpath, own]) => [
        path.posix.join(`@assay/${name}`, subpath),
        [path.join(folderOf(name), own)] as [string],
      ])
    }),
  )
}

/** Compiles the files that the packages export and start, with all that they import, into `out/NAME/`. */
export function compile(names: string[], out: string, other: object = {}): void {
  mkdirSync(out, { recursive: true })
  const files = names.flatMap((name) => {
    const exported = Object.values(manifestOf(name).exports)
    const browser = Object.values(manifestOf(name).browser ?? {})
    const all = [...exported, ...browser, ...(STARTED[name] ?? [])]
    const carried = (CARRIED[name] ?? []).map(([, file]) => path.join(root, 'packages', `${file}.ts`))
    return [...all.map((file) => path.join(folderOf(name), file)), ...carried]
  })
  const compilerOptions = {
    target: 'es2023',
    noEmit: false,
    // "npm run check" has checked the repository, so the check is left out here. It would double the work.
    noCheck: true,
    declaration: true,
    rewriteRelativeImportExtensions: true,
    rootDir: path.join(root, 'packages'),
    typeRoots: [path.join(root, 'node_modules/@types')],
    // The compiler writes nothing for a file that it first meets through node_modules.
    paths: exportedFiles(),
    outDir: out,
    ...other,
  }
  const project = path.join(out, 'tsconfig.json')
  const extended = path.join(root, 'tsconfig.json')
  writeFileSync(project, JSON.stringify({ extends: extended, compilerOptions, files, include: [] }))
  execFileSync(process.execPath, [path.join(root, 'node_modules/typescript/bin/tsc'), '-p', project], {
    stdio: 'inherit',
  })
}

/**
 * Copies the files that the package carries beside its own compiled files of `folder`, which lies in `out`. Its types
 * name files as JavaScript does, which every compiler accepts.
 */
function carry(name: string, out: string, folder: string): void {
  for (const [specifier, file] of CARRIED[name] ?? []) {
    const own = file.replaceAll('/', '-')
    for (const ending of ['.js', '.d.ts'])
      cpSync(path.join(out, file + ending), path.join(folder, own + ending))
    for (const one of globSync('*.{js,d.ts}', { cwd: folder })) {
      const at = path.join(folder, one)
      const text = readFileSync(at, 'utf8').replaceAll(
        /(['"])(@assay\/[\w/-]+)\1/g,
        (found, _quote, other) => (other === specifier ? `'./${own}.js'` : found),
      )
      const named = text.replaceAll(/(from ['"]\.\/[\w.-]+)\.ts(['"])/g, '$1.js$2')
      writeFileSync(at, one.endsWith('.d.ts') ? named : text)
    }
  }
}

/** Compiles a package for CommonJS into its folder `cjs`. */
function compileCommonJs(name: string, stage: string): void {
  const out = path.join(stage, `${name}-cjs`)
  compile([name], out, COMMON_JS)
  const folder = path.join(stage, name, 'cjs')
  cpSync(path.join(out, name), folder, { recursive: true })
  carry(name, out, folder)
  writeFileSync(path.join(folder, 'package.json'), '{ "type": "commonjs" }\n')
}

const compiled = (file: string): string => file.replace(/\.ts$/, '.js')

/** Returns the package.json for other projects. */
function publicManifest(name: string): Manifest {
  const { private: _, devDependencies: __, ...manifest } = manifestOf(name)
  const formOf = (file: string) => ({ types: file.replace(/\.ts$/, '.d.ts'), default: compiled(file) })
  const commonJs = (file: string): string => file.replace(/^\.\//, './cjs/')
  const exports = Object.fromEntries(
    Object.entries(manifest.exports).map(([subpath, file]) => [
      subpath,
      DUAL.includes(name) ? { import: formOf(file), require: formOf(commonJs(file)) } : formOf(file),
    ]),
  )
  const main = manifest.exports['.']
  // These fields are for tools that do not read `exports`.
  if (DUAL.includes(name) && main) {
    const { types, default: file } = formOf(commonJs(main))
    Object.assign(manifest, { main: file, types })
  }
  const { browser } = manifest
  if (browser)
    manifest.browser = Object.fromEntries(
      Object.entries(browser).map(([file, other]) => [compiled(file), compiled(other)]),
    )
  if (name === 'console' || CARRIED[name]) delete manifest.dependencies
  return { ...manifest, ...(BIN[name] ? { bin: BIN[name] } : {}), exports } as unknown as Manifest
}

/** Adds the other files of the tarball to the compiled files of a package. */
function complete(name: string, folder: string): void {
  mkdirSync(folder, { recursive: true })
  for (const [from, to] of READ[name] ?? [])
    cpSync(path.join(root, from), path.join(folder, to), { recursive: true })
  const manifest = publicManifest(name)
  writeFileSync(path.join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)
  cpSync(path.join(root, 'LICENSE'), path.join(folder, 'LICENSE'))
  const readme = path.join(folderOf(name), 'README.md')
  if (existsSync(readme)) cpSync(readme, path.join(folder, 'README.md'))
  else writeFileSync(path.join(folder, 'README.md'), `# ${manifest.name}\n\n${manifest.description}\n`)
}

/** Packs the packages into `to`. Returns the paths of the tarballs. */
export function pack(wanted: string[], to: string): string[] {
  const stage = mkdtempSync(path.join(tmpdir(), 'assay-pack-'))
  try {
    const names = withNeeded(wanted)
    compile(names, stage)
    for (const name of names) carry(name, stage, path.join(stage, name))
    for (const name of names.filter((one) => DUAL.includes(one))) compileCommonJs(name, stage)
    for (const name of names) complete(name, path.join(stage, name))
    mkdirSync(to, { recursive: true })
    const folders = names.map((name) => path.join(stage, name))
    const said = execFileSync(
      'npm',
      ['pack', '--silent', '--pack-destination', path.resolve(to), ...folders],
      {
        encoding: 'utf8',
        shell: process.platform === 'win32',
      },
    )
    return said
      .trim()
      .split('\n')
      .map((file) => path.resolve(to, file))
  } finally {
    rmSync(stage, { recursive: true, force: true })
  }
}

if (process.argv[1] && path.resolve(process.argv[1]) === import.meta.filename) {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { to: { type: 'string', default: path.join(root, 'dist/packages') } },
  })
  const all = globSync('packages/*/package.json', { cwd: root }).map((file) => file.split(path.sep)[1]!)
  const unknown = positionals.filter((name) => !all.includes(name))
  if (unknown.length > 0) {
    process.stderr.write(
      `There is no package ${unknown.join(', ')}: say ${all.join(', ')}, or none for all.\n`,
    )
    process.exit(2)
  }
  for (const file of pack(positionals.length > 0 ? positionals : all, values.to))
    process.stdout.write(`${file}\n`)
  const bill = path.resolve(values.to, 'sbom.cdx.json')
  writeFileSync(bill, `${JSON.stringify(billOfMaterials(), null, 2)}\n`)
  process.stdout.write(`${bill}\n`)
}
