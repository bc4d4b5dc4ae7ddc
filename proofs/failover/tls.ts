/**
 * TLS to PostgreSQL with a private authority: certificates made by openssl, and each sslmode tried by the command
 * against servers with a certificate of the authority, with one of a stranger, and without TLS.
 */
import { execFile, execFileSync } from 'node:child_process'
import { chmodSync, chownSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { Client } from 'pg'
import { type Postgres, startOwnPostgres } from '../../test/servers/postgres.ts'
import { assay, cleanEnvironment } from '../../test/servers/service.ts'

/** The user and group number of nobody, as whom the servers run here. */
const NOBODY = 65_534

/** The files of a certificate and its key. */
export interface Pair {
  cert: string
  key: string
}

export interface Authority {
  /** The certificate of the authority. */
  cert: string
  /** Makes a certificate. `names`: its subject alternative names; `subject`: its common name. */
  sign(subject: string, names?: string): Pair
  remove(): void
}

const CURVE = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']

export function makeAuthority(): Authority {
  const folder = mkdtempSync(path.join(tmpdir(), 'assay-authority-'))
  chmodSync(folder, 0o755)
  const at = (name: string): string => path.join(folder, name)
  const request = (...args: string[]): void =>
    void execFileSync('openssl', ['req', '-x509', ...CURVE, ...args], { stdio: 'pipe' })
  const ca = { cert: at('authority.pem'), key: at('authority.key') }
  request('-subj', '/CN=Authority of the proof', '-keyout', ca.key, '-out', ca.cert)
  return {
    cert: ca.cert,
    sign(subject, names) {
      const pair = { cert: at(`${subject}.pem`), key: at(`${subject}.key`) }
      const more = ['basicConstraints=critical,CA:FALSE', ...(names ? [`subjectAltName=${names}`] : [])]
      const by = ['-CA', ca.cert, '-CAkey', ca.key, ...more.flatMap((one) => ['-addext', one])]
      request('-subj', `/CN=${subject}`, ...by, '-keyout', pair.key, '-out', pair.cert)
      // PostgreSQL takes only a key that nobody but its user may read.
      chmodSync(pair.key, 0o600)
      if (process.getuid?.() === 0) chownSync(pair.key, NOBODY, NOBODY)
      return pair
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}

/** Returns the settings of a server that speaks TLS. */
export function tlsSettings({ cert, key }: Pair, authority?: Authority): Record<string, string> {
  return {
    ssl: 'on',
    ssl_cert_file: cert,
    ssl_key_file: key,
    ...(authority ? { ssl_ca_file: authority.cert } : {}),
  }
}

interface Answer {
  code: number
  said: string
}

/** Runs `assay migrate`, which opens the store and ends. */
function migrate(store: string, home: string): Promise<Answer> {
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [assay, 'migrate'],
      { env: cleanEnvironment({ ASSAY_STORE: store, ASSAY_HOME: home, ASSAY_SECRET_KEY: 'a1'.repeat(32) }) },
      (error, stdout, stderr) =>
        resolve({ code: error ? Number(error.code ?? 1) : 0, said: `${stdout}${stderr}` }),
    )
  })
}

type Place = 'its name' | 'its address' | "a stranger's authority" | 'no TLS'
/** What a mode gives: a connection by TLS or in clear, or a refusal with a sentence. */
type Outcome = 'TLS' | 'clear' | RegExp

const UNTRUSTED = /is not trusted.*sslrootcert/
const TLS_LESS = /has no TLS/
const EXPECTED: Record<string, Record<Place, Outcome>> = {
  disable: {
    'its name': 'clear',
    'its address': 'clear',
    "a stranger's authority": 'clear',
    'no TLS': 'clear',
  },
  prefer: { 'its name': 'TLS', 'its address': 'TLS', "a stranger's authority": 'TLS', 'no TLS': 'clear' },
  require: { 'its name': 'TLS', 'its address': 'TLS', "a stranger's authority": 'TLS', 'no TLS': TLS_LESS },
  'verify-ca': {
    'its name': 'TLS',
    'its address': 'TLS',
    "a stranger's authority": UNTRUSTED,
    'no TLS': TLS_LESS,
  },
  'verify-full': {
    'its name': 'TLS',
    'its address': /is for another host/,
    "a stranger's authority": UNTRUSTED,
    'no TLS': TLS_LESS,
  },
}

const CONNECTED = /connection authorized: user=assay .*/g

