/** Lists all tables except that of the migrations. A table to which others refer comes before them. */

import { GRANTS } from './accounts/grants.ts'
import { KEPT_DRAFTS } from './accounts/kept-drafts.ts'
import { COLLECTION_ITEMS, COLLECTIONS } from './jobs/collections.ts'
import { INSIGHT_CARDS } from './jobs/insight-cards.ts'
import { INSIGHTS, JOB_COUNTS, JOBS } from './jobs/jobs.ts'
import { KEPT_DAYS, KEPT_SERIES } from './jobs/kept-days.ts'
import { NODES } from './jobs/nodes.ts'
import { SCHEDULES } from './jobs/schedules.ts'
import { ATTEMPTS, DELIVERIES } from './webhooks/deliveries.ts'
import { EVENTS } from './webhooks/events.ts'
import { MAIL_CONSENTS } from './webhooks/mail-consents.ts'
import { ATTEMPT_COUNTS, RECOVERIES } from './webhooks/recoveries.ts'
import { WEBHOOK_EVENTS, WEBHOOK_FOLLOWS, WEBHOOKS } from './webhooks/webhooks.ts'
import { TOKENS, USERS, WORKSPACES } from './workspaces/accounts.ts'
import { ALLOWANCES } from './workspaces/allowances.ts'
import { AUDIT } from './workspaces/audit.ts'
import { CONNECTIONS } from './workspaces/connections.ts'
import { FILE_DIALECTS } from './workspaces/file-dialects.ts'
import { IDEMPOTENCY_KEYS } from './workspaces/idempotency-keys.ts'
import { COLLECTION_LINKS, LINKS } from './workspaces/links.ts'
import { METRICS } from './workspaces/metrics.ts'
import { NARRATIVES } from './workspaces/narratives.ts'
import { OUTGOING } from './workspaces/outgoing.ts'
import { PROCESSOR_USE } from './workspaces/processor-use.ts'
import { READERS } from './workspaces/readers.ts'
import { REPOSITORIES } from './workspaces/repositories.ts'
import { SETTINGS } from './workspaces/settings.ts'
import { SIGN_INS } from './workspaces/sign-ins.ts'
import { TEMPLATE_VERSIONS, TEMPLATES } from './workspaces/templates.ts'

export const TABLES = [
  SETTINGS,
  REPOSITORIES,
  WORKSPACES,
  USERS,
  TOKENS,
  GRANTS,
  SIGN_INS,
  TEMPLATES,
  TEMPLATE_VERSIONS,
  METRICS,
  KEPT_DRAFTS,
  CONNECTIONS,
  READERS,
  SCHEDULES,
  JOBS,
  JOB_COUNTS,
  INSIGHTS,
  INSIGHT_CARDS,
  COLLECTIONS,
  COLLECTION_ITEMS,
  LINKS,
  COLLECTION_LINKS,
  NARRATIVES,
  KEPT_SERIES,
  KEPT_DAYS,
  MAIL_CONSENTS,
  FILE_DIALECTS,
  OUTGOING,
  PROCESSOR_USE,
  WEBHOOKS,
  WEBHOOK_EVENTS,
  WEBHOOK_FOLLOWS,
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
