/**
 * Runs commands of `assay` in a shell, each by its function in one process that stays (test/commands/commands.ts). A function
 * of the shell replaces `node`: it sends the folder, the words, the environment and the piped input, and prints and
 * returns the output of the command and its exit code. A command that is not in KEPT runs as a process of its own.
 */
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { buffer } from 'node:stream/consumers'
import { openCommands } from './commands.ts'

/** The first words of commands that end by themselves and read or write nothing while they run. */
const KEPT =
  'run check test draft brief plan new verify metrics templates files jobs links schedules webhooks subscriptions ' +
  'events token user workspace'
/** This command waits for deliveries, in the background of the shell. */
const NOT_KEPT = 'webhooks listen'

interface Sent {
  cwd: string
  args: string[]
  env: Record<string, string>
  input: string
}

/** Parses "CWD\0COUNT\0ARGUMENT\0...NAME=VALUE\0...\0INPUT". */
function readSent(body: string): Sent {
  const [cwd = '', count = '0', ...rest] = body.split('\0')
  const args = rest.slice(0, Number(count))
  const settings = rest.slice(args.length, rest.indexOf('', args.length))
  const env = settings.map((each) => [each.slice(0, each.indexOf('=')), each.slice(each.indexOf('=') + 1)])
  const input = rest.slice(args.length + settings.length + 1).join('\0')
  return { cwd, args, env: Object.fromEntries(env), input }
}

export interface ShellCommands {
  /** The text that a bash runs first. */
  functions: string
  close(): void
}

/** Opens the process. `folder`: keeps the output of commands. */
export async function openShellCommands(folder: string): Promise<ShellCommands> {
  const commands = openCommands({ cwd: folder, env: {}, keepPool: true })
  let count = 0
  const server = createServer((request, response) => {
    void buffer(request)
      .then(async (body) => {
        const { cwd, args, env, input } = readSent(body.toString('utf8'))
        count += 1
        const printed = path.join(folder, String(count))
        const { out, err, code } = await commands.run(args, { cwd, env, input })
        writeFileSync(`${printed}.out`, out)
        writeFileSync(`${printed}.err`, err)
        response.end(`${code} ${printed}`)
      })
      .catch((error: Error) => response.writeHead(500).end(error.message))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const functions = `
node() {
  if [[ $1 == bin/assay.js && "$2 $3" != '${NOT_KEPT}' && ' ${KEPT} ' == *" $2 "* ]]; then
    kept "\${@:2}"
  else
    command node "$@"
  fi
}
kept() {
  local answer
  answer=$({
    printf '%s\\0' "$PWD" "$#" "$@"
    env -0
    printf '\\0'
    if [[ -p /dev/stdin ]]; then cat; fi
  } | command curl -s --fail-with-body --data-binary @- http://127.0.0.1:${port}/) || { echo "$answer" >&2; return 70; }
  cat "\${answer#* }.out"
  cat "\${answer#* }.err" >&2
  return "\${answer%% *}"
}`
  return {
    functions,
    close() {
      commands.close()
      server.close()
      server.closeAllConnections()
    },
  }
}
