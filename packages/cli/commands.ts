/**
 * Every command, in the order of the help. The files of the commands load what is heavy (the service, the engine, the
 * parser of templates) only when they run, so that a light command answers at once.
 */

import type { Command } from './command.ts'
import { ACCOUNTS } from './commands/client/accounts.ts'
import { AUDIT } from './commands/client/audit.ts'
import { CONNECTIONS } from './commands/client/connections.ts'
import { EVENTS } from './commands/client/events.ts'
import { FILES } from './commands/client/files.ts'
import { INSIGHTS, LINKS } from './commands/client/insights.ts'
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
import { NEW } from './commands/local/new.ts'
import { PLAN } from './commands/local/plan.ts'
import { RUN } from './commands/local/run.ts'
import { SCHEMA } from './commands/local/schema.ts'
import { IMPORT_METRICS } from './commands/metrics/import.ts'
import { METRICS } from './commands/metrics/metrics.ts'
import { BACKUP } from './commands/service/backup.ts'
import { CONFIG } from './commands/service/config.ts'
import { DEMO } from './commands/service/demo.ts'
import { DOCTOR } from './commands/service/doctor.ts'
import { MCP } from './commands/service/mcp.ts'
import { MIGRATE } from './commands/service/migrate.ts'
import { MOVE } from './commands/service/move.ts'
import { REPOSITORY } from './commands/service/repository.ts'
import { RESTORE } from './commands/service/restore.ts'
import { SECRETS } from './commands/service/secrets.ts'
import { SERVE } from './commands/service/serve.ts'
import { VERIFY } from './commands/verify/verify.ts'

export const COMMANDS: readonly Command[] = [
  SERVE,
  DEMO,
  RUN,
  VERIFY,
  BRIEF,
  CHECK,
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
  ...LINKS,
  ...SCHEDULES,
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
  AUDIT,
  CONFIG,
  MIGRATE,
  MOVE,
  BACKUP,
  RESTORE,
  ...SECRETS,
]
