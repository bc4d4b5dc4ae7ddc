/** assay workspace ...: manages the workspaces and their caps. */
import path from 'node:path'
import { parseSize } from '@assay/service/config/config'
import { allPages, clientCommand, eachCommand, listCommand, showCommand } from '../../client-command.ts'
import type { Call } from '../../command.ts'
import { UsageError } from '../../exit.ts'
import { JSON_OPTION, text } from '../../options.ts'
import { printJson } from '../../print.ts'

const COUNTS = ['max_queued', 'max_running', 'max_processor_seconds', 'rate_limit'] as const
const SIZES = ['max_spill_bytes', 'max_stored_bytes', 'max_file_bytes', 'max_files_bytes'] as const
type Cap = (typeof COUNTS)[number] | (typeof SIZES)[number]

const OPTIONS = {
  name: text('TEXT', 'A name for people'),
  folder: text('FOLDER', 'The folder its "file:" sources read; none: "none"'),
  'max-queued': text('NUMBER', 'Jobs queued at a time; "default": ASSAY_MAX_QUEUED'),
  'max-running': text('NUMBER', 'Jobs running at a time, 0 holds them; "default": ASSAY_MAX_RUNNING'),
  'max-processor-seconds': text(
    'NUMBER',
    'Processor seconds of its analyses an hour; "default": ASSAY_MAX_PROCESSOR_SECONDS',
  ),
  'max-spill-bytes': text(
    'SIZE',
    'Of all that its analyses write to disk on a node; "default": ASSAY_WORKSPACE_SPILL',
  ),
  'max-stored-bytes': text(
    'SIZE',
    'Of its stored jobs and insights together; "default": ASSAY_WORKSPACE_STORED',
  ),
  'rate-limit': text('NUMBER', 'Requests a second on each node; "default": ASSAY_WORKSPACE_RATE_LIMIT'),
  'max-file-bytes': text('SIZE', 'Of one upload (500MB); "default": ASSAY_MAX_FILE'),
  'max-files-bytes': text('SIZE', 'Of all uploads together; "default": ASSAY_FILES_QUOTA'),
}

/** Reads a cap. Null stands for the default of the settings, undefined for an option that is not given. */
function capOf(
  call: Call,
  cap: Cap,
  what: string,
  read: (given: string) => number,
): number | null | undefined {
  const option = cap.replaceAll('_', '-')
  const given = call.text(option)
  if (given === undefined) return undefined
  if (given === 'default') return null
  try {
    const value = read(given)
    if (Number.isFinite(value)) return value
  } catch {
    // The error below reports it.
  }
  throw new UsageError(`--${option} takes ${what} or "default", not ${JSON.stringify(given)}.`)
}

/** Returns the changes that the options name. */
function patchOf(call: Call) {
  const folder = call.text('folder')
  const counts = COUNTS.map((cap) => [
    cap,
    capOf(call, cap, 'a whole number', (given) => Number(/^\d{1,10}$/.exec(given)?.[0])),
  ])
  const sizes = SIZES.map((cap) => [cap, capOf(call, cap, 'a size such as 500MB', parseSize)])
  const caps = Object.fromEntries([...counts, ...sizes]) as Record<Cap, number | null | undefined>
  const data_folder = folder === undefined ? undefined : folder === 'none' ? null : path.resolve(folder)
  return { name: call.text('name'), data_folder, ...caps }
}

export const WORKSPACES = [
  showCommand(
    { name: 'workspace create', operands: 'ID', summary: 'Make a workspace', options: OPTIONS },
    (client, call) => {
      const { name = call.operands[0]!, ...patch } = patchOf(call)
      return client.workspaces.create({ workspace_id: call.operands[0]!, name, ...patch })
    },
    ({ workspace_id }) => `${workspace_id}\n`,
  ),
  listCommand(
    { name: 'workspace list', summary: 'List the workspaces' },
    [
      'WORKSPACE',
      'NAME',
      'FOLDER',
      'QUEUED',
      'RUNNING',
      'SECONDS',
      'RATE',
      'SPILL',
      'FILE',
      'FILES',
      'CREATED',
    ],
    (client) => allPages(client.workspaces.list),
    (one) => [
      one.workspace_id,
      one.name,
      one.data_folder,
      ...[...COUNTS, ...SIZES].map((cap) => one[cap]),
      one.created_at,
    ],
  ),
  clientCommand(
    {
      name: 'workspace change',
      operands: 'ID',
      summary: 'Change a workspace: its name, its folder, its caps',
      options: { json: JSON_OPTION, ...OPTIONS },
    },
    async (client, call) => {
      const patch = patchOf(call)
      if (Object.values(patch).every((value) => value === undefined))
        throw new UsageError('Name at least one option to change: see --help.')
      const workspace = await client.workspaces.change(call.operands[0]!, patch)
      if (call.on('json')) printJson(workspace)
    },
  ),
  eachCommand(
    { name: 'workspace delete', summary: 'Delete workspaces with all that is in them' },
    (client, id) => client.workspaces.delete(id),
  ),
]
