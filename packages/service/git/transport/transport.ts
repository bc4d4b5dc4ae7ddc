/** The connection to a repository: git's HTTP protocol over the guarded connector, or the same messages over ssh. */
import { createGuard } from '@assay/net/guard'
import { parseTargets } from '@assay/net/target'
import type { HttpClient } from 'isomorphic-git'
import { gitHttp } from './http-client.ts'
import { bounded } from './pack-bound.ts'
import { sshAddress } from './ssh-address.ts'
import { gitSsh } from './ssh-transport.ts'

export interface TransportOptions {
  address: string
  user: string
  token: string | null
  /** The deploy key for ssh. */
  key: string | null
  /** The fingerprints of the server's keys for ssh. */
  hostKeys: readonly string[]
  /** The targets of requests, as `parseTargets` reads them. */
  targets: readonly string[]
}

export interface Transport {
  /**
   * Returns the options of one request. Each request gets its own headers, because isomorphic-git writes into them.
   */
  remote(): { http: HttpClient; url: string; headers: Record<string, string> }
  close(): Promise<void>
}

function authorization({ user, token }: TransportOptions): Record<string, string> {
  if (token === null) return {}
  return { authorization: `Basic ${Buffer.from(`${user}:${token}`).toString('base64')}` }
}

export function openTransport(options: TransportOptions): Transport {
  const address = sshAddress(options.address)
  if (address) {
    const { key, hostKeys, targets } = options
    const { http: overSsh, close } = gitSsh({
      address,
      user: address.user ?? options.user,
      key,
      hostKeys,
      targets,
    })
    const http = bounded(overSsh)
    // isomorphic-git asks for an address by HTTP. The ssh client reads only the name of the program in it.
    return { remote: () => ({ http, url: 'https://by-ssh.invalid/repository.git', headers: {} }), close }
  }
  const guard = createGuard({ targets: parseTargets(options.targets) })
  const http = bounded(gitHttp(guard))
  return {
    remote: () => ({ http, url: options.address, headers: authorization(options) }),
    close: () => guard.close(),
  }
}
