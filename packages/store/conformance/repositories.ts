/** The git repository of templates. */
import assert from 'node:assert/strict'
import type { RepositoryCommit, RepositoryTree } from '@assay/model/repository'
import { HOLD_MS } from '../contract/workspaces/repositories.ts'
import type { Store } from '../store.ts'
import { type ConformanceTests, SECOND } from './given.ts'

const repository_id = 'templates'
const given = { repository_id, address: 'https://git.example.com/reports.git', branch: 'main', folder: '' }
const every_ms = 60 * SECOND
const tree: RepositoryTree = {
  files: { 'a.md': '# A' },
  versions: { a: { version: 'v-1', commit_id: 'a'.repeat(40) } },
}

function commit(letter: string): RepositoryCommit {
  const commit_id = letter.repeat(40)
  return { commit_id, subject: letter, author: 'Ada', committed_at: '2026-01-01T00:00:00.000Z' }
}

async function claimed(store: Store) {
  const found = await store.claimRepository(repository_id)
  assert.ok(found, 'no look was due')
  return found
}

const fault = {
  file: 'a.md',
  line: 1,
  column: 1,
  code: 'bad_value',
  message: 'It is wrong.',
  severity: 'error' as const,
}

export const repositoryTests: ConformanceTests = {
  'is claimed by one node at a time, when a look is due or asked for': async ({ store, elapse }) => {
    assert.equal(await store.getRepository(repository_id), null)
    assert.equal(await store.askRepository(repository_id), false)
    await store.openRepository(given)
    const first = await claimed(store)
    assert.equal(await store.claimRepository(repository_id), null)
    assert.equal(await store.askRepository(repository_id), true)
    assert.equal(await store.claimRepository(repository_id), null)
    await store.settleRepository({ ...first, every_ms, pulled: { unchanged: true } })
    const second = await claimed(store)
    assert.equal(second.asked, true)
    await store.settleRepository({ ...second, every_ms, pulled: { unchanged: true } })
    assert.equal(await store.claimRepository(repository_id), null)
    await elapse(every_ms + SECOND)
    assert.equal((await claimed(store)).asked, false)
  },

  'serves the last commit that was taken, whatever comes after it': async ({ store, elapse }) => {
    await store.openRepository(given)
    assert.equal(await store.getRepositoryTree(repository_id), null)
    const taken = { commit: commit('a'), faults: [], tree }
    await store.settleRepository({ ...(await claimed(store)), every_ms, pulled: taken })
    await elapse(every_ms + SECOND)
    const refused = { commit: commit('b'), faults: [fault], tree: null }
    await store.settleRepository({ ...(await claimed(store)), every_ms, pulled: refused })
    await elapse(every_ms + SECOND)
    const detail = 'The server did not answer.'
    await store.settleRepository({ ...(await claimed(store)), every_ms, pulled: { unreached: detail } })
    const found = (await store.getRepository(repository_id))!
    assert.equal(found.taken?.commit_id, commit('a').commit_id)
    assert.equal(found.latest?.status, 'refused')
    assert.deepEqual(found.latest?.faults, [fault])
    assert.equal(found.unreached?.detail, detail)
    assert.deepEqual(await store.getRepositoryTree(repository_id), { commit_id: 'a'.repeat(40), tree })
    assert.deepEqual(await store.openRepository(given), found)
    const moved = await store.openRepository({ ...given, branch: 'next' })
    assert.equal(moved.asked, true)
    assert.deepEqual(await store.getRepositoryTree(repository_id), { commit_id: 'a'.repeat(40), tree })
  },

  'writes nothing for a node whose claim has ended': async ({ store, elapse }) => {
    await store.openRepository(given)
    const lost = await claimed(store)
    assert.equal(await store.holdRepository(lost), true)
    await elapse(HOLD_MS + SECOND)
    const owner = await claimed(store)
    assert.equal(await store.holdRepository(lost), false)
    const pulled = { commit: commit('a'), faults: [], tree }
    assert.equal(await store.settleRepository({ ...lost, every_ms, pulled }), false)
    assert.equal(await store.getRepositoryTree(repository_id), null)
    assert.equal(await store.settleRepository({ ...owner, every_ms, pulled }), true)
  },
}
