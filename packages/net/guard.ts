/**
 * The connector of every outgoing request. It vets every target, literal addresses included (undici calls a `lookup` hook only
 * for names). It vets all addresses of a name, refuses the name if any is forbidden, and dials exactly an address that it
 * vetted, so that a name which changes its answer gains nothing. Host and TLS keep the name. undici follows no redirects
 * by default.
 */
import { createRequire } from 'node:module'
import { isIP, type Socket } from 'node:net'
import type * as Undici from 'undici'
import type { Agent, buildConnector, Client, Dispatcher } from 'undici'
import { createResolver, type Resolve } from './resolve.ts'
import { type Targets, vetAddress } from './target.ts'
import { BlockedError, ResolveError } from './unreached.ts'

/** The time of each step of connecting in milliseconds; null if the step was not reached or not needed. */
export interface ConnectPhases {
  dns: number | null
  connect: number | null
  tls: number | null
}

export interface GuardOptions {
  targets: Targets
  resolve?: Resolve
  /** The time in milliseconds for the connections to all addresses of a name together. */
  connectTimeout?: number
  /** The time in milliseconds for which an idle connection stays open. */
  idleTimeout?: number
  /** The number of open connections beyond which each new request closes its own. */
  mostOpen?: number
  /** Certificates to trust in place of the usual ones (PEM). */
  ca?: string[]
  /** Opens the connection in place of the guard, with a target that it vets itself. It may reject with BlockedError. */
  open?: OpenPlain
}

/** Opens a plain connection to a host. */
export type OpenPlain = (host: string, port: number) => Promise<Socket>

type Settings = Required<Omit<GuardOptions, 'open'>> & Pick<GuardOptions, 'open'>

/**
 * The time of connecting for one request. Pass a new one as the request's `opaque`; the guard fills it in. All `phases` are
 * null if a kept connection was used.
 */
export class ConnectionReport {
  phases: ConnectPhases = NO_PHASES
  reused = false
}

export interface Guard {
  /** The dispatcher for undici's `request` and `fetch`. */
  dispatcher: Dispatcher
  /** Returns the number of open connections. */
  open(): number
  /** Cuts every connection. */
  close(): Promise<void>
}

/** Loads undici with the first request, so that an idle service keeps 5 MB less (docs/decisions/0128). */
const undici = (): typeof Undici => createRequire(import.meta.url)('undici') as typeof Undici

const NO_PHASES: ConnectPhases = { dns: null, connect: null, tls: null }
/** The most addresses of a name that are tried, one after the other. */
const MOST_TRIED = 4

type Target = buildConnector.Options

function portOf({ protocol, port }: Target): number {
  if (port !== '') return Number(port)
  return protocol === 'https:' ? 443 : 80
}

/** Returns the vetted addresses of a target. Throws BlockedError if any is forbidden. */
async function vettedAddresses(target: Target, made: ConnectPhases, options: Settings): Promise<string[]> {
  const host = target.hostname
  let addresses = [host]
  if (isIP(host) === 0) {
    const started = performance.now()
    try {
      addresses = await options.resolve(host)
    } catch (error) {
      throw new ResolveError((error as NodeJS.ErrnoException).code ?? 'EFAILED', error)
    } finally {
      made.dns = performance.now() - started
    }
    if (addresses.length === 0) throw new ResolveError('ENODATA')
  }
  const port = portOf(target)
  if (!addresses.every((ip) => vetAddress(ip, host, port, options.targets)))
    throw new BlockedError('The host is not one that this service may reach.')
  return addresses.slice(0, MOST_TRIED)
}

type Dial = (target: Target, address: string, timeout: number, made: ConnectPhases) => Promise<Socket>

function createDial(options: Settings, sockets: Set<Socket>): Dial {
  const connector = undici().buildConnector({
    allowH2: false,
    timeout: options.connectTimeout,
    ...(options.ca.length > 0 ? { ca: options.ca } : {}),
  })
  return (target, address, timeout, made) =>
    new Promise((resolve, reject) => {
      const started = performance.now()
      const servername = isIP(target.hostname) === 0 ? { servername: target.hostname } : {}
      const socket = connector({ ...target, ...servername, hostname: address }, (error, connected) => {
        clearTimeout(timer)
        if (error) reject(error)
        else {
          const elapsed = performance.now() - started
          if (target.protocol === 'https:') made.tls = elapsed - (made.connect ?? 0)
          else made.connect = elapsed
          resolve(connected)
        }
      }) as unknown as Socket
      const timer = setTimeout(() => {
        socket.destroy(
          Object.assign(new Error('The connection was not made in time.'), {
            code: 'UND_ERR_CONNECT_TIMEOUT',
          }),
        )
      }, timeout)
      socket.once('connect', () => {
        made.connect = performance.now() - started
      })
      sockets.add(socket)
      socket.once('close', () => {
        sockets.delete(socket)
        clearTimeout(timer)
        reject(new Error('The connection was closed.'))
      })
    })
}

