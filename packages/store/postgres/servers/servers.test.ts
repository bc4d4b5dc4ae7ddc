/** Addresses of several servers, with a real primary and its streaming standby. */
import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { AppError } from '@assay/model/errors'
import { freePort } from '../../../../test/servers/free-port.ts'
import { missingPostgres, type Postgres, startOwnPostgres } from '../../../../test/servers/postgres.ts'
import { eventually } from '../../../../test/servers/service.ts'
import { open, withClient } from '../postgres-fixture.ts'

const missing = process.env.ASSAY_TEST_POSTGRES ? 'the server is not ours' : await missingPostgres()

suite('several servers in one address', { skip: missing ?? false }, () => {
  let primary: Postgres
  let standby: Postgres
  let own = ''
  let stopped = false
  const hostOf = ({ port }: Postgres): string => `127.0.0.1:${port}`
  /** Returns the address of the same database on these servers, in this order. */
  const on = (hosts: string[]): string =>
    own.replace(/@[^/]*\//, `@${hosts.join(',')}/`).replace(/\?.*|$/, '?target_session_attrs=read-write')

  before(async () => {
    primary = await startOwnPostgres()
    own = await primary.createDatabase('several')
    standby = await primary.standby!()
  })
  after(async () => {
    await standby?.stop()
    if (!stopped) await primary?.stop()
  })

  test('the primary is found behind a server that is gone and a standby, and after a failover its successor', async () => {
    const gone = `127.0.0.1:${await freePort()}`
    const store = await open(on([gone, hostOf(standby), hostOf(primary)]))
    try {
      const user_id = (n: number) => `00000000-0000-7000-8000-00000000000${n}`
      const add = (n: number) =>
        store.createUser({
          user_id: user_id(n),
          workspace_id: 'default',
          username: `ada${n}`,
          scopes: ['viewer'],
          password_hash: 'x',
        })
      await add(1)
      const streamed = `SELECT count(*)::int AS n FROM users`
      await eventually(
        () =>
          withClient(
            on([hostOf(standby)]).replace(/\?.*/, ''),
            async (client) => (await client.query<{ n: number }>(streamed)).rows[0]?.n === 1,
          ).catch(() => false),
        'the standby has what was written',
      )
      stopped = true
      await primary.stop()
      await assert.rejects(add(2), (error) => error instanceof AppError && error.code === 'store_unavailable')
      await standby.promote()
      await eventually(
        () =>
          add(2).then(
            () => true,
            (error: unknown) => {
              if (error instanceof AppError && error.code === 'store_unavailable') return false
              throw error
            },
          ),
        'the store writes to the server that was promoted',
      )
      const { items } = await store.listUsers({ workspace_id: 'default', limit: 10 })
      assert.deepEqual(
        items.map(({ username }) => username).toSorted((a, b) => (a < b ? -1 : 1)),
        ['ada1', 'ada2'],
      )
    } finally {
      await store.close()
    }
  })

  test('a primary whose commits wait for a standby that is not there takes no writes', async () => {
    const store = await open(on([hostOf(standby)]))
    const admin = on([hostOf(standby)]).replace(/\?.*/, '')
    const wait = (names: string) =>
      withClient(admin, async (client) => {
        await client.query(`ALTER SYSTEM SET synchronous_standby_names = '${names}'`)
        await client.query('SELECT pg_reload_conf()')
      })
    try {
      await wait('nobody')
      const waits = (): Promise<boolean> =>
        withClient(admin, async (client) => {
          const found = await client.query("SELECT 1 FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
          return found.rows.length > 0
        })
      // The server may read its settings again after the first question.
      const asking = new AbortController()
      const asked = (async () => {
        while (!asking.signal.aborted) await store.ping()
      })()
      await eventually(waits, 'a question waits for a standby')
      asking.abort()
      await wait('')
      await asked
    } finally {
      await store.close()
    }
  })

  test('servers that all only read are told apart from servers that are gone', async () => {
    await withClient(on([hostOf(standby)]).replace(/\?.*/, ''), (client) =>
      client.query(`ALTER DATABASE several SET default_transaction_read_only = on`),
    )
    const refusal = (error: unknown) =>
      error instanceof AppError && /standbys, or read-only/.test(error.message)
    await assert.rejects(open(on([hostOf(standby), hostOf(standby)])), refusal)
  })
})
