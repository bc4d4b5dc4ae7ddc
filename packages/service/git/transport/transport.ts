/** The way to a repository: git's HTTP protocol over the guarded connector, or the same over ssh. */
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
  /** By ssh. */
  key: string | null
  /** By ssh: the fingerprints of the server. */
  hostKeys: readonly string[]
  /** Where the request may go, as `parseTargets` reads it. */
  targets: readonly string[]
}

export interface Transport {
  /** Of one request: isomorphic-git writes into the headers. */
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
    // isomorphic-git asks for an address by HTTP; only the name of the program in it is read.
    return { remote: () => ({ http, url: 'https://by-ssh.invalid/repository.git', headers: {} }), close }
  }
  const guard = createGuard({ targets: parseTargets(options.targets) })
  const http = bounded(gitHttp(guard))
  return {
    remote: () => ({ http, url: options.address, headers: authorization(options) }),
    close: () => guard.close(),
  }
}
