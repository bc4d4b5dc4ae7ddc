/** Workspaces, users, tokens, templates, and values kept once. */
import assert from 'node:assert/strict'
import { uuidv7 } from '@assay/model/ids'
import type { Store } from '../store.ts'
import {
  addWebhook,
  at,
  type ConformanceTests,
  completeNew,
  jobInput,
  otherWorkspace,
  queueNew,
  refuses,
  register,
  SECOND,
  send,
  sorted,
  WORKSPACE,
} from './given.ts'

function addToken(
  store: Store,
  token_hash: string,
  over: { user_id?: string; expires_at?: string; templates?: string[] } = {},
) {
  return store.createToken({
    token_id: uuidv7(),
    workspace_id: WORKSPACE,
    user_id: 'ada',
    name: 'ci',
    scopes: ['analyst'],
    expires_at: null,
    token_hash,
    ...over,
  })
}

function userInput(username: string): Parameters<Store['createUser']>[0] {
  return {
    user_id: uuidv7(),
    workspace_id: WORKSPACE,
    username,
    scopes: ['viewer', 'admin'],
    password_hash: 'scrypt$1',
  }
}

export const accountTests: ConformanceTests = {
  'keeps the first value of a key': async ({ store }) => {
    assert.equal(await store.keepOnce('check', 'first'), 'first')
    assert.equal(await store.keepOnce('check', 'second'), 'first')
    assert.equal(await store.keepOnce('other', 'third'), 'third')
  },

  'has the default workspace from the start and keeps it': async ({ store }) => {
    assert.equal((await store.getWorkspace(WORKSPACE))?.data_folder, null)
    await refuses(
      store.createWorkspace({ workspace_id: WORKSPACE, name: 'x', data_folder: null }),
      'name_taken',
    )
    await refuses(store.deleteWorkspace(WORKSPACE), 'conflict')
  },

  'creates, reads and lists workspaces, and refuses a taken id': async ({ store }) => {
    const made = await store.createWorkspace({
      workspace_id: 'team',
      name: 'Team',
      data_folder: '/data/team',
    })
    assert.deepEqual(await store.getWorkspace('team'), made)
    assert.equal(made.data_folder, '/data/team')
    assert.equal(await store.getWorkspace('nobody'), null)
    await refuses(store.createWorkspace({ workspace_id: 'team', name: 'x', data_folder: null }), 'name_taken')
    const { items } = await store.listWorkspaces({ limit: 10 })
    assert.deepEqual(items.map((item) => item.workspace_id).toSorted(), ['default', 'team'])
  },

  'changes of a workspace what it is told to change, and nothing of another': async ({ store }) => {
    const made = await store.createWorkspace({
      workspace_id: 'team',
      name: 'Team',
      data_folder: '/d',
      max_queued: 5,
      max_files_bytes: 3e12,
    })
    assert.deepEqual([made.max_file_bytes, made.max_files_bytes], [null, 3e12])
    assert.deepEqual([made.max_queued, made.max_running, made.rate_limit], [5, null, null])
    const other = await store.getWorkspace(WORKSPACE)
    const changed = await store.updateWorkspace({
      workspace_id: 'team',
      patch: { name: 'New', max_queued: null, max_running: 0, rate_limit: 7, max_file_bytes: 0 },
    })
    const caps = { max_queued: null, max_running: 0, rate_limit: 7, max_file_bytes: 0 }
    assert.deepEqual(changed, { ...made, name: 'New', ...caps })
    assert.deepEqual(await store.getWorkspace('team'), changed)
    assert.deepEqual(await store.getWorkspace(WORKSPACE), other)
    assert.equal(await store.updateWorkspace({ workspace_id: 'nobody', patch: { name: 'x' } }), null)
  },

  'deletes a workspace with all that is in it, but not one with unfinished jobs': async ({ store }) => {
    const workspace_id = await otherWorkspace(store)
    await register(store)
    const webhook = await addWebhook(store, { workspace_id, events: null })
    const job = await completeNew(store, { workspace_id })
    await send(store, webhook)
    await store.createUser({ ...userInput('bob'), workspace_id })
    await store.putTemplate({ workspace_id, template_id: 'mine', source: '# Mine', user_id: 'bob' })
    const draft = await store.createJob(jobInput({ workspace_id }))
    await refuses(store.deleteWorkspace(workspace_id), 'conflict')
    await store.cancelJob(draft)
    assert.equal(await store.deleteWorkspace(workspace_id), true)
    assert.equal(await store.deleteWorkspace(workspace_id), false)
    assert.equal(await store.getWorkspace(workspace_id), null)
    assert.equal(await store.findUser({ workspace_id, username: 'bob' }), null)
    await otherWorkspace(store)
    assert.equal(await store.getJob(job), null)
    assert.equal(await store.getInsight({ workspace_id, insight_id: job.insight_id! }), null)
    assert.equal(await store.getWebhook({ workspace_id, webhook_id: webhook.webhook_id }), null)
    assert.deepEqual((await store.listEvents({ workspace_id, limit: 10, order: 'newest' })).items, [])
    assert.deepEqual(await store.listTemplates(workspace_id), [])
    assert.deepEqual((await store.counts()).jobs, [])
  },

  'refuses what is made in a workspace that is not there': async ({ store }) => {
    await refuses(store.createJob(jobInput({ workspace_id: 'gone' })), 'not_found')
    await refuses(addWebhook(store, { workspace_id: 'gone' }), 'not_found')
  },

  'finds users by their name, unique in their workspace': async ({ store }) => {
    const ada = await store.createUser(userInput('ada'))
    assert.deepEqual(await store.findUser(ada), { ...ada, password_hash: 'scrypt$1' })
    assert.deepEqual(ada.scopes, ['viewer', 'admin'])
    assert.equal(await store.findUser({ ...ada, username: 'Ada' }), null)
    await refuses(store.createUser(userInput('ada')), 'name_taken')
    const workspace_id = await otherWorkspace(store)
    assert.equal(await store.findUser({ workspace_id, username: 'ada' }), null)
    const namesake = await store.createUser({ ...userInput('ada'), workspace_id })
    assert.equal((await store.findUser(namesake))?.user_id, namesake.user_id)
    assert.equal((await store.findUser(ada))?.user_id, ada.user_id)
    const { items } = await store.listUsers({ workspace_id: WORKSPACE, limit: 10 })
    assert.deepEqual(items, [ada])
  },

  'deletes a user with its tokens, in its workspace only': async ({ store }) => {
    const ada = await store.createUser(userInput('ada'))
    const workspace_id = await otherWorkspace(store)
    await addToken(store, 'hash-1', { user_id: ada.user_id })
    await addToken(store, 'hash-2')
    assert.equal(await store.deleteUser({ workspace_id, user_id: ada.user_id }), false)
    assert.ok(await store.findToken('hash-1'))
    assert.equal(await store.deleteUser(ada), true)
    assert.equal(await store.deleteUser(ada), false)
    assert.equal(await store.findToken('hash-1'), null)
    assert.ok(await store.findToken('hash-2'))
  },

  'finds a token by its hash until it expires or is deleted': async ({ store, now, elapse }) => {
    const token = await addToken(store, 'hash-1', { expires_at: at(now() + 60 * SECOND) })
    const { token_id, workspace_id, user_id, scopes } = token
    const found = {
      token_id,
      workspace_id,
      user_id,
      scopes,
      templates: null,
      collections: null,
      rate_limit: null,
      reader_id: null,
    }
    assert.deepEqual(await store.findToken('hash-1'), found)
    await store.updateWorkspace({ workspace_id, patch: { rate_limit: 5 } })
    assert.deepEqual(await store.findToken('hash-1'), { ...found, rate_limit: 5 })
    assert.equal(await store.findToken('hash-9'), null)
    await elapse(61 * SECOND)
    assert.equal(await store.findToken('hash-1'), null)
    const lasting = await addToken(store, 'hash-2', { templates: ['hello'] })
    assert.deepEqual((await store.findToken('hash-2'))?.templates, ['hello'])
    await elapse(1e9)
    assert.ok(await store.findToken('hash-2'))
    await otherWorkspace(store)
    assert.equal(await store.deleteToken({ workspace_id: 'other', token_id: lasting.token_id }), false)
    assert.equal(await store.deleteToken(lasting), true)
    assert.equal(await store.deleteToken(lasting), false)
    assert.equal(await store.findToken('hash-2'), null)
  },

  'changes a token, whose scopes only become fewer': async ({ store, now }) => {
    const [sooner, later] = [at(now() + 30 * SECOND), at(now() + 60 * SECOND)]
    const token = await addToken(store, 'hash-1', { expires_at: sooner })
    const key = { workspace_id: WORKSPACE, token_id: token.token_id, caller: 'ada' }
    const changed = await store.updateToken({ ...key, patch: { name: 'new', expires_at: later } })
    assert.deepEqual(changed, { ...token, name: 'new', expires_at: later })
    await store.updateToken({ ...key, patch: { scopes: ['viewer'] } })
    assert.deepEqual((await store.findToken('hash-1'))?.scopes, ['viewer'])
    await refuses(store.updateToken({ ...key, patch: { scopes: ['viewer', 'analyst'] } }), 'conflict')
    await refuses(store.updateToken({ ...key, caller: null, patch: { expires_at: null } }), 'conflict')
    const ended = await store.updateToken({ ...key, caller: 'bob', patch: { expires_at: sooner } })
    assert.deepEqual([ended?.expires_at, ended?.scopes], [sooner, ['viewer']])
    const account = await addToken(store, 'hash-2', { user_id: 'service:ci', expires_at: sooner })
    const lasting = await store.updateToken({ ...key, ...account, patch: { expires_at: null } })
    assert.equal(lasting?.expires_at, null)
    await otherWorkspace(store)
    assert.equal(await store.updateToken({ ...key, workspace_id: 'other', patch: { name: 'x' } }), null)
  },

  'keeps the last use of a token, which only rises': async ({ store, now }) => {
    const token = await addToken(store, 'hash-1')
    const other = await addToken(store, 'hash-2')
    assert.equal(token.last_used_at, null)
    const used = async () =>
      (await store.listTokens({ workspace_id: WORKSPACE, limit: 10 })).items.map(
        (one) => one.last_used_at ?? 'never',
      )
    const { token_id } = token
    const [early, late] = [at(now()), at(now() + SECOND)]
    await store.noteTokenUses([{ token_id, at: late }])
    await store.noteTokenUses([
      { token_id, at: early },
      { token_id: uuidv7(), at: early },
    ])
    assert.deepEqual(sorted(await used()), [late, 'never'])
    await store.noteTokenUses([{ token_id: other.token_id, at: early }])
    assert.deepEqual(sorted(await used()), [early, late])
  },

  'replaces a token that is made again under its id': async ({ store }) => {
    const token = await addToken(store, 'hash-1')
    await store.createToken({ ...token, token_hash: 'hash-2' })
    assert.equal(await store.findToken('hash-1'), null)
    assert.equal((await store.findToken('hash-2'))?.token_id, token.token_id)
    assert.equal((await store.listTokens({ workspace_id: WORKSPACE, limit: 10 })).items.length, 1)
    await refuses(addToken(store, 'hash-2'), 'name_taken')
  },

  'pages through a list, newest first, without a gap or a repeat': async ({ store, elapse }) => {
    const made: string[] = []
    for (let index = 0; index < 7; index += 1) {
      made.push((await addToken(store, `hash-${index}`)).token_id)
      if (index % 2 === 0) await elapse(SECOND)
    }
    const seen: string[] = []
    let cursor: string | undefined
    do {
      const page = await store.listTokens({ workspace_id: WORKSPACE, limit: 3, cursor })
      assert.ok(page.items.length <= 3)
      seen.push(...page.items.map((item) => item.token_id))
      cursor = page.next_cursor ?? undefined
    } while (cursor !== undefined)
    assert.deepEqual(seen, made.toReversed())
  },

  'refuses a cursor that it did not make for this list': async ({ store }) => {
    await queueNew(store)
    await queueNew(store)
    const { next_cursor } = await store.listJobs({ workspace_id: WORKSPACE, limit: 1 })
    assert.ok(next_cursor)
    const foreign = ['', 'x', '!', 'bnVsbA', 'W10', 'WyJ0b2tlbnMiLDEsMl0', next_cursor]
    for (const cursor of foreign)
      await refuses(store.listTokens({ workspace_id: WORKSPACE, limit: 1, cursor }), 'invalid')
  },

  'puts, replaces, lists and deletes templates of one workspace': async ({ store }) => {
    const workspace_id = await otherWorkspace(store)
    const template = { workspace_id: WORKSPACE, template_id: 'mine', source: '# One', user_id: 'ada' }
    assert.equal(await store.putTemplate(template), 'new')
    assert.equal(await store.putTemplate({ ...template, source: '# Two', user_id: 'bob' }), 'replaced')
    await store.putTemplate({ ...template, template_id: 'another' })
    await store.putTemplate({ ...template, workspace_id, source: '# Other' })
    const kept = await store.getTemplate(template)
    assert.deepEqual({ source: kept?.source, user_id: kept?.user_id }, { source: '# Two', user_id: 'bob' })
    const ids = (await store.listTemplates(WORKSPACE)).map((item) => item.template_id)
    assert.deepEqual(ids, ['another', 'mine'])
    assert.equal(await store.deleteTemplate(template), true)
    assert.equal(await store.deleteTemplate(template), false)
    assert.equal(await store.getTemplate(template), null)
    assert.equal((await store.getTemplate({ workspace_id, template_id: 'mine' }))?.source, '# Other')
  },

  'puts, replaces, lists by id and deletes metrics of one workspace': async ({ store }) => {
    const workspace_id = await otherWorkspace(store)
    const metric = { workspace_id: WORKSPACE, metric_id: 'revenue', source: 'metric: one', user_id: 'ada' }
    assert.equal(await store.putMetric(metric), 'new')
    assert.equal(await store.putMetric({ ...metric, source: 'metric: two', user_id: 'bob' }), 'replaced')
    for (const metric_id of ['a_b', 'ab', 'z']) await store.putMetric({ ...metric, metric_id })
    await store.putMetric({ ...metric, workspace_id, source: 'metric: other' })
    const kept = await store.getMetric(metric)
    assert.deepEqual(
      { source: kept?.source, user_id: kept?.user_id },
      { source: 'metric: two', user_id: 'bob' },
    )
    const list = async (after: string, limit: number) =>
      (await store.listMetrics({ workspace_id: WORKSPACE, after, limit })).map((item) => item.metric_id)
    assert.deepEqual(await list('', 2), ['a_b', 'ab'], 'by their bytes')
    assert.deepEqual(await list('ab', 9), ['revenue', 'z'])
    const found = await store.findMetrics({
      workspace_id: WORKSPACE,
      metric_ids: ['z', 'unknown', 'revenue'],
    })
    assert.deepEqual(
      found.map((item) => item.metric_id),
      ['revenue', 'z'],
    )
    assert.equal(await store.deleteMetric(metric), true)
    assert.equal(await store.deleteMetric(metric), false)
    assert.equal(await store.getMetric(metric), null)
    assert.equal((await store.getMetric({ workspace_id, metric_id: 'revenue' }))?.source, 'metric: other')
  },

  'refuses metrics that are too long together': async ({ store }) => {
    const metric = { workspace_id: WORKSPACE, metric_id: 'a', source: 'x'.repeat(300_000), user_id: 'ada' }
    await store.putMetric(metric)
    await refuses(store.putMetric({ ...metric, metric_id: 'b' }), 'conflict')
    assert.equal(await store.putMetric(metric), 'replaced', 'its own length does not count twice')
    assert.equal(await store.putMetric({ ...metric, metric_id: 'b', source: 'x'.repeat(200_000) }), 'new')
  },
}
