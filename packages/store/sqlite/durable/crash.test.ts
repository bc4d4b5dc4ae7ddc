import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { afterEach, beforeEach, test } from 'node:test'
import { systemClock } from '@assay/model/clock'
import { AppError } from '@assay/model/errors'
import { WORKSPACE } from '../../conformance/given.ts'
import { openStore } from '../../open.ts'
import type { Store } from '../../store.ts'

const CHILD = path.join(import.meta.dirname, 'crash-child.ts')
let home: string
const children: ChildProcess[] = []

beforeEach(async () => {
  home = await mkdtemp(path.join(tmpdir(), 'assay-crash-'))
})
afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
  await rm(home, { recursive: true })
})

function open(): Promise<Store> {
  return openStore({ url: '', home, clock: systemClock, publicUrl: null })
}

function start(command: string, args: string[]): ChildProcess {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  children.push(child)
  return child
}

/** Reads the child's lines until `enough` returns true or the child ends. Then it runs `then` and reads the rest. */
async function readLines(child: ChildProcess, enough: (lines: string[]) => boolean, then: () => void) {
  const lines: string[] = []
  let called = false
  for await (const line of createInterface({ input: child.stdout! })) {
    lines.push(line)
    if (!called && enough(lines)) {
      called = true
      then()
    }
  }
  return lines
}

async function assertAllKept(store: Store, lines: string[]): Promise<void> {
  for (const line of lines) {
    const [what, assignment_id] = line.split(' ')
    if (what !== 'created' && what !== 'queued') continue
    const job = await store.getJob({ workspace_id: WORKSPACE, assignment_id: assignment_id! })
    assert.ok(job, `${line}, and lost`)
    if (what === 'queued') assert.equal(job.job_status, 'queued')
  }
}

test('keeps every write that it acknowledged when it is killed in the middle', async () => {
  for (const count of [50, 400, 1100]) {
    const child = start(process.execPath, [CHILD, home])
    const lines = await readLines(
      child,
      (seen) => seen.length >= count,
      () => child.kill('SIGKILL'),
    )
    assert.ok(lines.length >= count)
    const store = await open()
    await assertAllKept(store, lines)
    const queued = await store.counts()
    const listed = new Set(lines.filter((line) => line.startsWith('queued')))
    assert.ok(queued.jobs.find((row) => row.job_status === 'queued')!.count >= listed.size)
    await store.close()
  }
})

test('a second process on the same database is told who holds it, and a killed one holds nothing', async () => {
  const child = start(process.execPath, [CHILD, home])
  await readLines(
    child,
    (seen) => seen.length >= 2,
    () => {
      void (async () => {
        await assert.rejects(open(), (error) => {
          assert.ok(error instanceof AppError)
          assert.equal(error.code, 'store_unavailable')
          assert.match(
            error.message,
            new RegExp(`in use by process ${child.pid}, since 20\\d\\d-.*ASSAY_HOME`),
          )
          return true
        })
        child.kill('SIGKILL')
      })()
    },
  )
  const store = await open()
  const holder = JSON.parse(await readFile(path.join(home, 'assay.db-holder'), 'utf8')) as { pid: number }
  assert.equal(holder.pid, process.pid)
  await assert.rejects(open(), new RegExp(`process ${process.pid}`))
  await store.close()
  await (await open()).close()
})

test('refuses writes while the disk takes no more, still reads, and has lost nothing', async () => {
  // A limit on the size of files stands in for a full disk: write(2) fails within a commit.
  const child = start('sh', ['-c', `ulimit -f 3000; exec "$0" "$@"`, process.execPath, CHILD, home])
  const exited = once(child, 'exit')
  const lines = await readLines(
    child,
    () => false,
    () => undefined,
  )
  assert.deepEqual(await exited, [0, null])
  assert.ok(lines.includes('refused store_unavailable'))
  assert.ok(lines.includes('read 1'))
  const store = await open()
  await assertAllKept(store, lines)
  await store.close()
})

test('keeps its files from other users', async () => {
  const inside = path.join(home, 'state')
  const store = await openStore({ url: '', home: inside, clock: systemClock, publicUrl: null })
  const mode = async (name: string) => ((await stat(path.join(inside, name))).mode & 0o777).toString(8)
  assert.equal(await mode('.'), '700')
  for (const name of ['assay.db', 'assay.db-wal', 'assay.db-shm', 'assay.db-holder'])
    assert.equal(await mode(name), '600', name)
  await store.close()
})
