/**
 * Every command, in the order of the help. The files of the commands load what is heavy (the service, the engine, the
 * parser of templates) only when they run, so that a light command answers at once.
 */
import { ACCOUNTS } from './accounts.ts'
import { AUDIT } from './audit.ts'
import { BACKUP } from './backup.ts'
import { CHECK } from './check.ts'
import type { Command } from './command.ts'
import { CONFIG } from './config.ts'
import { CONNECTIONS } from './connections.ts'
import { DEMO } from './demo.ts'
import { EVENTS } from './events.ts'
import { FILES } from './files.ts'
import { JOBS } from './jobs.ts'
import { LINKS } from './links.ts'
import { LISTEN, TRIGGER } from './listen.ts'
import { MCP } from './mcp.ts'
import { MIGRATE } from './migrate.ts'
import { MOVE } from './move.ts'
import { NEW } from './new.ts'
import { RUN } from './run.ts'
import { SCHEDULES } from './schedules.ts'
import { SCHEMA } from './schema.ts'
import { SERVE } from './serve.ts'
import { STATUS } from './status.ts'
import { SUBSCRIPTIONS } from './subscriptions.ts'
import { TEMPLATES } from './templates.ts'
import { WEBHOOK_CARE } from './webhook-care.ts'
import { WEBHOOKS } from './webhooks.ts'

export const COMMANDS: readonly Command[] = [
  SERVE,
  DEMO,
  RUN,
  CHECK,
  NEW,
  SCHEMA,
  ...TEMPLATES,
  ...FILES,
  ...JOBS,
  ...LINKS,
  ...SCHEDULES,
  ...WEBHOOKS,
  ...WEBHOOK_CARE,
  LISTEN,
  TRIGGER,
  ...SUBSCRIPTIONS,
  EVENTS,
  MCP,
  STATUS,
  ...CONNECTIONS,
  ...ACCOUNTS,
  AUDIT,
  CONFIG,
  MIGRATE,
  MOVE,
  BACKUP,
]
