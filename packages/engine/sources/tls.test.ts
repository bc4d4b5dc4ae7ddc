/**
 * Tests TLS to databases, against servers that are started here with a certificate of their own for the name
 * localhost.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, suite, test } from 'node:test'
import type { OpenConnection } from '@assay/model/connection'
import { CONNECTION_LIMITS, type ConnectionOptions } from '@assay/model/connection-kinds'
import mysql from 'mysql2/promise'
import { freePort } from '../../../test/servers/free-port.ts'
import { missingPostgres, startOwnPostgres } from '../../../test/servers/postgres.ts'
import { selfSigned } from '../../../test/servers/receiver.ts'
import { findingsOf, type TestPool } from '../run/test-pool.ts'
import { accessOf, queryTemplate, sharedBench } from './conformance/conformance.ts'

const there = (program: string): boolean =>
  spawnSync(program, ['--version'], { stdio: 'ignore' }).error === undefined

interface TlsServer {
  kind: 'postgresql' | 'mysql'
  port: number
  /** The certificate of the server. */
  cert: string
  options: ConnectionOptions
  password: string
  /** A query of one row with the cipher of the session, if it has one. */
  cipher: string
  stop(): Promise<void>
}

interface KeyFiles {
  cert: string
  /** Files that hold the certificate and its key. */
  files: { cert: string; key: string }
  folder: string
}

function keyFiles(): KeyFiles {
  const folder = mkdtempSync(path.join(tmpdir(), 'assay-tls-'))
  const { cert, key } = selfSigned(['DNS:localhost'])
  const files = { cert: path.join(folder, 'cert.pem'), key: path.join(folder, 'key.pem') }
  writeFileSync(files.cert, cert, { mode: 0o644 })
  writeFileSync(files.key, key, { mode: 0o600 })
  return { cert, files, folder }
}

const NOBODY = 65_534

async function postgres(): Promise<TlsServer> {
  const { cert, files, folder } = keyFiles()
  if (process.getuid?.() === 0)
    for (const file of [folder, ...Object.values(files)]) chownSync(file, NOBODY, NOBODY)
  const server = await startOwnPostgres({ ssl: 'on', ssl_cert_file: files.cert, ssl_key_file: files.key })
  return {
    kind: 'postgresql',
    port: server.port!,
    cert,
    options: { database: 'postgres', user: 'postgres', privileged: 'accepted' },
    password: 'not-needed',
    cipher: 'select cipher from pg_stat_ssl where pid = pg_backend_pid()',
    async stop() {
      await server.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function mariadb(): Promise<TlsServer> {
  const { cert, files, folder } = keyFiles()
  const data = path.join(folder, 'data')
  const user = process.getuid?.() === 0 ? ['--user=root'] : []
  const common = ['--no-defaults', `--datadir=${data}`, ...user]
  execFileSync(
    'mariadb-install-db',
    [...common, '--auth-root-authentication-method=normal', '--skip-test-db'],
    {
      stdio: 'ignore',
    },
  )
  const port = await freePort()
  const socket = path.join(folder, 'socket')
  const settings = [
    `--port=${port}`,
    '--bind-address=127.0.0.1',
    `--socket=${socket}`,
    `--ssl-cert=${files.cert}`,
  ]
  const child: ChildProcess = spawn('mariadbd', [...common, ...settings, `--ssl-key=${files.key}`], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const killed = (): void => void child.kill('SIGKILL')
  process.once('exit', killed)
  await new Promise<void>((resolve, reject) => {
    let said = ''
    child.stderr!.setEncoding('utf8').on('data', (chunk: string) => {
      said = `${said}${chunk}`.slice(-4000)
      if (said.includes('ready for connections')) resolve()
    })
    child.once('error', reject)
    child.once('exit', () => reject(new Error(`MariaDB did not start:\n${said}`)))
  })
  const admin = await mysql.createConnection({ socketPath: socket, user: 'root' })
  await admin.query("create user assay@'127.0.0.1' identified by 'a-password' require ssl")
  await admin.query("create user assay@'localhost' identified by 'a-password' require ssl")
  await admin.query('create database shop')
  await admin.query('grant select on shop.* to assay@localhost')
  await admin.query("grant select on shop.* to assay@'127.0.0.1'")
  await admin.end()
  return {
    kind: 'mysql',
    port,
    cert,
    options: { database: 'shop', user: 'assay' },
    password: 'a-password',
    cipher:
      "select variable_value as cipher from information_schema.session_status where variable_name = 'Ssl_cipher'",
    async stop() {
      process.off('exit', killed)
      child.kill('SIGTERM')
      await exited
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

const openssl = there('openssl') ? null : 'no openssl, which makes the certificates'
const SERVERS = [
  { name: 'PostgreSQL', start: postgres, missing: openssl ?? (await missingPostgres()) },
  {
    name: 'MariaDB',
    start: mariadb,
    missing: openssl ?? (there('mariadbd') && there('mariadb-install-db') ? null : 'no mariadbd on the path'),
  },
]

for (const { name, start, missing } of SERVERS)
  suite(`TLS to ${name}`, { skip: missing ?? false }, () => {
    let server: TlsServer
    let bench: TestPool
    before(async () => {
      bench = await sharedBench()
      server = await start()
    })
    after(async () => {
      await server?.stop()
    })
    const connectionOf = (options: ConnectionOptions): OpenConnection => ({
      name: 'remote',
      kind: server.kind,
      options: { host: 'localhost', port: server.port, tls: 'verify', ...server.options, ...options },
      secrets: { password: server.password },
      limits: { ...CONNECTION_LIMITS, timeout_seconds: 30 },
      targets: ['loopback'],
    })
    const ask = (options: ConnectionOptions) =>
      bench.run(queryTemplate(server.cipher), {}, { connections: accessOf(connectionOf(options)) })
    const cipherOf = async (options: ConnectionOptions): Promise<unknown> =>
      findingsOf(await ask(options)).tables.b!.rows[0]![0]
    const refusalOf = async (options: ConnectionOptions): Promise<string> => {
      const result = await ask(options)
      assert.ok(result.status === 'failed', JSON.stringify(result))
      assert.equal(result.error.code, 'source_unavailable')
      const connection = connectionOf(options)
      const probed = await bench.pool.probe(
        { kind: 'probe', connection, roots: bench.roots },
        { workspace_id: 'test' },
      )
      assert.ok(
        !probed.ok && result.error.detail.includes(probed.detail),
        'a test of the connection says the same',
      )
      return result.error.detail
    }

    test('a certificate that "ca" proves is taken for its name, and the session is in secret', async () => {
      assert.match(String(await cipherOf({ ca: server.cert })), /^(TLS|ECDHE)/)
    })

    test('the certificate of another name is refused', async () => {
      assert.match(await refusalOf({ ca: server.cert, host: '127.0.0.1' }), /cannot be made: .*(altname|IP)/i)
    })

    test('a certificate of an unknown authority is refused, with another one in "ca" and without any', async () => {
      const others = selfSigned(['DNS:localhost']).cert
      for (const options of [{ ca: others }, {}])
        assert.match(await refusalOf(options), /cannot be made: .*(self.signed|unable to verify|issuer)/i)
    })

    test('"require" takes whoever answers, in secret all the same', async () => {
      assert.match(String(await cipherOf({ tls: 'require', host: '127.0.0.1' })), /^(TLS|ECDHE)/)
    })
  })
