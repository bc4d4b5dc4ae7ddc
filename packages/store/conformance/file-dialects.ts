/** The lines by which people say how their uploads are read. */
import assert from 'node:assert/strict'
import { type ConformanceTests, otherWorkspace, WORKSPACE } from './given.ts'

const key = { workspace_id: WORKSPACE, path: '2025/orders.csv' }

export const fileDialectTests: ConformanceTests = {
  'keeps how an upload is read, for its workspace alone, until it is said anew or deleted': async ({
    store,
  }) => {
    assert.equal(await store.getFileDialect(key), null)
    assert.equal(await store.deleteFileDialect(key), false)
    await store.keepFileDialect({ ...key, lines: ['dates: dmy'] })
    await store.keepFileDialect({ ...key, lines: ['dates: mdy', 'decimal: ","'] })
    assert.deepEqual(await store.getFileDialect(key), ['dates: mdy', 'decimal: ","'])
    const other = await otherWorkspace(store)
    assert.equal(await store.getFileDialect({ ...key, workspace_id: other }), null)
    assert.equal(await store.deleteFileDialect({ ...key, workspace_id: other }), false)
    assert.equal(await store.deleteFileDialect(key), true)
    assert.equal(await store.getFileDialect(key), null)
  },
}
