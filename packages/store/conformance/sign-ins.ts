/** Sign-ins: their life, and the changes that end them. */
import assert from 'node:assert/strict'
import { uuidv7 } from '@assay/model/ids'
import type { SignIn, TokenPatch, User } from '@assay/model/token'
import type { Store } from '../store.ts'
import { at, type ConformanceTests, otherWorkspace, refuses, SECOND, WORKSPACE } from './given.ts'

const HOUR = 3600 * SECOND
const LASTING = { idle_ms: 2 * HOUR, life_ms: 5 * HOUR }

async function addSignIn(
  store: Store,
  secret_hash: string,
  over: Partial<Parameters<Store['createSignIn']>[0]> = {},
): Promise<SignIn> {
  const { workspace_id = WORKSPACE, user_id = 'ada' } = over
  if (!(await store.getUser({ workspace_id, user_id }))) await addUser(store, user_id, workspace_id)
  const made = await store.createSignIn({
    sign_in_id: uuidv7(),
    secret_hash,
    workspace_id: WORKSPACE,
    user_id: 'ada',
    token_id: null,
    scopes: ['viewer', 'analyst'],
    device: 'Firefox on Linux',
    address: '192.0.2.1',
    ...LASTING,
    ...over,
  })
  assert.ok(made)
  return made
}

function addUser(store: Store, username = 'ada', workspace_id = WORKSPACE): Promise<User> {
  const user = { user_id: username, workspace_id, username, scopes: ['analyst' as const] }
  return store.createUser({ ...user, password_hash: 'scrypt$1' })
}

function addToken(store: Store, name: string, token_hash: string, expires_at: string | null = null) {
  const of = { workspace_id: WORKSPACE, user_id: 'ada', name, scopes: ['analyst' as const] }
  return store.createToken({ ...of, token_id: uuidv7(), expires_at, token_hash })
}

const isThere = async (store: Store, hash: string): Promise<boolean> =>
  (await store.findSignIn(hash)) !== null

const PERSON = { issuer: 'https://login.example', subject: 'sub-1' }

const admit = (store: Store, workspace_id: string, scope: 'viewer' | 'admin', user_id: string) =>
  store.admitUser({
    ...PERSON,
    user_id,
    workspace_id,
    username: 'ada',
    display_name: 'Ada',
    scopes: [scope],
    life_ms: 24 * HOUR,
  })

