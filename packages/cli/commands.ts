/**
 * Every command, in the order of the help. The files of the commands load what is heavy (the service, the engine, the
 * parser of templates) only when they run, so that a light command answers at once.
 */

import type { Command } from './command.ts'
import { ACCOUNTS } from './commands/accounts.ts'
import { AUDIT } from './commands/audit.ts'
import { BACKUP } from './commands/backup.ts'
import { CHECK } from './commands/check.ts'
import { CONFIG } from './commands/config.ts'
import { CONNECTIONS } from './commands/connections.ts'
import { DEMO } from './commands/demo.ts'
import { EVENTS } from './commands/events.ts'
import { FILES } from './commands/files.ts'
import { JOBS } from './commands/jobs.ts'
import { LINKS } from './commands/links.ts'
import { LISTEN } from './commands/listen.ts'
import { MCP } from './commands/mcp.ts'
import { MIGRATE } from './commands/migrate.ts'
import { MOVE } from './commands/move.ts'
import { NEW } from './commands/new.ts'
import { PLAN } from './commands/plan.ts'
import { RUN } from './commands/run.ts'
import { SCHEDULES } from './commands/schedules.ts'
import { SCHEMA } from './commands/schema.ts'
import { SERVE } from './commands/serve.ts'
import { STATUS } from './commands/status.ts'
import { SUBSCRIPTIONS } from './commands/subscriptions.ts'
import { TEMPLATES } from './commands/templates.ts'
import { TRIGGER } from './commands/trigger.ts'
import { WEBHOOKS } from './commands/webhooks.ts'
import { WORKSPACES } from './commands/workspaces.ts'

export const COMMANDS: readonly Command[] = [
  SERVE,
  DEMO,
  RUN,
  CHECK,
  PLAN,
  NEW,
  SCHEMA,
  ...TEMPLATES,
  ...FILES,
  ...JOBS,
  ...LINKS,
  ...SCHEDULES,
  ...WEBHOOKS,
  LISTEN,
  TRIGGER,
  ...SUBSCRIPTIONS,
  EVENTS,
  MCP,
  STATUS,
  ...CONNECTIONS,
  ...ACCOUNTS,
  ...WORKSPACES,
  AUDIT,
  CONFIG,
  MIGRATE,
  MOVE,
  BACKUP,
]
