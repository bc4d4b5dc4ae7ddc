/** assay subscriptions: manages subscriptions, which send events to people by mail or chat. */
import type { SubscriptionView } from '@assay/client'
import { SUBJECTS, SUBSCRIPTION_KINDS } from '@assay/model/subscription'
import { allPages, listCommand, showCommand } from '../../client-command.ts'
import type { Call } from '../../command.ts'
import { UsageError } from '../../exit.ts'
import { choiceOption, eventsOption, flag, secondsOption, text, texts } from '../../options.ts'
import { readSecret } from '../../secret-input.ts'
import { deliveryCommands } from './deliveries.ts'
import { statusOf } from './webhooks.ts'

const OPTIONS = {
  user: text('TEXT', 'Its user_id (default: the user of the request)'),
  presence: text('TEXT', 'Its presence_name (default: default)'),
  event: texts('TYPE', 'An event type, or * (default: the three that end a job)'),
  description: text('TEXT', 'A note for people'),
  'link-for': text('DURATION', 'How long the link opens the page (default: 7d)'),
  'no-link': flag('No link in the messages'),
  subject: text(
    'WHAT',
    `With email: ${SUBJECTS.join(' (default) or ')}, for the first figure with its change`,
  ),
  pdf: flag('With email: attach the insight as PDF'),
  skipped: flag('Also send events of skipped runs'),
  follow: texts(
    'NOUN:ID',
    'A schedule, a template, a collection or a metric that it follows, as template:penguins; repeat it for more',
  ),
  personal: flag('It is your own: --notify me of jobs and schedules tells it'),
}

/** Reads the target. The address of a chat is a secret, so it is read like one and not as an operand. */
async function targetOf(call: Call) {
  const [word, ...to] = call.operands
  const kind = SUBSCRIPTION_KINDS.find((one) => one === word)
  if (!kind)
    throw new UsageError(`There are ${SUBSCRIPTION_KINDS.join(' and ')}, not ${JSON.stringify(word)}.`)
  if ((kind === 'email') !== to.length > 0)
    throw new UsageError('email takes addresses; slack takes none, its own is read from standard input.')
  return kind === 'email' ? { kind, to } : { kind, url: (await readSecret('The address of the chat')).trim() }
}

const whereOf = ({ kind, to, url }: SubscriptionView): string =>
  kind === 'email' ? to.join(', ') : (url ?? '')

export const SUBSCRIPTIONS = [
  showCommand(
    {
      name: 'subscriptions create',
      operands: 'KIND [ADDRESS...]',
      summary: 'Tell people of events: email ADDRESS..., or slack with its address on standard input',
      options: OPTIONS,
    },
    async (client, call) =>
      client.subscriptions.create({
        ...(await targetOf(call)),
        link_expires_in: call.on('no-link') ? null : secondsOption(call, 'link-for'),
        subject: choiceOption(call, 'subject', SUBJECTS),
        attach: call.on('pdf') ? 'pdf' : undefined,
        include_skipped: call.on('skipped'),
        personal: call.on('personal'),
        follows: call.all('follow'),
        user_id: call.text('user'),
        presence_name: call.text('presence'),
        events: eventsOption(call),
        description: call.text('description'),
      }),
    ({ subscription_id }) => `${subscription_id}\n`,
  ),
  listCommand(
    {
      name: 'subscriptions list',
      summary: 'List the subscriptions',
      options: { kind: text('KIND', SUBSCRIPTION_KINDS.join(', ')) },
    },
    ['SUBSCRIPTION', 'KIND', 'STATUS', 'PRESENCE', 'TO'],
    (client, call) => {
      const kind = choiceOption(call, 'kind', SUBSCRIPTION_KINDS)
      return allPages((page) => client.subscriptions.list({ ...page, kind }))
    },
    (one) => [one.subscription_id, one.kind, statusOf(one), one.presence_name, whereOf(one)],
  ),
  ...deliveryCommands('subscriptions', 'Send a test message now and show what came back'),
]
