/** Finds the command that the words name and runs it. An error becomes a sentence and an exit code. */
import { VERSION } from '@assay/service/runtime/version'
import { findCommand, parseCall } from './command.ts'
import { COMMANDS } from './commands.ts'
import { describeFailure, EXIT, UsageError } from './exit.ts'
import { commandHelp, groupHelp, overview } from './help.ts'
import { out, say } from './print.ts'

export interface Surroundings {
  environment: NodeJS.ProcessEnv
  /** Aborted when the command is to stop. `listens`: the command stops by itself then. */
  stopSignal(listens: boolean): AbortSignal
}

async function run(words: string[], { environment, stopSignal }: Surroundings): Promise<number> {
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
  if (first === 'help') return run([...words.slice(1), '--help'], { environment, stopSignal })
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
  const call = parseCall(command, args, environment, stopSignal(command.listens === true))
  if (!call.help) return command.run(call)
  out(commandHelp(command))
  return EXIT.ok
}

/** Resolves with the exit code. Never rejects. */
export function dispatch(words: string[], surroundings: Surroundings): Promise<number> {
  return run(words, surroundings).catch((error: unknown) => {
    const failure = describeFailure(error)
    say(`assay: ${failure.message}`)
    return failure.code
  })
}
