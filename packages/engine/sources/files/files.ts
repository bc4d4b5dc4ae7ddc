/**
 * Resolves the `file` of a source to files on disk. The real path (links followed) must lie below the data folder or the
 * uploads, or be a shipped sample. `uploads/...` names uploads; if the data folder has a match too, the name is refused as
 * ambiguous. Errors name files as written.
 */
import { globSync } from 'node:fs'
import { readdir, realpath, stat } from 'node:fs/promises'
import path from 'node:path'
import { ENDINGS_SHOWN, UPLOADS } from '@assay/model/file'
import type { Roots } from '../roots.ts'
import { SourceError } from '../source.ts'
import { type FORMATS, formatNamed, formatOf } from './formats.ts'
import type { SourceFile } from './source-file.ts'

const SAMPLE = 'sample/'
const GLOB = /[*?[\]{}]/
const FILES_MAX = 10_000
const FILES_LISTED = 1_000

/** Downloads the uploads of this name from a bucket; resolves to none if there are none. */
export type FetchUploads = (file: string) => Promise<SourceFile[]>

/** Returns the files, sorted by name in code units, so that the order of rows does not depend on the machine. */
export async function resolveFiles(
  file: string,
  roots: Roots,
  fetchUploads: FetchUploads = () => Promise.resolve([]),
): Promise<SourceFile[]> {
  if (file.startsWith(SAMPLE)) return sampleFiles(file, roots)
  return file.startsWith(UPLOADS) ? uploadedFiles(file, roots, fetchUploads) : dataFiles(file, roots)
}

/** Returns the file of a small table of a test. */
export async function fixtureFiles(folder: string, name: string): Promise<SourceFile[]> {
  const found = await regular(path.join(folder, name), name)
  return found.kind === 'file' ? [found.file] : []
}

/** Returns the workspace's uploads, else files of the data folder. */
async function uploadedFiles(file: string, roots: Roots, fetchUploads: FetchUploads): Promise<SourceFile[]> {
  vetSteps(file)
  const inFolder = roots.uploads === undefined || roots.uploads.folder !== null
  const own = await outcome(
    inFolder
      ? readBelow(roots.uploads?.folder ?? null, file)
      : fetchUploads(file).then((all) => some(all, file)),
  )
  const data = roots.data === null ? null : await outcome(dataFiles(file, roots))
  if (data?.kind !== 'found') {
    if (own.kind === 'found') return own.files
    throw own.error
  }
  if (own.kind !== 'found') return data.files
  throw new SourceError(
    `${JSON.stringify(file)} names an upload and a file of the data folder: give one of them another name.`,
  )
}

type FoundFiles = { kind: 'found'; files: SourceFile[] } | { kind: 'refused'; error: SourceError }

function outcome(files: Promise<SourceFile[]>): Promise<FoundFiles> {
  return files.then(
    (found) => ({ kind: 'found' as const, files: found }),
    (error: unknown) => {
      if (!(error instanceof SourceError)) throw error
      return { kind: 'refused' as const, error }
    },
  )
}

function some(found: SourceFile[], file: string): SourceFile[] {
  if (found.length > 0) return found
  throw new SourceError(
    `There is no upload ${JSON.stringify(file)}: put it there (assay files put), or correct the name.`,
  )
}

async function readBelow(folder: string | null, file: string): Promise<SourceFile[]> {
  const root = folder === null ? null : await realpath(folder).catch(() => null)
  if (root === null) return some([], file)
  const inner = file.slice(UPLOADS.length)
  const exact = await below(root, path.join(root, inner), file)
  if (exact.kind === 'file') return [exact.file]
  return some(GLOB.test(inner) ? await matching(root, inner, UPLOADS) : [], file)
}

async function dataFiles(file: string, roots: Roots): Promise<SourceFile[]> {
  const root = await dataFolder(file, roots)
  vetSteps(file)
  const exact = await below(root, path.join(root, file), file)
  if (exact.kind === 'file') return [exact.file]
  if (exact.kind === 'outside') {
    throw new SourceError(
      `The link ${JSON.stringify(file)} leads out of the data folder: copy the file into it.`,
    )
  }
  if (exact.kind === 'other')
    throw new SourceError(`${JSON.stringify(file)} is not a file: name a file or a pattern.`)
  if (!GLOB.test(file)) {
    throw new SourceError(
      `There is no file ${JSON.stringify(file)} in the data folder: put it there, or correct the name.`,
    )
  }
  const found = await matching(root, file, '')
  if (found.length > 0) return found
  throw new SourceError(`No file in the data folder matches ${JSON.stringify(file)}.`)
}

function vetSteps(file: string): void {
  const steps = file.split('/')
  if (path.isAbsolute(file) || file.includes('\0') || file.includes('\\') || steps.includes('..')) {
    throw new SourceError(
      `The path ${JSON.stringify(file)} must lie below the data folder: write it without "..".`,
    )
  }
}

