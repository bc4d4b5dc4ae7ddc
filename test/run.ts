/**
 * Runs the tests: every *.test.ts beside its file in packages/, and the whole-system ones in test/. Arguments narrow by a
 * part of the path: "npm test -- packages/store crash". A file that takes longer than its limit has failed.
 */
import { chmodSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import path from 'node:path'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import { ensureConsole } from '../packages/console/build.ts'
import { ensureProgram } from './program.ts'
import { together } from './together.ts'

/** The most milliseconds of one process. It only guards against hanging, because a busy machine may be slow. */
const LIMIT_MS = 900_000
/** The most milliseconds of all processes together. */
const WHOLE_LIMIT_MS = 3_600_000
/** The number of files whose processor time is printed at the end. */
const COSTLY = 25
/** The files that take the most processor time, longest first. They start first, so that none runs alone at the end. */
const COSTLIEST = [
  'test/docs/docs.test.ts',
  'test/console/console.test.ts',
  'test/generated/generated.test.ts',
  'test/generated/gallery.test.ts',
  'packages/store/postgres/postgres.test.ts',
  'packages/engine/run/pool/pool.test.ts',
  'test/commands/cli.test.ts',
  'test/faults/takeover.test.ts',
  'packages/engine/methods/survival.test.ts',
  'packages/engine/methods/drivers.test.ts',
  'test/hostile/stall.test.ts',
]
/**
 * The processes at a time: two more than processors, because many wait most of their time for a timeout, a lease or
 * another process.
 */
const AT_ONCE = Math.min(availableParallelism() + 2, 8)

const root = path.dirname(import.meta.dirname)
const wanted = process.argv.slice(2)
// Whole-system tests come next, so that short files fill the gaps at the end.
const found = ['test/**/*.test.ts', 'packages/**/*.test.ts'].flatMap((pattern) =>
  globSync(pattern, { cwd: root, exclude: ['**/node_modules/**'] }).toSorted(),
)
const files = [...new Set([...COSTLIEST.filter((file) => found.includes(file)), ...found])].filter(
  (file) => wanted.length === 0 || wanted.some((part) => file.includes(part)),
)
if (files.length === 0) {
  process.stderr.write(`No test file matches ${wanted.join(' ')}.\n`)
  process.exit(1)
}
// The processes of all test files share a compile cache, because they load much the same modules.
process.env.NODE_COMPILE_CACHE ??= path.join(tmpdir(), 'node-compile-cache')
// The folder that the files of this run share (test/servers/postgres-programs.ts).
const folder = mkdtempSync(path.join(tmpdir(), 'assay-run-'))
chmodSync(folder, 0o755)
process.env.ASSAY_TEST_FOLDER = folder
// Services of the tests write their address and token for the command line here.
process.env.XDG_RUNTIME_DIR = folder
process.on('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }))
process.env.ASSAY_TEST_LIMIT_MS = String(LIMIT_MS)
const times = path.join(folder, 'times.jsonl')
process.env.ASSAY_TEST_TIMES = times
// A signal to the run ends its test files, and so does its limit.
const ended = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => ended.abort())
const late = setTimeout(() => {
  process.stderr.write(`The tests still run after ${WHOLE_LIMIT_MS / 60_000} minutes and are ended.\n`)
  ended.abort()
}, WHOLE_LIMIT_MS)
const whole = files.filter((file) => file.startsWith('test/'))
await ensureConsole({ fresh: whole.some((file) => file.startsWith('test/console')) })
if (whole.length > 0) process.env.ASSAY_TEST_PROGRAM = await ensureProgram()
const { paths, held } = together(files, { root, folder, alone: COSTLIEST })
const stream = run({
  files: paths,
  concurrency: AT_ONCE,
  execArgv: ['limit.ts', 'processor-time.ts'].flatMap((file) => [
    '--import',
    path.join(import.meta.dirname, file),
  ]),
  signal: ended.signal,
})
const namedBy = ([first, ...others]: string[]): string =>
  others.length === 0 ? first! : `${first} and ${others.length} more`
stream.on('test:fail', (event) => {
  if (event.todo === undefined || event.todo === false) process.exitCode = 1
})
const report = stream.compose(spec)
report.pipe(process.stdout)
report.on('end', () => {
  clearTimeout(late)
  // Leftovers of a test must not keep the run open.
  setTimeout(() => process.exit(), 5000).unref()
  const took = readFileSync(times, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { file: string; ms: number })
    .toSorted((a, b) => b.ms - a.ms)
  const seconds = (ms: number): string => (ms / 1000).toFixed(1).padStart(7)
  const lines = took.slice(0, COSTLY).map(({ file, ms }) => `${seconds(ms)} s  ${namedBy(held(file))}\n`)
  const total = took.reduce((sum, { ms }) => sum + ms, 0)
  process.stdout.write(`Processor time:\n${seconds(total)} s  all files\n${lines.join('')}`)
})
