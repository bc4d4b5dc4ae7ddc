/**
 * From a `file` of a template to files on the disk, and never to another one: whatever is named, its real path (links
 * followed) must lie below the data folder, or be one of the shipped samples. Sentences name files as they were written.
 */
import { globSync } from 'node:fs'
import { readdir, realpath, stat } from 'node:fs/promises'
import path from 'node:path'
import type { Roots } from '../protocol.ts'
import { FORMATS, formatOf } from './formats.ts'
import { SourceError } from './source.ts'

export interface SourceFile {
  /** As written, or as the glob found it below the data folder. */
  path: string
  /** Absolute, without links. */
  real: string
  bytes: number
  modified_at: string
  modified_ns: bigint
}

const SAMPLE = 'sample/'
const GLOB = /[*?[\]{}]/
const FILES_MAX = 10_000
const FILES_LISTED = 1_000

/** In the order of their names by code unit, so that rows come in the same order everywhere. */
export async function resolveFiles(file: string, roots: Roots): Promise<SourceFile[]> {
  if (file.startsWith(SAMPLE)) return sampleFiles(file, roots)
  const root = await dataFolder(file, roots)
  const steps = file.split('/')
  if (path.isAbsolute(file) || file.includes('\0') || file.includes('\\') || steps.includes('..')) {
    throw new SourceError(
      `The path ${JSON.stringify(file)} must lie below the data folder: write it without "..".`,
    )
  }
  const exact = await below(root, path.join(root, file), file)
  if (exact.kind === 'file') return [exact.file]
  if (exact.kind === 'outside') {
    throw new SourceError(
      `The link ${JSON.stringify(file)} leads out of the data folder: copy the file into it.`,
    )
  }
  if (exact.kind === 'other')
    throw new SourceError(`${JSON.stringify(file)} is no file: name a file or a pattern.`)
  if (!GLOB.test(file)) {
    throw new SourceError(
      `There is no file ${JSON.stringify(file)} in the data folder: put it there, or correct the name.`,
    )
  }
  return globFiles(root, file)
}

async function dataFolder(file: string, roots: Roots): Promise<string> {
  const root = roots.data === null ? null : await realpath(roots.data).catch(() => null)
  if (root !== null) return root
  const why = roots.data === null ? 'this workspace has no data folder' : 'the data folder does not exist'
  throw new SourceError(
    `The file ${JSON.stringify(file)} cannot be read, as ${why}: name one (ASSAY_DATA), or read sample/... instead.`,
  )
}

async function globFiles(root: string, pattern: string): Promise<SourceFile[]> {
  const names = globSync(pattern, { cwd: root }).map((name) => name.split(path.sep).join('/'))
  if (names.length > FILES_MAX) {
    throw new SourceError(
      `The pattern ${JSON.stringify(pattern)} names more than ${FILES_MAX} files: narrow it.`,
    )
  }
  const found = await Promise.all(names.map((name) => below(root, path.join(root, name), name)))
  const files = found.flatMap((one) => (one.kind === 'file' ? [one.file] : []))
  if (files.length > 0) return files.toSorted(byPath)
  throw new SourceError(`No file in the data folder matches ${JSON.stringify(pattern)}.`)
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

/** The data files that a template may name, for forms: samples, then what lies below the data folder; at most 1,000. */
export async function listFiles(roots: Roots): Promise<string[]> {
  const samples = Object.keys(roots.sample)
    .toSorted()
    .map((name) => SAMPLE + name)
  const root = roots.data === null ? null : await realpath(roots.data).catch(() => null)
  if (root === null) return samples
  const own: string[] = []
  const folders = ['']
  for (
    let folder = folders.shift();
    folder !== undefined && own.length < FILES_LISTED;
    folder = folders.shift()
  ) {
    const entries = await readdir(path.join(root, folder), { withFileTypes: true }).catch(() => [])
    for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
      const name = folder === '' ? entry.name : `${folder}/${entry.name}`
      if (entry.isDirectory()) folders.push(name)
      else if (formatOf(name) && (await below(root, path.join(root, name), name)).kind === 'file')
        own.push(name)
    }
  }
  return [...samples, ...own].slice(0, FILES_LISTED)
}

/** The one format of all files. */
export function commonFormat(files: SourceFile[], file: string): (typeof FORMATS)[number] {
  const formats = new Set(files.map((one) => formatOf(one.path)))
  const [format] = formats
  if (formats.size === 1 && format) return format
  throw new SourceError(
    formats.size > 1
      ? `${JSON.stringify(file)} names files of several formats: read each format as a source of its own.`
      : `The format of ${JSON.stringify(file)} is not known: files end in ${FORMATS.map(({ name }) => `.${name}`).join(', ')}, text also in .gz.`,
  )
}
