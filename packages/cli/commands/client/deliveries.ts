/** The commands that webhooks and subscriptions share: test, list deliveries, enable and disable, delete. */
import { DELIVERY_STATUSES } from '@assay/model/delivery'
import { clientCommand, eachCommand, pageCommand } from '../../client-command.ts'
import type { Command } from '../../command.ts'
import { EXIT } from '../../exit.ts'
import { choiceOption, JSON_OPTION, LIMIT, limitOption, text } from '../../options.ts'
import { out, printJson } from '../../print.ts'

export function deliveryCommands(noun: 'webhooks' | 'subscriptions', testing: string): Command[] {
  return [
    eachCommand({ name: `${noun} delete`, summary: `Delete ${noun} with their deliveries` }, (client, id) =>
      client[noun].delete(id),
    ),
    clientCommand(
      { name: `${noun} test`, operands: 'ID', summary: testing, options: { json: JSON_OPTION } },
      async (client, call) => {
        const attempt = await client[noun].test(call.operands[0]!)
        const { error, status_code, duration_ms } = attempt
        if (call.on('json')) printJson(attempt)
        else
          out(
            `${error ? `${error.class}: ${error.detail}` : status_code} after ${Math.round(duration_ms)} ms\n`,
          )
        return error ? EXIT.failed : EXIT.ok
      },
    ),
    pageCommand(
      {
        name: `${noun} deliveries`,
        operands: 'ID',
        summary: `List the deliveries of one of the ${noun}, newest first`,
        options: {
          status: text('STATE', DELIVERY_STATUSES.join(', ')),
          job: text('ID', 'Only those of this job'),
          limit: LIMIT,
          cursor: text('CURSOR', 'The next_cursor of an earlier list'),
        },
      },
      ['DELIVERY', 'STATUS', 'EVENT', 'TRIES', 'NEXT', 'CREATED'],
      (client, call) =>
        client[noun].deliveries(call.operands[0]!, {
          limit: limitOption(call),
          status: choiceOption(call, 'status', DELIVERY_STATUSES),
          assignment_id: call.text('job'),
          cursor: call.text('cursor'),
        }),
      (one) => [
        one.delivery_id,
        one.status,
        one.event_type,
        one.attempt_count,
        one.next_attempt_at,
        one.created_at,
      ],
    ),
    eachCommand(
      { name: `${noun} enable`, summary: `Switch ${noun} on again: pending deliveries are sent` },
      (client, id) => client[noun].update(id, { status: 'enabled' }),
    ),
    eachCommand(
      { name: `${noun} disable`, summary: `Switch ${noun} off: pending deliveries are kept` },
      (client, id) => client[noun].update(id, { status: 'disabled' }),
    ),
  ]
}
