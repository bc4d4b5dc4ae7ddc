/** TLS to PostgreSQL: each sslmode against servers with a certificate of their own and without one. */
import assert from 'node:assert/strict'
import { chownSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { after, before, suite, test } from 'node:test'
import { AppError } from '@assay/model/errors'
import { missingPostgres, type Postgres, startOwnPostgres } from '../../../test/servers/postgres.ts'
import { selfSigned } from '../../../test/servers/receiver.ts'
import { temporaryFolder } from '../../../test/servers/service.ts'
import { open, withClient } from './postgres-fixture.ts'

const NOBODY = 65_534
const missing = process.env.ASSAY_TEST_POSTGRES ? 'the server is not ours' : await missingPostgres()

suite('TLS to PostgreSQL', { skip: missing ?? false }, () => {
  const { folder, remove } = temporaryFolder()
  const cert = path.join(folder, 'cert.pem')
  const key = path.join(folder, 'key.pem')
  const servers: Postgres[] = []
  let guarded = ''
  let bare = ''

  before(async () => {
    // The certificate is its own authority. It is for the name localhost.
    const made = selfSigned(['DNS:localhost'])
    writeFileSync(cert, made.cert, { mode: 0o644 })
    writeFileSync(key, made.key, { mode: 0o600 })
    if (process.getuid?.() === 0) for (const file of [folder, cert, key]) chownSync(file, NOBODY, NOBODY)
    const withTls = await startOwnPostgres({ ssl: 'on', ssl_cert_file: cert, ssl_key_file: key })
    const without = await startOwnPostgres()
    servers.push(withTls, without)
    guarded = await withTls.createDatabase('guarded')
    bare = await without.createDatabase('bare')
  })
  after(async () => {
    for (const server of servers) await server.stop()
    remove()
  })

  /** Opens and closes the store. Returns whether its connections used TLS. */
  async function encrypted(url: string): Promise<boolean> {
    const store = await open(url)
    try {
      const of = new URL(url.replace(/,[^/]*/, ''))
      of.search = ''
      const asked = `SELECT bool_and(ssl) AS ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = 'assay' AND pid <> pg_backend_pid()`
      return await withClient(
        of.href,
        async (client) => (await client.query<{ ssl: boolean }>(asked)).rows[0]!.ssl,
      )
    } finally {
      await store.close()
    }
  }

  async function refused(url: string, sentence: RegExp): Promise<void> {
    await assert.rejects(open(url), (error: unknown) => {
      assert.ok(error instanceof AppError, String(error))
      assert.equal(error.code, 'store_unavailable')
      assert.match(error.message, sentence)
      return true
    })
  }

  const named = (url: string): string => url.replace('127.0.0.1', 'localhost')

  test('sslmode=disable asks for none, require for TLS with any certificate', async () => {
    assert.equal(await encrypted(`${guarded}?sslmode=disable`), false)
    assert.equal(await encrypted(`${guarded}?sslmode=require`), true)
    await refused(`${bare}?sslmode=require`, /has no TLS.*sslmode=disable/)
  })

  test('sslmode=prefer takes TLS with any certificate where the server has it, and else goes on in clear', async () => {
    assert.equal(await encrypted(`${guarded}?sslmode=prefer`), true)
    assert.equal(await encrypted(`${bare}?sslmode=prefer`), false)
    // The same holds for each of several servers.
    const twice = (url: string): string => url.replace(/@([^/]*)/, '@$1,$1')
    assert.equal(await encrypted(`${twice(guarded)}?sslmode=prefer`), true)
    assert.equal(await encrypted(`${twice(bare)}?sslmode=prefer`), false)
  })

  test('verify-ca asks for a certificate of the authority, whatever its host', async () => {
    assert.equal(await encrypted(`${guarded}?sslmode=verify-ca&sslrootcert=${cert}`), true)
    const other = path.join(folder, 'other.pem')
    writeFileSync(other, selfSigned(['DNS:localhost']).cert)
    await refused(`${guarded}?sslmode=verify-ca&sslrootcert=${other}`, /not trusted.*sslrootcert/)
  })

  test('verify-full asks for the name, too, and without an authority for one that the system knows', async () => {
    assert.equal(await encrypted(`${named(guarded)}?sslmode=verify-full&sslrootcert=${cert}`), true)
    await refused(`${guarded}?sslmode=verify-full&sslrootcert=${cert}`, /for another host/)
    await refused(`${named(guarded)}?sslmode=verify-full`, /not trusted.*sslrootcert/)
  })
})
