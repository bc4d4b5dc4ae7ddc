/** Checks of the machine: the home, its disk, the temporary folder, the walls, the templates. */
import { access, constants, mkdtemp, rm, stat, statfs, writeFile } from 'node:fs/promises'
import { availableParallelism, tmpdir } from 'node:os'
import path from 'node:path'
import { createCatalog } from '@assay/engine/reading/catalog'
import { templatesFolder } from '@assay/engine/reading/samples'
import { wallsHere } from '@assay/engine/run/jail'
import { HERE, workersHere } from '@assay/engine/run/pool'
import type { Config } from '../config/config.ts'
import { VERSION } from '../runtime/version.ts'
import { type Finding, failed, ok, sizeOf, unused, warning } from './finding.ts'

const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? (error as Error).message

export function program(config: Config): Finding {
  const workers = config.workers ?? workersHere()
  return ok(
    'program',
    `assay ${VERSION} on Node ${process.versions.node}, ${availableParallelism()} cores, ${sizeOf(HERE.memory_bytes)} of memory, ${workers} analyses at a time.`,
  )
}

export async function home({ home: folder }: Config): Promise<Finding> {
  const about = await stat(folder).catch(() => null)
  if (about === null) {
    const parent = await presentAbove(folder)
    // Rights alone do not tell: /proc lets nobody make a folder.
    return (await writable('home', parent, '')).state === 'ok'
      ? warning('home', `${folder} is not there yet.`, 'The first "assay serve" makes it.')
      : failed('home', `${folder} cannot be made in ${parent}.`, 'Name a folder of this user in ASSAY_HOME.')
  }
  if (!about.isDirectory())
    return failed('home', `${folder} is not a folder.`, 'Name a folder in ASSAY_HOME.')
  if (!(await mayWrite(folder)))
    return failed('home', `${folder} cannot be written to.`, 'Give the folder to the user of the service.')
  if ((about.mode & 0o077) !== 0)
    return warning('home', `Others may read ${folder}.`, `Keep it to yourself: chmod 700 ${folder}`)
  return ok('home', `${folder} can be written to.`)
}

/** Returns the nearest folder above that is there. */
async function presentAbove(folder: string): Promise<string> {
  const parent = path.dirname(folder)
  return parent === folder || (await stat(parent).catch(() => null)) !== null ? parent : presentAbove(parent)
}

async function mayWrite(folder: string): Promise<boolean> {
  return access(folder, constants.W_OK | constants.X_OK).then(
    () => true,
    () => false,
  )
}

const DISK_LEAST = 1e8
const DISK_FEW = 1e9

/** Checks the disk of the folder, or of the nearest existing folder above it. */
export async function disk(folder: string, part = 'disk'): Promise<Finding> {
  const found = await statfs(folder).catch(() => null)
  if (found === null) {
    const parent = path.dirname(folder)
    return parent === folder
      ? failed(part, `The disk of ${folder} cannot be read.`, 'Check that it is mounted.')
      : disk(parent, part)
  }
  const [free, total] = [found.bavail * found.bsize, found.blocks * found.bsize]
  const says = `${sizeOf(free)} of ${sizeOf(total)} are free for ${folder}.`
  if (free < DISK_LEAST) return failed(part, says, 'Free some space: with a full disk nothing is written.')
  return free < DISK_FEW
    ? warning(part, says, 'Free some space, or keep less: ASSAY_KEEP_JOBS, ASSAY_KEEP_EVENTS.')
    : ok(part, says)
}

/** Writes a file into the folder and deletes it. */
export async function writable(part: string, folder: string, remedy: string): Promise<Finding> {
  try {
    const made = await mkdtemp(path.join(folder, '.assay-doctor-'))
    try {
      await writeFile(path.join(made, 'file'), 'a file')
    } finally {
      await rm(made, { recursive: true, force: true })
    }
    return ok(part, `Files can be written to ${folder}.`)
  } catch (error) {
    return failed(part, `No file can be written to ${folder} (${codeOf(error)}).`, remedy)
  }
}

export const temporary = (): Promise<Finding> =>
  writable('temporary folder', tmpdir(), 'Make it writable, or name another in TMPDIR.')

export async function data({ data: folder }: Config): Promise<Finding> {
  if (folder === null) return unused('data', 'file: sources read the sample data.')
  const about = await stat(folder).catch(() => null)
  const readable = await access(folder, constants.R_OK | constants.X_OK).then(
    () => true,
    () => false,
  )
  return about?.isDirectory() && readable
    ? ok('data', `${folder} can be read.`)
    : failed(
        'data',
        `${folder} is not a folder that can be read.`,
        'Name the folder of the data in ASSAY_DATA.',
      )
}

export function jail(config: Config): Finding {
  const { walls, by, missing } = wallsHere(config.jail === 'require' ? 'auto' : config.jail)
  if (walls.length > 0)
    return ok('jail', `Analysis processes run behind walls (by ${by}): ${walls.join(', ')}.`)
  const says = `No walls stand around analysis processes (${missing}).`
  const remedy = 'Install bubblewrap or util-linux, and allow user namespaces.'
  if (config.jail === 'off') return unused('jail', says)
  return config.jail === 'require' ? failed('jail', says, remedy) : warning('jail', says, remedy)
}

export function templates(config: Config): Finding {
  const catalog = createCatalog({ shipped: templatesFolder, folders: config.templates.folders })
  const count = catalog.list().length
  const broken = catalog.broken()
  if (broken.length === 0)
    return ok(
      'templates',
      `${count} templates and ${catalog.metrics().length} metrics can be used.` +
        (config.templates.repository === null ? '' : ' "assay repository show" tells of the repository.'),
    )
  const names = broken.map(({ file }) => file).slice(0, 3)
  return failed(
    'templates',
    `${broken.length} of the files cannot be used: ${names.join(', ')}${broken.length > 3 ? ', ...' : ''}.`,
    `See what is wrong: assay check ${names[0]}`,
  )
}
