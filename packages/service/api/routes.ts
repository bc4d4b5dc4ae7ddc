/** Every route of the HTTP API. A slash at the end of a path is optional. Parameters are in braces. */

import * as login from './accounts/login.ts'
import * as provider from './accounts/provider-pages.ts'
import * as signIns from './accounts/sign-ins.ts'
import * as tokens from './accounts/tokens.ts'
import * as users from './accounts/users.ts'
import * as workspaces from './accounts/workspaces.ts'
import * as audit from './admin/audit.ts'
import * as health from './admin/health.ts'
import * as outgoing from './admin/outgoing.ts'
import * as system from './admin/system.ts'
import * as connectionTests from './connections/connection-tests.ts'
import * as connections from './connections/connections.ts'
import * as files from './files/files.ts'
import type { Operation } from './http/operation.ts'
import * as collections from './insights/collections.ts'
import * as insights from './insights/insights.ts'
import * as readings from './insights/readings.ts'
import * as batches from './jobs/batches.ts'
import * as live from './jobs/job-events.ts'
import * as jobTemplates from './jobs/job-template.ts'
import * as jobs from './jobs/jobs.ts'
import * as results from './jobs/result.ts'
import * as collectionLinks from './links/collection-links.ts'
import * as linkPage from './links/link-page.ts'
import * as links from './links/links.ts'
import * as metrics from './metrics/metrics.ts'
import * as consent from './oauth/consent.ts'
import * as discovery from './oauth/metadata.ts'
import * as own from './oauth/own.ts'
import * as grants from './oauth/tokens.ts'
import * as console from './pages/console.ts'
import * as embed from './pages/embed.ts'
import * as agents from './pages/mcp.ts'
import * as pages from './pages/pages.ts'
import * as readers from './readers/readers.ts'
import * as repository from './repository/repository.ts'
import * as schedules from './schedules/schedules.ts'
import * as confirming from './subscriptions/confirm-page.ts'
import * as subscriptions from './subscriptions/subscriptions.ts'
import * as unsubscribing from './subscriptions/unsubscribe-page.ts'
import * as drafts from './templates/drafts.ts'
import * as explained from './templates/explained.ts'
import * as keptDrafts from './templates/kept-drafts.ts'
import * as templates from './templates/templates.ts'
import * as deliveries from './webhooks/deliveries.ts'
import * as events from './webhooks/events.ts'
import * as webhooks from './webhooks/webhooks.ts'

export interface Route {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  path: string
  operation: Operation
  /** Whether nodes without the role `api` serve it, too. */
  everywhere: boolean
}

function on(address: `${Route['method']} /${string}`, operation: Operation, everywhere = false): Route {
  const [method, path] = address.split(' ') as [Route['method'], string]
  return { method, path, operation, everywhere }
}