/** Tells whether the connections that the server has logged since `from` characters were by TLS. */
function seenBy(server: Postgres, from: string): string {
  const all = server.log!()
  const lines = all.slice(all.indexOf(from) + from.length).match(CONNECTED) ?? []
  const secured = lines.filter((line) => line.includes('SSL enabled')).length
  if (lines.length === 0) return 'nothing'
  return secured === lines.length ? 'TLS' : secured === 0 ? 'clear' : 'both'
}

interface Stage {
  authority: Authority
  role: string
  folder: string
  log(line: string): void
}

/** A role that the server lets in by a client certificate only, and by TLS only. */
const CERTIFIED = 'certified'

async function certifiedOnly(url: string): Promise<void> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(`CREATE ROLE ${CERTIFIED} LOGIN`)
    await client.query(`CREATE DATABASE ${CERTIFIED} OWNER ${CERTIFIED}`)
    const { rows } = await client.query<{ file: string }>(`SELECT current_setting('hba_file') AS file`)
    const file = rows[0]!.file
    const before = readFileSync(file, 'utf8')
    writeFileSync(file, `hostssl all ${CERTIFIED} all cert\nhostnossl all ${CERTIFIED} all reject\n${before}`)
    await client.query('SELECT pg_reload_conf()')
  } finally {
    await client.end()
  }
}

/** Tries each mode, and a client certificate. Resolves with what went otherwise than it should. */
export async function tryModes({ authority, role, folder, log }: Stage): Promise<string[]> {
  const logged = { log_connections: 'on' }
  const stranger = makeAuthority()
  const start = async (over: Record<string, string>): Promise<Postgres> => {
    const server = await startOwnPostgres({ ...logged, ...over })
    const admin = new Client({ connectionString: `postgres://postgres@127.0.0.1:${server.port}/postgres` })
    await admin.connect()
    await admin.query(`CREATE ROLE ${role} LOGIN`)
    await admin.query(`CREATE DATABASE guarded OWNER ${role}`)
    await admin.end()
    return server
  }
  const servers = {
    own: await start(tlsSettings(authority.sign('one', 'DNS:localhost'), authority)),
    strange: await start(tlsSettings(stranger.sign('one', 'DNS:localhost'))),
    bare: await start({}),
  }
  const places: Record<Place, [Postgres, string]> = {
    'its name': [servers.own, 'localhost'],
    'its address': [servers.own, '127.0.0.1'],
    "a stranger's authority": [servers.strange, 'localhost'],
    'no TLS': [servers.bare, 'localhost'],
  }
  const broken: string[] = []
  let tried = 0
  const attempt = async (what: string, server: Postgres, store: string, expected: Outcome): Promise<void> => {
    const from = server.log!().slice(-300)
    const { code, said } = await migrate(store, folder)
    tried += 1
    const seen = seenBy(server, from)
    const right =
      typeof expected === 'string'
        ? code === 0 && seen === expected
        : code === 69 && expected.test(said) && !/\n\s+at /.test(said)
    if (!right) broken.push(`${what}: exit code ${code}, the server saw ${seen}: ${said.trim()}`)
  }
  try {
    for (const [mode, outcomes] of Object.entries(EXPECTED))
      for (const [place, expected] of Object.entries(outcomes) as [Place, Outcome][]) {
        const [server, host] = places[place]
        const root = mode.startsWith('verify') ? `&sslrootcert=${authority.cert}` : ''
        const store = `postgres://${role}@${host}:${server.port}/guarded?sslmode=${mode}${root}`
        await attempt(`sslmode=${mode}, ${place}`, server, store, expected)
      }
    const port = servers.own.port!
    await certifiedOnly(`postgres://postgres@127.0.0.1:${port}/postgres`)
    const pair = authority.sign(CERTIFIED)
    const bare = `postgres://${CERTIFIED}@localhost:${port}/${CERTIFIED}?sslmode=verify-full&sslrootcert=${authority.cert}`
    await attempt('no client certificate', servers.own, bare, /does not let this service in/)
    const { code, said } = await migrate(`${bare}&sslcert=${pair.cert}&sslkey=${pair.key}`, folder)
    if (code !== 0) broken.push(`a client certificate: exit code ${code}: ${said.trim()}`)
    log(`TLS: ${tried + 1} connections by sslmode, authority and client certificate were tried`)
  } finally {
    for (const server of Object.values(servers)) await server.stop()
    stranger.remove()
  }
  return broken
}
