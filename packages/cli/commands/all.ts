/**
 * Lists every command in the order of the help. The files of the commands load what is heavy (the service, the engine,
 * the parser of templates) only when they run, so that a light command answers at once.
 */

import type { Command } from '../command.ts'
import { ACCOUNTS } from './client/accounts.ts'
import { AUDIT } from './client/audit.ts'
import { CONNECTIONS } from './client/connections.ts'
import { EVENTS } from './client/events.ts'
import { FILES } from './client/files.ts'
import { COLLECTIONS, INSIGHTS, LINKS } from './client/insights.ts'
import { JOBS } from './client/jobs.ts'
import { LISTEN } from './client/listen.ts'
import { SCHEDULES } from './client/schedules.ts'
import { STATUS } from './client/status.ts'
import { SUBSCRIPTIONS } from './client/subscriptions.ts'
import { TEMPLATES } from './client/templates.ts'
import { TRIGGER } from './client/trigger.ts'
import { WEBHOOKS } from './client/webhooks.ts'
import { WORKSPACES } from './client/workspaces.ts'
import { BRIEF } from './local/brief.ts'
import { CHECK } from './local/check.ts'
import { TEST } from './local/check-results.ts'
import { DRAFT } from './local/draft.ts'
import { EXPLAIN } from './local/explain.ts'
import { NEW } from './local/new.ts'
import { PLAN } from './local/plan.ts'
import { RUN } from './local/run.ts'
import { SCHEMA } from './local/schema.ts'
import { IMPORT_METRICS } from './metrics/import.ts'
import { METRICS } from './metrics/metrics.ts'
import { READERS } from './readers/readers.ts'
import { BACKUP } from './service/backup.ts'
import { CONFIG } from './service/config.ts'
import { DEMO } from './service/demo.ts'
import { DOCTOR } from './service/doctor.ts'
import { MCP } from './service/mcp.ts'
import { MIGRATE } from './service/migrate.ts'
import { MOVE } from './service/move.ts'
import { OUTGOING } from './service/outgoing.ts'
import { REPOSITORY } from './service/repository.ts'
import { RESTORE } from './service/restore.ts'
import { SECRETS } from './service/secrets.ts'
import { SERVE } from './service/serve.ts'
import { VERIFY } from './verify/verify.ts'

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
