/** Runs the command that the words name. */

import { VERSION } from '@assay/service/runtime/version'
import { type Command, findCommand, parseCall } from './command.ts'
import { SERVE } from './commands/service/serve.ts'
import { describeFailure, EXIT, UsageError } from './exit.ts'
import { commandHelp, groupHelp, overview } from './help.ts'
import { out, say } from './print.ts'

export interface Surroundings {
  environment: NodeJS.ProcessEnv
  /**
   * Returns the signal that is aborted when the command must stop. `listens` tells whether the command then stops by
   * itself.
   */
  stopSignal(listens: boolean): AbortSignal
}

/** Returns the commands to look among. The service, which runs for long, loads the file of its own command only. */
async function commandsFor(first: string | undefined): Promise<readonly Command[]> {
  return first === SERVE.name ? [SERVE] : (await import('./commands/all.ts')).COMMANDS
}

async function run(words: string[], { environment, stopSignal }: Surroundings): Promise<number> {
  const [first] = words
  const commands = await commandsFor(first)
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
    out(overview(commands, VERSION))
    return first === undefined ? EXIT.usage : EXIT.ok
  }
  if (first === 'help') return run([...words.slice(1), '--help'], { environment, stopSignal })
  const command = findCommand(commands, words)
  if (!command) {
    const group = commands.filter(({ name }) => name.startsWith(`${first} `))
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

/** Runs the command. Resolves with the exit code: an error becomes a sentence and a code. Never rejects. */
export function dispatch(words: string[], surroundings: Surroundings): Promise<number> {
  return run(words, surroundings).catch((error: unknown) => {
    const failure = describeFailure(error)
    say(`assay: ${failure.message}`)
    return failure.code
  })
}
