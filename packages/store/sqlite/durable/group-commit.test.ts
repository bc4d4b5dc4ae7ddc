import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { beforeEach, test } from 'node:test'
import { type GroupCommit, groupCommit } from './group-commit.ts'

let db: DatabaseSync
let executed: string[]
let commits: GroupCommit
let committed: number
let disk: Disk

/** Stands in for the disk. A sync ends when the test ends it, or at once. */
class Disk {
  /** The syncs under way, each with the ways to end it. */
  readonly syncs: { end(): void; fail(error: Error): void }[] = []
  held = false
  checkpointFault: Error | null = null

  sync(): Promise<void> {
    executed.push('sync')
    if (!this.held) return Promise.resolve()
    return new Promise((resolve, reject) => {
      this.syncs.push({ end: resolve, fail: reject })
    })
  }

  checkpoint(): void {
    if (this.checkpointFault) throw this.checkpointFault
  }

  /** Resolves once the next sync has begun. */
  async begun(): Promise<{ end(): void; fail(error: Error): void }> {
    while (this.syncs.length === 0) await new Promise((resolve) => setImmediate(resolve))
    return this.syncs.shift()!
  }
}

function insert(value: string): string {
  db.prepare('INSERT INTO kept (value) VALUES (?)').run(value)
  return value
}

function kept(): unknown[] {
  return db
    .prepare('SELECT value FROM kept ORDER BY rowid')
    .all()
    .map((row) => row.value)
}

async function passes(count: number): Promise<void> {
  for (let pass = 0; pass < count; pass += 1) await new Promise((resolve) => setImmediate(resolve))
}

beforeEach(() => {
  db = new DatabaseSync(':memory:')
  db.exec('CREATE TABLE kept (value TEXT UNIQUE)')
  executed = []
  committed = 0
  disk = new Disk()
  const exec = db.exec.bind(db)
  db.exec = (sql) => {
    executed.push(sql)
    exec(sql)
  }
  commits = groupCommit(db, {
    log: disk,
    failed: (reason) => new Error(`failed: ${(reason as Error).message}`),
    refuse: (reason) => new Error(`refused: ${(reason as Error).message}`),
    committed: () => {
      committed += 1
    },
    lost: () => {
      executed.push('lost')
    },
  })
})

test('commits the writes of one pass of the event loop once, in their order', async () => {
  const values = Array.from({ length: 100 }, (_, index) => `v${index}`)
  const written = await Promise.all(values.map((value) => commits.write(() => insert(value))))
  assert.deepEqual(written, values)
  assert.deepEqual(kept(), values)
  assert.equal(executed.filter((sql) => sql === 'COMMIT').length, 1)
  assert.equal(committed, 1)
})

test('resolves no promise before its commit has been synced', async () => {
  const order: string[] = []
  const writes = ['a', 'b'].map((value) =>
    commits.write(() => insert(value)).then(() => order.push(`${value} after ${executed.at(-1)}`)),
  )
  assert.deepEqual(kept(), [])
  await Promise.all(writes)
  assert.deepEqual(order, ['a after sync', 'b after sync'])
})

test('rolls back a write that throws, alone and whole', async () => {
  const results = await Promise.allSettled([
    commits.write(() => insert('a')),
    commits.write(() => {
      insert('half')
      throw new Error('no')
    }),
    commits.write(() => {
      insert('other half')
      return insert('a')
    }),
    commits.write(() => insert('b')),
  ])
  assert.deepEqual(
    results.map(({ status }) => status),
    ['fulfilled', 'rejected', 'rejected', 'fulfilled'],
  )
  assert.deepEqual(kept(), ['a', 'b'])
  assert.match(String(results[1]?.status === 'rejected' && results[1].reason), /no/)
  assert.match(String(results[2]?.status === 'rejected' && results[2].reason), /UNIQUE/)
})

test('refuses all writes of a lost transaction and goes on with the next', async () => {
  const lost = await Promise.allSettled([
    commits.write(() => insert('a')),
    commits.write(() => {
      db.exec('ROLLBACK')
      throw new Error('the disk is full')
    }),
    commits.write(() => insert('b')),
  ])
  for (const result of lost)
    assert.match(String(result.status === 'rejected' && result.reason), /refused: the disk is full/)
  assert.ok(executed.includes('lost'))
  assert.equal(committed, 0)
  assert.deepEqual(kept(), [])
  await commits.write(() => insert('c'))
  assert.deepEqual(kept(), ['c'])
})

