/** A real mail server for tests that accepts, refuses or stays silent as configured, and keeps the accepted mails. */
import type { AddressInfo } from 'node:net'
import type { MailServer } from '@assay/service/config/config'
import PostalMime, { type Email } from 'postal-mime'
import { SMTPServer } from 'smtp-server'
import { selfSigned } from './receiver.ts'
import { within } from './service.ts'

export interface ReceivedMail {
  to: string[]
  from: string
  raw: Buffer
  mail: Email
  secure: boolean
  user: string | undefined
}

export interface MailServerOptions {
  /** The security of the connection: TLS from the first byte, or none. The default is STARTTLS. */
  security?: 'tls' | 'none'
  user?: { name: string; password: string }
  /** Called for each recipient; a status refuses it. */
  refuse?(to: string): { status: number; text: string } | undefined
  /** Called for each message once it has arrived; a status refuses it. */
  refuseMessage?(): { status: number; text: string } | undefined
  /** Called to acknowledge a message. By default it is acknowledged at once. */
  acknowledge?(done: () => void): void
  /** True never answers the first command of a connection. */
  silent?: boolean
}

export interface TestMailServer {
  server: MailServer
  ca: string[]
  taken: ReceivedMail[]
  /** Resolves with the next accepted mail. */
  next(): Promise<ReceivedMail>
  close(): Promise<void>
}

const refusal = ({ status, text }: { status: number; text: string }): Error =>
  Object.assign(new Error(text), { responseCode: status })

export async function startMailServer(options: MailServerOptions = {}): Promise<TestMailServer> {
  const { security, user, refuse, refuseMessage, silent } = options
  const { acknowledge = (done) => done() } = options
  const { key, cert } = selfSigned(['IP:127.0.0.1'])
  const taken: ReceivedMail[] = []
  const waiting: ((taken: ReceivedMail) => void)[] = []
  let read = 0
  let parsing = Promise.resolve()
  /** Keeps mails in the order of their arrival. */
  const keep = (one: Omit<ReceivedMail, 'mail'>): void => {
    parsing = parsing.then(async () => {
      const whole = { ...one, mail: await PostalMime.parse(one.raw) }
      taken.push(whole)
      waiting.shift()?.(whole)
    })
  }
  const smtp = new SMTPServer({
    key,
    cert,
    secure: security === 'tls',
    disabledCommands: [...(security === 'none' ? ['STARTTLS'] : []), ...(user ? [] : ['AUTH'])],
    authOptional: !user,
    allowInsecureAuth: security === 'none',
    onConnect(_session, done) {
      if (!silent) done()
    },
    onAuth({ username, password }, _session, done) {
      if (username === user?.name && password === user?.password) done(null, { user: username })
      else done(refusal({ status: 535, text: `5.7.8 ${password} is wrong` }))
    },
    onRcptTo({ address }, _session, done) {
      const refused = refuse?.(address)
      if (refused) done(refusal(refused))
      else done()
    },
    onData(stream, session, done) {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        const refused = refuseMessage?.()
        if (refused) return done(refusal(refused))
        const { envelope, secure, user: name } = session
        keep({
          to: envelope.rcptTo.map(({ address }) => address),
          from: envelope.mailFrom === false ? '' : envelope.mailFrom.address,
          raw: Buffer.concat(chunks),
          secure,
          user: name as string | undefined,
        })
        acknowledge(done)
      })
    },
  })
  smtp.on('error', () => undefined)
  await new Promise<void>((resolve) => smtp.listen(0, '127.0.0.1', resolve))
  const { port } = smtp.server.address() as AddressInfo
  return {
    server: {
      host: '127.0.0.1',
      port,
      secure: security === 'tls',
      tls: security !== 'none',
      user: user?.name ?? null,
      password: user?.password ?? '',
    },
    ca: [cert],
    taken,
    next() {
      const kept = taken[read]
      read += 1
      if (kept) return Promise.resolve(kept)
      return within(new Promise((resolve) => waiting.push(resolve)), 'the next mail arrives')
    },
    close: () => new Promise<void>((resolve) => smtp.close(() => resolve())),
  }
}
