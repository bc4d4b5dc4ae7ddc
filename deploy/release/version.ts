/**
 * Raises the version in every file that has it at once: the packages, the lock, the Python client, the chart and the
 * list of changes.
 */
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'

const SEMANTIC = /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?$/
const UNRELEASED = '## Unreleased'

interface Versioned {
  name?: string
  version?: string
  dependencies?: Record<string, string>
  packages?: Record<string, Versioned>
}

/** Returns a reason not to release under the version; undefined if there is none. */
export function refusal(version: string, changes: string): string | undefined {
  if (!SEMANTIC.test(version)) return `${version} is not a version: write three numbers, such as 1.2.3.`
  if (!changes.split('\n').some((line) => line.startsWith(`## ${version} `)))
    return `CHANGELOG.md has no chapter "## ${version}": run "npm run release -- version ${version}" and commit what it writes.`
  return undefined
}

/**
 * Returns the list of changes in which the unreleased changes have the version and its day, with an empty chapter
 * above.
 */
export function released(changes: string, version: string, day: string): string {
  if (!changes.includes(`\n${UNRELEASED}\n`))
    throw new Error(`CHANGELOG.md has no chapter "${UNRELEASED}": add one with what is new.`)
  return changes.replace(`\n${UNRELEASED}\n`, `\n${UNRELEASED}\n\n## ${version} (${day})\n`)
}

function raise(manifest: Versioned, version: string): void {
  if (manifest.version !== undefined) manifest.version = version
  for (const name of Object.keys(manifest.dependencies ?? {}))
    if (name.startsWith('@assay/')) manifest.dependencies![name] = version
}

/** Raises the version in the repository at `root`. Returns the files that it wrote. */
export function setVersion(root: string, version: string, day: string): string[] {
  if (!SEMANTIC.test(version))
    throw new Error(`${version} is not a version: write three numbers, such as 1.2.3.`)
  const written: string[] = []
  const change = (file: string, by: (text: string) => string): void => {
    const at = path.join(root, file)
    writeFileSync(at, by(readFileSync(at, 'utf8')))
    written.push(file)
  }
  const inJson = (by: (value: Versioned) => void) => (text: string) => {
    const value = JSON.parse(text) as Versioned
    by(value)
    return `${JSON.stringify(value, null, 2)}\n`
  }
  change('CHANGELOG.md', (text) => released(text, version, day))
  const own = globSync('packages/*/package.json', { cwd: root }).toSorted()
  for (const file of ['package.json', ...own])
    change(
      file,
      inJson((value) => raise(value, version)),
    )
  const folders = ['', ...own.map((file) => path.posix.dirname(file.replaceAll(path.sep, '/')))]
  change(
    'package-lock.json',
    inJson((lock) => {
      lock.version = version
      for (const folder of folders) if (lock.packages?.[folder]) raise(lock.packages[folder], version)
    }),
  )
  change('clients/python/pyproject.toml', (text) =>
    text.replace(/^version = ".*"$/m, `version = "${version}"`),
  )
  change('deploy/chart/Chart.yaml', (text) =>
    text.replaceAll(/^(version|appVersion): .*$/gm, `$1: ${version}`),
  )
  return written
}
