/** assay webhooks trigger: sends a signed example event to a receiver, without a service. */
import { randomBytes } from 'node:crypto'
import { EVENT_TYPES, eventBody } from '@assay/model/event'
import { uuidv7 } from '@assay/model/ids'
import { sign } from '@assay/model/signature'
import { VERSION } from '@assay/service/runtime/version'
import type { Command } from '../../command.ts'
import { EXIT, ExitError, UsageError } from '../../exit.ts'
import { JSON_OPTION, text } from '../../options.ts'
import { out, printJson, say } from '../../print.ts'

const PATIENCE_MS = 15_000

export const TRIGGER: Command = {
  name: 'webhooks trigger',
  operands: 'TYPE URL',
  summary: 'Send a signed example event to an address, without a service',
  details: `TYPE is one of ${EVENT_TYPES.join(', ')}.`,
  options: {
    secret: text('SECRET', 'Sign with this secret (default: a new one, printed)'),
    json: JSON_OPTION,
  },
  async run(call) {
    const [given, url] = call.operands
    const type = EVENT_TYPES.find((one) => one === given)
    if (!type)
      throw new UsageError(`There is no event type ${JSON.stringify(given)}: ${EVENT_TYPES.join(', ')}.`)
    if (!URL.canParse(url!)) throw new UsageError(`${JSON.stringify(url)} is not an address.`)
    const secret = call.text('secret') ?? `whsec_${randomBytes(32).toString('base64')}`
    const { CATALOGUE } = await import('@assay/service/api/webhooks/events')
    const now = new Date()
    const id = uuidv7()
    const body = eventBody({ type, timestamp: now.toISOString(), data: CATALOGUE[type].data })
    const timestamp = Math.floor(now.getTime() / 1000)
    const headers = {
      'content-type': 'application/json',
      'user-agent': `assay/${VERSION}`,
      'webhook-id': id,
      'webhook-timestamp': String(timestamp),
      'webhook-signature': sign({ id, timestamp, body, secrets: [secret] }),
    }
    const signal = AbortSignal.timeout(PATIENCE_MS)
    const response = await fetch(url!, { method: 'POST', headers, body, redirect: 'manual', signal }).catch(
      (error: unknown) => {
        throw new ExitError(EXIT.failed, `${url} did not answer: ${(error as Error).message}`)
      },
    )
    if (call.on('json'))
      printJson({ status: response.status, secret, headers, body: JSON.parse(body) as unknown })
    else {
      if (!call.text('secret')) say(`Signed with ${secret}`)
      out(`${response.status} for ${type} ${id}\n`)
    }
    return response.ok ? EXIT.ok : EXIT.failed
  },
}
