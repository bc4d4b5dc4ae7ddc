/**
 * Clients of PostgreSQL whose address may name several servers, as in libpq: postgres://ada:word@a:5432,b:5432/assay.
 * Each new connection goes to one that takes writes, so that a failover needs no proxy.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { Client, type ClientConfig } from 'pg'
import { unavailable } from '../failures.ts'
import { sharing } from '../sharing.ts'
import { PreferringClient } from './prefer.ts'

interface Server {
  host: string
  port: number
}

/**
 * The milliseconds within which a server answers. They are less than the time of a connection (5 s), of which a busy
 * node needs a part itself.
 */
const ANSWER_MS = 4000
/** The milliseconds for which the other servers may answer after the first that takes writes. */
const LAST_WORD_MS = 500
/** The milliseconds for which a choice serves the other connections of the same moment. */
const KNOWN_MS = 500
const PORT = 5432

const PARTS = /^(postgres(?:ql)?:\/\/(?:[^/?]*@)?)([^/?]*)(.*)$/s

/** Returns the address with its first server only, which the driver can read. */
export function withFirstServer(url: string): string {
  const [, before = url, servers = '', rest = ''] = PARTS.exec(url) ?? []
  return before + servers.split(',')[0]! + rest
}

function serversIn(url: string): Server[] {
  const names = PARTS.exec(url)?.[2]?.split(',') ?? []
  return names.map((name) => {
    const { hostname, port } = new URL(`postgres://${name}`)
    return { host: hostname.replace(/^\[(.*)\]$/, '$1'), port: Number(port || PORT) }
  })
}

/** A server that takes writes, and its timeline. Each promotion begins the next timeline. */
interface Writable {
  server: Server
  timeline: number
}

/** Reads whether a server takes writes. The timeline of a standby is not read. */
const STATE = `SELECT current_setting('transaction_read_only') = 'off' AS writes,
  CASE WHEN NOT pg_is_in_recovery() THEN left(pg_walfile_name(pg_current_wal_lsn()), 8) END AS timeline`

/** Resolves with a server that takes writes. Rejects for one that takes none. */
async function takesWrites(base: typeof Client, config: ClientConfig, server: Server): Promise<Writable> {
  const limits = { connectionTimeoutMillis: ANSWER_MS, query_timeout: ANSWER_MS }
  const client = new base({ ...config, ...limits })
  Object.assign(client, server)
  client.on('error', () => undefined)
  try {
    await client.connect()
    const { rows } = await client.query<{ writes: boolean; timeline: string | null }>(STATE)
    const { writes = false, timeline = null } = rows[0] ?? {}
    if (writes && timeline !== null) return { server, timeline: Number.parseInt(timeline, 16) }
    throw unavailable('No server of ASSAY_STORE takes writes: they are standbys, or read-only.')
  } finally {
    client.end().catch(() => undefined)
  }
}

/** Collects the servers that answer. Silent ones are waited for a moment longer than the first that takes writes. */
async function answers(asked: readonly Promise<Writable>[]): Promise<Writable[]> {
  const found: Writable[] = []
  const all = Promise.all(
    asked.map((one) =>
      one.then(
        (answer) => void found.push(answer),
        () => undefined,
      ),
    ),
  )
  const first = Promise.any(asked).catch((error: AggregateError) => {
    throw error.errors[0]
  })
  await first
  await Promise.race([all, delay(LAST_WORD_MS)])
  return found
}

/**
 * Chooses the server for a new connection. Of those that take writes it chooses the one of the newest timeline, and
 * none of an older timeline than it has seen. A former primary that returns beside its successor would lose what is
 * written to it. Rejects with the reason why the first server does not serve.
 */
function createChooser(
  base: typeof Client,
  servers: readonly Server[],
  config: ClientConfig,
): () => Promise<Server> {
  let newest = 0

  return sharing(KNOWN_MS, async () => {
    const found = await answers(servers.map((server) => takesWrites(base, config, server)))
    const [best] = found.toSorted((a, b) => b.timeline - a.timeline)
    if (!best || best.timeline < newest)
      throw unavailable(
        'Of the servers of ASSAY_STORE only a former primary takes writes: its successor cannot be reached.',
      )
    newest = best.timeline
    return best.server
  })
}

type Told = Parameters<Client['connect']>[0]

function classOf(base: typeof Client, servers: readonly Server[], config: ClientConfig): typeof Client {
  const choose = createChooser(base, servers, config)
  class ChoosingClient extends base {
    // The driver reads host and port when it connects. The certificate must name this host.
    async #choose(): Promise<void> {
      Object.assign(this, await choose())
    }

    override connect(): Promise<Client>
    override connect(told: Told): void
    override connect(told?: Told): Promise<Client> | void {
      if (!told) return this.#choose().then(() => super.connect())
      this.#choose().then(
        () => super.connect(told),
        (error: Error) => (told as (error: Error) => void)(error),
      )
    }
  }
  return ChoosingClient
}

const classes = new Map<string, typeof Client>()

const PREFERS = /[?&]sslmode=prefer(&|$)/

/**
 * Returns the class of clients for an address: the driver's, one that prefers TLS, or for several servers one that
 * chooses among them.
 */
export function clientClass(url: string, config: ClientConfig): typeof Client {
  const base = PREFERS.test(url) ? PreferringClient : Client
  const servers = serversIn(url)
  if (servers.length < 2) return base
  const made = classes.get(url) ?? classOf(base, servers, config)
  classes.set(url, made)
  return made
}
