/** Rules of the repository that can be checked by reading files. A rule that matters is a test. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'

const root = path.dirname(path.dirname(import.meta.dirname))
const read = (file: string): string => readFileSync(path.join(root, file), 'utf8')
const list = (...patterns: string[]): string[] =>
  globSync(patterns, { cwd: root, exclude: ['**/node_modules/**', '**/dist/**'] }).toSorted()

const PACKAGES = list('packages/*/package.json').map((file) => path.basename(path.dirname(file)))
const sources = list('packages/**/*.ts').filter((file) => !file.startsWith('packages/console/'))
const production = sources.filter((file) => !isTestOnly(file) && !file.endsWith('.generated.ts'))
/** The files of the console. It runs in a browser, and most rules of the other packages hold for it too. */
const console_ = list('packages/console/**/*.{ts,tsx}')
const everywhere = list('packages/**/*.{ts,tsx}', 'test/**/*.ts', 'proofs/**/*.ts')
const testFiles = list('packages/**/*.test.ts', 'test/**/*.test.ts')

function isTestOnly(file: string): boolean {
  return /\.test\.ts$|\/conformance(-[a-z]+)?\.ts$|\/conformance\/|-fixture\.ts$|-child\.ts$|\/test-[a-z-]+\.ts$|\/sync-at-once\.ts$/.test(
    file,
  )
}

interface Import {
  target: string
  typeOnly: boolean
}

/**
 * Returns every import of a file: static, re-exported, dynamic with a literal, and `new URL('./x.ts',
 * import.meta.url)`.
 */
