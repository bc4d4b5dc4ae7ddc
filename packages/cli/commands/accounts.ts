/** assay token, user, workspace: who may do what. */
import path from 'node:path'
import type { Client, OfWorkspace } from '@assay/client'
import { SCOPES, type Scope, type WorkspacePatch } from '@assay/model/token'
import { parseDuration, parseSize } from '@assay/service/config/config'
import { type Call, type Command, JSON_OPTION, type Option } from '../command.ts'
import { withClient } from '../connect.ts'
import { EXIT, ExitError, UsageError } from '../exit.ts'
import { out, printJson, say, table } from '../print.ts'

const SCOPE: Option = {
  type: 'string',
  multiple: true,
  value: 'SCOPE',
  doc: `${SCOPES.join(', ')}; repeat for more`,
}
const WORKSPACE: Option = { type: 'string', value: 'ID', doc: "The workspace (default: the token's own)" }

/** Tokens and users belong to a workspace; workspaces do not. */
function ofOne(name: string): Record<string, Option> {
  return name.startsWith('workspace') ? {} : { workspace: WORKSPACE }
}

function ofWorkspace(call: Call): OfWorkspace {
  const workspace_id = call.text('workspace')
  return workspace_id ? { workspace_id } : {}
}

function scopesOf(call: Call, fallback: Scope): Scope[] {
  const given = call.all('scope')
  for (const scope of given) {
    if (!SCOPES.includes(scope as Scope))
      throw new UsageError(`--scope takes ${SCOPES.join(', ')}, not ${JSON.stringify(scope)}.`)
  }
  return given.length > 0 ? (given as Scope[]) : [fallback]
}

function expiry(call: Call): string | undefined {
  const text = call.text('expires')
  if (text === undefined) return undefined
  try {
    return new Date(Date.now() + parseDuration(text)).toISOString()
  } catch (error) {
    throw new UsageError(`--expires ${(error as Error).message}.`)
  }
}

/** From a pipe the password is the first line; on a terminal it is asked for and not shown. */
export async function readPassword(): Promise<string> {
  const { createInterface } = await import('node:readline/promises')
  const { Writable } = await import('node:stream')
  if (process.stdin.isTTY) process.stderr.write('Password: ')
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() })
  const lines = createInterface({
    input: process.stdin,
    output: silent,
    terminal: process.stdin.isTTY,
  })
  try {
    for await (const line of lines) return line
    throw new UsageError('The password is read from standard input, which is empty.')
  } finally {
    lines.close()
    if (process.stdin.isTTY) process.stderr.write('\n')
  }
}

/** Every row of a list that comes in pages. */
export async function everything<T>(
  list: (query: { limit: number; cursor?: string }) => Promise<{ items: T[]; next_cursor: string | null }>,
): Promise<T[]> {
  const items: T[] = []
  let cursor: string | null = null
  do {
    const page: { items: T[]; next_cursor: string | null } = await list({
      limit: 200,
      ...(cursor ? { cursor } : {}),
    })
    items.push(...page.items)
    cursor = page.next_cursor
  } while (cursor)
  return items
}

function lister<T>(
  name: string,
  summary: string,
  header: string[],
  list: (client: Client, of: OfWorkspace) => Promise<T[]>,
  row: (item: T) => (string | null)[],
): Command {
  return {
    name,
    operands: '',
    summary,
    options: { json: JSON_OPTION, ...ofOne(name) },
    run: (call) =>
      withClient(call, async (client) => {
        const items = await list(client, ofWorkspace(call))
        if (call.on('json')) printJson(items)
        else out(table(header, items.map(row)))
        return EXIT.ok
      }),
  }
}

export function deleter(
  name: string,
  summary: string,
  remove: (client: Client, id: string, of: OfWorkspace) => Promise<void>,
): Command {
  return {
    name,
    operands: 'ID...',
    summary,
    options: ofOne(name),
    run: (call) =>
      withClient(call, async (client) => {
        for (const id of call.operands) await remove(client, id, ofWorkspace(call))
        return EXIT.ok
      }),
  }
}

