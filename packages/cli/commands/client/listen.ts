/** assay webhooks listen: receives, verifies and shows webhooks on this machine. */
import { ENDING_EVENTS, EVENT_TYPES, type EventType } from '@assay/model/event'
import { prepareKey } from '@assay/model/signature'
import type { Command } from '../../command.ts'
import { type Connection, connect } from '../../connect.ts'
import { EXIT, ExitError } from '../../exit.ts'
import { choicesOption, flag, numberOption, text, texts } from '../../options.ts'
import { out, say } from '../../print.ts'
import { type Received, startReceiver } from '../../receiver.ts'

const SHOWN_HEADERS = /^(webhook-|user-agent$|content-type$|x-|authorization$)/

/** Returns a JSON body as a value, and any other body as text. */
function bodyOf({ body }: Received): unknown {
  const raw = body.toString('utf8')
  try {
    return JSON.parse(raw)
  } catch {
    return raw
  }
}

function verdict({ verified, fault }: Received): string {
  if (verified === null) return 'not verified: give --secret'
  return verified ? 'signature verified' : `SIGNATURE WRONG: ${fault}`
}

/** Describes a request for people. */
function describeRequest(received: Received): string {
  const headers = Object.entries(received.headers)
    .filter(([name]) => SHOWN_HEADERS.test(name))
    .map(([name, value]) => `${name}: ${String(value)}\n`)
  const body = bodyOf(received)
  const shown = typeof body === 'string' ? received.body.toString('utf8') : JSON.stringify(body, null, 2)
  return `${received.method}  (${verdict(received)})\n${headers.join('')}\n${shown}\n`
}

function jsonLine(received: Received): string {
  const { headers, verified, fault } = received
  return `${JSON.stringify({ verified, fault, headers, body: bodyOf(received) })}\n`
}

const OWN_HEADERS = ['host', 'connection', 'content-length', 'transfer-encoding']

/** Forwards the request with its own headers and bytes, so that the next receiver can verify it too. */
async function forward(url: string, { headers, body }: Received): Promise<number> {
  const passed = Object.entries(headers).filter(([name]) => !OWN_HEADERS.includes(name))
  try {
    const init = { method: 'POST', headers: passed as [string, string][], body }
    const { status } = await fetch(url, { ...init, signal: AbortSignal.timeout(15_000) })
    say(`forwarded to ${url}: ${status}`)
    return status
  } catch (error) {
    say(`could not forward to ${url}: ${(error as Error).message}`)
    return 502
  }
}

interface Registration {
  secret: string
  remove(): Promise<void>
}

/** Seconds between tries with --fail. With the usual schedule the third try would follow after minutes. */
const SOON = [1, 2, 5, 10, 30, 60]

/** Registers a webhook for as long as the command listens. */
async function register(
  { client }: Connection,
  url: string,
  events: EventType[] | undefined,
  soon: boolean,
): Promise<Registration> {
  const webhook = await client.webhooks.create({
    url,
    retry_schedule: soon ? SOON : undefined,
    user_id: 'command line',
    presence_name: 'assay webhooks listen',
    events: events ?? [...ENDING_EVENTS, 'webhook.test'],
    description: 'Made by "assay webhooks listen", removed when it ends',
  })
  say(`Registered as webhook ${webhook.webhook_id}.`)
  return {
    secret: webhook.signing_secret!,
    remove: () => client.webhooks.delete(webhook.webhook_id).catch(() => undefined),
  }
}

export const LISTEN: Command = {
  name: 'webhooks listen',
  operands: '',
  summary: 'Receive webhooks here: verify and print each',
  details:
    'Registers a webhook for itself at the service that runs on this home (or at ASSAY_URL) and removes it when it\n' +
    'ends. With --secret it registers none and verifies what reaches its address.',
  options: {
    host: text('ADDRESS', 'Address to listen on (default 127.0.0.1)'),
    port: text('PORT', 'Port to listen on (default: a free one)'),
    secret: text('SECRET', 'Verify with this signing secret and register nothing'),
    event: texts('TYPE', 'Only this event type; repeat for more'),
    forward: text('URL', 'Hand each request on and answer with what comes back'),
    fail: text('N', 'Answer the first N requests with 500, to see retries (after 1, 2, 5 s, ...)'),
    count: text('N', 'End after N requests'),
    json: flag('Print each request as one line of JSON'),
  },
  listens: true,
  async run(call) {
    const given = call.text('secret')
    if (given !== undefined) prepareKey(given)
    const toFail = numberOption(call, 'fail', 0, 1_000_000) ?? 0
    const most = numberOption(call, 'count', 1, 1_000_000) ?? Number.POSITIVE_INFINITY
    const events = choicesOption(call, 'event', EVENT_TYPES)
    const target = call.text('forward')
    let secret = given ?? null
    let seen = 0
    let wrong = 0
    const ended = Promise.withResolvers<void>()
    call.signal.addEventListener('abort', () => ended.resolve())
    const receiver = await startReceiver({
      host: call.text('host') ?? '127.0.0.1',
      port: numberOption(call, 'port', 0, 65_535) ?? 0,
      secret: () => secret,
      async onRequest(received) {
        seen += 1
        const number = seen
        if (received.verified === false) wrong += 1
        out(call.on('json') ? jsonLine(received) : `${describeRequest(received)}\n`)
        if (number <= toFail) say(`Answered with 500 (${number} of ${toFail}).`)
        const status = number <= toFail ? 500 : target ? await forward(target, received) : 204
        // The answer is sent before the command ends.
        if (number >= most) setImmediate(() => setTimeout(ended.resolve, 50))
        return status
      },
    })
    say(`Listening on ${receiver.url}`)
    const connection = given === undefined ? await connect(call) : null
    if (connection && !connection.served) {
      await connection.close()
      await receiver.close()
      throw new ExitError(EXIT.unavailable, 'No service runs on this home: start one, or give --secret.')
    }
    const registration = connection ? await register(connection, receiver.url, events, toFail > 0) : null
    secret ??= registration?.secret ?? null
    await ended.promise
    await registration?.remove()
    await connection?.close()
    await receiver.close()
    return wrong > 0 ? EXIT.failed : EXIT.ok
  },
}
