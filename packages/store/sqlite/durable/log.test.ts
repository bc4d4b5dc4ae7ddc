import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { openDatabase } from '../connection.ts'
import { groupCommit } from './group-commit.ts'
import { type Log, openLog } from './log.ts'

const PAGE = 4096
const SECTOR = 512
/** The length of the log's header (https://www.sqlite.org/fileformat2.html#wal_file_format). */
const LOG_HEADER = 32
/** The pages after which a checkpoint happens. Many happen while a history runs. */
const CHECKPOINT = 30

/** A folder in memory if the machine has one. The test simulates the disk, and real syncs only take time. */
const FOLDER = existsSync('/dev/shm') ? '/dev/shm' : tmpdir()

/** Returns a function that gives numbers below `below`, the same ones for the same seed. */
function dice(seed: number): (below: number) => number {
  let state = seed >>> 0
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

/**
 * The bytes of a database that the disk surely holds, beside those that the system holds. A power cut leaves either,
 * part by part: a log by sectors, a database by pages.
 */
class Disk {
  readonly #file: string
  #database: Buffer
  #log: Buffer

  constructor(file: string) {
    this.#file = file
    this.#database = readFileSync(file)
    this.#log = readFileSync(`${file}-wal`)
  }

  /** Records that SQLite has synced the database. */
  databaseSynced(): void {
    this.#database = readFileSync(this.#file)
  }

  readLog(): Buffer {
    return readFileSync(`${this.#file}-wal`)
  }

  logSynced(asItWas: Buffer): void {
    this.#log = asItWas
  }

  /** Notices that SQLite has begun the log anew. It has then synced the new header over the old one. */
  noticeNewLog(): void {
    const header = this.readLog().subarray(0, LOG_HEADER)
    if (!header.equals(this.#log.subarray(0, LOG_HEADER)))
      this.#log = Buffer.concat([header, this.#log.subarray(LOG_HEADER)])
  }

  /** Writes what a power cut now would leave. */
  cut(roll: (below: number) => number, folder: string): string {
    this.noticeNewLog()
    const file = path.join(folder, 'cut.db')
    for (const end of ['', '-wal', '-shm']) rmSync(file + end, { force: true })
    writeFileSync(file, mixed(this.#database, readFileSync(this.#file), PAGE, roll))
    writeFileSync(`${file}-wal`, mixed(this.#log, this.readLog(), SECTOR, roll))
    return file
  }
}

function mixed(sure: Buffer, maybe: Buffer, unit: number, roll: (below: number) => number): Buffer {
  const made = Buffer.alloc(roll(2) === 0 ? sure.length : maybe.length)
  // A part is mostly lost, mostly kept, or either.
  const kept = [1, 50, 99][roll(3)]!
  for (let at = 0; at < made.length; at += unit) {
    const from = roll(100) < kept ? maybe : sure
    if (at < from.length) from.copy(made, at, at, Math.min(at + unit, made.length))
  }
  return made
}

interface Rows {
  count: number
  sound: boolean
}

/** Reads what the next process finds. Values are written in order, so the count tells which are there. */
async function recovered(file: string): Promise<Rows> {
  const db = openDatabase(file)
  try {
    const { count } = db.prepare('SELECT count(*) AS count FROM kept').get() as { count: number }
    const log = await openLog(db, file)
    log.close()
    const { wrong } = db.prepare('SELECT count(*) AS wrong FROM kept WHERE value <> rowid - 1').get() as {
      wrong: number
    }
    const check = db.prepare('PRAGMA integrity_check').get() as { integrity_check: string }
    return { count, sound: wrong === 0 && check.integrity_check === 'ok' }
  } finally {
    db.close()
  }
}

interface Step {
  writes: number
  bytes: number
  /** True while another connection reads. A checkpoint then cannot move all pages. */
  reader: boolean
}

interface Cut {
  /** The number of commits that the database has acknowledged. */
  acknowledged: number
  /** The number of acknowledged commits and those under way. */
  asked: number
  found: Rows
}

async function runHistory(steps: Step[], seed: number): Promise<{ cuts: Cut[]; restarts: number }> {
  const folder = mkdtempSync(path.join(FOLDER, 'assay-log-'))
  const file = path.join(folder, 'assay.db')
  const roll = dice(seed)
  const db = openDatabase(file)
  db.exec('CREATE TABLE kept (value INTEGER, filler BLOB, other TEXT); CREATE INDEX others ON kept (other)')
  const log = await openLog(db, file, CHECKPOINT)
  const disk = new Disk(file)
  const cuts: Cut[] = []
  const headers = new Set<string>()
  let acknowledged = 0
  let asked = 0
  const look = db.prepare('PRAGMA wal_checkpoint(NOOP)')
  async function cut(): Promise<void> {
    headers.add(disk.readLog().toString('hex', 0, LOG_HEADER))
    cuts.push({ acknowledged, asked, found: await recovered(disk.cut(roll, folder)) })
  }
  const watched: Pick<Log, 'sync' | 'checkpoint'> = {
    async sync() {
      disk.noticeNewLog()
      const begun = disk.readLog()
      await cut()
      await log.sync()
      disk.logSynced(begun)
      await cut()
    },
    checkpoint() {
      log.checkpoint()
      const { log: pages, checkpointed } = look.get() as { log: number; checkpointed: number }
      if (pages === checkpointed) disk.databaseSynced()
    },
  }
  const commits = groupCommit(db, {
    log: watched,
    refuse: (reason) => reason,
    committed: () => undefined,
    lost: () => undefined,
    failed: (reason) => reason,
  })
  const insert = db.prepare('INSERT INTO kept VALUES (?, zeroblob(?), hex(randomblob(8)))')
  let reader: DatabaseSync | null = null
  try {
    for (const step of steps) {
      if (step.reader && reader) {
        reader.close()
        reader = null
      } else if (step.reader) {
        reader = new DatabaseSync(file, { readOnly: true })
        reader.exec('BEGIN; SELECT count(*) FROM kept')
      }
      const writes = Array.from({ length: step.writes }, () => {
        const value = asked++
        return commits
          .write(() => insert.run(value, step.bytes))
          .then(() => {
            acknowledged = Math.max(acknowledged, value + 1)
          })
      })
      await Promise.all(writes)
      await cut()
    }
  } finally {
    reader?.close()
    await commits.end()
    log.close()
    db.close()
    rmSync(folder, { recursive: true })
  }
  return { cuts, restarts: headers.size - 1 }
}

test('a power cut at any moment loses nothing of what was acknowledged, and leaves a sound database', async (t) => {
  let restarts = 0
  let cuts = 0
  const step = fc.record({
    writes: fc.integer({ min: 1, max: 12 }),
    bytes: fc.constantFrom(10, 500, 6000, 60_000),
    reader: fc.integer({ min: 0, max: 7 }).map((one) => one === 0),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 25 }), fc.nat(), async (steps, seed) => {
      const history = await runHistory(steps, seed)
      for (const { acknowledged, asked, found } of history.cuts) {
        assert.ok(found.sound)
        assert.ok(found.count >= acknowledged, `${acknowledged} were acknowledged, ${found.count} are there`)
        assert.ok(found.count <= asked)
      }
      restarts += history.restarts
      cuts += history.cuts.length
    }),
    { numRuns: Number(process.env.ASSAY_TEST_RUNS ?? 15) },
  )
  t.diagnostic(`${cuts} power cuts, the log was begun anew ${restarts} times`)
  assert.ok(restarts > 0)
})

/** A system call that began: its file, and the position of a write. */
interface Call {
  name: string
  file: 'log' | 'database'
  at: number | null
}

const CALL = /^\d+ +(pwrite64|fsync|fdatasync)\(\d+<[^>]*assay\.db(-wal)?>(?:.*, \d+, (\d+)(?:\)| <))?/

function traced(folder: string): Call[] {
  const output = path.join(folder, 'calls')
  const child = path.join(import.meta.dirname, 'syncs-child.ts')
  const watch = [
    '-f',
    '-y',
    '-s',
    '0',
    '-e',
    'trace=pwrite64,fsync,fdatasync',
    '-e',
    'signal=none',
    '-o',
    output,
  ]
  const { status, stderr } = spawnSync('strace', [...watch, process.execPath, child, folder], {
    encoding: 'utf8',
  })
  assert.equal(status, 0, stderr)
  return readFileSync(output, 'utf8')
    .split('\n')
    .flatMap((line) => {
      const [, name, ending, at] = CALL.exec(line) ?? []
      return name ? [{ name, file: ending ? 'log' : 'database', at: at ? Number(at) : null }] : []
    })
}

const traceable = spawnSync('strace', ['-o', '/dev/null', 'true']).status === 0

/** log.ts and the test above rely on this order. */
test('SQLite syncs the log before it moves pages, the database before it begins the log anew, and the new header', {
  skip: traceable ? false : 'strace is not there, or may not trace',
}, () => {
  const folder = mkdtempSync(path.join(FOLDER, 'assay-log-'))
  try {
    const calls = traced(folder)
    const unsynced = { log: false, database: false }
    let header = false
    let moved = 0
    let begun = 0
    // The calls before the first log belong to the making of the database, which uses a journal.
    for (const { name, file, at } of calls.slice(calls.findIndex((call) => call.file === 'log'))) {
      if (name !== 'pwrite64') {
        unsynced[file] = false
        if (file === 'log') header = false
        continue
      }
      assert.ok(!header, 'the header is synced before the first frame')
      if (file === 'database') {
        assert.ok(!unsynced.log, 'the log is synced before its pages are moved')
        moved += 1
      } else if (at === 0) {
        assert.ok(!unsynced.database, 'the database is synced before the log begins anew')
        header = true
        begun += 1
      }
      unsynced[file] = true
    }
    assert.ok(moved > 10 && begun > 3, `${moved} pages moved, ${begun} logs begun`)
    assert.ok(calls.filter(({ name }) => name === 'fdatasync').length > 100, 'each commit is synced')
  } finally {
    rmSync(folder, { recursive: true })
  }
})
