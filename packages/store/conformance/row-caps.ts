/** Caps on the number of rows of a kind in a workspace. */
import assert from 'node:assert/strict'
import { COLLECTIONS_MOST } from '@assay/model/collection'
import { CONNECTIONS_MOST } from '@assay/model/connection'
import { CONNECTION_LIMITS } from '@assay/model/connection-kinds'
import { uuidv7 } from '@assay/model/ids'
import { SCHEDULES_MOST } from '@assay/model/schedule'
import { LOGIN_TOKEN, LOGINS_MOST, SIGN_INS_MOST, TOKENS_MOST, USERS_MOST } from '@assay/model/token'
import type { Store } from '../store.ts'
import { COLLECTIONS } from '../tables/jobs/collections.ts'
import { SCHEDULES } from '../tables/jobs/schedules.ts'
import { TOKENS, USERS } from '../tables/workspaces/accounts.ts'
import { CONNECTIONS } from '../tables/workspaces/connections.ts'
import { SIGN_INS } from '../tables/workspaces/sign-ins.ts'
import { type ConformanceTests, type copies, otherWorkspace, refuses, WORKSPACE } from './given.ts'
import { scheduleInput } from './schedules.ts'

interface Kind {
  most: number
  table: Parameters<typeof copies>[0]
  /** The columns in which no two rows are equal. */
  own: string[]
  make(store: Store, workspace_id?: string): Promise<unknown>
}

const tokenInput = (workspace_id: string) => ({
  token_id: uuidv7(),
  workspace_id,
  user_id: 'ada',
  name: 'ci',
  scopes: ['viewer' as const],
  expires_at: null,
  token_hash: uuidv7(),
})

const KINDS: Record<string, Kind> = {
  collections: {
    most: COLLECTIONS_MOST,
    table: COLLECTIONS,
    own: ['collection_id'],
    make: (store, workspace_id = WORKSPACE) =>
      store.createCollection({
        collection_id: uuidv7(),
        workspace_id,
        user_id: 'ada',
        name: 'Board',
        description: null,
      }),
  },
  connections: {
    most: CONNECTIONS_MOST,
    table: CONNECTIONS,
    own: ['name'],
    make: (store, workspace_id = WORKSPACE) =>
      store.createConnection({
        workspace_id,
        name: uuidv7(),
        kind: 'http',
        description: null,
        options: { url: 'https://example.com/' },
        secrets: [],
        limits: CONNECTION_LIMITS,
        user_id: 'ada',
      }),
  },
  schedules: {
    most: SCHEDULES_MOST,
    table: SCHEDULES,
    own: ['schedule_id'],
    make: (store, workspace_id = WORKSPACE) => store.createSchedule(scheduleInput({ workspace_id })),
  },
  users: {
    most: USERS_MOST,
    table: USERS,
    own: ['user_id', 'username'],
    make: (store, workspace_id = WORKSPACE) =>
      store.createUser({
        user_id: uuidv7(),
        workspace_id,
        username: uuidv7(),
        scopes: ['viewer'],
        password_hash: 'scrypt$1',
      }),
  },
  tokens: {
    most: TOKENS_MOST,
    table: TOKENS,
    own: ['token_id', 'token_hash'],
    make: (store, workspace_id = WORKSPACE) => store.createToken(tokenInput(workspace_id)),
  },
}

const tests: ConformanceTests = Object.fromEntries(
  Object.entries(KINDS).map(([kind, { most, table, own, make }]) => [
    `keeps so many ${kind} of a workspace, however many are made at once`,
    async ({ store, copy }) => {
      await make(store)
      await copy(table, own, most - 3)
      const asked = await Promise.allSettled(Array.from({ length: 6 }, () => make(store)))
      assert.equal(asked.filter(({ status }) => status === 'fulfilled').length, 2)
      await refuses(make(store), 'conflict')
      await assert.rejects(make(store), new RegExp(`has ${most} ${kind}.*: delete some first`))
      await make(store, await otherWorkspace(store))
    },
  ]),
)

export const rowCapTests: ConformanceTests = {
  ...tests,

  'lets a user log in so many times, which is no other token and no other user': async ({ store, copy }) => {
    const login = () => ({ ...tokenInput(WORKSPACE), name: LOGIN_TOKEN })
    await store.createToken(login())
    await copy(TOKENS, ['token_id', 'token_hash'], LOGINS_MOST - 1)
    await refuses(store.createToken(login()), 'rate_limited')
    await store.createToken({ ...login(), user_id: 'bob' })
    await store.createToken(tokenInput(WORKSPACE))
  },

  'keeps a user signed in on a bounded number of browsers, and ends the sign-in that began longest ago':
    async ({ store, copy, elapse }) => {
      const user = { workspace_id: WORKSPACE, scopes: ['viewer' as const], password_hash: 'scrypt$1' }
      for (const name of ['ada', 'bob']) await store.createUser({ ...user, user_id: name, username: name })
      const signIn = (secret_hash: string, user_id = 'ada') => ({
        sign_in_id: uuidv7(),
        secret_hash,
        workspace_id: WORKSPACE,
        user_id,
        token_id: null,
        scopes: ['viewer' as const],
        device: 'Firefox on Linux',
        address: '192.0.2.1',
        idle_ms: 1e9,
        life_ms: 1e9,
      })
      await store.createSignIn(signIn('another', 'bob'))
      await store.createSignIn(signIn('first'))
      await elapse(1000)
      const second = signIn('second')
      await store.createSignIn(second)
      await copy(SIGN_INS, ['sign_in_id', 'secret_hash'], SIGN_INS_MOST - 2, `secret_hash = 'second'`)
      assert.ok(await store.findSignIn('first'))
      await elapse(1000)
      const next = signIn('next')
      assert.ok(await store.createSignIn(next))
      assert.equal(await store.findSignIn('first'), null)
      for (const hash of ['second', 'next', 'another']) assert.ok(await store.findSignIn(hash), hash)
      await store.createSignIn({ ...next, secret_hash: 'again' })
      assert.ok(await store.findSignIn('second'), 'a repeat is no further browser')
    },
}
