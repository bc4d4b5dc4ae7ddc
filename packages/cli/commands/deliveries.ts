/** assay webhooks ... and assay subscriptions ...: what both have in common, being tried, their deliveries, their end. */
import { DELIVERY_STATUSES, type DeliveryStatus } from '@assay/model/delivery'
import { type Command, JSON_OPTION, numberOption } from '../command.ts'
import { withClient } from '../connect.ts'
import { EXIT } from '../exit.ts'
import { out, printJson, table } from '../print.ts'
import { deleter } from './accounts.ts'
import { choice } from './jobs.ts'

type Noun = 'webhooks' | 'subscriptions'

export function deliveryCommands(noun: Noun, testing: string): Command[] {
  return [
    deleter(`${noun} delete`, `Delete ${noun} with their deliveries`, (client, id) =>
      client[noun].delete(id),
    ),
    testOf(noun, testing),
    deliveriesOf(noun),
  ]
}

function testOf(noun: Noun, summary: string): Command {
  return {
    name: `${noun} test`,
    operands: 'ID',
    summary,
    options: { json: JSON_OPTION },
    run: (call) =>
      withClient(call, async (client) => {
        const attempt = await client[noun].test(call.operands[0]!)
        if (call.on('json')) printJson(attempt)
        else {
          const outcome = attempt.error
            ? `${attempt.error.class}: ${attempt.error.detail}`
            : attempt.status_code
          out(`${outcome} after ${Math.round(attempt.duration_ms)} ms\n`)
        }
        return attempt.error ? EXIT.failed : EXIT.ok
      }),
  }
}

function deliveriesOf(noun: Noun): Command {
  return {
    name: `${noun} deliveries`,
    operands: 'ID',
    summary: `List the deliveries of one of the ${noun}, newest first`,
    options: {
      json: JSON_OPTION,
      status: { type: 'string', value: 'STATE', doc: DELIVERY_STATUSES.join(', ') },
      job: { type: 'string', value: 'ID', doc: 'Only those of this job' },
      limit: { type: 'string', value: 'N', doc: 'At most so many, up to 200 (default 20)' },
    },
    run: (call) =>
      withClient(call, async (client) => {
        const status = choice<DeliveryStatus>(call, 'status', DELIVERY_STATUSES)
        const limit = numberOption(call, 'limit', 1, 200) ?? 20
        const page = await client[noun].deliveries(call.operands[0]!, {
          limit,
          ...(status ? { status } : {}),
          assignment_id: call.text('job'),
        })
        if (call.on('json')) printJson(page)
        else {
          const rows = page.items.map((delivery) => [
            delivery.delivery_id,
            delivery.status,
            delivery.event_type,
            delivery.attempt_count,
            delivery.next_attempt_at,
            delivery.created_at,
          ])
          out(table(['DELIVERY', 'STATUS', 'EVENT', 'TRIES', 'NEXT', 'CREATED'], rows))
        }
        return EXIT.ok
      }),
  }
}
