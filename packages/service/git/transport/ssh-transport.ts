/**
 * git over ssh in the form of an HTTP client of isomorphic-git. Each request runs git-upload-pack or git-receive-pack
 * on the server over one connection. Both protocols carry the same messages (gitprotocol-pack). The guard vets the
 * address. Nothing is sent before the server's key is found among the known ones.
 */
import type { Socket } from 'node:net'
import { dialVetted } from '@assay/net/dial'
import { parseTargets } from '@assay/net/target'
import type { GitHttpRequest, GitHttpResponse, HttpClient } from 'isomorphic-git'
import type { Channel, ParsedKey } from 'ssh2'
import { PullError } from '../pull-fault.ts'
import { ANSWER_MOST, TooLargeError } from './http-client.ts'
import { Received } from './received.ts'
import { fingerprintOf, type SshAddress } from './ssh-address.ts'

const READY_MS = 20_000
const SILENT_MS = 30_000
/** The most characters that are kept of a server's reason. */
const SAID_MOST = 200

type Ssh2 = typeof import('ssh2')['default']
type Client = InstanceType<Ssh2['Client']>

export interface SshAccess {
  address: SshAddress
  user: string
  key: string | null
  /** The fingerprints of the server's keys. */
  hostKeys: readonly string[]
  /** The targets, as `parseTargets` reads them. */
  targets: readonly string[]
}

export interface SshTransport {
  http: HttpClient
  close(): Promise<void>
}

export function gitSsh(access: SshAccess): SshTransport {
  let connecting: Promise<Client> | undefined
  return {
    http: {
      async request(asked) {
        connecting ??= connect(access)
        return answer(await connecting, access.address.path, asked)
      },
    },
    async close() {
      const client = await connecting?.catch(() => null)
      client?.destroy()
    },
  }
}

/** Reads the deploy key. Throws PullError. */
function readKey({ utils }: Ssh2, key: string | null): ParsedKey {
  if (key === null)
    throw new PullError('The repository is read by ssh: set ASSAY_TEMPLATES_SSH_KEY to its deploy key.')
  const parsed = utils.parseKey(key)
  if (!(parsed instanceof Error) && parsed.isPrivateKey()) return parsed
  const locked = parsed instanceof Error && /passphrase/i.test(parsed.message)
  throw new PullError(
    locked
      ? 'The key of ASSAY_TEMPLATES_SSH_KEY has a passphrase: give one without (ssh-keygen -p -N "" -f FILE).'
      : 'ASSAY_TEMPLATES_SSH_KEY holds no private key that can be read: make one by ssh-keygen -t ed25519.',
  )
}

async function connect(access: SshAccess): Promise<Client> {
  // The library is loaded on demand, because most services read no repository by ssh.
  const { default: ssh2 } = await import('ssh2')
  readKey(ssh2, access.key)
  const { host, port } = access.address
  const socket = await dialVetted({ host, port, targets: parseTargets(access.targets) })
  const client = new ssh2.Client()
  try {
    await ready(client, socket, access)
  } catch (error) {
    client.destroy()
    socket.destroy()
    throw error
  }
  // Each channel notices the end of the connection itself.
  client.on('error', () => undefined)
  return client
}

function ready(client: Client, socket: Socket, { user, key, hostKeys, address }: SshAccess): Promise<void> {
  let shown: string | null = null
  return new Promise((resolve, reject) => {
    client.once('ready', resolve)
    client.once('close', () => reject(new PullError(`${address.host} closed the connection.`)))
    client.once('error', (error: Error & { level?: string; code?: string }) => {
      if (shown !== null) reject(new PullError(strange(shown, address.host)))
      else if (error.level === 'client-authentication') reject(new PullError(refused(user)))
      else if (error.level === 'client-timeout')
        reject(new PullError('The git server does not answer as an ssh server does.'))
      else if (error.level === 'client-socket' || error.code !== undefined) reject(error)
      else reject(new PullError(`No ssh connection to the git server: ${brief(error.message)}.`))
    })
    client.connect({
      sock: socket,
      username: user,
      privateKey: key!,
      readyTimeout: READY_MS,
      authHandler: ['none', 'publickey'],
      hostVerifier(seen) {
        const fingerprint = fingerprintOf(seen)
        if (hostKeys.includes(fingerprint)) return true
        shown = `${fingerprint} (${seen.subarray(4, 4 + seen.readUInt32BE(0)).toString()})`
        return false
      },
    })
    socket.resume()
  })
}

const strange = (shown: string, host: string): string =>
  `The server at ${host} shows the key ${shown}, which ASSAY_TEMPLATES_SSH_HOST_KEYS does not hold: compare it with what the operator of the git server publishes, and write it there only if it is the same.`

const refused = (user: string): string =>
  `The git server refuses the key of ASSAY_TEMPLATES_SSH_KEY for the user ${JSON.stringify(user)}: add its public key as a deploy key of the repository.`

