/**
 * Connects a command to the service at ASSAY_URL, or to the one on this home, or to one that the command starts for itself on
 * the home's store, without workers. All three speak HTTP, so a command need not know which it is.
 */
import { access } from 'node:fs/promises'
import path from 'node:path'
import { type Client, createClient } from '@assay/client'
import { type Config, ConfigError, resolveConfig } from '@assay/service/config/config'
import type { Call } from './command.ts'
import { EXIT, ExitError } from './exit.ts'
import { findServer } from './server-file.ts'

export interface Connection {
  client: Client
  /** True if a service runs that will work on queued jobs. */
  served: boolean
  close(): Promise<void>
}

/** The number of repeats of a request. About two seconds later the command says that the service does not answer. */
const REPEATS = 3
const nothing = async (): Promise<void> => undefined

function remote(url: string, call: Call): Connection {
  const token = call.settings.token ?? call.environment.ASSAY_TOKEN
  if (!URL.canParse(url)) throw new ConfigError(`ASSAY_URL: ${JSON.stringify(url)} is not an address.`)
  if (!token) throw new ConfigError('ASSAY_TOKEN: a service at ASSAY_URL needs a token.')
  return { client: createClient({ url, token, retries: REPEATS }), served: true, close: nothing }
}

async function hasStore(config: Config): Promise<boolean> {
  if (config.store.startsWith('postgres')) return true
  const file = config.store.replace(/^sqlite:/, '') || path.join(config.home, 'assay.db')
  return access(file).then(
    () => true,
    () => false,
  )
}

async function ownService(config: Config, roles: Config['roles']): Promise<Connection> {
  const { startApp } = await import('@assay/service/app')
  const { makeLocalToken } = await import('./local-token.ts')
  const app = await startApp({ config: { ...config, host: '127.0.0.1', port: 0, roles } })
  const local = await makeLocalToken(app.store, config.home)
  return {
    client: createClient({ url: app.url, token: local.token }),
    served: roles.includes('worker'),
    async close() {
      await local.remove()
      await app.stop()
    },
  }
}

/** Connects. `alone`: if no service runs, starts one with workers here, also on a new home. */
export async function connect(call: Call, { alone = false } = {}): Promise<Connection> {
  const url = call.text('url') ?? call.environment.ASSAY_URL
  if (url) return remote(url, call)
  const { config } = resolveConfig(call.environment, call.settings)
  const server = await findServer(config.home, call.environment)
  if (server) {
    // A token from the environment is for ASSAY_URL only.
    const token = call.settings.token ?? server.token
    const client = createClient({ url: server.url, token, retries: REPEATS })
    return { client, served: true, close: nothing }
  }
  if (alone) return ownService(config, config.roles)
  if (await hasStore(config)) return ownService(config, ['api'])
  throw new ExitError(
    EXIT.unavailable,
    `No service runs on ${config.home} and it holds no data yet: start one with "assay serve", or set ASSAY_URL and ASSAY_TOKEN.`,
  )
}

/** Runs `use` with a connection and closes it afterwards. */
export async function withClient(
  call: Call,
  use: (client: Client, connection: Connection) => Promise<number>,
): Promise<number> {
  const connection = await connect(call)
  try {
    return await use(connection.client, connection)
  } finally {
    await connection.close()
  }
}
