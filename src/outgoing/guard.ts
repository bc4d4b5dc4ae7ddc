/**
 * The one way out: every outgoing request goes through this connector. It sees every target, literal addresses included
 * (a `lookup` hook does not: undici never calls it for them), judges every address that a name resolves to, refuses the
 * name if any is forbidden, and dials exactly an address that it has judged, so that a name which changes its answer gains
 * nothing. Host and TLS keep the name. Redirects are nobody's business here: undici follows none unless told.
 */
import { isIP, type Socket } from 'node:net'
import { Agent, buildConnector, Client, type Dispatcher, Pool } from 'undici'
import { type Targets, vetAddress } from '../target.ts'
import { createResolver, type Resolve } from './resolve.ts'

/** The target is not allowed; says nothing about the inside. */
export class BlockedError extends Error {}

/** The name has no address; `code` is the resolver's. */
export class ResolveError extends Error {
  readonly code: string

  constructor(code: string, cause?: unknown) {
    super(`The name could not be resolved (${code}).`, { cause })
    this.code = code
  }
}

/** How long each step of connecting took, in milliseconds; null: not reached, or not needed. */
export interface ConnectPhases {
  dns: number | null
  connect: number | null
  tls: number | null
}

export interface GuardOptions {
  targets: Targets
  resolve?: Resolve
  /** Milliseconds for the connections to all addresses of a name together. */
  connectTimeout?: number
  /** Milliseconds that an idle connection is kept. */
  idleTimeout?: number
  /** Beyond so many open connections each new request closes its own. */
  mostOpen?: number
  /** Certificates to trust in place of the usual ones (PEM). */
  ca?: string[]
}

export interface Guard {
  /** For undici's `request`, `fetch` or `dispatch`. */
  dispatcher: Dispatcher
  /** What connecting cost for the request of this handler: all null where a connection was used again. */
  phasesOf(handler: Dispatcher.DispatchHandler): ConnectPhases & { reused: boolean }
  /** Connections open now. */
  open(): number
  /** Cuts every connection. */
  close(): Promise<void>
}

/** The state of one connection: what making it cost, and whether a request has been sent on it yet. */
interface Line extends ConnectPhases {
  used: boolean
}

const NO_PHASES: ConnectPhases = { dns: null, connect: null, tls: null }
/** So many addresses of a name are tried, one after the other. */
const MOST_TRIED = 4

type Target = buildConnector.Options

function portOf({ protocol, port }: Target): number {
  if (port !== '') return Number(port)
  return protocol === 'https:' ? 443 : 80
}

/** The addresses that may be dialed: all of them or a refusal. */
async function vettedAddresses(
  target: Target,
  line: Line,
  options: Required<GuardOptions>,
): Promise<string[]> {
  const host = target.hostname
  let addresses = [host]
  if (isIP(host) === 0) {
    const started = performance.now()
    try {
      addresses = await options.resolve(host)
    } catch (error) {
      throw new ResolveError((error as NodeJS.ErrnoException).code ?? 'EFAILED', error)
    } finally {
      line.dns = performance.now() - started
    }
    if (addresses.length === 0) throw new ResolveError('ENODATA')
  }
  const port = portOf(target)
  if (!addresses.every((ip) => vetAddress(ip, host, port, options.targets)))
    throw new BlockedError('The host is not one that this service may reach.')
  return addresses.slice(0, MOST_TRIED)
}

type Dial = (target: Target, address: string, timeout: number, line: Line) => Promise<Socket>

function createDial(options: Required<GuardOptions>, sockets: Set<Socket>): Dial {
  const connector = buildConnector({
    allowH2: false,
    timeout: options.connectTimeout,
    ...(options.ca.length > 0 ? { ca: options.ca } : {}),
  })
  return (target, address, timeout, line) =>
    new Promise((resolve, reject) => {
      const started = performance.now()
      const servername = isIP(target.hostname) === 0 ? { servername: target.hostname } : {}
      const socket = connector({ ...target, ...servername, hostname: address }, (error, connected) => {
        clearTimeout(timer)
        if (error) reject(error)
        else {
          const elapsed = performance.now() - started
          if (target.protocol === 'https:') line.tls = elapsed - (line.connect ?? 0)
          else line.connect = elapsed
          resolve(connected)
        }
      }) as unknown as Socket
      const timer = setTimeout(() => {
        socket.destroy(
          Object.assign(new Error('No connection in time.'), { code: 'UND_ERR_CONNECT_TIMEOUT' }),
        )
      }, timeout)
      socket.once('connect', () => {
        line.connect = performance.now() - started
      })
      sockets.add(socket)
      socket.once('close', () => {
        sockets.delete(socket)
        clearTimeout(timer)
        reject(new Error('The connection was closed.'))
      })
    })
}

/** Connects to a vetted address of the target, one after the other where there are several. */
function createConnect(options: Required<GuardOptions>, sockets: Set<Socket>) {
  const dial = createDial(options, sockets)

  async function connect(target: Target, line: Line): Promise<Socket> {
    Object.assign(line, NO_PHASES, { used: false })
    const addresses = await vettedAddresses(target, line, options)
    let failure: unknown
    for (const address of addresses) {
      try {
        return await dial(target, address, options.connectTimeout / addresses.length, line)
      } catch (error) {
        failure = error
      }
    }
    throw failure
  }

  return async (target: Target, line: Line, done: buildConnector.Callback): Promise<void> => {
    let socket: Socket
    try {
      socket = await connect(target, line)
    } catch (error) {
      done(error as Error, null)
      return
    }
    done(null, socket)
  }
}

export function createGuard(given: GuardOptions): Guard {
  const options: Required<GuardOptions> = {
    resolve: createResolver(),
    connectTimeout: 10_000,
    idleTimeout: 15_000,
    mostOpen: 2048,
    ca: [],
    ...given,
  }
  const sockets = new Set<Socket>()
  const lines = new WeakMap<Dispatcher.DispatchHandler, Line>()
  const connect = createConnect(options, sockets)

  /** A client has one connection at a time, so a handler that it was given tells which connection it used. */
  function createClient(origin: URL, clientOptions: object): Client {
    const line: Line = { ...NO_PHASES, used: false }
    const client = new Client(origin, {
      ...clientOptions,
      connect: (target, done) => void connect(target, line, done),
    })
    const dispatch = client.dispatch.bind(client)
    client.dispatch = (request, handler) => {
      lines.set(handler, line)
      return dispatch(sockets.size > options.mostOpen ? { ...request, reset: true } : request, handler)
    }
    return client
  }

  const agent = new Agent({
    keepAliveTimeout: options.idleTimeout,
    keepAliveMaxTimeout: options.idleTimeout,
    // Else undici makes the first connection to an https origin a probe for HTTP/2, and all others wait for it.
    allowH2: false,
    factory: (origin, poolOptions: object) => new Pool(origin, { ...poolOptions, factory: createClient }),
  })
  return {
    dispatcher: agent,
    phasesOf(handler) {
      const line = lines.get(handler)
      if (!line || line.used) return { ...NO_PHASES, reused: line?.used ?? false }
      line.used = true
      return { dns: line.dns, connect: line.connect, tls: line.tls, reused: false }
    },
    open: () => sockets.size,
    async close() {
      await agent.destroy()
      for (const socket of sockets) socket.destroy()
    },
  }
}