const brief = (text: string): string =>
  text
    .replace(/\p{Cc}+/gu, ' ')
    .trim()
    .slice(0, SAID_MOST)

const packet = (text: string): Buffer =>
  Buffer.from(`${(text.length + 4).toString(16).padStart(4, '0')}${text}`)
const FLUSH = Buffer.from('0000')

async function answer(client: Client, path: string, asked: GitHttpRequest): Promise<GitHttpResponse> {
  const { url, method = 'GET', body } = asked
  const service = /git-(?:upload|receive)-pack/.exec(url)![0]
  const run = new Run(await opened(client, `${service} '${path}'`))
  const refs = await run.advertisement()
  let bytes: Buffer = Buffer.concat([packet(`# service=${service}\n`), FLUSH, refs])
  if (method === 'POST') {
    const parts: Uint8Array[] = []
    for await (const part of (body ?? []) as AsyncIterable<Uint8Array>) parts.push(part)
    bytes = await run.exchange(Buffer.concat(parts))
  } else await run.exchange(FLUSH)
  const kind = method === 'POST' ? 'result' : 'advertisement'
  return {
    url,
    method,
    statusCode: 200,
    statusMessage: 'OK',
    headers: { 'content-type': `application/x-${service}-${kind}` },
    body: [bytes] as unknown as GitHttpResponse['body'] & object,
  }
}

function opened(client: Client, command: string): Promise<Channel> {
  return new Promise((resolve, reject) => {
    const lost = (): void => reject(new PullError('The git server closed the connection.'))
    client.once('close', lost)
    client.exec(command, (error, channel) => {
      client.off('close', lost)
      if (error) reject(new PullError(`The git server runs no git by ssh: ${brief(error.message)}.`))
      else resolve(channel)
    })
  })
}

/** One program that runs on the server. */
class Run {
  readonly #channel: Channel
  readonly #received = new Received()
  #length = 0
  #said = ''
  #code: number | null = null
  #ended = false
  #failure: Error | null = null
  #wake: () => void = () => undefined

  constructor(channel: Channel) {
    this.#channel = channel
    const timer = setTimeout(() => this.#fail(new PullError('The git server fell silent.')), SILENT_MS)
    channel.on('data', (part: Buffer) => {
      timer.refresh()
      this.#length += part.length
      if (this.#length > ANSWER_MOST) this.#fail(new TooLargeError())
      else this.#received.add(part)
      this.#wake()
    })
    channel.stderr.on('data', (part: Buffer) => {
      this.#said = `${this.#said}${part.toString()}`.slice(0, 4 * SAID_MOST)
    })
    channel.on('exit', (code: number | null) => {
      this.#code = code
    })
    channel.on('error', (error: Error) => this.#fail(error))
    channel.on('close', () => {
      clearTimeout(timer)
      this.#ended = true
      this.#wake()
    })
  }

  #fail(error: Error): void {
    this.#failure ??= error
    this.#channel.destroy()
    this.#ended = true
    this.#wake()
  }

  async #more(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#wake = resolve
    })
    if (this.#failure) throw this.#failure
  }

  /**
   * Reads the refs at the start of a program's output, up to their flush packet. Throws PullError if the program
   * refuses.
   */
  async advertisement(): Promise<Buffer> {
    for (let at = 0; ; ) {
      if (this.#failure) throw this.#failure
      const { bytes } = this.#received
      while (at + 4 <= bytes.length) {
        const head = bytes.subarray(at, at + 4).toString('latin1')
        const length = /^[\da-f]{4}$/iu.test(head) ? Number.parseInt(head, 16) : Number.NaN
        // The length of a packet includes its own four bytes. No shorter packet stands before the flush.
        if (length !== 0 && !(length >= 4))
          throw new PullError('What answers at the address is not a git server.')
        if (length === 0) return this.#received.take(at + 4)
        if (at + length > bytes.length) break
        if (bytes.subarray(at + 4, at + 8).toString() === 'ERR ')
          throw new PullError(
            `The git server answers: ${brief(bytes.subarray(at + 8, at + length).toString())}`,
          )
        at += length
      }
      if (this.#ended) throw new PullError(this.#refusal())
      await this.#more()
    }
  }

  #refusal(): string {
    const said = brief(this.#said)
    const why = said === '' ? `it ended with ${this.#code ?? 'no status'}` : said
    return `The git server does not let this repository be read or written: ${why}`
  }

  /** Sends the bytes as the whole input of the program. Resolves with the rest of its output. */
  async exchange(input: Buffer): Promise<Buffer> {
    this.#channel.end(input)
    while (!this.#ended) await this.#more()
    if (this.#failure) throw this.#failure
    const { bytes } = this.#received
    if (bytes.length === 0 && this.#code !== null && this.#code !== 0) throw new PullError(this.#refusal())
    return bytes
  }
}