const TOKEN_CREATE: Command = {
  name: 'token create',
  operands: '[NAME]',
  summary: 'Make a token and print it, this once',
  options: {
    json: JSON_OPTION,
    scope: SCOPE,
    expires: {
      type: 'string',
      value: 'DURATION',
      doc: 'Valid for so long, e.g. 30d (default: until deleted)',
    },
    workspace: WORKSPACE,
    user: { type: 'string', value: 'ID', doc: 'The user it belongs to (default: who makes it)' },
  },
  run: (call) =>
    withClient(call, async (client) => {
      const [expires_at, workspace_id, user_id] = [expiry(call), call.text('workspace'), call.text('user')]
      const token = await client.tokens.create({
        name: call.operands[0] ?? 'command line',
        scopes: scopesOf(call, 'admin'),
        ...(expires_at ? { expires_at } : {}),
        ...(workspace_id ? { workspace_id } : {}),
        ...(user_id ? { user_id } : {}),
      })
      if (call.on('json')) printJson(token)
      else out(`${token.token}\n`)
      return EXIT.ok
    }),
}

const USER_CREATE: Command = {
  name: 'user create',
  operands: 'NAME',
  summary: 'Make a user; the password is read from standard input',
  options: { json: JSON_OPTION, scope: SCOPE, workspace: WORKSPACE },
  run: (call) =>
    withClient(call, async (client) => {
      const workspace_id = call.text('workspace')
      const user = await client.users.create({
        username: call.operands[0]!,
        password: await readPassword(),
        scopes: scopesOf(call, 'analyst'),
        ...(workspace_id ? { workspace_id } : {}),
      })
      if (call.on('json')) printJson(user)
      else out(`${user.user_id}\n`)
      return EXIT.ok
    }),
}

const WORKSPACE_OPTIONS: Record<string, Option> = {
  json: JSON_OPTION,
  name: { type: 'string', value: 'TEXT', doc: 'A name for people' },
  folder: { type: 'string', value: 'FOLDER', doc: 'The folder its "file:" sources read; none: "none"' },
  'max-queued': {
    type: 'string',
    value: 'NUMBER',
    doc: 'Jobs queued at a time; "default": ASSAY_MAX_QUEUED',
  },
  'max-running': {
    type: 'string',
    value: 'NUMBER',
    doc: 'Jobs running at a time, 0 holds them; "default": ASSAY_MAX_RUNNING',
  },
  'rate-limit': {
    type: 'string',
    value: 'NUMBER',
    doc: 'Requests a second on each node; "default": ASSAY_WORKSPACE_RATE_LIMIT',
  },
  'max-file-bytes': {
    type: 'string',
    value: 'SIZE',
    doc: 'Of one upload (500MB); "default": ASSAY_MAX_FILE',
  },
  'max-files-bytes': {
    type: 'string',
    value: 'SIZE',
    doc: 'Of all uploads together; "default": ASSAY_FILES_QUOTA',
  },
}

/** What was given, and nothing else. */
function workspacePatch(call: Call): WorkspacePatch {
  const patch: WorkspacePatch = {}
  const [name, folder] = [call.text('name'), call.text('folder')]
  if (name !== undefined) patch.name = name
  if (folder !== undefined) patch.data_folder = folder === 'none' ? null : path.resolve(folder)
  for (const key of ['max_queued', 'max_running', 'rate_limit'] as const) {
    const text = call.text(key.replace('_', '-'))
    if (text !== undefined) patch[key] = capOf(key, text, (given) => Number(/^\d{1,10}$/.exec(given)?.[0]))
  }
  for (const key of ['max_file_bytes', 'max_files_bytes'] as const) {
    const text = call.text(key.replaceAll('_', '-'))
    if (text !== undefined) patch[key] = capOf(key, text, parseSize)
  }
  return patch
}

/** Null: as the settings say. */
function capOf(key: string, text: string, read: (text: string) => number): number | null {
  if (text === 'default') return null
  try {
    const value = read(text)
    if (Number.isFinite(value)) return value
  } catch {
    // It is told below.
  }
  const what = key.endsWith('bytes') ? 'a size such as 500MB' : 'a whole number'
  throw new UsageError(
    `--${key.replaceAll('_', '-')} takes ${what} or "default", not ${JSON.stringify(text)}.`,
  )
}

const WORKSPACE_CHANGE: Command = {
  name: 'workspace change',
  operands: 'ID',
  summary: 'Change a workspace: its name, its folder, what it may take of the service',
  options: WORKSPACE_OPTIONS,
  run: (call) =>
    withClient(call, async (client) => {
      const patch = workspacePatch(call)
      if (Object.keys(patch).length === 0) throw new UsageError('Say what to change: see --help.')
      const workspace = await client.workspaces.change(call.operands[0]!, patch)
      if (call.on('json')) printJson(workspace)
      return EXIT.ok
    }),
}

