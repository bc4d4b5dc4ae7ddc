/** The rules of the house as tests. The import table stands in ARCHITECTURE.md and is read from there. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'

const root = path.dirname(import.meta.dirname)
const read = (file: string): string => readFileSync(path.join(root, file), 'utf8')
const sources = globSync('src/**/*.ts', { cwd: root }).toSorted()
const production = sources.filter((file) => !isTestOnly(file))
/** The console: its own world of imports, the same size and names. */
const web = globSync('web/{src/**/,}*.{ts,tsx}', { cwd: root }).toSorted()
const NOUNS = [
  'job',
  'template',
  'insight',
  'event',
  'webhook',
  'delivery',
  'token',
  'connection',
  'connection-view',
  'link',
  'schedule',
  'audit',
  'cron',
  'file',
  'subscription',
  'calendar',
  'quantity',
  'sum',
  'collector',
  'errors',
].map((noun) => `src/${noun}.ts`)

function isTestOnly(file: string): boolean {
  return /\.test\.ts$|\/(harness|conformance)(-[a-z]+)?\.ts$|\/conformance\//.test(file)
}

interface Import {
  target: string
  typeOnly: boolean
}

/** Every import of a file: static, re-exported, dynamic with a literal, and `new URL('./x.ts', import.meta.url)`. */
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

function resolveImport(file: string, target: string): string {
  return path.posix.join(path.posix.dirname(file), target)
}

interface Row {
  part: string
  allowed: string[]
  except: string[]
  packages: string[]
}

