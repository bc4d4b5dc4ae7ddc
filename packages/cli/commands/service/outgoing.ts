/**
 * assay outgoing ...: shows what leaves a workspace by day and kind, and sets its budgets and the switch that stops
 * all of it.
 */
import type { OutgoingView } from '@assay/client'
import { KIND_WORDS, OUTGOING_KINDS, type OutgoingKind } from '@assay/model/outgoing'
import { clientCommand, showCommand } from '../../client-command.ts'
import type { Call } from '../../command.ts'
import { UsageError } from '../../exit.ts'
import {
  choiceOption,
  JSON_OPTION,
  numberOption,
  pairsOption,
  text,
  texts,
  WORKSPACE,
} from '../../options.ts'
import { printJson, table } from '../../print.ts'

const BUDGET_MOST = 1_000_000_000

function stateOf({ workspace_id, stopped, model, hosts, mail_domains }: OutgoingView): string {
  const by = stopped?.by_operator ? 'the operator' : stopped?.user_id
  const why = stopped?.reason ? `: ${stopped.reason}` : ''
  const lines = [
    ...(stopped === null
      ? []
      : [`Nothing leaves the workspace ${workspace_id} since ${stopped.at}, stopped by ${by}${why}.`]),
    ...(model ? [] : ['Its templates may not ask the language model.']),
    ...(hosts === null
      ? []
      : [
          `Its connections, downloads, webhooks and chat messages reach ${hosts.length === 0 ? 'no host' : hosts.join(', ')}.`,
        ]),
    ...(mail_domains === null
      ? []
      : [`Mail needs no agreement at ${mail_domains.length === 0 ? 'no domain' : mail_domains.join(', ')}.`]),
  ]
  return lines.map((line) => `${line}\n`).join('')
}

function shown(view: OutgoingView): string {
  const budgets = table(
    ['KIND', 'WHAT', 'TODAY', 'BUDGET', 'SET FOR'],
    view.budgets.map(({ kind, today, budget, own }) => [
      kind,
      KIND_WORDS[kind],
      today,
      budget ?? 'no limit',
      own ? 'this workspace' : 'every workspace',
    ]),
  )
  const days = table(
    ['DAY', 'KIND', 'LEFT', 'REFUSED', 'BYTES'],
    view.days.map(({ day, kind, count, refused, bytes }) => [day, kind, count, refused, bytes || null]),
  )
  return `${stateOf(view)}${budgets}${view.days.length > 0 ? `\n${days}` : ''}`
}

/** Reads budgets such as "mail=200". The value in "query=default" becomes null. */
function budgetsOf(call: Call): Partial<Record<OutgoingKind, number | null>> | undefined {
  const given = Object.entries(pairsOption(call, 'budget'))
  const budgets = given.map(([kind, value]) => {
    if (!OUTGOING_KINDS.includes(kind as OutgoingKind))
      throw new UsageError(`--budget takes ${OUTGOING_KINDS.join(', ')}, not ${JSON.stringify(kind)}.`)
    if (value === 'default') return [kind, null]
    if (!/^\d{1,10}$/.test(value) || Number(value) > BUDGET_MOST)
      throw new UsageError(
        `--budget ${kind}= takes a whole number up to ${BUDGET_MOST} or "default", not ${JSON.stringify(value)}.`,
      )
    return [kind, Number(value)]
  })
  return budgets.length > 0 ? Object.fromEntries(budgets) : undefined
}

/** Returns the list, null if `word` alone stands for no list, or undefined if the option is not given. */
function listOf(call: Call, name: string, word: string): string[] | null | undefined {
  const given = call.all(name)
  if (given.length === 0) return undefined
  if (!given.includes(word)) return given
  if (given.length === 1) return null
  throw new UsageError(`--${name} ${word} stands alone: leave out the others.`)
}

function changesOf(call: Call) {
  const model = choiceOption(call, 'model', ['on', 'off'])
  return {
    budgets: budgetsOf(call),
    model: model === undefined ? undefined : model === 'on',
    hosts: listOf(call, 'host', 'all'),
    mail_domains: listOf(call, 'mail-domain', 'default'),
  }
}

const ofWorkspace = (call: Call) => ({ workspace_id: call.text('workspace') })

export const OUTGOING = [
  showCommand(
    {
      name: 'outgoing',
      summary: 'Show what left the workspace by day and kind, what was refused, and the budgets',
      details: 'Days begin at 00:00 UTC. A count appears a second after it left.',
      options: {
        days: text('N', 'Days to list, today included, up to 92 (default 7)'),
        workspace: WORKSPACE,
      },
    },
    (client, call) => client.outgoing.read({ ...ofWorkspace(call), days: numberOption(call, 'days', 1, 92) }),
    shown,
  ),
  clientCommand(
    {
      name: 'outgoing stop',
      summary: 'Stop all that leaves the workspace: deliveries wait, the rest is refused',
      options: {
        json: JSON_OPTION,
        reason: text('TEXT', 'Why, for the people of the workspace'),
        workspace: WORKSPACE,
      },
    },
    async (client, call) => {
      const changes = { stopped: true, reason: call.text('reason') ?? null }
      const view = await client.outgoing.change(changes, ofWorkspace(call))
      if (call.on('json')) printJson(view)
    },
  ),
  clientCommand(
    {
      name: 'outgoing open',
      summary: 'Let leave again what was stopped: deliveries that waited go out',
      options: { json: JSON_OPTION, workspace: WORKSPACE },
    },
    async (client, call) => {
      const view = await client.outgoing.change({ stopped: false }, ofWorkspace(call))
      if (call.on('json')) printJson(view)
    },
  ),
  clientCommand(
    {
      name: 'outgoing change',
      summary: 'Change the budgets, hosts and mail domains of a workspace (operator)',
      details: `Kinds: ${OUTGOING_KINDS.join(', ')}.`,
      options: {
        json: JSON_OPTION,
        budget: texts('KIND=NUMBER', 'So many a day; KIND=default: ASSAY_BUDGET_KIND'),
        model: text('on|off', 'Whether templates may ask the language model'),
        host: texts(
          'HOST',
          'A host that connections, downloads, webhooks and chats may reach; "all": all of them',
        ),
        'mail-domain': texts('DOMAIN', 'Its addresses need not agree to mail; "default": ASSAY_MAIL_DOMAINS'),
        workspace: WORKSPACE,
      },
    },
    async (client, call) => {
      const changes = changesOf(call)
      if (Object.values(changes).every((value) => value === undefined))
        throw new UsageError('Name at least one option to change: see --help.')
      const view = await client.outgoing.change(changes, ofWorkspace(call))
      if (call.on('json')) printJson(view)
    },
  ),
]
