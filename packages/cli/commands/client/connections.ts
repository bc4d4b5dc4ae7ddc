/**
 * assay connection: manages the databases, servers and buckets that templates read. Secrets are read from standard
 * input, a variable or a file.
 */
import type { ConnectionTest } from '@assay/client'
import { CONNECTION_KINDS, KINDS } from '@assay/model/connection-kinds'
import { allPages, clientCommand, eachCommand, listCommand } from '../../client-command.ts'
import type { Call } from '../../command.ts'
import { EXIT, ExitError, UsageError } from '../../exit.ts'
import { choiceOption, flag, JSON_OPTION, pairsOption, text, texts, WORKSPACE } from '../../options.ts'
import { out, printJson, say } from '../../print.ts'
import { readSecret } from '../../secret-input.ts'

const workspaceOf = (call: Call) => ({ workspace_id: call.text('workspace') })

/**
 * Reads a secret: "password" from standard input, "password=env:NAME" from a variable, "password=file:PATH" from a
 * file. A secret is never on the command line.
 */
async function secretOf(call: Call, given: string): Promise<[name: string, value: string]> {
  const [name = '', reference] = given.split(/=(.*)/s)
  if (reference === undefined) return [name, await readSecret(`The secret ${name}`)]
  if (!/^(env|file):/.test(reference))
    throw new UsageError(`--secret ${name} takes env:NAME or file:PATH, or no value to read standard input.`)
  const { followReference } = await import('@assay/service/connections/settings-file')
  const value = await followReference(reference, call.environment, process.cwd()).catch((error: Error) => {
    throw new UsageError(`--secret ${name}: ${error.message}.`)
  })
  return [name, value]
}

async function secretsOf(call: Call): Promise<Record<string, string>> {
  const secrets: [string, string][] = []
  for (const given of call.all('secret')) secrets.push(await secretOf(call, given))
  return Object.fromEntries(secrets)
}

function limitsOf(call: Call): Record<string, number> {
  const given = Object.entries(pairsOption(call, 'limit'))
  return Object.fromEntries(given.map(([name, value]) => [name, Number(value)]))
}

function optionsHelp(): string {
  return CONNECTION_KINDS.map((kind) => {
    const { options, secrets } = KINDS[kind]
    const fields = Object.entries(options).map(([name, { required }]) => (required ? name : `[${name}]`))
    const hidden = Object.keys(secrets).map((name) => `--secret ${name}`)
    return `  ${kind.padEnd(11)} ${[...fields, ...hidden].join(' ')}`
  }).join('\n')
}

/** Returns the address of a connection. Each kind has an option of its own name for it. */
function addressOf(options: Record<string, unknown>): string {
  const address = options.url ?? options.host ?? options.file
  return typeof address === 'string' ? address : '-'
}

function tell({ ok, server, elapsed_ms, read_only, detail }: ConnectionTest): void {
  if (!ok) throw new ExitError(EXIT.failed, detail ?? 'It cannot be used.')
  out(`${server} answered in ${elapsed_ms} ms. ${read_only}\n`)
}

export const CONNECTIONS = [
  clientCommand(
    {
      name: 'connection add',
      operands: 'NAME',
      summary: 'Add a connection that queries of templates read over',
      details: `Options by kind ([...] may be left out); docs/sources.md explains them:\n${optionsHelp()}`,
      options: {
        kind: text('KIND', CONNECTION_KINDS.join(', ')),
        set: texts('OPTION=VALUE', 'An option; repeat it for more'),
        secret: texts(
          'NAME[=REFERENCE]',
          'A secret: read from standard input, or from env:NAME or file:PATH',
        ),
        limit: texts('NAME=NUMBER', 'timeout_seconds, rows, bytes, concurrent'),
        description: text('TEXT', 'A note for people'),
        test: flag('Try it first, and add it only if it can be used'),
        workspace: WORKSPACE,
      },
    },
    async (client, call) => {
      const kind = choiceOption(call, 'kind', CONNECTION_KINDS)
      if (!kind) throw new UsageError(`--kind takes ${CONNECTION_KINDS.join(', ')}.`)
      const input = {
        name: call.operands[0]!,
        kind,
        options: pairsOption(call, 'set'),
        secrets: await secretsOf(call),
        limits: limitsOf(call),
        description: call.text('description'),
        ...workspaceOf(call),
      }
      if (call.on('test')) tell(await client.connections.try(input))
      const { name } = await client.connections.create(input)
      say(call.on('test') ? 'Added.' : `Added. Try it: assay connection test ${name}`)
    },
  ),
  listCommand(
    { name: 'connection list', summary: 'List the connections', options: { workspace: WORKSPACE } },
    ['NAME', 'KIND', 'WHERE', 'DESCRIPTION'],
    (client, call) => allPages((page) => client.connections.list({ ...page, ...workspaceOf(call) })),
    ({ name, kind, options, description }) => [name, kind, addressOf(options), description],
  ),
  clientCommand(
    {
      name: 'connection test',
      operands: 'NAME',
      summary: 'Try a connection from where jobs would',
      options: { json: JSON_OPTION, workspace: WORKSPACE },
    },
    async (client, call) => {
      const found = await client.connections.test(call.operands[0]!, {}, workspaceOf(call))
      if (call.on('json')) printJson(found)
      else tell(found)
      return found.ok ? EXIT.ok : EXIT.failed
    },
  ),
  eachCommand(
    {
      name: 'connection remove',
      operands: 'NAME',
      summary: 'Remove a connection',
      options: { workspace: WORKSPACE },
    },
    (client, name, call) => client.connections.delete(name, workspaceOf(call)),
  ),
]
