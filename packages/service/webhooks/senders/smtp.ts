/**
 * One conversation with the operator's mail server. It connects, secures the connection, logs in, and sends each
 * recipient a message of its own, so that a reply concerns one recipient. It ends by its deadline. A failure is a
 * value.
 */

import type { AttemptErrorClass } from '@assay/model/delivery'
import SMTPConnection from 'nodemailer/lib/smtp-connection'
import type { MailServer } from '../../config/config.ts'

/** In milliseconds: the limits of connecting and greeting, of silence, and of the whole conversation. */
export interface SmtpLimits {
  connect: number
  silence: number
  whole: number
}
const SMTP_LIMITS: SmtpLimits = { connect: 15_000, silence: 30_000, whole: 120_000 }

export interface SmtpError {
  class: AttemptErrorClass
  detail: string
  /** The status that the server answered; null if there was none. */
  status: number | null
}

/**
 * The server's reply for a recipient. A status of 2xx means accepted, and 5xx means refused for good. Any other may
 * succeed later.
 */
export interface Reply {
  status: number
  text: string
}

export interface Outcome {
  /** The replies by recipient. A recipient that was not reached has none. */
  replies: Map<string, Reply>
  /** The error that ended the conversation early; null if none did. */
  error: SmtpError | null
  phases: { connect: number | null; total: number }
}

export interface Mail {
  to: string
  message: Buffer
}

class GivenUpError extends Error {}

interface SmtpFailure extends Error {
  code?: string
  responseCode?: number
  response?: string
  command?: string
}

const CLASSES: Record<string, AttemptErrorClass> = {
  EDNS: 'dns',
  ETIMEDOUT: 'timeout',
  ETLS: 'tls',
  EREQUIRETLS: 'tls',
  ECONNECTION: 'reset',
}

const DETAILS: Partial<Record<AttemptErrorClass, string>> = {
  dns: 'The name of the mail server could not be resolved.',
  timeout: 'The mail server did not answer in time.',
  tls: 'The connection to the mail server could not be secured: check its certificate and that it offers STARTTLS, or see ASSAY_SMTP_URL.',
  reset: 'The mail server ended the connection.',
  refused: 'The mail server refused the connection.',
}

function classOf(error: SmtpFailure): AttemptErrorClass {
  const system = (error as NodeJS.ErrnoException).errno !== undefined || error.code === 'ESOCKET'
  if (system && /ECONNREFUSED|EHOSTUNREACH|ENETUNREACH/.test(error.message)) return 'refused'
  if (system && /ENOTFOUND|EAI_AGAIN/.test(error.message)) return 'dns'
  if (/certificate|SSL|TLS|self-signed|altnames/i.test(error.message)) return 'tls'
  return CLASSES[error.code ?? ''] ?? (error.code === 'ESOCKET' ? 'reset' : 'response_invalid')
}

/** Returns the class and the sentence of a failure. The sentence of a failed login leaves out the server's words. */
function smtpError(error: SmtpFailure): SmtpError {
  const status = error.responseCode ?? null
  if (error.code === 'EAUTH')
    return {
      class: 'smtp_status',
      detail: 'The mail server refused the login: check ASSAY_SMTP_URL.',
      status,
    }
  // A server without STARTTLS answers the command with a status. The fault is then the missing security.
  if (status !== null && status > 0 && error.code !== 'ETLS')
    return { class: 'smtp_status', detail: `The mail server answered ${replyText(error)}`, status }
  const kind = classOf(error)
  return {
    class: kind,
    detail: DETAILS[kind] ?? 'The answer of the mail server cannot be read.',
    status: null,
  }
}

function replyText({ response }: SmtpFailure): string {
  return (response ?? '').replace(/\p{Cc}+/gu, ' ').slice(0, 500)
}

function settled<T>(start: (done: (error?: Error | null, value?: T) => void) => void): Promise<T> {
  return new Promise((resolve, reject) =>
    start((error, value) => (error ? reject(error) : resolve(value as T))),
  )
}

function open(server: MailServer, limits: SmtpLimits, ca: string[] | undefined): SMTPConnection {
  return new SMTPConnection({
    host: server.host,
    port: server.port,
    secure: server.secure,
    requireTLS: !server.secure && server.tls,
    ignoreTLS: !server.tls,
    connectionTimeout: limits.connect,
    greetingTimeout: limits.connect,
    dnsTimeout: limits.connect,
    socketTimeout: limits.silence,
    socketCloseTimeout: 0,
    ...(ca ? { tls: { ca } } : {}),
    // An operator may run the mail server on this machine.
    allowInternalNetworkInterfaces: true,
  })
}

/** Sends one mail. Returns the refusal of this recipient. Throws any other error, which ends the conversation. */
async function sendOne(connection: SMTPConnection, from: string, { to, message }: Mail): Promise<Reply> {
  try {
    const info = await settled<{ response: string }>((done) =>
      connection.send({ from, to: [to], size: message.length }, message, done),
    )
    return { status: 250, text: replyText(info as unknown as SmtpFailure) }
  } catch (error) {
    const failure = error as SmtpFailure
    const ofServer = failure.responseCode !== undefined && failure.responseCode !== 421
    if (!ofServer || !['EENVELOPE', 'EMESSAGE'].includes(failure.code ?? '')) throw error
    await settled((done) => connection.reset(done))
    return { status: failure.responseCode!, text: replyText(failure) }
  }
}

export interface Conversation {
  server: MailServer
  from: string
  mails: readonly Mail[]
  limits?: SmtpLimits | undefined
  /** The certificates that tests trust. */
  ca?: string[] | undefined
  giveUp: AbortSignal
}

/** Sends the mails. Returns null if `giveUp` was aborted before any mail was accepted. */
export async function converse(given: Conversation): Promise<Outcome | null> {
  const { server, from, mails, limits = SMTP_LIMITS, ca, giveUp } = given
  const started = performance.now()
  const connection = open(server, limits, ca)
  const ended = Promise.withResolvers<never>()
  ended.promise.catch(() => undefined)
  connection.on('error', ended.reject)
  const late = setTimeout(() => {
    ended.reject(Object.assign(new Error('late'), { code: 'ETIMEDOUT' }))
  }, limits.whole)
  const stop = (): void => ended.reject(new GivenUpError())
  giveUp.addEventListener('abort', stop, { once: true })
  if (giveUp.aborted) stop()
  const within = <T>(work: Promise<T>): Promise<T> => Promise.race([work, ended.promise])
  const outcome: Outcome = { replies: new Map(), error: null, phases: { connect: null, total: 0 } }
  try {
    await within(settled((done) => connection.connect(done)))
    outcome.phases.connect = performance.now() - started
    const { user, password } = server
    if (user !== null)
      await within(settled((done) => connection.login({ credentials: { user, pass: password } }, done)))
    for (const mail of mails) outcome.replies.set(mail.to, await within(sendOne(connection, from, mail)))
    connection.quit()
  } catch (error) {
    const gaveUp = error instanceof GivenUpError
    if (gaveUp && outcome.replies.size === 0) return null
    outcome.error = gaveUp
      ? { class: 'timeout', detail: 'The service was stopped before everybody got the mail.', status: null }
      : smtpError(error as SmtpFailure)
  } finally {
    clearTimeout(late)
    giveUp.removeEventListener('abort', stop)
    connection.close()
  }
  outcome.phases.total = performance.now() - started
  return outcome
}