/** As a user of the service, or by a token. */
async function isKnown(client: Client, user_id: string, of: OfWorkspace): Promise<boolean> {
  const [users, tokens] = await Promise.all([
    everything((page) => client.users.list({ ...page, ...of })),
    everything((page) => client.tokens.list({ ...page, ...of })),
  ])
  return [...users, ...tokens].some((one) => one.user_id === user_id)
}

const USER_ERASE: Command = {
  name: 'user erase',
  operands: 'ID',
  summary: 'Erase all jobs of a user, with insights, events and deliveries',
  options: { json: JSON_OPTION, workspace: WORKSPACE },
  run: (call) =>
    withClient(call, async (client) => {
      const user_id = call.operands[0]!
      const total = { jobs: 0, events: 0 }
      for (let cursor: string | null | undefined; cursor !== null; ) {
        const query = { ...ofWorkspace(call), ...(cursor ? { cursor } : {}) }
        const step = await client.users.eraseJobs(user_id, query)
        total.jobs += step.jobs
        total.events += step.events
        cursor = step.next_cursor
        if (cursor !== null && step.jobs + step.events > 0)
          say(`${total.jobs} jobs and ${total.events} events are erased ...`)
      }
      if (total.jobs + total.events === 0 && !(await isKnown(client, user_id, ofWorkspace(call))))
        throw new ExitError(
          EXIT.notFound,
          `Nothing of the user ${JSON.stringify(user_id)} was found: "assay user list" shows the ids.`,
        )
      if (call.on('json')) printJson(total)
      else out(`${total.jobs} jobs and ${total.events} events were erased.\n`)
      return EXIT.ok
    }),
}

const WORKSPACE_CREATE: Command = {
  name: 'workspace create',
  operands: 'ID',
  summary: 'Make a workspace',
  options: WORKSPACE_OPTIONS,
  run: (call) =>
    withClient(call, async (client) => {
      const workspace_id = call.operands[0]!
      const workspace = await client.workspaces.create({
        workspace_id,
        name: workspace_id,
        ...workspacePatch(call),
      })
      if (call.on('json')) printJson(workspace)
      else out(`${workspace.workspace_id}\n`)
      return EXIT.ok
    }),
}

export const ACCOUNTS: Command[] = [
  TOKEN_CREATE,
  lister(
    'token list',
    'List the tokens of the workspace',
    ['TOKEN', 'NAME', 'SCOPES', 'USER', 'EXPIRES', 'CREATED'],
    (client, of) => everything((page) => client.tokens.list({ ...page, ...of })),
    (token) => [
      token.token_id,
      token.name,
      token.scopes.join(','),
      token.user_id,
      token.expires_at,
      token.created_at,
    ],
  ),
  deleter('token delete', 'Delete tokens: they stop working at once', (client, id, of) =>
    client.tokens.delete(id, of),
  ),
  USER_CREATE,
  lister(
    'user list',
    'List the users of the workspace',
    ['USER', 'NAME', 'SCOPES', 'CREATED'],
    (client, of) => everything((page) => client.users.list({ ...page, ...of })),
    (user) => [user.user_id, user.username, user.scopes.join(','), user.created_at],
  ),
  deleter('user delete', 'Delete users with their tokens', (client, id, of) => client.users.delete(id, of)),
  USER_ERASE,
  WORKSPACE_CREATE,
  lister(
    'workspace list',
    'List the workspaces',
    ['WORKSPACE', 'NAME', 'FOLDER', 'QUEUED', 'RUNNING', 'RATE', 'FILE', 'FILES', 'CREATED'],
    (client) => everything(client.workspaces.list),
    (workspace) => [
      workspace.workspace_id,
      workspace.name,
      workspace.data_folder,
      ...(['max_queued', 'max_running', 'rate_limit', 'max_file_bytes', 'max_files_bytes'] as const).map(
        (cap) => workspace[cap]?.toString() ?? null,
      ),
      workspace.created_at,
    ],
  ),
  WORKSPACE_CHANGE,
  deleter('workspace delete', 'Delete workspaces with all that is in them', (client, id) =>
    client.workspaces.delete(id),
  ),
]
