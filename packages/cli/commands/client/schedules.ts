/** assay schedules ...: manages schedules, which run templates by cron expressions. */
import type { ScheduleInput, ScheduleView } from '@assay/client'
import { MISSED, OVERLAPS } from '@assay/model/schedule'
import { allPages, eachCommand, listCommand, showCommand } from '../../client-command.ts'
import type { Call } from '../../command.ts'
import { UsageError } from '../../exit.ts'
import { choiceOption, flag, numberOption, pairsOption, readersOption, text, texts } from '../../options.ts'
import { JOB_OPTIONS } from './jobs.ts'

function row(schedule: ScheduleView): (string | null)[] {
  const { schedule_id, name, template_id, cron, time_zone, paused, next_due_at, last_error } = schedule
  const next = paused ? 'paused' : (next_due_at ?? 'ended')
  return [schedule_id, name, template_id, cron, time_zone, next, last_error?.code ?? null]
}

const OPTIONS = {
  cron: text('LINE', 'Five fields such as "0 7 * * MON-FRI", or @daily'),
  zone: text('ZONE', 'IANA name such as Europe/Berlin (default: UTC)'),
  name: text('TEXT', 'A name for people (default: the template and the line)'),
  starts: text('TIME', 'Due from then on, RFC 3339'),
  ends: text('TIME', 'Due before then, RFC 3339'),
  missed: text('RULE', `${MISSED.join(', ')} (default: skip)`),
  'missed-limit': text('N', 'Most missed times that "all" runs (default 10)'),
  overlap: text('RULE', `${OVERLAPS.join(', ')} (default: queue)`),
  readers: texts(
    'WHO',
    'A job for each of these readers, sent to that reader alone: all, ids (ada,bob), or attributes (region=north,west)',
  ),
  paused: flag('Made, and not run until it is resumed'),
  ...JOB_OPTIONS,
}

function inputOf(call: Call): ScheduleInput {
  const template_id = call.operands[0]!
  const cron = call.text('cron')
  if (cron === undefined)
    throw new UsageError('--cron says when it runs: five fields such as "0 7 * * MON-FRI", or @daily.')
  return {
    name: call.text('name') ?? `${template_id} ${cron}`,
    template_id,
    cron,
    template_vars: pairsOption(call, 'var'),
    metadata: pairsOption(call, 'metadata'),
    paused: call.on('paused'),
    time_zone: call.text('zone'),
    starts_at: call.text('starts'),
    ends_at: call.text('ends'),
    missed: choiceOption(call, 'missed', MISSED),
    missed_limit: numberOption(call, 'missed-limit', 1, 100),
    overlap: choiceOption(call, 'overlap', OVERLAPS),
    presence_name: call.text('presence'),
    notify: call.all('notify'),
    readers: readersOption(call),
    priority: numberOption(call, 'priority', -100, 100),
  }
}

export const SCHEDULES = [
  listCommand(
    {
      name: 'schedules list',
      summary: 'List schedules, newest first',
      options: { template: text('ID', 'Only schedules of this template') },
    },
    ['SCHEDULE', 'NAME', 'TEMPLATE', 'CRON', 'ZONE', 'NEXT', 'LAST ERROR'],
    (client, call) =>
      allPages((page) => client.schedules.list({ ...page, template_id: call.text('template') })),
    row,
  ),
  showCommand(
    {
      name: 'schedules add',
      operands: 'TEMPLATE',
      summary: 'Run a template by a cron expression; prints the id and the next runs',
      options: OPTIONS,
    },
    (client, call) => client.schedules.create(inputOf(call)),
    ({ schedule_id, next_runs }) => `${schedule_id}\n${next_runs.map((time) => `  ${time}\n`).join('')}`,
  ),
  eachCommand({ name: 'schedules pause', summary: 'Pause schedules' }, (client, id) =>
    client.schedules.update(id, { paused: true }),
  ),
  eachCommand(
    { name: 'schedules resume', summary: 'Resume schedules: they are due after now' },
    (client, id) => client.schedules.update(id, { paused: false }),
  ),
  showCommand(
    {
      name: 'schedules run',
      operands: 'ID',
      summary: 'Make and queue a job of a schedule now, and print its id',
      options: { reader: text('ID', 'Of a schedule over readers: for whom') },
    },
    (client, call) => client.schedules.runNow(call.operands[0]!, { reader_id: call.text('reader') }),
    ({ assignment_id }) => `${assignment_id}\n`,
  ),
  eachCommand({ name: 'schedules remove', summary: 'Remove schedules; their jobs stay' }, (client, id) =>
    client.schedules.delete(id),
  ),
]