function importsOf(file: string): Import[] {
  const text = read(file)
  const found: Import[] = []
  const pattern = /(?:^|\n)\s*(import|export)\s+(type\s)?(?:[^'";]*?\sfrom\s+)?'([^']+)'|import\('([^']+)'\)/g
  for (const match of text.matchAll(pattern)) {
    const target = match[3] ?? match[4]!
    found.push({ target, typeOnly: match[2] !== undefined })
  }
  return found
}

interface Manifest {
  name: string
  version: string
  exports?: Record<string, string>
  dependencies?: Record<string, string>
  devDependencies?: Record<string, string>
}

const manifestOf = (name: string): Manifest => JSON.parse(read(`packages/${name}/package.json`)) as Manifest
const packageOf = (file: string): string => file.split('/')[1]!
const nameOf = (target: string): string =>
  target
    .split('/')
    .slice(0, target.startsWith('@') ? 2 : 1)
    .join('/')

/** Returns the file that an import names; null for packages of others. */
function resolveImport(file: string, target: string): string | null {
  if (target.startsWith('.')) return path.posix.join(path.posix.dirname(file), target)
  if (!target.startsWith('@assay/')) return null
  const [, name, ...rest] = target.split('/')
  const subpath = rest.length === 0 ? '.' : `./${rest.join('/')}`
  const exported = manifestOf(name!).exports?.[subpath]
  assert.ok(exported, `${file} imports ${target}, which the package does not export`)
  return path.posix.join('packages', name!, exported)
}

/**
 * Returns functions longer than `most` lines, with name, line and length. It counts brackets, which is enough for
 * formatted code.
 */
function longFunctions(file: string, most: number): string[] {
  const lines = read(file).split('\n')
  const found: string[] = []
  const start =
    /^(\s*)(?:export\s+)?(?:default\s+)?(?:async\s+)?(?:function\b|(?:(?:static|private|override|get|set|async)\s+)*[#\w]+\([^;]*\)[^;=]*\{$|const \w+ = (?:async )?(?:\([^;]*|\w+) ?(?::[^=]*)?=> \{$)/
  for (const [index, line] of lines.entries()) {
    const match = start.exec(line)
    if (!match || /^\s*(if|for|while|switch|return|describe|test|suite)\b/.test(line)) continue
    const end = lines.findIndex(
      (other, at) => at > index && other.startsWith(`${match[1]}}`) && /^\s*\}/.test(other),
    )
    if (end - index + 1 > most)
      found.push(`${file}:${index + 1} (${end - index + 1} lines) ${line.trim().slice(0, 60)}`)
  }
  return found
}

test('a package imports what its package.json names, and nothing else', () => {
  const faults: string[] = []
  for (const name of PACKAGES) {
    const { dependencies = {}, devDependencies = {} } = manifestOf(name)
    const allowed = new Set(
      Object.keys(name === 'console' ? { ...dependencies, ...devDependencies } : dependencies),
    )
    for (const file of [...production, ...console_].filter((one) => packageOf(one) === name)) {
      if (file.endsWith('/build.ts')) continue
      for (const { target, typeOnly } of importsOf(file)) {
        if (target.startsWith('node:')) continue
        if (target.startsWith('.')) {
          const inside = resolveImport(file, target)!.startsWith(`packages/${name}/`)
          if (!inside) faults.push(`${file} leaves its package: ${target}`)
        } else if (!allowed.has(nameOf(target)) && !(typeOnly && !target.startsWith('@assay/')))
          faults.push(`${file} imports ${nameOf(target)}`)
      }
    }
  }
  assert.deepEqual(faults, [])
})

test('a package names no dependency that none of its files uses', () => {
  for (const name of PACKAGES) {
    const text = [...production, ...console_]
      .filter((file) => packageOf(file) === name)
      .map(read)
      .join('\n')
    for (const dependency of Object.keys(manifestOf(name).dependencies ?? {}))
      assert.ok(text.includes(dependency), `${name} names ${dependency}`)
  }
})

test('a package exports files that exist, and only what another package uses', () => {
  const used = new Set(
    everywhere.flatMap((file) =>
      importsOf(file)
        .map(({ target }) => target)
        .filter((target) => target.startsWith('@assay/')),
    ),
  )
  for (const name of PACKAGES)
    for (const [subpath, file] of Object.entries(manifestOf(name).exports ?? {})) {
      assert.ok(existsSync(path.join(root, 'packages', name, file)), `${name} exports ${subpath}`)
      if (subpath !== '.')
        assert.ok(
          used.has(path.posix.join(`@assay/${name}`, subpath)),
          `${name} exports ${subpath} to nobody`,
        )
    }
})

test('what a file exports is used in another file, and not in tests alone', () => {
  const users = list('packages/**/*.{ts,tsx}', '{test,proofs,bench}/**/*.ts', 'bin/*.js')
  // These files make kept files, measure or start something, so what they use is in use.
  const isTest = (file: string) =>
    isTestOnly(file) ||
    (file.startsWith('test/') && !/^test\/(generated\/generated|servers\/postgres)\.ts$/.test(file))
  const words = new Map(users.map((file) => [file, new Set(read(file).match(/\w+/g))]))
  // The library's own entry, the clock of tests of any package, and a helper of the console's tests.
  const forTests = ['runTemplate', 'FakeClock', 'ensureConsole']
  const faults: string[] = []
  for (const file of [...production, ...console_]) {
    const text = read(file)
    for (const match of text.matchAll(/^export (?:async )?(?:function\*?|const|class|let) (\w+)/gm)) {
      const name = match[1]!
      const others = users.filter((other) => other !== file && words.get(other)!.has(name))
      const own = text.split(new RegExp(`\\b${name}\\b`)).length > 2
      if (others.length === 0) faults.push(`${file} exports ${name} to nobody`)
      else if (!own && !forTests.includes(name) && others.every(isTest))
        faults.push(`${file}: only tests use ${name}`)
    }
  }
  assert.deepEqual(faults, [])
})

test('there is no import cycle, counting types', () => {
  const graph = new Map(
    [...production, ...console_].map((file) => [
      file,
      importsOf(file).flatMap(({ target }) => resolveImport(file, target) ?? []),
    ]),
  )
  const done = new Set<string>()
  const visit = (file: string, trail: string[]): void => {
    assert.ok(!trail.includes(file), `cycle: ${[...trail.slice(trail.indexOf(file)), file].join(' -> ')}`)
    if (done.has(file)) return
    for (const next of graph.get(file) ?? []) visit(next, [...trail, file])
    done.add(file)
  }
  for (const file of graph.keys()) visit(file, [])
})

test('every imported file exists and every import ends in its file ending', () => {
  for (const file of sources) {
    for (const { target } of importsOf(file)) {
      const resolved = resolveImport(file, target)
      if (resolved !== null) assert.ok(existsSync(path.join(root, resolved)), `${file}: ${target}`)
    }
  }
})

test('files have at most 500 lines and a median of about 120', () => {
  const lengths = production.map((file) => read(file).split('\n').length)
  const long = [...production, ...console_].filter((file) => read(file).split('\n').length > 501)
  assert.deepEqual(long, [])
  const median = lengths.toSorted((a, b) => a - b)[Math.floor(lengths.length / 2)]!
  assert.ok(median <= 160, `the median is ${median} lines`)
})

test('a folder holds at most 16 source files', () => {
  const counts = new Map<string, number>()
  for (const file of [...production, ...console_])
    counts.set(path.dirname(file), (counts.get(path.dirname(file)) ?? 0) + 1)
  assert.deepEqual(
    [...counts].filter(([, files]) => files > 16),
    [],
  )
})

test('functions have at most 70 lines', () => {
  assert.deepEqual(
    [...production, ...console_].flatMap((file) => longFunctions(file, 70)),
    [],
  )
})

test('no file or folder has a vague name', () => {
  const vague = /(^|\/)(utils?|helpers?|lib|common|interfaces|misc|index|[a-z-]*manager)(\.tsx?|\/)/i
  assert.deepEqual(
    everywhere.filter((file) => vague.test(file)),
    [],
  )
})

test('names of files are lower case with hyphens', () => {
  for (const file of [...sources, ...console_])
    assert.match(path.basename(file), /^[a-z0-9]+(-[a-z0-9]+)*(\.test|\.generated|\.d)?\.tsx?$/, file)
})

test('every source file begins by saying what it promises', () => {
  const silent = [...production, ...console_].filter((file) => !/^(#!.*\n)?(\/\*\*|\/\/)/.test(read(file)))
  assert.deepEqual(silent, [])
})

test('both databases have the same migrations', () => {
  const names = (kind: string): string[] =>
    globSync(`packages/store/${kind}/migrations/*.sql`, { cwd: root })
      .map((file) => path.basename(file))
      .toSorted()
  assert.ok(names('sqlite').length > 0)
  if (existsSync(path.join(root, 'packages/store/postgres')))
    assert.deepEqual(names('postgres'), names('sqlite'))
})

test('there are no barrels, no default exports and no skipped or only tests', () => {
  for (const file of production) {
    assert.doesNotMatch(read(file), /^export \* from/m, file)
    assert.doesNotMatch(read(file), /^export default/m, file)
  }
  for (const file of testFiles) {
    assert.doesNotMatch(read(file), /\b(test|it|describe|suite)\.(only|todo)\(/, file)
  }
})

test('test titles are sentences of their own', () => {
  for (const file of testFiles) {
    const titles = [...read(file).matchAll(/^test\((['"`])(.+?)\1,/gm)].map((match) => match[2]!)
    assert.equal(new Set(titles).size, titles.length, `${file} repeats a title`)
    for (const title of titles) assert.ok(title.split(' ').length >= 3, `${file}: "${title}" is no sentence`)
  }
})

test('nothing in the tree names a machine or a registry', () => {
  const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
  }).split('\n')
  const host = new RegExp(['regis', 'try\\.npm', 'js\\.org|/wo', 'rk/main|/ro', 'ot/'].join(''))
  for (const file of files.filter((name) =>
    /\.(ts|js|json|md|ya?ml|sql|html|css|tsx)$|\.ci\/run$/.test(name),
  )) {
    if (existsSync(path.join(root, file))) assert.doesNotMatch(read(file), host, file)
  }
})

test('versions in package.json are exact', () => {
  for (const file of ['package.json', ...list('packages/*/package.json')]) {
    const manifest = JSON.parse(read(file)) as Record<string, Record<string, string>>
    for (const group of ['dependencies', 'devDependencies', 'optionalDependencies']) {
      for (const [name, version] of Object.entries(manifest[group] ?? {}))
        assert.match(version, /^\d/, `${file}: ${name}@${version}`)
    }
  }
})

test('all packages have one version', () => {
  const { version } = JSON.parse(read('package.json')) as Manifest
  for (const name of PACKAGES) assert.equal(manifestOf(name).version, version, name)
})

test('the locks hold every optional package of other platforms, so that npm ci works on each', () => {
  const missing = [
    'package-lock.json',
    'bench/package-lock.json',
    'proofs/clients/package-lock.json',
  ].flatMap((file) => {
    const { packages } = JSON.parse(read(file)) as {
      packages: Record<string, { optionalDependencies?: Record<string, string> }>
    }
    return Object.entries(packages).flatMap(([where, entry]) =>
      Object.keys(entry.optionalDependencies ?? {})
        .filter((name) => !(`node_modules/${name}` in packages))
        .filter((name) => !(`${where}/node_modules/${name}` in packages))
        .map((name) => `${file} ${name}`),
    )
  })
  assert.deepEqual(missing, [])
})