function importTable(): Row[] {
  const section = read('ARCHITECTURE.md').split('## Who may import whom')[1]!.split('\n## ')[0]!
  const rows = [...section.matchAll(/^\| `([^`]+)` \|([^|]*)\|([^|]*)\|$/gm)]
  return rows.map((match) => {
    const [may, but = ''] = match[2]!.split(' but ')
    const paths = [...may!.matchAll(/`([^`]+)`/g)].map((part) => part[1]!)
    return {
      part: match[1]!,
      allowed: [
        ...paths,
        ...(/\bnouns\b/.test(may!) ? NOUNS : []),
        ...(/\btypes\b/.test(may!) ? ['types'] : []),
      ],
      except: [...but.matchAll(/`([^`]+)`/g)].map((part) => part[1]!),
      packages: match[3]!
        .split(',')
        .map((name) => name.trim())
        .filter(Boolean),
    }
  })
}

const covers = (pattern: string, file: string): boolean =>
  pattern.endsWith('/') ? file.startsWith(pattern) : file === pattern

/** The name of a function, its line and its length, by a scan of brackets that is good enough for formatted code. */
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

test('the import table in ARCHITECTURE.md has a row for every source file', () => {
  const table = importTable()
  assert.ok(table.length >= 14, 'the table was found')
  for (const file of production)
    assert.ok(
      table.some((row) => covers(row.part, file)),
      file,
    )
})

test('no file imports what its part may not', () => {
  const table = importTable()
  const faults: string[] = []
  for (const file of production) {
    const row = table.find((candidate) => covers(candidate.part, file))!
    for (const { target, typeOnly } of importsOf(file)) {
      if (target.startsWith('node:')) continue
      if (!target.startsWith('.')) {
        const name = target
          .split('/')
          .slice(0, target.startsWith('@') ? 2 : 1)
          .join('/')
        if (!row.packages.includes(name) && !typeOnly) faults.push(`${file} imports the package ${name}`)
        continue
      }
      const resolved = resolveImport(file, target)
      if (resolved === 'package.json') continue
      const own = row.part.endsWith('/') && row.part !== 'src/' && resolved.startsWith(row.part)
      const allowed = row.allowed.some(
        (pattern) => covers(pattern, resolved) || (pattern === 'types' && typeOnly),
      )
      const refused = row.except.some((pattern) => covers(pattern, resolved))
      if ((!own && !allowed) || refused) faults.push(`${file} imports ${resolved}`)
    }
  }
  assert.deepEqual(faults, [])
})

test('there is no import cycle', () => {
  const graph = new Map(
    production.map((file) => [
      file,
      importsOf(file)
        .filter(({ target, typeOnly }) => target.startsWith('.') && !typeOnly)
        .map(({ target }) => resolveImport(file, target)),
    ]),
  )
  const done = new Set<string>()
  const visit = (file: string, trail: string[]): void => {
    assert.ok(!trail.includes(file), `cycle: ${[...trail.slice(trail.indexOf(file)), file].join(' -> ')}`)
    if (done.has(file)) return
    for (const next of graph.get(file) ?? []) visit(next, [...trail, file])
    done.add(file)
  }
  for (const file of production) visit(file, [])
})

test('every imported file exists and every import ends in its file ending', () => {
  for (const file of sources) {
    for (const { target } of importsOf(file)) {
      if (target.startsWith('.'))
        assert.ok(existsSync(path.join(root, resolveImport(file, target))), `${file}: ${target}`)
    }
  }
})

test('files have at most 500 lines and a median of about 120', () => {
  const lengths = production.map((file) => read(file).split('\n').length)
  const long = [...production, ...web].filter((file) => read(file).split('\n').length > 501)
  assert.deepEqual(long, [])
  const median = lengths.toSorted((a, b) => a - b)[Math.floor(lengths.length / 2)]!
  assert.ok(median <= 160, `the median is ${median} lines`)
})

test('functions have at most 70 lines', () => {
  assert.deepEqual(
    [...production, ...web].flatMap((file) => longFunctions(file, 70)),
    [],
  )
})

test('no file or folder has a vague name', () => {
  const vague =
    /(^|\/)(utils?|helpers?|lib|common|types|interfaces|misc|shared|index|[a-z-]*manager)(\.tsx?|\/)/i
  assert.deepEqual(
    [...sources, ...web, ...globSync('test/**/*.ts', { cwd: root })].filter((file) => vague.test(file)),
    [],
  )
})

test('names of files are lower case with hyphens', () => {
  for (const file of [...sources, ...web])
    assert.match(path.basename(file), /^[a-z0-9]+(-[a-z0-9]+)*(\.test)?\.tsx?$/, file)
})

test('every source file begins by saying what it promises', () => {
  const silent = [...production, ...web].filter((file) => !/^(#!.*\n)?(\/\*\*|\/\/)/.test(read(file)))
  assert.deepEqual(silent, [])
})

test('both databases have the same migrations', () => {
  const names = (kind: string): string[] =>
    globSync(`src/store/${kind}/migrations/*.sql`, { cwd: root })
      .map((file) => path.basename(file))
      .toSorted()
  assert.ok(names('sqlite').length > 0)
  if (existsSync(path.join(root, 'src/store/postgres'))) assert.deepEqual(names('postgres'), names('sqlite'))
})

test('there are no barrels, no default exports and no skipped or only tests', () => {
  for (const file of production) {
    assert.doesNotMatch(read(file), /^export \* from/m, file)
    assert.doesNotMatch(read(file), /^export default/m, file)
  }
  for (const file of globSync(['src/**/*.test.ts', 'test/**/*.test.ts'], { cwd: root })) {
    assert.doesNotMatch(read(file), /\b(test|it|describe|suite)\.(only|todo)\(/, file)
  }
})

test('test titles are sentences of their own', () => {
  for (const file of globSync(['src/**/*.test.ts', 'test/**/*.test.ts'], { cwd: root })) {
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
  const manifest = JSON.parse(read('package.json')) as Record<string, Record<string, string>>
  for (const group of ['dependencies', 'devDependencies', 'optionalDependencies']) {
    for (const [name, version] of Object.entries(manifest[group] ?? {}))
      assert.match(version, /^\d/, `${name}@${version}`)
  }
})

test('the lock holds every optional package of other platforms, so that npm ci works on each', () => {
  const lock = JSON.parse(read('package-lock.json')) as {
    packages: Record<string, { optionalDependencies?: Record<string, string> }>
  }
  const missing = Object.entries(lock.packages).flatMap(([where, entry]) =>
    Object.keys(entry.optionalDependencies ?? {}).filter(
      (name) =>
        !(`node_modules/${name}` in lock.packages) && !(`${where}/node_modules/${name}` in lock.packages),
    ),
  )
  assert.deepEqual(missing, [])
})
