/** The git repository of templates. */
import assert from 'node:assert/strict'
import { CONNECTION_LIMITS } from '@assay/model/connection-kinds'
import type { RepositoryCommit, RepositorySchedule, RepositoryTree } from '@assay/model/repository'
import { HOLD_MS } from '../contract/workspaces/repositories.ts'
import type { Store } from '../store.ts'
import { type ConformanceTests, SECOND, WORKSPACE } from './given.ts'

const repository_id = 'templates'
const given = { repository_id, address: 'https://git.example.com/reports.git', branch: 'main', folder: '' }
const every_ms = 60 * SECOND
const tree: RepositoryTree = {
  files: { 'a.md': '# A' },
  versions: { a: { version: 'v-1', commit_id: 'a'.repeat(40) } },
  schedules: {},
  connections: {},
}
const owner = { workspace_id: WORKSPACE, user_id: 'ada' }

function commit(letter: string): RepositoryCommit {
  const commit_id = letter.repeat(40)
  return { commit_id, subject: letter, author: 'Ada', committed_at: '2026-01-01T00:00:00.000Z' }
}

async function claimed(store: Store) {
  const found = await store.claimRepository(repository_id)
  assert.ok(found, 'no look was due')
  return found
}

const schedule: RepositorySchedule = {
  name: 'weekly',
  template_id: 'a',
  variables: {},
  cron: '0 6 * * 1',
  time_zone: 'UTC',
  starts_at: null,
  ends_at: null,
  missed: 'skip',
  missed_limit: 10,
  overlap: 'queue',
  paused: false,
  presence_name: null,
  notify: null,
  readers: null,
  priority: 0,
  metadata: {},
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
    const taken = { commit: commit('a'), faults: [], tree, owner }
    await store.settleRepository({ ...(await claimed(store)), every_ms, pulled: taken })
    await elapse(every_ms + SECOND)
    const refused = { commit: commit('b'), faults: [fault], tree: null, owner }
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
    const present = await claimed(store)
    assert.equal(await store.holdRepository(lost), false)
    const pulled = { commit: commit('a'), faults: [], tree, owner }
    assert.equal(await store.settleRepository({ ...lost, every_ms, pulled }), false)
    assert.equal(await store.getRepositoryTree(repository_id), null)
    assert.equal(await store.settleRepository({ ...present, every_ms, pulled }), true)
  },

  'makes, changes and removes the schedules and connections of a commit, and leaves those of the API':
    async ({ store, elapse }) => {
      await store.openRepository(given)
      const take = async (over: Partial<RepositoryTree>, letter: string) => {
        const pulled = { commit: commit(letter), faults: [], tree: { ...tree, ...over }, owner }
        assert.equal(await store.settleRepository({ ...(await claimed(store)), every_ms, pulled }), true)
        await elapse(every_ms + SECOND)
        return (await store.getRepository(repository_id))!.owned
      }
      const warehouse = {
        kind: 'postgresql' as const,
        description: null,
        options: { host: 'db.example.com', port: 5432 },
        limits: CONNECTION_LIMITS,
      }
      const key = { workspace_id: WORKSPACE, name: 'warehouse' }
      const theirs = { ...warehouse, ...owner, name: 'lake', secrets: [] }
      await store.createConnection(theirs)
      const first = await take(
        { schedules: { weekly: schedule }, connections: { warehouse, lake: warehouse } },
        'a',
      )
      assert.deepEqual(first.connections, ['warehouse'])
      const weekly = { workspace_id: WORKSPACE, schedule_id: first.schedules.weekly! }
      const made = (await store.getSchedule(weekly))!
      assert.deepEqual([made.cron, made.user_id, made.revision], ['0 6 * * 1', 'ada', 1])
      const sealed = { name: 'password', sealed: 'v1.key.iv.text', fingerprint: '01234567' }
      await store.updateConnection({ ...key, patch: { secrets: [{ name: 'password', sealed }] } })

      const limited = { ...warehouse, limits: { ...CONNECTION_LIMITS, rows: 7 } }
      await take({ schedules: { weekly: schedule }, connections: { warehouse: limited } }, 'b')
      const kept = (await store.getSchedule(weekly))!
      assert.deepEqual([kept.cron, kept.revision], [made.cron, made.revision])
      const same = (await store.getConnection(key))!
      assert.deepEqual([same.limits.rows, same.secrets], [7, [sealed]])

      const moved = { ...warehouse, options: { host: 'other.example.com', port: 5432 } }
      const later = { ...schedule, cron: '0 7 * * 1' }
      await take({ schedules: { weekly: later }, connections: { warehouse: moved } }, 'c')
      assert.equal((await store.getSchedule(weekly))?.cron, '0 7 * * 1')
      assert.deepEqual((await store.getConnection(key))?.secrets, [])

      assert.deepEqual(await take({}, 'd'), { schedules: {}, connections: [] })
      assert.equal(await store.getSchedule(weekly), null)
      assert.equal(await store.getConnection(key), null)
      assert.ok(await store.getConnection({ ...key, name: 'lake' }))
    },
}
