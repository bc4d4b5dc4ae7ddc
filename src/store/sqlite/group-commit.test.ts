import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { beforeEach, test } from 'node:test'
import { type GroupCommit, groupCommit } from './group-commit.ts'

let db: DatabaseSync
let executed: string[]
let commits: GroupCommit
let committed: number

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

beforeEach(() => {
  db = new DatabaseSync(':memory:')
  db.exec('CREATE TABLE kept (value TEXT UNIQUE)')
  executed = []
  committed = 0
  const exec = db.exec.bind(db)
  db.exec = (sql) => {
    executed.push(sql)
    exec(sql)
  }
  commits = groupCommit(db, {
    refuse: (reason) => new Error(`refused: ${(reason as Error).message}`),
    committed: () => {
      committed += 1
    },
    lost: () => {
      executed.push('lost')
    },
  })
})

test('commits the writes of one turn of the event loop once, in their order', async () => {
  const values = Array.from({ length: 100 }, (_, index) => `v${index}`)
  const written = await Promise.all(values.map((value) => commits.write(() => insert(value))))
  assert.deepEqual(written, values)
  assert.deepEqual(kept(), values)
  assert.equal(executed.filter((sql) => sql === 'COMMIT').length, 1)
  assert.equal(committed, 1)
})

test('resolves no promise before its commit', async () => {
  const order: string[] = []
  const writes = ['a', 'b'].map((value) =>
    commits.write(() => insert(value)).then(() => order.push(`${value} after ${executed.at(-1)}`)),
  )
  assert.deepEqual(kept(), [])
  await Promise.all(writes)
  assert.deepEqual(order, ['a after COMMIT', 'b after COMMIT'])
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
  commits.end()
  assert.deepEqual(kept(), ['a'])
  assert.equal(await waiting, 'a')
  await assert.rejects(
    commits.write(() => insert('b')),
    /refused: The store is closed/,
  )
})
