/** Answers of language models. */
import assert from 'node:assert/strict'
import { type ConformanceTests, otherWorkspace, WORKSPACE } from './given.ts'

const key = { workspace_id: WORKSPACE, hash: 'a'.repeat(64) }

export const narrativeTests: ConformanceTests = {
  'keeps the first answer to a question, for its workspace alone': async ({ store }) => {
    assert.equal(await store.getNarrative(key), null)
    assert.equal(await store.keepNarrative({ ...key, text: 'first' }), 'first')
    assert.equal(await store.keepNarrative({ ...key, text: 'second' }), 'first')
    assert.equal(await store.getNarrative(key), 'first')
    const other = await otherWorkspace(store)
    assert.equal(await store.getNarrative({ ...key, workspace_id: other }), null)
    await store.keepNarrative({ ...key, workspace_id: other, text: 'theirs' })
    await store.deleteWorkspace(other)
    assert.equal(await store.getNarrative(key), 'first')
  },
}
