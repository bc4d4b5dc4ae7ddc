/** assay webhooks listen and trigger: receive, verify and show webhooks here; send an example to a receiver of one's own. */
import { randomBytes } from 'node:crypto'
import {
  ENDING_EVENTS,
  EVENT_TYPES,
  type Event,
  type EventType,
  eventBody,
  jobEventData,
} from '@assay/model/event'
import { uuidv7 } from '@assay/model/ids'
import type { Job } from '@assay/model/job'
import { prepareKey, sign } from '@assay/model/signature'
import { failingData } from '@assay/model/webhook'
import { VERSION } from '@assay/service/runtime/version'
import { type Command, JSON_OPTION, numberOption } from '../command.ts'
import { type Connection, connect } from '../connect.ts'
import { EXIT, ExitError, UsageError } from '../exit.ts'
import { out, printJson, say } from '../print.ts'
import { type Received, startReceiver } from '../receiver.ts'

const SHOWN_HEADERS = /^(webhook-|user-agent$|content-type$|x-|authorization$)/

function pretty(body: Buffer): string {
  const text = body.toString('utf8')
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}

function verdict({ verified, fault }: Received): string {
  if (verified === null) return 'not verified: give --secret'
  return verified ? 'signature verified' : `SIGNATURE WRONG: ${fault}`
}

/** A request as people read it. */
export function describeRequest(received: Received): string {
  const headers = Object.entries(received.headers)
    .filter(([name]) => SHOWN_HEADERS.test(name))
    .map(([name, value]) => `${name}: ${String(value)}\n`)
  return `${received.method}  (${verdict(received)})\n${headers.join('')}\n${pretty(received.body)}\n`
}

/** What is no JSON is shown as text. */
function asJson({ headers, body, verified, fault }: Received): unknown {
  const text = body.toString('utf8')
  try {
    return { verified, fault, headers, body: JSON.parse(text) as unknown }
  } catch {
    return { verified, fault, headers, body: text }
  }
}

