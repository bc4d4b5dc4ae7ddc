/** An older version of the service, as it was committed, beside the present one. */
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs'
import path from 'node:path'

const root = path.join(import.meta.dirname, '..', '..', '..')
const MIGRATIONS = 'src/store/postgres/migrations'

export interface Older {
  commit: string
  /** Its command line. */
  program: string
  /** The files of migrations that it does not have. */
  newer: string[]
}

function git(...args: string[]): string {
  return execFileSync('git', ['-C', root, ...args], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  }).trim()
}

/** The commit before the one that added the newest migrations; null where the history is not there. */
export function commitBeforeSchema(): string | null {
  try {
    const added = git('log', '-1', '--format=%H', '--diff-filter=A', '--', MIGRATIONS)
    return git('rev-parse', '--verify', '--quiet', `${added}^`)
  } catch {
    return null
  }
}

/** Its files in `folder`, with the libraries of the present one. Throws where the commit is not there. */
export function checkOut(commit: string, folder: string): Older {
  mkdirSync(folder, { recursive: true })
  execFileSync('tar', ['-x', '-C', folder], { input: archive(commit) })
  symlinkSync(path.join(root, 'node_modules'), path.join(folder, 'node_modules'))
  const console = path.join(root, 'web', 'dist')
  if (existsSync(console)) cpSync(console, path.join(folder, 'web', 'dist'), { recursive: true })
  const had = new Set(readdirSync(path.join(folder, MIGRATIONS)))
  return {
    commit: git('rev-parse', '--short', commit),
    program: path.join(folder, 'bin', 'assay.js'),
    newer: readdirSync(path.join(root, MIGRATIONS)).filter((file) => !had.has(file)),
  }
}

function archive(commit: string): Buffer {
  return execFileSync('git', ['-C', root, 'archive', '--format=tar', commit], {
    maxBuffer: 2 ** 30,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}
