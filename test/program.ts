/**
 * Makes the program of a release for the processes that tests start, because it starts with a third less processor time
 * than the sources. It is made once for each state of the sources, below the clone, where it finds the packages of others.
 */
import { createHash } from 'node:crypto'
import { globSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs'
import path from 'node:path'

const root = path.dirname(import.meta.dirname)
/** The files from which the program is made. */
const MADE_OF = [
  'package*.json',
  'bin/*',
  'deploy/**/*.ts',
  'templates/**/*.*',
  'packages/*/package.json',
  'packages/console/dist/**/*.*',
  'packages/{model,net,engine,store,client,service,cli}/**/*.{ts,typ,sql}',
]
const NEVER = /\.test\.ts$|node_modules/
/** The milliseconds for which a program of other sources is kept, because another run may still use it. */
const KEPT_MS = 3_600_000

function stateOf(): string {
  const hash = createHash('sha256')
  for (const file of globSync(MADE_OF, { cwd: root }).toSorted()) {
    if (NEVER.test(file)) continue
    hash.update(`${file}\n`).update(readFileSync(path.join(root, file)))
  }
  return hash.digest('hex').slice(0, 16)
}

/** Returns the folder of the program of the present sources. The console must be built. */
export async function ensureProgram(): Promise<string> {
  const all = path.join(root, 'dist/test')
  const program = path.join(all, stateOf())
  mkdirSync(all, { recursive: true })
  const others = readdirSync(all).map((name) => path.join(all, name))
  if (others.includes(program)) return program
  for (const other of others)
    if (Date.now() - statSync(other).mtimeMs > KEPT_MS) rmSync(other, { recursive: true, force: true })
  const { writeProgram } = await import('../deploy/release/program.ts')
  const made = `${program}-${process.pid}`
  await writeProgram(made)
  renameSync(made, program)
  return program
}