export const ROUTES: readonly Route[] = [
  on('GET /v1alpha/jobs/templates', templates.listTemplates),
  on('POST /v1alpha/jobs/templates/check', templates.checkTemplate),
  on('POST /v1alpha/jobs/templates/preview', templates.previewTemplate),
  on('POST /v1alpha/jobs/templates/explain', explained.explainTemplate),
  on('GET /v1alpha/jobs/templates/{template_id}', templates.getTemplate),
  on('PUT /v1alpha/jobs/templates/{template_id}', templates.putTemplate),
  on('DELETE /v1alpha/jobs/templates/{template_id}', templates.deleteTemplate),
  on('GET /v1alpha/jobs/templates/{template_id}/choices', templates.listChoices),

  on('GET /v1alpha/metrics', metrics.listMetrics),
  on('POST /v1alpha/metrics/check', metrics.checkMetric),
  on('GET /v1alpha/metrics/{metric_id}', metrics.getMetric),
  on('PUT /v1alpha/metrics/{metric_id}', metrics.putMetric),
  on('DELETE /v1alpha/metrics/{metric_id}', metrics.deleteMetric),

  on('GET /v1alpha/repository', repository.getRepository),
  on('POST /v1alpha/repository/pull', repository.pullRepository),
  on('POST /v1alpha/repository/push', repository.repositoryPushed),
  on('POST /v1alpha/repository/branches', repository.proposeChange),

  on('POST /v1alpha/drafts', drafts.createDraft),
  on('GET /v1alpha/drafts', keptDrafts.listKeptDrafts),
  on('GET /v1alpha/drafts/{draft_id}', keptDrafts.getKeptDraft),
  on('DELETE /v1alpha/drafts/{draft_id}', keptDrafts.deleteKeptDraft),
  on('PUT /v1alpha/drafts/{kind}/{name}', keptDrafts.keepDraft),

  on('POST /v1alpha/jobs/', jobs.createJob),
  on('POST /v1alpha/jobs/bulk', batches.createJobs),
  on('POST /v1alpha/jobs/bulk/check', batches.checkJobs),
  on('GET /v1alpha/jobs/batches/{batch_id}', batches.readBatch),
  on('GET /v1alpha/jobs/', jobs.listJobs),
  on('POST /v1alpha/jobs/run', jobs.runJob),
  on('GET /v1alpha/jobs/status', jobs.jobStatus),
  on('GET /v1alpha/jobs/result', results.readResult),
  on('GET /v1alpha/jobs/events', live.jobEvents),
  on('POST /v1alpha/jobs/cancel', jobs.cancelJob),
  on('DELETE /v1alpha/jobs/{assignment_id}', jobs.deleteJob),
  on('GET /v1alpha/jobs/{assignment_id}/template', jobTemplates.getJobTemplate),

  on('GET /v1alpha/insights', insights.listInsights),
  on('GET /v1alpha/insights/{insight_id}/earlier', insights.earlierInsights),
  on('GET /v1alpha/insights/{insight_id}/beside/{earlier_id}', insights.overlayCharts),
  on('PUT /v1alpha/insights/{insight_id}/pin', collections.pinInsight),
  on('DELETE /v1alpha/insights/{insight_id}/pin', collections.unpinInsight),
  on('GET /v1alpha/insights/{insight_id}/readings', readings.listReadings),
  on('POST /v1alpha/insights/{insight_id}/links', links.createLink),
  on('GET /v1alpha/insights/{insight_id}/links', links.listLinks),
  on('DELETE /v1alpha/insights/{insight_id}/links/{link_id}', links.deleteLink),

  on('POST /v1alpha/collections/{collection_id}/links', collectionLinks.createCollectionLink),
  on('GET /v1alpha/collections/{collection_id}/links', collectionLinks.listCollectionLinks),
  on('DELETE /v1alpha/collections/{collection_id}/links/{link_id}', collectionLinks.deleteCollectionLink),
  on('POST /v1alpha/collections', collections.createCollection),
  on('GET /v1alpha/collections', collections.listCollections),
  on('GET /v1alpha/collections/{collection_id}', collections.getCollection),
  on('PATCH /v1alpha/collections/{collection_id}', collections.changeCollection),
  on('DELETE /v1alpha/collections/{collection_id}', collections.deleteCollection),
  on('PUT /v1alpha/collections/{collection_id}/insights/{insight_id}', collections.addToCollection),
  on('DELETE /v1alpha/collections/{collection_id}/insights/{insight_id}', collections.removeFromCollection),

  on('POST /v1alpha/schedules', schedules.createSchedule),
  on('GET /v1alpha/schedules', schedules.listSchedules),
  on('GET /v1alpha/schedules/preview', schedules.previewSchedule),
  on('GET /v1alpha/schedules/{schedule_id}', schedules.getSchedule),
  on('PATCH /v1alpha/schedules/{schedule_id}', schedules.changeSchedule),
  on('DELETE /v1alpha/schedules/{schedule_id}', schedules.deleteSchedule),
  on('POST /v1alpha/schedules/{schedule_id}/run-now', schedules.runScheduleNow),

  on('GET /v1alpha/files', files.listFiles),
  on('GET /v1alpha/files/{path...}', files.getFile),
  on('PUT /v1alpha/files/{path...}', files.putFile),
  on('DELETE /v1alpha/files/{path...}', files.deleteFile),

  on('POST /v1alpha/webhooks/', webhooks.createWebhook),
  on('GET /v1alpha/webhooks/', webhooks.listWebhooks),
  on('GET /v1alpha/webhooks/deliveries/{delivery_id}', deliveries.getDelivery),
  on('POST /v1alpha/webhooks/deliveries/{delivery_id}/redeliver', deliveries.redeliver),
  on('GET /v1alpha/webhooks/{webhook_id}', webhooks.getWebhook),
  on('PATCH /v1alpha/webhooks/{webhook_id}', webhooks.changeWebhook),
  on('DELETE /v1alpha/webhooks/{webhook_id}', webhooks.deleteWebhook),
  on('POST /v1alpha/webhooks/{webhook_id}/test', webhooks.testWebhook),
  on('POST /v1alpha/webhooks/{webhook_id}/rotate-secret', webhooks.rotateSecret),
  on('GET /v1alpha/webhooks/{webhook_id}/deliveries', deliveries.listDeliveries),
  on('POST /v1alpha/webhooks/{webhook_id}/recover', deliveries.recoverDeliveries),
  on('GET /v1alpha/webhooks/{webhook_id}/recoveries/{recovery_id}', deliveries.getRecovery),
  on('POST /v1alpha/webhooks/{webhook_id}/cancel-pending', deliveries.cancelPending),
  on('GET /v1alpha/webhooks/{webhook_id}/stats', deliveries.getWebhookStats),

  on('POST /v1alpha/subscriptions', subscriptions.createSubscription),
  on('GET /v1alpha/subscriptions', subscriptions.listSubscriptions),
  on('GET /v1alpha/subscriptions/{subscription_id}', subscriptions.getSubscription),
  on('PATCH /v1alpha/subscriptions/{subscription_id}', subscriptions.changeSubscription),
  on('DELETE /v1alpha/subscriptions/{subscription_id}', subscriptions.deleteSubscription),
  on('POST /v1alpha/subscriptions/{subscription_id}/test', webhooks.testSubscription),
  on('GET /v1alpha/subscriptions/{subscription_id}/deliveries', deliveries.listSubscriptionDeliveries),
  on('POST /v1alpha/subscriptions/{subscription_id}/recover', deliveries.recoverSubscription),
  on(
    'GET /v1alpha/subscriptions/{subscription_id}/recoveries/{recovery_id}',
    deliveries.getSubscriptionRecovery,
  ),
  on('POST /v1alpha/subscriptions/{subscription_id}/cancel-pending', deliveries.cancelSubscriptionPending),
  on('GET /v1alpha/subscriptions/{subscription_id}/stats', deliveries.getSubscriptionStats),

  on('GET /v1alpha/connections', connections.listConnections),
  on('POST /v1alpha/connections', connections.createConnection),
  on('GET /v1alpha/connections/{name}', connections.getConnection),
  on('PATCH /v1alpha/connections/{name}', connections.changeConnection),
  on('DELETE /v1alpha/connections/{name}', connections.deleteConnection),
  on('POST /v1alpha/connections/test', connectionTests.tryConnection),
  on('POST /v1alpha/connections/{name}/test', connectionTests.testConnection),

  on('GET /v1alpha/readers', readers.listReaders),
  on('PUT /v1alpha/readers', readers.putReaders),
  on('GET /v1alpha/readers/{reader_id}', readers.getReader),
  on('PUT /v1alpha/readers/{reader_id}', readers.putReader),
  on('DELETE /v1alpha/readers/{reader_id}', readers.deleteReader),

  on('GET /v1alpha/events', events.listEvents),
  on('GET /v1alpha/events/types', events.listEventTypes),

  on('POST /v1alpha/auth/login', login.login),
  on('POST /v1alpha/auth/logout', login.logout),
  on('GET /v1alpha/auth/me', login.whoAmI),
  on('POST /v1alpha/auth/password', users.changePassword),
  on('GET /v1alpha/auth/ways', signIns.signInWays),
  on('POST /v1alpha/auth/sign-ins', signIns.beginSignIn),
  on('GET /v1alpha/auth/sign-ins', signIns.listSignIns),
  on('DELETE /v1alpha/auth/sign-ins/{sign_in_id}', signIns.endSignIn),
  on('DELETE /v1alpha/auth/sign-ins', signIns.endSignIns),
  on('GET /v1alpha/auth/grants', consent.readGrantRequest),
  on('POST /v1alpha/auth/grants', consent.createGrant),
  on('GET /v1alpha/auth/grants/own', own.listGrants),
  on('DELETE /v1alpha/auth/grants/{token_id}', own.endGrant),
  on('GET /v1alpha/tokens', tokens.listTokens),
  on('POST /v1alpha/tokens', tokens.createToken),
  on('GET /v1alpha/tokens/{token_id}', tokens.getToken),
  on('PATCH /v1alpha/tokens/{token_id}', tokens.changeToken),
  on('DELETE /v1alpha/tokens/{token_id}', tokens.deleteToken),
  on('GET /v1alpha/users', users.listUsers),
  on('POST /v1alpha/users', users.createUser),
  on('GET /v1alpha/users/{user_id}', users.getUser),
  on('PATCH /v1alpha/users/{user_id}', users.changeUser),
  on('DELETE /v1alpha/users/{user_id}', users.deleteUser),
  on('DELETE /v1alpha/users/{user_id}/sign-ins', users.endUserSignIns),
  on('DELETE /v1alpha/users/{user_id}/jobs', users.eraseUserJobs),
  on('GET /v1alpha/workspaces', workspaces.listWorkspaces),
  on('POST /v1alpha/workspaces', workspaces.createWorkspace),
  on('GET /v1alpha/workspaces/{workspace_id}', workspaces.getWorkspace),
  on('PATCH /v1alpha/workspaces/{workspace_id}', workspaces.changeWorkspace),
  on('DELETE /v1alpha/workspaces/{workspace_id}', workspaces.deleteWorkspace),
  on('GET /v1alpha/outgoing', outgoing.readOutgoing),
  on('PATCH /v1alpha/outgoing', outgoing.changeOutgoing),
  on('GET /v1alpha/audit', audit.listAudit),
  on('GET /v1alpha/nodes', system.listNodes),
  on('GET /v1alpha/queue', system.readQueue),
  on('GET /v1alpha/settings', system.listSettings),

  on('POST /mcp', agents.mcp),
  on('GET /.well-known/oauth-protected-resource', discovery.resourceMetadata),
  on('GET /.well-known/oauth-protected-resource/mcp', discovery.resourceMetadata),
  on('GET /.well-known/oauth-authorization-server', discovery.serverMetadata),
  on('GET /oauth/authorize', console.consolePage),
  on('POST /oauth/register', grants.registerClient),
  on('POST /oauth/token', grants.giveToken),
  on('POST /oauth/revoke', grants.revokeGrant),
  on('GET /healthz', health.alive, true),
  on('GET /readyz', health.ready, true),
  on('GET /metrics', health.measurements, true),
  on('GET /openapi.json', pages.openapi),
  on('GET /docs', pages.reference),
  on('GET /docs/errors', pages.errorsPage),
  on('GET /docs/{file}', pages.referenceFile),
  on('GET /links/{secret}', linkPage.openLink),
  on('GET /links/{secret}/{insight_id}', linkPage.openLinkedInsight),
  on('GET /confirm/{token}', confirming.confirmPage),
  on('POST /confirm/{token}', confirming.confirm),
  on('GET /auth/begin', provider.beginAtProvider),
  on('GET /auth/callback', provider.backFromProvider),
  on('GET /auth/end', provider.endAtProvider),
  on('GET /embed.js', embed.embedScript),
  on('GET /unsubscribe/{token}', unsubscribing.unsubscribePage),
  on('POST /unsubscribe/{token}', unsubscribing.unsubscribe),
  on('GET /', console.consolePage),
  on('GET /assets/{file}', console.consoleFile),
  ...console.SECTIONS.flatMap((section) => [
    on(`GET /${section}`, console.consolePage),
    on(`GET /${section}/*`, console.consolePage),
  ]),
]