/** Hands the request on with its own headers and bytes, so that the receiver behind can verify it, too. */
async function forward(url: string, { headers, body }: Received): Promise<number> {
  const passed = Object.entries(headers).filter(
    ([name]) => !['host', 'connection', 'content-length', 'transfer-encoding'].includes(name),
  )
  try {
    const init = {
      method: 'POST',
      headers: passed as [string, string][],
      body,
      signal: AbortSignal.timeout(15_000),
    }
    const { status } = await fetch(url, init)
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

/** Who lets requests fail wants to see them again: by the usual schedule the third would come after minutes. */
const SOON = [1, 2, 5, 10, 30, 60]

/** A webhook of our own at the service, for as long as we listen. */
async function register(
  connection: Connection,
  url: string,
  events: EventType[] | undefined,
  soon: boolean,
): Promise<Registration> {
  const webhook = await connection.client.webhooks.create({
    url,
    ...(soon ? { retry_schedule: SOON } : {}),
    user_id: 'command line',
    presence_name: 'assay webhooks listen',
    events: events ?? [...ENDING_EVENTS, 'webhook.test'],
    description: 'Made by "assay webhooks listen", removed when it ends',
  })
  say(`Registered as webhook ${webhook.webhook_id}.`)
  return {
    secret: webhook.signing_secret!,
    remove: () => connection.client.webhooks.delete(webhook.webhook_id).catch(() => undefined),
  }
}

/** Undefined: none is given. */
export function eventTypes(given: string[]): EventType[] | undefined {
  for (const type of given) {
    if (!EVENT_TYPES.includes(type as EventType))
      throw new UsageError(`There is no event type ${JSON.stringify(type)}: ${EVENT_TYPES.join(', ')}.`)
  }
  return given.length > 0 ? (given as EventType[]) : undefined
}

export const LISTEN: Command = {
  name: 'webhooks listen',
  operands: '',
  summary: 'Receive webhooks here: verify and print each',
  details:
    'Registers a webhook for itself at the service that runs on this home (or at ASSAY_URL) and removes it when it\n' +
    'ends. With --secret it registers none and verifies what reaches its address.',
  options: {
    host: { type: 'string', value: 'ADDRESS', doc: 'Address to listen on (default 127.0.0.1)' },
    port: { type: 'string', value: 'PORT', doc: 'Port to listen on (default: a free one)' },
    secret: { type: 'string', value: 'SECRET', doc: 'Verify with this signing secret and register nothing' },
    event: { type: 'string', multiple: true, value: 'TYPE', doc: 'Only this event type; repeat for more' },
    forward: { type: 'string', value: 'URL', doc: 'Hand each request on and answer with what comes back' },
    fail: {
      type: 'string',
      value: 'N',
      doc: 'Answer the first N requests with 500, to see retries (after 1, 2, 5 s, ...)',
    },
    count: { type: 'string', value: 'N', doc: 'End after N requests' },
    json: { type: 'boolean', doc: 'Print each request as one line of JSON' },
  },
  listens: true,
  async run(call) {
    const given = call.text('secret')
    if (given !== undefined) prepareKey(given)
    const toFail = numberOption(call, 'fail', 0, 1_000_000) ?? 0
    const most = numberOption(call, 'count', 1, 1_000_000) ?? Number.POSITIVE_INFINITY
    const events = eventTypes(call.all('event'))
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
        out(call.on('json') ? `${JSON.stringify(asJson(received))}\n` : `${describeRequest(received)}\n`)
        if (number <= toFail) say(`Answered with 500 (${number} of ${toFail}).`)
        const status = number <= toFail ? 500 : target ? await forward(target, received) : 204
        // The answer leaves first.
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

/** An event as the service would send it, made up. */
function exampleEvent(type: EventType): Event {
  const timestamp = new Date().toISOString()
  const event_id = uuidv7()
  if (type === 'webhook.test')
    return { event_id, type, timestamp, data: { webhook_id: uuidv7(), message: 'This is a test.' } }
  if (type === 'webhook.disabled' || type === 'webhook.failing') {
    const of = { webhook_id: uuidv7(), url: 'https://example.com/hook' }
    const delivery = { delivery_id: uuidv7(), event_id: uuidv7(), event_type: 'job.completed' as const }
    const [failing_since, failing_reason] = [timestamp, 'refused: The host refused the connection.']
    const data =
      type === 'webhook.disabled'
        ? { ...of, disabled_reason: 'It failed for five days.', delivery }
        : failingData({ ...of, failing_since, failing_reason, warned_at: null }, delivery)
    return { event_id, type, timestamp, data }
  }
  if (type === 'schedule.failed') {
    const data = {
      schedule_id: uuidv7(),
      name: 'Every morning',
      template_id: 'flight-delays',
      user_id: 'admin',
      presence_name: null,
      metadata: {},
      scheduled_for: timestamp,
      error: { code: 'not_found', detail: 'There is no template "flight-delays" any more.', errors: [] },
    }
    return { event_id, type, timestamp, data }
  }
  return { event_id, type, timestamp, data: { ...jobEventData(exampleJob(type, timestamp), null) } }
}

function exampleJob(type: Exclude<EventType, `${'webhook' | 'schedule'}.${string}`>, at: string): Job {
  const states = {
    'job.queued': { job_status: 'queued', error: null },
    'job.started': { job_status: 'executing', error: null },
    'job.completed': { job_status: 'completed', error: null },
    'job.failed': {
      job_status: 'canceled',
      error: { code: 'timed_out', detail: 'It took longer than 60 s.' },
    },
    'job.canceled': {
      job_status: 'canceled',
      error: { code: 'canceled_by_user', detail: 'It was canceled.' },
    },
  } as const
  return {
    assignment_id: uuidv7(),
    workspace_id: 'default',
    user_id: 'admin',
    template_id: 'flight-delays',
    template_version: '0',
    variables: {},
    ...states[type],
    insight_id: type === 'job.completed' ? uuidv7() : null,
    progress: { percent: 0, step: 0, steps: 0, label: '' },
    attempt: 1,
    losses: 0,
    skipped: null,
    priority: 0,
    presence_name: null,
    metadata: {},
    schedule_id: null,
    scheduled_for: null,
    batch_id: null,
    moves: [],
    created_at: at,
    queued_at: at,
    started_at: at,
    finished_at: at,
  }
}

export const TRIGGER: Command = {
  name: 'webhooks trigger',
  operands: 'TYPE URL',
  summary: 'Send a signed example event to an address, without a service',
  details: `TYPE is one of ${EVENT_TYPES.join(', ')}.`,
  options: {
    secret: { type: 'string', value: 'SECRET', doc: 'Sign with this secret (default: a new one, printed)' },
    json: JSON_OPTION,
  },
  async run(call) {
    const [type, url] = call.operands
    const [known] = eventTypes([type!])!
    if (!URL.canParse(url!)) throw new UsageError(`${JSON.stringify(url)} is no address.`)
    const secret = call.text('secret') ?? `whsec_${randomBytes(32).toString('base64')}`
    const event = exampleEvent(known!)
    const body = eventBody(event)
    const timestamp = Math.floor(Date.now() / 1000)
    const headers = {
      'content-type': 'application/json',
      'user-agent': `assay/${VERSION}`,
      'webhook-id': event.event_id,
      'webhook-timestamp': String(timestamp),
      'webhook-signature': sign({ id: event.event_id, timestamp, body, secrets: [secret] }),
    }
    const signal = AbortSignal.timeout(15_000)
    const response = await fetch(url!, { method: 'POST', headers, body, redirect: 'manual', signal }).catch(
      (error: unknown) => {
        throw new ExitError(EXIT.failed, `${url} did not answer: ${(error as Error).message}`)
      },
    )
    if (call.on('json'))
      printJson({ status: response.status, secret, headers, body: JSON.parse(body) as unknown })
    else {
      if (!call.text('secret')) say(`Signed with ${secret}`)
      out(`${response.status} for ${known} ${event.event_id}\n`)
    }
    return response.ok ? EXIT.ok : EXIT.failed
  },
}
