/** assay subscriptions: events told to people, by mail or in a chat. */

import { SUBSCRIPTION_KINDS, type SubscriptionKind, type SubscriptionView } from '@assay/model/subscription'
import { parseDuration } from '@assay/service/config/config'
import { type Call, type Command, JSON_OPTION, type Option } from '../command.ts'
import { withClient } from '../connect.ts'
import { EXIT, UsageError } from '../exit.ts'
import { out, printJson, table } from '../print.ts'
import { everything } from './accounts.ts'
import { deliveryCommands } from './deliveries.ts'
import { choice } from './jobs.ts'
import { eventsOf } from './webhooks.ts'

const OPTIONS: Record<string, Option> = {
  json: JSON_OPTION,
  user: { type: 'string', value: 'TEXT', doc: 'Its user_id (default: who makes it)' },
  presence: { type: 'string', value: 'TEXT', doc: 'Its presence_name (default: default)' },
  event: {
    type: 'string',
    multiple: true,
    value: 'TYPE',
    doc: 'An event type, or * (default: the three ends)',
  },
  description: { type: 'string', value: 'TEXT', doc: 'A note for people' },
  'link-for': { type: 'string', value: 'DURATION', doc: 'The link opens the page for so long (default: 7d)' },
  'no-link': { type: 'boolean', doc: 'No link in the messages' },
  skipped: { type: 'boolean', doc: 'Tell of runs that their condition skipped, too' },
}

function linkOf(call: Call): { link_expires_in?: number | null } {
  const text = call.text('link-for')
  if (call.on('no-link')) return { link_expires_in: null }
  if (text === undefined) return {}
  try {
    return { link_expires_in: Math.floor(parseDuration(text) / 1000) }
  } catch (error) {
    throw new UsageError(`--link-for ${(error as Error).message}.`)
  }
}

/** The address of a chat is a secret: it does not belong on the command line, which others of the machine can read. */
async function firstLine(): Promise<string> {
  const { createInterface } = await import('node:readline/promises')
  if (process.stdin.isTTY) process.stderr.write('Address of the incoming webhook: ')
  for await (const line of createInterface({ input: process.stdin }))
    if (line.trim() !== '') return line.trim()
  throw new UsageError('The address of the chat is read from standard input, which is empty.')
}

const CREATE: Command = {
  name: 'subscriptions create',
  operands: 'KIND [ADDRESS...]',
  summary: 'Tell people of events: email ADDRESS..., or slack with its address on standard input',
  options: OPTIONS,
  run: (call) =>
    withClient(call, async (client) => {
      const [word, ...addresses] = call.operands
      const kind = SUBSCRIPTION_KINDS.find((one) => one === word)
      if (!kind)
        throw new UsageError(`There are ${SUBSCRIPTION_KINDS.join(' and ')}, not ${JSON.stringify(word)}.`)
      if ((kind === 'email') !== addresses.length > 0)
        throw new UsageError('email takes addresses; slack takes none, its own is read from standard input.')
      const events = eventsOf(call)
      const [user_id, presence_name, description] = [
        call.text('user'),
        call.text('presence'),
        call.text('description'),
      ]
      const made = await client.subscriptions.create({
        kind,
        ...(kind === 'email' ? { to: addresses } : { url: await firstLine() }),
        ...linkOf(call),
        ...(call.on('skipped') ? { include_skipped: true } : {}),
        ...(user_id ? { user_id } : {}),
        ...(presence_name ? { presence_name } : {}),
        ...(events ? { events } : {}),
        ...(description ? { description } : {}),
      })
      if (call.on('json')) printJson(made)
      else out(`${made.subscription_id}\n`)
      return EXIT.ok
    }),
}

function whereOf({ kind, to, url }: SubscriptionView): string {
  return kind === 'email' ? to.join(', ') : (url ?? '')
}

const LIST: Command = {
  name: 'subscriptions list',
  operands: '',
  summary: 'List the subscriptions',
  options: {
    json: JSON_OPTION,
    kind: { type: 'string', value: 'KIND', doc: SUBSCRIPTION_KINDS.join(', ') },
  },
  run: (call) =>
    withClient(call, async (client) => {
      const kind = choice<SubscriptionKind>(call, 'kind', SUBSCRIPTION_KINDS)
      const subscriptions = await everything((page) =>
        client.subscriptions.list({ ...page, ...(kind ? { kind } : {}) }),
      )
      if (call.on('json')) printJson(subscriptions)
      else {
        const rows = subscriptions.map((one) => [
          one.subscription_id,
          one.kind,
          one.disabled_reason ? `disabled: ${one.disabled_reason}` : one.status,
          one.presence_name,
          whereOf(one),
        ])
        out(table(['SUBSCRIPTION', 'KIND', 'STATUS', 'PRESENCE', 'TO'], rows))
      }
      return EXIT.ok
    }),
}

function switching(verb: 'enable' | 'disable', summary: string): Command {
  return {
    name: `subscriptions ${verb}`,
    operands: 'ID...',
    summary,
    options: {},
    run: (call) =>
      withClient(call, async (client) => {
        for (const id of call.operands) await client.subscriptions.update(id, { status: `${verb}d` })
        return EXIT.ok
      }),
  }
}

export const SUBSCRIPTIONS: readonly Command[] = [
  CREATE,
  LIST,
  ...deliveryCommands('subscriptions', 'Send a test message now and show what came back'),
  switching('enable', 'Switch subscriptions on again: what waits is sent'),
  switching('disable', 'Switch subscriptions off: what waits is kept'),
]
