/** Runs a PgBouncer in transaction mode (from Debian; npm has none) before one address. */
import { spawn, spawnSync } from 'node:child_process'
import { chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { freePort } from '../../test/servers/free-port.ts'
import { eventually } from '../../test/servers/service.ts'

const PROGRAM = 'pgbouncer'
/** The user and group number of nobody, which every Linux has. PgBouncer refuses to run as root. */
const NOBODY = 65_534

export interface Bouncer {
  port: number
  version: string
  stop(): Promise<void>
}

const accepts = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port })
    socket.on('connect', () => resolve(true)).on('error', () => resolve(false))
    socket.on('connect', () => socket.destroy())
  })

/** The files by which it speaks TLS on both sides: its own certificate and key, and the authority of the server. */
export interface BouncerTls {
  cert: string
  key: string
  authority: string
}

const tlsLines = ({ cert, key, authority }: BouncerTls): string[] => [
  'client_tls_sslmode = require',
  `client_tls_cert_file = ${cert}`,
  `client_tls_key_file = ${key}`,
  'server_tls_sslmode = verify-ca',
  `server_tls_ca_file = ${authority}`,
]

/** Starts PgBouncer. Resolves with null if it is not installed. */
export async function startBouncer(user: string, before: number, tls: BouncerTls): Promise<Bouncer | null> {
  const said = spawnSync(PROGRAM, ['--version'], { encoding: 'utf8' })
  if (said.error) return null
  const port = await freePort()
  // The folder is not one of root's, which another user may not enter.
  const place = mkdtempSync(path.join(tmpdir(), 'assay-bouncer-'))
  writeFileSync(path.join(place, 'users'), `"${user}" ""\n`)
  const ini = [
    '[databases]',
    `* = host=127.0.0.1 port=${before}`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'auth_type = trust',
    `auth_file = ${path.join(place, 'users')}`,
    'pool_mode = transaction',
    'default_pool_size = 10',
    'max_client_conn = 200',
    // After a failed login PgBouncer would wait 15 s before the next.
    'server_login_retry = 1',
    ...tlsLines(tls),
  ]
  const file = path.join(place, 'pgbouncer.ini')
  writeFileSync(file, `${ini.join('\n')}\n`)
  const asRoot = process.getuid?.() === 0
  if (asRoot) for (const one of [place, file, path.join(place, 'users')]) chownSync(one, NOBODY, NOBODY)
  const child = spawn(PROGRAM, ['-q', file], {
    stdio: 'ignore',
    cwd: place,
    ...(asRoot ? { uid: NOBODY, gid: NOBODY } : {}),
  })
  const kill = (): void => void child.kill('SIGKILL')
  process.on('exit', kill)
  await eventually(() => accepts(port), 'PgBouncer listens')
  return {
    port,
    version: /PgBouncer (\S+)/.exec(said.stdout)?.[1] ?? 'of an unknown version',
    async stop() {
      process.off('exit', kill)
      const exited = new Promise((resolve) => child.once('exit', resolve))
      child.kill('SIGKILL')
      await exited
      rmSync(place, { recursive: true, force: true })
    },
  }
}