async function dataFolder(file: string, roots: Roots): Promise<string> {
  const root = roots.data === null ? null : await realpath(roots.data).catch(() => null)
  if (root !== null) return root
  const why = roots.data === null ? 'this workspace has no data folder' : 'the data folder does not exist'
  throw new SourceError(
    `The file ${JSON.stringify(file)} cannot be read, as ${why}: name one ("assay run --data FOLDER", or ASSAY_DATA for a service), or read sample/... instead.`,
  )
}

/** Returns the files below the root that match. `prefix` is put before their names. */
async function matching(root: string, pattern: string, prefix: string): Promise<SourceFile[]> {
  const names = globSync(pattern, { cwd: root }).map((name) => name.split(path.sep).join('/'))
  if (names.length > FILES_MAX) {
    throw new SourceError(
      `The pattern ${JSON.stringify(prefix + pattern)} names more than ${FILES_MAX} files: narrow it.`,
    )
  }
  const found = await Promise.all(names.map((name) => below(root, path.join(root, name), prefix + name)))
  return found.flatMap((one) => (one.kind === 'file' ? [one.file] : [])).toSorted(byPath)
}

function byPath(a: SourceFile, b: SourceFile): number {
  return a.path < b.path ? -1 : a.path > b.path ? 1 : 0
}

type Found = { kind: 'file'; file: SourceFile } | { kind: 'missing' | 'outside' | 'other' }

async function below(root: string, absolute: string, shown: string): Promise<Found> {
  const real = await realpath(absolute).catch(() => null)
  if (real === null) return { kind: 'missing' }
  const relative = path.relative(root, real)
  if (relative === '..' || relative.startsWith(`..${path.sep}`) || path.isAbsolute(relative))
    return { kind: 'outside' }
  return regular(real, shown)
}

async function regular(real: string, shown: string): Promise<Found> {
  const about = await stat(real, { bigint: true })
  if (!about.isFile()) return { kind: 'other' }
  return {
    kind: 'file',
    file: {
      path: shown,
      real,
      bytes: Number(about.size),
      modified_at: new Date(Number(about.mtimeMs)).toISOString(),
      modified_ns: about.mtimeNs,
    },
  }
}

async function sampleFiles(file: string, roots: Roots): Promise<SourceFile[]> {
  const pattern = file.slice(SAMPLE.length)
  const known = Object.keys(roots.sample)
  const names = known.includes(pattern)
    ? [pattern]
    : known.filter((name) => GLOB.test(pattern) && path.matchesGlob(name, pattern))
  if (names.length === 0) {
    throw new SourceError(`There is no sample ${JSON.stringify(file)}: docs/data.md lists them.`)
  }
  const found = await Promise.all(
    names.toSorted().map(async (name) => {
      const real = await realpath(roots.sample[name]!).catch(() => null)
      return real === null ? { kind: 'missing' as const } : regular(real, SAMPLE + name)
    }),
  )
  const files = found.flatMap((one) => (one.kind === 'file' ? [one.file] : []))
  if (files.length < names.length) {
    throw new SourceError(`The sample ${JSON.stringify(file)} is not installed: run "npm ci" again.`)
  }
  return files
}

/** Returns at most 1,000 files that a template can name, for forms: samples, uploads and files of the data folder. */
export async function listFiles(roots: Roots): Promise<string[]> {
  const samples = Object.keys(roots.sample)
    .toSorted()
    .map((name) => SAMPLE + name)
  const offered = (roots.uploads?.offered ?? []).map((one) => UPLOADS + one.path)
  const uploads = [...offered, ...(await listBelow(roots.uploads?.folder ?? null, UPLOADS))]
  return [...samples, ...uploads, ...(await listBelow(roots.data, ''))].slice(0, FILES_LISTED)
}

async function listBelow(given: string | null, prefix: string): Promise<string[]> {
  const root = given === null ? null : await realpath(given).catch(() => null)
  if (root === null) return []
  const found: string[] = []
  const folders = ['']
  for (
    let folder = folders.shift();
    folder !== undefined && found.length < FILES_LISTED;
    folder = folders.shift()
  ) {
    const entries = await readdir(path.join(root, folder), { withFileTypes: true }).catch(() => [])
    for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
      const name = folder === '' ? entry.name : `${folder}/${entry.name}`
      if (entry.isDirectory()) folders.push(name)
      else if (formatOf(name) && (await below(root, path.join(root, name), name)).kind === 'file')
        found.push(prefix + name)
    }
  }
  return found
}

/** Returns the format that all files share. */
export function commonFormat(files: SourceFile[], file: string): (typeof FORMATS)[number] {
  const formats = new Set(files.map((one) => (one.format ? formatNamed(one.format) : formatOf(one.path))))
  const [format] = formats
  if (formats.size === 1 && format) return format
  throw new SourceError(
    formats.size > 1
      ? `${JSON.stringify(file)} names files of several formats: read each format as a source of its own.`
      : `The format of ${JSON.stringify(file)} is not known: files end in ${ENDINGS_SHOWN}.`,
  )
}
