/** assay connection: where queries of templates read. Secrets come from standard input, a variable or a file. */
import type { Client, OfWorkspace } from '@assay/client'
import {
  CONNECTION_KINDS,
  type ConnectionKind,
  type ConnectionLimits,
  KINDS,
} from '@assay/model/connection-kinds'
import { type Call, type Command, JSON_OPTION, type Option, pairsOption } from '../command.ts'
import { withClient } from '../connect.ts'
import { EXIT, ExitError, UsageError } from '../exit.ts'
import { out, printJson, say, table } from '../print.ts'
import { everything, readPassword } from './accounts.ts'

const WORKSPACE: Option = { type: 'string', value: 'ID', doc: "The workspace (default: the token's own)" }

function ofWorkspace(call: Call): OfWorkspace {
  const workspace_id = call.text('workspace')
  return workspace_id ? { workspace_id } : {}
}

function kindOf(call: Call): ConnectionKind {
  const kind = call.text('kind')
  if (CONNECTION_KINDS.includes(kind as ConnectionKind)) return kind as ConnectionKind
  throw new UsageError(`--kind takes ${CONNECTION_KINDS.join(', ')}.`)
}

/** "password": from standard input; "password=env:NAME", "password=file:PATH": from there. Never on the command line. */
async function secretsOf(call: Call): Promise<Record<string, string>> {
  const secrets: Record<string, string> = {}
  for (const given of call.all('secret')) {
    const [name = '', reference] = given.split(/=(.*)/s)
    if (reference === undefined) secrets[name] = await readPassword()
    else if (/^(env|file):/.test(reference)) {
      const { followReference } = await import('@assay/service/connections/settings-file')
      secrets[name] = await followReference(reference, call.environment, process.cwd()).catch(
        (error: Error) => {
          throw new UsageError(`--secret ${name}: ${error.message}.`)
        },
      )
    } else
      throw new UsageError(
        `--secret ${name} takes env:NAME or file:PATH, or no value to read standard input.`,
      )
  }
  return secrets
}

function limitsOf(call: Call): Partial<ConnectionLimits> {
  return Object.fromEntries(
    Object.entries(pairsOption(call, 'limit')).map(([name, value]) => [name, Number(value)]),
  )
}

function optionsHelp(): string {
  return CONNECTION_KINDS.map((kind) => {
    const fields = Object.entries(KINDS[kind].options).map(([name, { required }]) =>
      required ? name : `[${name}]`,
    )
    const secrets = Object.keys(KINDS[kind].secrets).map((name) => `--secret ${name}`)
    return `  ${kind.padEnd(11)} ${[...fields, ...secrets].join(' ')}`
  }).join('\n')
}

/** Its address: an option that every kind has under a name of its own. */
function whereOf(options: Record<string, unknown>): string {
  const where = options.url ?? options.host ?? options.file
  return typeof where === 'string' ? where : '-'
}

async function test(client: Client, name: string, call: Call): Promise<number> {
  const found = await client.connections.test(name, ofWorkspace(call))
  if (call.on('json')) printJson(found)
  else if (found.ok) out(`${found.server!} answered in ${found.elapsed_ms} ms. ${found.read_only!}\n`)
  else throw new ExitError(EXIT.failed, found.detail ?? 'It cannot be used.')
  return found.ok ? EXIT.ok : EXIT.failed
}

export const CONNECTIONS: readonly Command[] = [
  {
    name: 'connection add',
    operands: 'NAME',
    summary: 'Add a connection that queries of templates read over',
    details: `Options by kind ([...] may be left out); docs/sources.md explains them:\n${optionsHelp()}`,
    options: {
      kind: { type: 'string', value: 'KIND', doc: CONNECTION_KINDS.join(', ') },
      set: { type: 'string', multiple: true, value: 'OPTION=VALUE', doc: 'An option; repeat it for more' },
      secret: {
        type: 'string',
        multiple: true,
        value: 'NAME[=REFERENCE]',
        doc: 'A secret: read from standard input, or from env:NAME or file:PATH',
      },
      limit: {
        type: 'string',
        multiple: true,
        value: 'NAME=NUMBER',
        doc: 'timeout_seconds, rows, bytes, concurrent',
      },
      description: { type: 'string', value: 'TEXT', doc: 'What is there' },
      workspace: WORKSPACE,
    },
    run: (call) =>
      withClient(call, async (client) => {
        const [name] = call.operands
        const description = call.text('description')
        const created = await client.connections.create({
          name: name!,
          kind: kindOf(call),
          options: pairsOption(call, 'set'),
          secrets: await secretsOf(call),
          limits: limitsOf(call),
          ...(description === undefined ? {} : { description }),
          ...ofWorkspace(call),
        })
        say(`Added. Try it: assay connection test ${created.name}`)
        return EXIT.ok
      }),
  },
  {
    name: 'connection list',
    operands: '',
    summary: 'List the connections',
    options: { json: JSON_OPTION, workspace: WORKSPACE },
    run: (call) =>
      withClient(call, async (client) => {
        const items = await everything((query) => client.connections.list({ ...query, ...ofWorkspace(call) }))
        if (call.on('json')) printJson(items)
        else
          out(
            table(
              ['NAME', 'KIND', 'WHERE', 'DESCRIPTION'],
              items.map(({ name, kind, options, description }) => [
                name,
                kind,
                whereOf(options),
                description,
              ]),
            ),
          )
        return EXIT.ok
      }),
  },
  {
    name: 'connection test',
    operands: 'NAME',
    summary: 'Try a connection from where jobs would',
    options: { json: JSON_OPTION, workspace: WORKSPACE },
    run: (call) => withClient(call, (client) => test(client, call.operands[0]!, call)),
  },
  {
    name: 'connection remove',
    operands: 'NAME',
    summary: 'Remove a connection',
    options: { workspace: WORKSPACE },
    run: (call) =>
      withClient(call, async (client) => {
        await client.connections.delete(call.operands[0]!, ofWorkspace(call))
        return EXIT.ok
      }),
  },
]
