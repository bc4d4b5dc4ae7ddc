/** assay token, assay user: manage the users of a workspace and their tokens. */
import type { Client } from '@assay/client'
import { hasLapsed, SCOPES, type Scope, type User } from '@assay/model/token'
import { allPages, clientCommand, eachCommand, listCommand, showCommand } from '../../client-command.ts'
import type { Call } from '../../command.ts'
import { EXIT, ExitError, UsageError } from '../../exit.ts'
import { choicesOption, durationOption, flag, JSON_OPTION, text, texts, WORKSPACE } from '../../options.ts'
import { out, printJson, say } from '../../print.ts'
import { readSecret } from '../../secret-input.ts'

const SCOPE = texts('SCOPE', `${SCOPES.join(', ')}; repeat for more`)

const workspaceOf = (call: Call) => ({ workspace_id: call.text('workspace') })
const scopesOf = (call: Call, otherwise: Scope): Scope[] =>
  choicesOption(call, 'scope', SCOPES) ?? [otherwise]

function expiry(call: Call): string | undefined {
  const duration = durationOption(call, 'expires')
  return duration === undefined ? undefined : new Date(Date.now() + duration).toISOString()
}

/**
 * Returns the state of a user. `lapsed` means that the scopes come from a sign-in provider at which the user has not
 * signed in for too long.
 */
function stateOf(user: User): string {
  if (user.disabled) return 'disabled'
  return hasLapsed(user, Date.now()) ? 'lapsed' : 'enabled'
}

const listUsers = (client: Client, call: Call) =>
  allPages((page) => client.users.list({ ...page, ...workspaceOf(call) }))
const listTokens = (client: Client, call: Call) =>
  allPages((page) => client.tokens.list({ ...page, ...workspaceOf(call) }))

const USER_ERASE = clientCommand(
  {
    name: 'user erase',
    operands: 'ID',
    summary: 'Erase all jobs of a user, with insights, events and deliveries',
    options: { json: JSON_OPTION, workspace: WORKSPACE },
  },
  async (client, call) => {
    const user_id = call.operands[0]!
    const total = { jobs: 0, events: 0 }
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const step = await client.users.eraseJobs(user_id, { ...workspaceOf(call), cursor })
      total.jobs += step.jobs
      total.events += step.events
      cursor = step.next_cursor
      if (cursor !== null && step.jobs + step.events > 0)
        say(`${total.jobs} jobs and ${total.events} events are erased ...`)
    }
    if (total.jobs + total.events === 0) {
      const known = [...(await listUsers(client, call)), ...(await listTokens(client, call))]
      if (!known.some((one) => one.user_id === user_id))
        throw new ExitError(
          EXIT.notFound,
          `No data of the user ${JSON.stringify(user_id)} exists: "assay user list" shows the ids.`,
        )
    }
    if (call.on('json')) printJson(total)
    else out(`${total.jobs} jobs and ${total.events} events were erased.\n`)
  },
)

/** Returns the highest scope that a new token may have. */
function usualScope(call: Call): Scope {
  if (call.all('collection').length > 0) return 'viewer'
  return call.all('template').length > 0 ? 'analyst' : 'admin'
}