export const signInTests: ConformanceTests = {
  'of a person of a provider hold what she is let in for, in one workspace at a time': async ({ store }) => {
    const other = await otherWorkspace(store)
    const made = await admit(store, WORKSPACE, 'admin', 'u1')
    assert.deepEqual([made.issuer, made.scopes, made.display_name], [PERSON.issuer, ['admin'], 'Ada'])
    assert.deepEqual(await store.findIdentity(PERSON), [made])
    assert.deepEqual(await store.findIdentity({ ...PERSON, issuer: 'https://another.example' }), [])
    await addSignIn(store, 'hash-1', { user_id: 'u1', scopes: ['admin'] })
    const of = { workspace_id: WORKSPACE, user_id: 'u1', name: 'mine', scopes: ['admin' as const] }
    await store.createToken({ ...of, token_id: uuidv7(), expires_at: null, token_hash: 'token-1' })
    assert.deepEqual((await admit(store, WORKSPACE, 'admin', 'another id')).user_id, 'u1')
    assert.equal(await isThere(store, 'hash-1'), true, 'nothing has changed')
    await admit(store, WORKSPACE, 'viewer', 'u1')
    assert.equal(await isThere(store, 'hash-1'), false)
    assert.deepEqual((await store.findToken('token-1'))?.scopes, ['viewer'])
    const moved = await admit(store, other, 'viewer', 'u2')
    assert.deepEqual([moved.user_id, moved.workspace_id], ['u2', other])
    assert.equal(await store.findToken('token-1'), null)
    assert.deepEqual(
      (await store.findIdentity(PERSON)).map(({ scopes }) => scopes.length).toSorted((a, b) => a - b),
      [0, 1],
    )
    await addSignIn(store, 'hash-2', { workspace_id: other, user_id: 'u2', scopes: ['viewer'] })
    assert.deepEqual([await store.withdrawUser(PERSON), await store.withdrawUser(PERSON)], [true, false])
    assert.equal(await isThere(store, 'hash-2'), false)
    await addUser(store, 'bob')
    const named = { ...PERSON, subject: 'sub-2', user_id: 'u3', workspace_id: WORKSPACE, username: 'bob' }
    const rest = { display_name: null, scopes: ['viewer' as const], life_ms: HOUR }
    await refuses(store.admitUser({ ...named, ...rest }), 'name_taken')
  },

  'and tokens of a person of a provider are good until her last sign-in there is too long ago': async ({
    store,
    elapse,
  }) => {
    await admit(store, WORKSPACE, 'viewer', 'u1')
    const of = { workspace_id: WORKSPACE, user_id: 'u1', name: 'mine', scopes: ['viewer' as const] }
    await store.createToken({ ...of, token_id: uuidv7(), expires_at: null, token_hash: 'token-1' })
    await elapse(20 * HOUR)
    await admit(store, WORKSPACE, 'viewer', 'u1')
    await elapse(20 * HOUR)
    assert.ok(await store.findToken('token-1'), 'she was here since')
    await elapse(10 * HOUR)
    assert.equal(await store.findToken('token-1'), null)
    await admit(store, WORKSPACE, 'viewer', 'u1')
    assert.deepEqual((await store.findToken('token-1'))?.scopes, ['viewer'])
  },

  'by a password end all at once, with what was let in there, and others stay': async ({ store }) => {
    const asked = {
      name: 'agent: Lantern',
      client_id: 'lantern',
      challenge: 'c',
      scopes: ['viewer' as const],
    }
    const where = { redirect_uri: 'http://127.0.0.1:1/back', resource: 'http://localhost/mcp' }
    const lasting = { token_ms: HOUR, idle_ms: HOUR, life_ms: 2 * HOUR }
    const grant = (user_id: string, token_id: string) => {
      const hashes = { code_hash: `code-${user_id}`, token_hash: `unused-${user_id}` }
      return store.createGrant({
        ...asked,
        ...where,
        ...hashes,
        token_id,
        workspace_id: WORKSPACE,
        user_id,
        code_ms: HOUR,
      })
    }
    const use = (token_id: string, token_hash: string) =>
      store.useGrant({ ...lasting, token_id, generation: 0, token_hash, scopes: ['viewer'] })
    const [adas, persons] = [uuidv7(), uuidv7()]
    await admit(store, WORKSPACE, 'viewer', 'u1')
    await addUser(store, 'bob')
    for (const [user_id, token_id] of [
      ['bob', adas],
      ['u1', persons],
    ] as const) {
      await grant(user_id, token_id)
      const of = { workspace_id: WORKSPACE, user_id, limit: 10 }
      assert.deepEqual(await store.listGrants(of), [], 'its code waits')
      assert.equal(await use(token_id, `grant-${user_id}`), true)
      const [listed] = await store.listGrants(of)
      assert.deepEqual(
        [listed?.token_id, listed?.name, listed?.scopes, listed?.redirect_uri, listed?.last_used_at],
        [token_id, 'agent: Lantern', ['viewer'], 'http://127.0.0.1:1/back', null],
      )
      assert.ok(Date.parse(listed!.ends_at) - Date.parse(listed!.created_at) >= HOUR)
    }
    await addSignIn(store, 'by-provider', { user_id: 'u1', scopes: ['viewer'] })
    await addSignIn(store, 'by-password', { user_id: 'bob' })
    const login = await addToken(store, 'login', 'login-1')
    const own = await addToken(store, 'own', 'own-1')
    await addSignIn(store, 'by-login', { user_id: 'bob', token_id: login.token_id })
    await addSignIn(store, 'by-token', { user_id: 'bob', token_id: own.token_id })
    const there = () =>
      Promise.all(['by-provider', 'by-password', 'by-login', 'by-token'].map((hash) => isThere(store, hash)))
    assert.deepEqual(await there(), [true, true, true, true])
    assert.equal(await store.endPasswordSignIns(), 4)
    assert.deepEqual(await there(), [true, false, false, true])
    const tokens = await Promise.all(
      ['grant-u1', 'grant-bob', 'login-1', 'own-1'].map(
        async (hash) => (await store.findToken(hash)) !== null,
      ),
    )
    assert.deepEqual(tokens, [true, false, false, true])
    assert.equal(await store.endPasswordSignIns(), 0)
  },

  'begin for nobody who is deleted or disabled meanwhile': async ({ store }) => {
    await addUser(store)
    const key = { workspace_id: WORKSPACE, user_id: 'ada' }
    const rest = { ...LASTING, device: 'Firefox', address: '192.0.2.1', scopes: ['viewer' as const] }
    const begin = () => {
      const sign_in_id = uuidv7()
      return store.createSignIn({ ...key, ...rest, sign_in_id, secret_hash: sign_in_id, token_id: null })
    }
    assert.ok(await begin())
    await store.updateUser({ ...key, patch: { disabled: true } })
    assert.equal(await begin(), null)
    await store.deleteUser(key)
    assert.equal(await begin(), null)
  },

  'last while they are used, and end at their absolute end in any case': async ({ store, now, elapse }) => {
    const made = await addSignIn(store, 'hash-1', { templates: ['hello'] })
    assert.equal(Date.parse(made.idle_ends_at) - Date.parse(made.created_at), 2 * HOUR)
    assert.equal(Date.parse(made.ends_at) - Date.parse(made.created_at), 5 * HOUR)
    assert.deepEqual(await store.findSignIn('hash-1'), {
      token_id: made.sign_in_id,
      begun_with: null,
      workspace_id: WORKSPACE,
      user_id: 'ada',
      scopes: ['viewer', 'analyst'],
      templates: ['hello'],
      collections: null,
      rate_limit: null,
      reader_id: null,
    })
    await addSignIn(store, 'unused')
    const { sign_in_id } = made
    for (const step of [1.5, 1.5, 1.5]) {
      await elapse(step * HOUR)
      const use = { sign_in_id, at: at(now()), address: '192.0.2.2', idle_ms: 2 * HOUR }
      await store.noteSignInUses([use, { ...use, at: made.created_at, address: 'earlier' }])
    }
    assert.deepEqual([await isThere(store, 'hash-1'), await isThere(store, 'unused')], [true, false])
    const { items } = await store.listSignIns({ workspace_id: WORKSPACE, user_id: 'ada', limit: 10 })
    assert.deepEqual(
      items.map(({ address, idle_ends_at, ends_at }) => [address, idle_ends_at === ends_at]),
      [['192.0.2.2', true]],
    )
    await elapse(0.6 * HOUR)
    assert.equal(await isThere(store, 'hash-1'), false)
  },

  'end before with the token that they were begun with': async ({ store, now }) => {
    const token = await addToken(store, 'mine', 'token-1', at(now() + HOUR))
    const { token_id } = token
    const made = await addSignIn(store, 'hash-1', { token_id })
    assert.deepEqual([made.ends_at, made.idle_ends_at], [token.expires_at, token.expires_at])
    await addSignIn(store, 'hash-2')
    await store.deleteToken(token)
    assert.deepEqual([await isThere(store, 'hash-1'), await isThere(store, 'hash-2')], [false, true])
    await assert.rejects(addSignIn(store, 'hash-3', { token_id }), 'the token is gone')
  },

  'end when the token that they were begun with is changed, but for its name': async ({ store }) => {
    const { token_id } = await addToken(store, 'mine', 'token-1')
    const change = (patch: TokenPatch) =>
      store.updateToken({ workspace_id: WORKSPACE, token_id, caller: 'ada', patch })
    await addSignIn(store, 'hash-1', { token_id })
    await change({ name: 'other' })
    assert.equal(await isThere(store, 'hash-1'), true)
    await change({ scopes: ['viewer'] })
    assert.equal(await isThere(store, 'hash-1'), false)
    await assert.rejects(addSignIn(store, 'hash-2', { token_id }), 'the token has fewer scopes by now')
  },

  'are listed and ended by their own user only': async ({ store }) => {
    const own = await addSignIn(store, 'hash-1')
    const workspace_id = await otherWorkspace(store)
    await addSignIn(store, 'hash-2', { workspace_id })
    await addSignIn(store, 'hash-3', { user_id: 'bob' })
    const key = { workspace_id: WORKSPACE, user_id: 'ada', sign_in_id: own.sign_in_id }
    const listed = await store.listSignIns({ ...key, limit: 10 })
    assert.deepEqual(listed.items, [own])
    assert.equal(await store.deleteSignIn({ ...key, user_id: 'bob' }), false)
    assert.equal(await store.deleteSignIn({ ...key, workspace_id }), false)
    assert.equal(await store.deleteSignIn(key), true)
    assert.equal(await store.deleteSignIn(key), false)
    assert.equal(await isThere(store, 'hash-1'), false)
  },

  'end all at once but the present one, with the tokens of logins': async ({ store }) => {
    const present = await addSignIn(store, 'hash-1')
    await addSignIn(store, 'hash-2')
    await addSignIn(store, 'hash-3', { user_id: 'bob' })
    await addToken(store, 'login', 'token-1')
    await addToken(store, 'nightly', 'token-2')
    const of = { workspace_id: WORKSPACE, user_id: 'ada' }
    assert.equal(await store.deleteSignIns({ ...of, except: present.sign_in_id }), 1)
    assert.deepEqual(await Promise.all(['hash-1', 'hash-2', 'hash-3'].map((hash) => isThere(store, hash))), [
      true,
      false,
      true,
    ])
    assert.equal(await store.findToken('token-1'), null)
    assert.ok(await store.findToken('token-2'))
    assert.equal(await store.deleteSignIns(of), 1)
    assert.equal(await isThere(store, 'hash-1'), false)
  },

  'end when their user changes, is disabled or deleted; the tokens of a disabled user rest': async ({
    store,
  }) => {
    const ada = await addUser(store)
    const key = { workspace_id: WORKSPACE, user_id: 'ada' }
    await addToken(store, 'nightly', 'token')
    await addSignIn(store, 'hash-1')
    assert.deepEqual(await store.updateUser({ ...key, patch: {} }), ada)
    assert.equal(await isThere(store, 'hash-1'), true)
    const changed = await store.updateUser({
      ...key,
      patch: { password_hash: 'scrypt$2', scopes: ['viewer'] },
    })
    assert.deepEqual(changed, { ...ada, scopes: ['viewer'] })
    assert.deepEqual(await store.getUser(key), { ...changed, password_hash: 'scrypt$2' })
    assert.equal(await isThere(store, 'hash-1'), false)
    await addSignIn(store, 'hash-2')
    await store.updateUser({ ...key, patch: { disabled: true } })
    assert.deepEqual([await isThere(store, 'hash-2'), await store.findToken('token')], [false, null])
    await store.updateUser({ ...key, patch: { disabled: false } })
    assert.ok(await store.findToken('token'))
    const kept = await addSignIn(store, 'hash-3')
    await addSignIn(store, 'hash-4')
    await store.updateUser({ ...key, patch: { password_hash: 'scrypt$3' }, except: kept.sign_in_id })
    assert.deepEqual([await isThere(store, 'hash-3'), await isThere(store, 'hash-4')], [true, false])
    assert.equal(await store.deleteUser(key), true)
    assert.equal(await isThere(store, 'hash-3'), false)
    assert.equal(await store.updateUser({ ...key, patch: { disabled: true } }), null)
    assert.equal(await store.getUser(key), null)
  },
}
