/** assay schedules ...: templates run by cron lines. */
import type { Client, ScheduleInput } from '@assay/client'
import { MISSED, OVERLAPS, type ScheduleView } from '@assay/model/schedule'
import { type Call, type Command, JSON_OPTION, numberOption, type Option, pairsOption } from '../command.ts'
import { withClient } from '../connect.ts'
import { EXIT, UsageError } from '../exit.ts'
import { out, printJson, table } from '../print.ts'
import { everything } from './accounts.ts'
import { choice, VARIABLES } from './jobs.ts'

const LIST: Command = {
  name: 'schedules list',
  operands: '',
  summary: 'List schedules, newest first',
  options: {
    json: JSON_OPTION,
    template: { type: 'string', value: 'ID', doc: 'Only schedules of this template' },
  },
  run: (call) =>
    withClient(call, async (client) => {
      const template_id = call.text('template')
      const items = await everything((page) =>
        client.schedules.list({ ...page, ...(template_id ? { template_id } : {}) }),
      )
      if (call.on('json')) printJson(items)
      else out(table(['SCHEDULE', 'NAME', 'TEMPLATE', 'CRON', 'ZONE', 'NEXT', 'LAST ERROR'], items.map(row)))
      return EXIT.ok
    }),
}

function row(schedule: ScheduleView): (string | null)[] {
  const { schedule_id, name, template_id, cron, time_zone, paused, next_due_at, last_error } = schedule
  const next = paused ? 'paused' : (next_due_at ?? 'ended')
  return [schedule_id, name, template_id, cron, time_zone, next, last_error?.code ?? null]
}

const TIMES: Record<string, Option> = {
  cron: { type: 'string', value: 'LINE', doc: 'Five fields such as "0 7 * * MON-FRI", or @daily' },
  zone: { type: 'string', value: 'ZONE', doc: 'IANA name such as Europe/Berlin (default: UTC)' },
  name: { type: 'string', value: 'TEXT', doc: 'A name for people (default: the template and the line)' },
  starts: { type: 'string', value: 'TIME', doc: 'Due from then on, RFC 3339' },
  ends: { type: 'string', value: 'TIME', doc: 'Due before then, RFC 3339' },
  missed: { type: 'string', value: 'RULE', doc: `${MISSED.join(', ')} (default: skip)` },
  'missed-limit': { type: 'string', value: 'N', doc: 'How many "all" makes up for (default 10)' },
  overlap: { type: 'string', value: 'RULE', doc: `${OVERLAPS.join(', ')} (default: queue)` },
  paused: { type: 'boolean', doc: 'Made, and not run until it is resumed' },
}

function inputOf(call: Call): ScheduleInput {
  const template_id = call.operands[0]!
  const cron = call.text('cron')
  if (cron === undefined)
    throw new UsageError('--cron says when it runs: five fields such as "0 7 * * MON-FRI", or @daily.')
  const given = {
    time_zone: call.text('zone'),
    starts_at: call.text('starts'),
    ends_at: call.text('ends'),
    missed: choice(call, 'missed', MISSED),
    missed_limit: numberOption(call, 'missed-limit', 1, 100),
    overlap: choice(call, 'overlap', OVERLAPS),
    presence_name: call.text('presence'),
    priority: numberOption(call, 'priority', -100, 100),
  }
  const set = Object.entries(given).filter(([, value]) => value !== undefined)
  return {
    name: call.text('name') ?? `${template_id} ${cron}`,
    template_id,
    cron,
    template_vars: pairsOption(call, 'var'),
    metadata: pairsOption(call, 'metadata'),
    paused: call.on('paused'),
    ...Object.fromEntries(set),
  }
}

const ADD: Command = {
  name: 'schedules add',
  operands: 'TEMPLATE',
  summary: 'Run a template by a cron line; prints the id and the next runs',
  options: { ...TIMES, ...VARIABLES, json: JSON_OPTION },
  run: (call) =>
    withClient(call, async (client) => {
      const schedule = await client.schedules.create(inputOf(call))
      if (call.on('json')) printJson(schedule)
      else out(`${schedule.schedule_id}\n${schedule.next_runs.map((time) => `  ${time}\n`).join('')}`)
      return EXIT.ok
    }),
}

function each(
  name: string,
  summary: string,
  act: (client: Client, schedule_id: string) => Promise<unknown>,
): Command {
  return {
    name: `schedules ${name}`,
    operands: 'ID...',
    summary,
    options: {},
    run: (call) =>
      withClient(call, async (client) => {
        for (const id of call.operands) await act(client, id)
        return EXIT.ok
      }),
  }
}

const RUN: Command = {
  name: 'schedules run',
  operands: 'ID',
  summary: 'Make and queue a job of a schedule now, and print its id',
  options: { json: JSON_OPTION },
  run: (call) =>
    withClient(call, async (client) => {
      const job = await client.schedules.runNow(call.operands[0]!)
      if (call.on('json')) printJson(job)
      else out(`${job.assignment_id}\n`)
      return EXIT.ok
    }),
}

export const SCHEDULES: readonly Command[] = [
  LIST,
  ADD,
  each('pause', 'Pause schedules', (client, id) => client.schedules.update(id, { paused: true })),
  each('resume', 'Resume schedules: they are due after now', (client, id) =>
    client.schedules.update(id, { paused: false }),
  ),
  RUN,
  each('remove', 'Remove schedules; their jobs stay', (client, id) => client.schedules.delete(id)),
]
