/** The methods of the store that are written once for both databases. */
import * as accounts from './accounts.ts'
import * as allowances from './allowances.ts'
import * as audit from './audit.ts'
import * as batches from './batches.ts'
import * as connections from './connections.ts'
import { eraseUser } from './erasure.ts'
import { listEvents } from './events.ts'
import * as idempotency from './idempotency.ts'
import * as insights from './insights.ts'
import * as links from './links.ts'
import * as narratives from './narratives.ts'
import { prune } from './prune.ts'
import * as recoveries from './recoveries.ts'
import * as schedules from './schedules.ts'
import * as settings from './settings.ts'
import * as templates from './templates.ts'
import * as webhooks from './webhooks.ts'

/** Each is one question to the database, or several that need not agree. */
export const READS = {
  getWorkspace: accounts.getWorkspace,
  listWorkspaces: accounts.listWorkspaces,
  findUser: accounts.findUser,
  listUsers: accounts.listUsers,
  findToken: accounts.findToken,
  listTokens: accounts.listTokens,
  getTemplate: templates.getTemplate,
  listTemplates: templates.listTemplates,
  getTemplateVersion: templates.getTemplateVersion,
  getConnection: connections.getConnection,
  listConnections: connections.listConnections,
  getInsightHead: insights.getInsightHead,
  getInsightData: insights.getInsightData,
  findLink: links.findLink,
  listLinks: links.listLinks,
  getNarrative: narratives.getNarrative,
  listAudit: audit.listAudit,
  getWebhook: webhooks.getWebhook,
  listWebhooks: webhooks.listWebhooks,
  getSchedule: schedules.getSchedule,
  listSchedules: schedules.listSchedules,
  countBatch: batches.countBatch,
  listEvents,
  getRecovery: recoveries.getRecovery,
  webhookStats: recoveries.webhookStats,
}

/** Each is one transaction and resolves once it is durable. */
export const WRITES = {
  keepOnce: settings.keepOnce,
  keepNarrative: narratives.keepNarrative,
  takeAllowances: allowances.takeAllowances,
  returnAllowances: allowances.returnAllowances,
  createWorkspace: accounts.createWorkspace,
  updateWorkspace: accounts.updateWorkspace,
  createUser: accounts.createUser,
  deleteUser: accounts.deleteUser,
  createToken: accounts.createToken,
  deleteToken: accounts.deleteToken,
  putTemplate: templates.putTemplate,
  deleteTemplate: templates.deleteTemplate,
  createConnection: connections.createConnection,
  updateConnection: connections.updateConnection,
  deleteConnection: connections.deleteConnection,
  createLink: links.createLink,
  deleteLink: links.deleteLink,
  countOpenings: links.countOpenings,
  writeAudit: audit.writeAudit,
  pruneAudit: audit.pruneAudit,
  createWebhook: webhooks.createWebhook,
  rotateSecret: webhooks.rotateSecret,
  createSchedule: schedules.createSchedule,
  updateSchedule: schedules.updateSchedule,
  deleteSchedule: schedules.deleteSchedule,
  claimSchedules: schedules.claimSchedules,
  settleSchedule: schedules.settleSchedule,
  runSchedule: schedules.runSchedule,
  createJobs: batches.createJobs,
  advanceRecoveries: recoveries.advanceRecoveries,
  eraseUser,
  prune,
  startIdempotent: idempotency.startIdempotent,
  endIdempotent: idempotency.endIdempotent,
}
