/**
 * The process whose system calls log.test.ts watches. It makes some hundred commits in the given folder, with a
 * checkpoint now and then.
 */
import path from 'node:path'
import { openDatabase } from '../connection.ts'
import { groupCommit } from './group-commit.ts'
import { openLog } from './log.ts'

const file = path.join(process.argv[2]!, 'assay.db')
const db = openDatabase(file)
db.exec('CREATE TABLE kept (value TEXT)')
const log = await openLog(db, file, 20)
const commits = groupCommit(db, {
  log,
  refuse: (reason) => reason,
  committed: () => undefined,
  lost: () => undefined,
  failed: (reason) => reason,
})
const insert = db.prepare('INSERT INTO kept VALUES (hex(randomblob(1000)))')
for (let round = 0; round < 100; round += 1) await commits.write(() => insert.run())
await commits.end()
log.close()
db.close()