test('refuses all writes of a commit that fails', async () => {
  db.exec(
    'PRAGMA foreign_keys = ON; CREATE TABLE child (of TEXT REFERENCES kept (value) DEFERRABLE INITIALLY DEFERRED)',
  )
  const results = await Promise.allSettled([
    commits.write(() => insert('a')),
    commits.write(() => db.prepare("INSERT INTO child VALUES ('nobody')").run()),
  ])
  for (const result of results)
    assert.match(String(result.status === 'rejected' && result.reason), /refused: FOREIGN KEY/)
  await commits.write(() => insert('b'))
  assert.deepEqual(kept(), ['b'])
})

test('divides a flood of writes into several commits and keeps them all', async () => {
  const values = Array.from({ length: 1700 }, (_, index) => `v${index}`)
  await Promise.all(values.map((value) => commits.write(() => insert(value))))
  assert.deepEqual(kept(), values)
  assert.equal(committed, 4)
})

test('commits what waits when it ends, and refuses what comes later', async () => {
  const waiting = commits.write(() => insert('a'))
  await commits.end()
  assert.deepEqual(kept(), ['a'])
  assert.equal(await waiting, 'a')
  await assert.rejects(
    commits.write(() => insert('b')),
    /refused: The store is closed/,
  )
})

test('tells nobody of a commit before its sync has ended', async () => {
  disk.held = true
  const order: string[] = []
  const written = commits.write(() => insert('a')).then(() => order.push('written'))
  const sync = await disk.begun()
  assert.deepEqual(kept(), ['a'])
  const read = commits.syncing!.then(() => order.push('read'))
  // A refusal reveals the row that it met, so it also waits.
  const refused = commits.write(() => insert('a')).catch(() => order.push('refused'))
  await passes(5)
  assert.deepEqual([order, committed], [[], 0])
  disk.held = false
  sync.end()
  await Promise.all([written, read, refused])
  assert.deepEqual(order, ['written', 'read', 'refused'])
  assert.equal(commits.syncing, null)
})

test('syncs once for all that came while the last sync was under way', async () => {
  disk.held = true
  const first = commits.write(() => insert('first'))
  const sync = await disk.begun()
  const rest = Array.from({ length: 100 }, (_, index) => commits.write(() => insert(`v${index}`)))
  await passes(5)
  assert.deepEqual(kept(), ['first'])
  sync.end()
  ;(await disk.begun()).end()
  await Promise.all([first, ...rest])
  assert.equal(executed.filter((what) => what === 'sync').length, 2)
  assert.equal(committed, 2)
})

test('syncs nothing where nothing was written', async () => {
  assert.equal(await commits.write(() => 'read only'), 'read only')
  await assert.rejects(
    commits.write(() => {
      throw new Error('no')
    }),
    /no/,
  )
  assert.ok(!executed.includes('sync'))
})

test('never again takes a write or tells of a read once a sync has failed', async () => {
  disk.held = true
  const written = commits.write(() => insert('a'))
  const sync = await disk.begun()
  const waiting = commits.write(() => insert('b'))
  const read = commits.syncing
  sync.fail(new Error('EIO'))
  disk.held = false
  await assert.rejects(written, /failed: EIO/)
  await assert.rejects(waiting, /failed: EIO/)
  await assert.rejects(read!, /failed: EIO/)
  for (let more = 0; more < 3; more += 1) {
    await assert.rejects(
      commits.write(() => insert('c')),
      /failed: EIO/,
    )
    await assert.rejects(commits.syncing!, /failed: EIO/)
  }
  await commits.end()
  assert.deepEqual([kept(), committed], [['a'], 0])
  assert.equal(executed.filter((what) => what === 'sync').length, 1)
})

test('a checkpoint whose sync failed is as good as a failed sync', async () => {
  await commits.write(() => insert('a'))
  disk.checkpointFault = new Error('EIO')
  await assert.rejects(
    commits.write(() => insert('b')),
    /failed: EIO/,
  )
  disk.checkpointFault = null
  await assert.rejects(
    commits.write(() => insert('c')),
    /failed: EIO/,
  )
  await assert.rejects(commits.syncing!, /failed: EIO/)
  assert.deepEqual(kept(), ['a'])
})

test('has ended once what was under way is durable', async () => {
  disk.held = true
  const first = commits.write(() => insert('a'))
  const sync = await disk.begun()
  const second = commits.write(() => insert('b'))
  let ended = false
  const end = commits.end().then(() => {
    ended = true
  })
  sync.end()
  const last = await disk.begun()
  await passes(5)
  assert.equal(ended, false)
  last.end()
  await end
  assert.deepEqual(await Promise.all([first, second]), ['a', 'b'])
})
