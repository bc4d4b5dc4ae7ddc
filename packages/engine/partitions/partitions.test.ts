/** Tests the kept days of metrics by histories on SQLite. */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { CONNECTION_LIMITS } from '@assay/model/connection-kinds'
import { openEngine } from '../duckdb/duckdb.ts'
import { tryHistory } from './histories-fixture.ts'

test('what is kept gives the same bits as a run from empty, and the audit finds what broke the declaration', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'assay-partitions-'))
  const database = new DatabaseSync(path.join(folder, 'shop.db'))
  const engine = await openEngine()
  try {
    const limits = { ...CONNECTION_LIMITS, timeout_seconds: 60 }
    const connection = {
      name: 'remote',
      kind: 'sqlite' as const,
      options: { file: 'shop.db' },
      secrets: {},
      limits,
      targets: [],
    }
    let state = 7
    const random = (): number => {
      state = (state * 48_271) % 2_147_483_647
      return state / 2_147_483_647
    }
    for (let history = 0; history < 8; history += 1) {
      const broken = await tryHistory({
        server: { connection, execute: async (sql) => database.exec(sql) },
        table: 'tried',
        engine,
        random,
        data: folder,
        temp_folder: folder,
        violates: history % 2 === 1,
      })
      assert.deepEqual(broken, [], `history ${history}`)
    }
  } finally {
    engine.close()
    database.close()
    await rm(folder, { recursive: true, force: true })
  }
})