export const ACCOUNTS = [
  showCommand(
    {
      name: 'token create',
      operands: '[NAME]',
      summary: 'Make a token and print it, this once',
      options: {
        scope: SCOPE,
        template: texts(
          'ID',
          'Limit it to this template: it runs it and reads its insights; repeat for more',
        ),
        collection: texts(
          'ID',
          'Limit it to the insights that this collection shows, which it reads; repeat for more',
        ),
        expires: text('DURATION', 'How long it is valid, e.g. 30d (default: until deleted)'),
        workspace: WORKSPACE,
        own: flag('It belongs to your own user; without it, to the service account "service:NAME"'),
      },
    },
    async (client, call) =>
      client.tokens.create({
        name: call.operands[0] ?? 'command line',
        scopes: scopesOf(call, usualScope(call)),
        ...(call.all('template').length > 0 ? { templates: call.all('template') } : {}),
        ...(call.all('collection').length > 0 ? { collections: call.all('collection') } : {}),
        expires_at: expiry(call),
        ...(call.on('own') ? { user_id: (await client.me()).user_id } : {}),
        ...workspaceOf(call),
      }),
    ({ token }) => `${token}\n`,
  ),
  listCommand(
    { name: 'token list', summary: 'List the tokens of the workspace', options: { workspace: WORKSPACE } },
    ['TOKEN', 'NAME', 'SCOPES', 'ONLY', 'USER', 'EXPIRES', 'LAST USED', 'CREATED'],
    listTokens,
    (one) => [
      one.token_id,
      one.name,
      one.scopes.join(','),
      (one.templates ?? one.collections)?.join(',') ?? 'all',
      one.user_id,
      one.expires_at,
      one.last_used_at,
      one.created_at,
    ],
  ),
  showCommand(
    {
      name: 'token change',
      operands: 'ID',
      summary: 'Change the name or the end of a token, or take scopes away',
      options: {
        name: text('NAME', 'Its new name'),
        scope: texts('SCOPE', 'The scopes that are left to it; repeat for more'),
        expires: text('DURATION', 'How long it is valid from now on, e.g. 30d, or never'),
        workspace: WORKSPACE,
      },
    },
    async (client, call) => {
      const scopes = choicesOption(call, 'scope', SCOPES)
      const name = call.text('name')
      const expires_at = call.text('expires') === 'never' ? null : expiry(call)
      if (name === undefined && !scopes && expires_at === undefined)
        throw new UsageError('Say what to change: --name, --scope or --expires.')
      return client.tokens.update(
        call.operands[0]!,
        {
          ...(name === undefined ? {} : { name }),
          ...(scopes ? { scopes } : {}),
          ...(expires_at === undefined ? {} : { expires_at }),
        },
        workspaceOf(call),
      )
    },
    ({ token_id }) => `${token_id}\n`,
  ),
  eachCommand(
    {
      name: 'token delete',
      summary: 'Delete tokens: they stop working at once',
      options: { workspace: WORKSPACE },
    },
    (client, id, call) => client.tokens.delete(id, workspaceOf(call)),
  ),
  showCommand(
    {
      name: 'user create',
      operands: 'NAME',
      summary: 'Make a user; the password is read from standard input',
      options: { scope: SCOPE, workspace: WORKSPACE },
    },
    async (client, call) =>
      client.users.create({
        username: call.operands[0]!,
        password: await readSecret('The password'),
        scopes: scopesOf(call, 'analyst'),
        ...workspaceOf(call),
      }),
    ({ user_id }) => `${user_id}\n`,
  ),
  listCommand(
    { name: 'user list', summary: 'List the users of the workspace', options: { workspace: WORKSPACE } },
    ['USER', 'NAME', 'SCOPES', 'STATE', 'CREATED'],
    listUsers,
    (user) => [user.user_id, user.username, user.scopes.join(','), stateOf(user), user.created_at],
  ),
  showCommand(
    {
      name: 'user change',
      operands: 'ID',
      summary: "Change the scopes or the password of a user, or disable the user; ends the user's sign-ins",
      options: {
        scope: SCOPE,
        password: flag('Set the password that is read from standard input'),
        disable: flag('Let the user neither sign in nor use tokens'),
        enable: flag('Undo --disable'),
        workspace: WORKSPACE,
      },
    },
    async (client, call) => {
      const scopes = choicesOption(call, 'scope', SCOPES)
      const [disable, enable, password] = [call.on('disable'), call.on('enable'), call.on('password')]
      if (disable && enable) throw new UsageError('--disable and --enable contradict each other: give one.')
      if (!disable && !enable && !password && !scopes)
        throw new UsageError('Say what to change: --scope, --password, --disable or --enable.')
      return client.users.update(
        call.operands[0]!,
        {
          ...(scopes ? { scopes } : {}),
          ...(password ? { password: await readSecret('The password') } : {}),
          ...(disable || enable ? { disabled: disable } : {}),
        },
        workspaceOf(call),
      )
    },
    ({ user_id }) => `${user_id}\n`,
  ),
  eachCommand(
    {
      name: 'user sign-out',
      summary: 'Sign users out everywhere: browsers, and the tokens of logins',
      options: { workspace: WORKSPACE },
    },
    (client, id, call) => client.users.signOut(id, workspaceOf(call)),
  ),
  eachCommand(
    { name: 'user delete', summary: 'Delete users with their tokens', options: { workspace: WORKSPACE } },
    (client, id, call) => client.users.delete(id, workspaceOf(call)),
  ),
  USER_ERASE,
]
