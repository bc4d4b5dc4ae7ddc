/** All tables but that of the migrations; those that others refer to first. */
import { TOKENS, USERS, WORKSPACES } from './accounts.ts'
import { ALLOWANCES } from './allowances.ts'
import { AUDIT } from './audit.ts'
import { CONNECTIONS } from './connections.ts'
import { ATTEMPTS, DELIVERIES } from './deliveries.ts'
import { EVENTS } from './events.ts'
import { IDEMPOTENCY_KEYS } from './idempotency-keys.ts'
import { INSIGHTS, JOB_COUNTS, JOBS } from './jobs.ts'
import { LINKS } from './links.ts'
import { NARRATIVES } from './narratives.ts'
import { NODES } from './nodes.ts'
import { ATTEMPT_COUNTS, RECOVERIES } from './recoveries.ts'
import { SCHEDULES } from './schedules.ts'
import { SETTINGS } from './settings.ts'
import { TEMPLATE_VERSIONS, TEMPLATES } from './templates.ts'
import { WEBHOOK_EVENTS, WEBHOOKS } from './webhooks.ts'

export const TABLES = [
  SETTINGS,
  WORKSPACES,
  USERS,
  TOKENS,
  TEMPLATES,
  TEMPLATE_VERSIONS,
  CONNECTIONS,
  SCHEDULES,
  JOBS,
  JOB_COUNTS,
  INSIGHTS,
  LINKS,
  NARRATIVES,
  WEBHOOKS,
  WEBHOOK_EVENTS,
  EVENTS,
  DELIVERIES,
  ATTEMPTS,
  ATTEMPT_COUNTS,
  RECOVERIES,
  IDEMPOTENCY_KEYS,
  ALLOWANCES,
  AUDIT,
  NODES,
] as const
