/** The types of the part of ssh2 that is used here. The library ships no types. */
declare module 'ssh2' {
  import type { EventEmitter } from 'node:events'
  import type { Duplex } from 'node:stream'

  export interface Channel extends Duplex {
    /** A server writes to it. */
    stderr: Duplex
    exit(code: number): void
  }

  export interface ClientOptions {
    sock: Duplex
    username: string
    privateKey: string
    readyTimeout: number
    keepaliveInterval?: number
    keepaliveCountMax?: number
    authHandler: readonly string[]
    hostVerifier(key: Buffer): boolean
  }

  export interface ParsedKey {
    type: string
    isPrivateKey(): boolean
    getPublicSSH(): Buffer
    verify(data: Buffer, signature: Buffer, algorithm?: string): boolean
  }

  class Client extends EventEmitter {
    connect(options: ClientOptions): this
    exec(command: string, done: (error: Error | undefined, channel: Channel) => void): boolean
    end(): this
    destroy(): this
  }

  export interface Authentication {
    method: string
    username: string
    key: { algo: string; data: Buffer }
    signature?: Buffer
    blob?: Buffer
    hashAlgo?: string
    accept(): void
    reject(methods?: string[]): void
  }

  export interface Session extends EventEmitter {
    on(
      event: 'exec',
      take: (accept: () => Channel, reject: () => void, info: { command: string }) => void,
    ): this
  }

  export interface ServedClient extends EventEmitter {
    on(event: 'authentication', take: (asked: Authentication) => void): this
    on(event: 'session', take: (accept: () => Session) => void): this
    on(event: 'error', take: (error: Error) => void): this
    end(): this
  }

  class Server extends EventEmitter {
    constructor(options: { hostKeys: string[] }, take: (client: ServedClient) => void)
    listen(port: number, host: string, done: () => void): this
    address(): { port: number }
    close(done?: () => void): this
  }

  const ssh2: {
    Client: typeof Client
    Server: typeof Server
    utils: {
      parseKey(key: string | Buffer): ParsedKey | Error
      generateKeyPairSync(type: string): { private: string; public: string }
    }
  }
  export default ssh2
}
