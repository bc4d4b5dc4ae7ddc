/**
 * Clients of PostgreSQL. An address may name several servers, as libpq has it: postgres://ada:word@a:5432,b:5432/assay. Each new
 * connection goes to one that takes writes, first to the one that did last, so that a failover needs no proxy.
 */
import { Client, type ClientConfig } from 'pg'
import { unavailable } from './failures.ts'

interface Server {
  host: string
  port: number
}

/** Within the time of a connection two rounds of questions fit: the server that was last, then all. */
const ANSWER_MS = 2000
/** What was found holds for the other connections of the same moment. */
const KNOWN_MS = 500
const PORT = 5432

const PARTS = /^(postgres(?:ql)?:\/\/(?:[^/?]*@)?)([^/?]*)(.*)$/s

/** The address with its first server only, which the driver can read. */
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

/** Resolves if the server takes writes. */
async function takesWrites(config: ClientConfig, server: Server): Promise<Server> {
  const limits = { connectionTimeoutMillis: ANSWER_MS, query_timeout: ANSWER_MS }
  const client = new Client({ ...config, ...limits })
  Object.assign(client, server)
  client.on('error', () => undefined)
  try {
    await client.connect()
    const { rows } = await client.query<{ transaction_read_only: string }>('SHOW transaction_read_only')
    if (rows[0]?.transaction_read_only === 'off') return server
    throw unavailable('No server of ASSAY_STORE takes writes: they are standbys, or read-only.')
  } finally {
    client.end().catch(() => undefined)
  }
}

/** Finds the server for a new connection. Rejects with why the first of them does not serve. */
function createChooser(servers: readonly Server[], config: ClientConfig): () => Promise<Server> {
  let last: Server | null = null
  let known: { found: Promise<Server>; until: number } | null = null

  async function find(): Promise<Server> {
    if (last) {
      const again = await takesWrites(config, last).catch(() => null)
      if (again) return again
    }
    const asked = servers.map((server) => takesWrites(config, server))
    last = await Promise.any(asked).catch((error: AggregateError) => {
      throw error.errors[0]
    })
    return last
  }

  return () => {
    if (known && performance.now() < known.until) return known.found
    const begun = { found: find(), until: Number.POSITIVE_INFINITY }
    known = begun
    const settle = (): void => void (begun.until = performance.now() + KNOWN_MS)
    begun.found.then(settle, settle)
    return begun.found
  }
}

type Told = Parameters<Client['connect']>[0]

function classOf(servers: readonly Server[], config: ClientConfig): typeof Client {
  const choose = createChooser(servers, config)
  class ChoosingClient extends Client {
    // The driver reads both when it connects; the name in a certificate is that of this host.
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

/** The driver's client, or where the address names several servers one that chooses among them. */
export function clientClass(url: string, config: ClientConfig): typeof Client {
  const servers = serversIn(url)
  if (servers.length < 2) return Client
  const made = classes.get(url) ?? classOf(servers, config)
  classes.set(url, made)
  return made
}
