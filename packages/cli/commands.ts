/**
 * Lists every command in the order of the help, and runs the one that the words name. The files of the commands load
 * what is heavy (the service, the engine, the parser of templates) only when they run, so that a light command answers
 * at once.
 */

import { VERSION } from '@assay/service/runtime/version'
import { type Command, findCommand, parseCall } from './command.ts'
import { ACCOUNTS } from './commands/client/accounts.ts'
import { AUDIT } from './commands/client/audit.ts'
import { CONNECTIONS } from './commands/client/connections.ts'
import { EVENTS } from './commands/client/events.ts'
import { FILES } from './commands/client/files.ts'
import { COLLECTIONS, INSIGHTS, LINKS } from './commands/client/insights.ts'
import { JOBS } from './commands/client/jobs.ts'
import { LISTEN } from './commands/client/listen.ts'
import { SCHEDULES } from './commands/client/schedules.ts'
import { STATUS } from './commands/client/status.ts'
import { SUBSCRIPTIONS } from './commands/client/subscriptions.ts'
import { TEMPLATES } from './commands/client/templates.ts'
import { TRIGGER } from './commands/client/trigger.ts'
import { WEBHOOKS } from './commands/client/webhooks.ts'
import { WORKSPACES } from './commands/client/workspaces.ts'
import { BRIEF } from './commands/local/brief.ts'
import { CHECK } from './commands/local/check.ts'
import { TEST } from './commands/local/check-results.ts'
import { DRAFT } from './commands/local/draft.ts'
import { EXPLAIN } from './commands/local/explain.ts'
import { NEW } from './commands/local/new.ts'
import { PLAN } from './commands/local/plan.ts'
import { RUN } from './commands/local/run.ts'
import { SCHEMA } from './commands/local/schema.ts'
import { IMPORT_METRICS } from './commands/metrics/import.ts'
import { METRICS } from './commands/metrics/metrics.ts'
import { READERS } from './commands/readers/readers.ts'
import { BACKUP } from './commands/service/backup.ts'
import { CONFIG } from './commands/service/config.ts'
import { DEMO } from './commands/service/demo.ts'
import { DOCTOR } from './commands/service/doctor.ts'
import { MCP } from './commands/service/mcp.ts'
import { MIGRATE } from './commands/service/migrate.ts'
import { MOVE } from './commands/service/move.ts'
import { OUTGOING } from './commands/service/outgoing.ts'
import { REPOSITORY } from './commands/service/repository.ts'
import { RESTORE } from './commands/service/restore.ts'
import { SECRETS } from './commands/service/secrets.ts'
import { SERVE } from './commands/service/serve.ts'
import { VERIFY } from './commands/verify/verify.ts'
import { describeFailure, EXIT, UsageError } from './exit.ts'
import { commandHelp, groupHelp, overview } from './help.ts'
import { out, say } from './print.ts'

export const COMMANDS: readonly Command[] = [
  SERVE,
  DEMO,
  RUN,
  VERIFY,
  BRIEF,
  CHECK,
  EXPLAIN,
  TEST,
  IMPORT_METRICS,
  PLAN,
  NEW,
  DRAFT,
  SCHEMA,
  ...TEMPLATES,
  ...REPOSITORY,
  ...METRICS,
  ...FILES,
  ...JOBS,
  ...INSIGHTS,
  ...COLLECTIONS,
  ...LINKS,
  ...SCHEDULES,
  ...READERS,
  ...WEBHOOKS,
  LISTEN,
  TRIGGER,
  ...SUBSCRIPTIONS,
  EVENTS,
  MCP,
  STATUS,
  DOCTOR,
  ...CONNECTIONS,
  ...ACCOUNTS,
  ...WORKSPACES,
  ...OUTGOING,
  AUDIT,
  CONFIG,
  MIGRATE,
  MOVE,
  BACKUP,
  RESTORE,
  ...SECRETS,
]

export interface Surroundings {
  environment: NodeJS.ProcessEnv
  /**
   * Returns the signal that is aborted when the command must stop. `listens` tells whether the command then stops by
   * itself.
   */
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

/** Runs the command. Resolves with the exit code: an error becomes a sentence and a code. Never rejects. */
export function dispatch(words: string[], surroundings: Surroundings): Promise<number> {
  return run(words, surroundings).catch((error: unknown) => {
    const failure = describeFailure(error)
    say(`assay: ${failure.message}`)
    return failure.code
  })
}
