#!/usr/bin/env node
/** The command line: finds the command, runs it, and prints an error as a sentence with an exit code. */
import { VERSION } from '@assay/service/runtime/version'
import { findCommand, parseCall } from './command.ts'
import { COMMANDS } from './commands.ts'
import { describeFailure, EXIT, UsageError } from './exit.ts'
import { commandHelp, groupHelp, overview } from './help.ts'
import { out, say } from './print.ts'

/** The first signal asks the command to stop, the second ends the process; a command that never listens ends at once. */
function stopSignal(listens: boolean): AbortSignal {
  const control = new AbortController()
  for (const [name, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const) {
    process.on(name, () => {
      if (!listens || control.signal.aborted) process.exit(code)
      control.abort()
    })
  }
  return control.signal
}

/** A reader that went away ("assay jobs list | head") ends the command without a word. */
function endOnBrokenPipe(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) =>
      process.exit(error.code === 'EPIPE' ? EXIT.ok : EXIT.internal),
    )
  }
}

async function dispatch(words: string[]): Promise<number> {
  const [first] = words
  if (first === '--version' || first === '-v') {
    out(`${VERSION}\n`)
    return EXIT.ok
  }
  if (
    first === undefined ||
    first === '--help' ||
    first === '-h' ||
    (first === 'help' && words.length === 1)
  ) {
    out(overview(COMMANDS, VERSION))
    return first === undefined ? EXIT.usage : EXIT.ok
  }
  if (first === 'help') return dispatch([...words.slice(1), '--help'])
  const command = findCommand(COMMANDS, words)
  if (!command) {
    const group = COMMANDS.filter(({ name }) => name.startsWith(`${first} `))
    if (group.length === 0)
      throw new UsageError(`There is no command ${JSON.stringify(first)}: see "assay --help".`)
    const asked = words.slice(1).every((word) => word === '--help' || word === '-h') && words.length > 1
    ;(asked ? out : say)(groupHelp(group))
    return asked ? EXIT.ok : EXIT.usage
  }
  const args = words.slice(command.name.split(' ').length)
  const call = parseCall(command, args, process.env, stopSignal(command.listens === true))
  if (!call.help) return command.run(call)
  out(commandHelp(command))
  return EXIT.ok
}

/** Waits until what was written has left the process. */
function flush(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => {
    stream.write('', () => resolve())
  })
}

endOnBrokenPipe()
const code = await dispatch(process.argv.slice(2)).catch((error: unknown) => {
  const failure = describeFailure(error)
  say(`assay: ${failure.message}`)
  return failure.code
})
await Promise.all([flush(process.stdout), flush(process.stderr)])
process.exit(code)