/** Secures a connection that `open` has made. TLS verifies the name as usual. */
function createSecure({ connectTimeout, ca }: Settings) {
  const connector = undici().buildConnector({
    allowH2: false,
    timeout: connectTimeout,
    ...(ca.length > 0 ? { ca } : {}),
  })
  return (target: Target, httpSocket: Socket): Promise<Socket> => {
    if (target.protocol !== 'https:') return Promise.resolve(httpSocket)
    const servername = isIP(target.hostname) === 0 ? { servername: target.hostname } : {}
    return new Promise((resolve, reject) => {
      connector({ ...target, ...servername, httpSocket }, (error, connected) => {
        if (error) reject(error)
        else resolve(connected)
      })
    })
  }
}

/** Connects to a vetted address of the target, trying several in sequence. */
function createConnect(options: Settings, sockets: Set<Socket>) {
  const secure = createSecure(options)
  const dial = createDial(options, sockets)

  async function connect(target: Target, made: ConnectPhases): Promise<Socket> {
    Object.assign(made, NO_PHASES)
    if (options.open) {
      const started = performance.now()
      const opened = await options.open(target.hostname, portOf(target))
      made.connect = performance.now() - started
      sockets.add(opened)
      opened.once('close', () => sockets.delete(opened))
      const socket = await secure(target, opened)
      if (target.protocol === 'https:') made.tls = performance.now() - started - made.connect
      return socket
    }
    const addresses = await vettedAddresses(target, made, options)
    let failure: unknown
    for (const address of addresses) {
      try {
        return await dial(target, address, options.connectTimeout / addresses.length, made)
      } catch (error) {
        failure = error
      }
    }
    throw failure
  }

  return async (target: Target, made: ConnectPhases, done: buildConnector.Callback): Promise<void> => {
    let socket: Socket
    try {
      socket = await connect(target, made)
    } catch (error) {
      done(error as Error, null)
      return
    }
    done(null, socket)
  }
}

export function createGuard(given: GuardOptions): Guard {
  const options: Settings = {
    resolve: createResolver(),
    connectTimeout: 10_000,
    idleTimeout: 15_000,
    mostOpen: 2048,
    ca: [],
    ...given,
  }
  const sockets = new Set<Socket>()
  let agent: Agent | null = null
  let isClosed = false
  return {
    get dispatcher() {
      agent ??= createAgent(options, sockets)
      if (isClosed) void agent.destroy()
      return agent
    },
    open: () => sockets.size,
    async close() {
      isClosed = true
      await agent?.destroy()
      for (const socket of sockets) socket.destroy()
    },
  }
}

function createAgent(options: Settings, sockets: Set<Socket>): Agent {
  const { Agent, Client, Pool } = undici()
  const connect = createConnect(options, sockets)
  const crowded = (): boolean => sockets.size > options.mostOpen

  /** A client has one connection at a time, for one request at a time. */
  function createClient(origin: URL, clientOptions: object): Client {
    let [isOpen, phases] = [false, { ...NO_PHASES }]
    const client = new Client(origin, {
      ...clientOptions,
      connect: (target, done) => void connect(target, phases, done),
    })
    client.on('connect', () => {
      isOpen = true
    })
    client.on('disconnect', () => {
      isOpen = false
      phases = { ...NO_PHASES }
    })
    const dispatch = client.dispatch.bind(client)
    client.dispatch = (request: Dispatcher.DispatchOptions & { opaque?: unknown }, handler) => {
      const { opaque } = request
      if (opaque instanceof ConnectionReport)
        Object.assign(opaque, { reused: isOpen, phases: isOpen ? NO_PHASES : phases })
      return dispatch(crowded() ? { ...request, reset: true } : request, handler)
    }
    return client
  }

  return new Agent({
    keepAliveTimeout: options.idleTimeout,
    keepAliveMaxTimeout: options.idleTimeout,
    // With HTTP/2 undici would probe an https origin with the first connection while all others wait.
    allowH2: false,
    factory: (origin, poolOptions: object) => new Pool(origin, { ...poolOptions, factory: createClient }),
  })
}
