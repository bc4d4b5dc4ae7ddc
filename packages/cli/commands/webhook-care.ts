/** assay webhooks ...: what an operator does to one that is there. */
import type { Client } from '@assay/client'
import { type Call, type Command, JSON_OPTION, numberOption } from '../command.ts'
import { withClient } from '../connect.ts'
import { EXIT } from '../exit.ts'
import { out, printJson, table } from '../print.ts'

function switching(word: 'enable' | 'disable', summary: string): Command {
  const status = `${word}d` as const
  const each = async (client: Client, call: Call): Promise<number> => {
    for (const id of call.operands) await client.webhooks.update(id, { status })
    return EXIT.ok
  }
  return {
    name: `webhooks ${word}`,
    operands: 'ID...',
    summary,
    options: {},
    run: (call) => withClient(call, (client) => each(client, call)),
  }
}

const ROTATE: Command = {
  name: 'webhooks rotate-secret',
  operands: 'ID',
  summary: 'Make a new signing secret and print it, this once; both sign for a while',
  options: {
    json: JSON_OPTION,
    overlap: { type: 'string', value: 'SECONDS', doc: 'How long the present one signs, too (default 86400)' },
  },
  run: (call) =>
    withClient(call, async (client) => {
      const overlap = numberOption(call, 'overlap', 0, 604_800)
      const webhook = await client.webhooks.rotateSecret(
        call.operands[0]!,
        overlap === undefined ? {} : { overlap_seconds: overlap },
      )
      if (call.on('json')) printJson(webhook)
      else out(`${webhook.public_key ?? webhook.signing_secret}\n`)
      return EXIT.ok
    }),
}

const CANCEL_PENDING: Command = {
  name: 'webhooks cancel-pending',
  operands: 'ID',
  summary: 'Cancel the deliveries that wait',
  options: { json: JSON_OPTION },
  run: (call) =>
    withClient(call, async (client) => {
      const canceled = await client.webhooks.cancelPending(call.operands[0]!)
      if (call.on('json')) printJson(canceled)
      else out(`${canceled.count}\n`)
      return EXIT.ok
    }),
}

const STATS: Command = {
  name: 'webhooks stats',
  operands: 'ID',
  summary: 'What was sent, what failed, and how long receivers took',
  options: {
    json: JSON_OPTION,
    since: { type: 'string', value: 'TIME', doc: 'RFC 3339, such as 2026-01-31T12:00:00Z' },
  },
  run: (call) =>
    withClient(call, async (client) => {
      const stats = await client.webhooks.stats(call.operands[0]!, { since: call.text('since') })
      if (call.on('json')) printJson(stats)
      else {
        const { sent, failed, p50_ms, p95_ms, p99_ms } = stats
        out(table(['SENT', 'FAILED', 'P50 MS', 'P95 MS', 'P99 MS'], [[sent, failed, p50_ms, p95_ms, p99_ms]]))
        out(
          table(
            ['HOUR', 'SENT', 'FAILED'],
            stats.hours.map((hour) => [hour.hour, hour.sent, hour.failed]),
          ),
        )
      }
      return EXIT.ok
    }),
}

export const WEBHOOK_CARE: readonly Command[] = [
  switching('enable', 'Switch webhooks on again: what waits is sent'),
  switching('disable', 'Switch webhooks off: what waits is kept'),
  ROTATE,
  CANCEL_PENDING,
  STATS,
]
