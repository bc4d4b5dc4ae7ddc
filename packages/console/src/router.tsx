/**
 * Defines the addresses of the console. Pages load when they are first opened. Without a session every address shows
 * sign-in.
 */

import type { AuditAction } from '@assay/model/audit'
import type { DeliveryStatus } from '@assay/model/delivery'
import { GRADES, type Grade } from '@assay/model/insight'
import { ENDINGS, type Ending, type JobStatus } from '@assay/model/job'
import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  redirect,
} from '@tanstack/react-router'
import { ACTIONS } from './audit.ts'
import { DELIVERY_STATUSES, JOB_STATUSES } from './names.ts'
import { BASE, OPENED } from './pages/address.ts'
import { loadPart } from './pages/load-part.ts'
import { SignInPage } from './pages/sign-in.tsx'
import { NotFound, PageFault } from './parts/fault.tsx'
import { Shell } from './parts/shell.tsx'
import { signInId } from './session.ts'

type Search = Record<string, unknown>

/** Returns the component of a page, which is loaded when the page is first opened. */
const page = <Module extends object, Name extends keyof Module & string>(
  load: () => Promise<Module>,
  name: Name,
) => lazyRouteComponent(() => loadPart(load), name)

interface JobFilters {
  status?: JobStatus
  ending?: Ending
  template?: string
  schedule?: string
  batch?: string
  after?: string
  before?: string
}

interface InsightFilters {
  q?: string
  template?: string
  tag?: string
  metric?: string
  grade?: Grade
  /** The id of a collection, or "pinned". */
  collection?: string
}

/**
 * The beginning of a new template: a copy, a kept draft, a draft of a file or of a table of a database, or a metric.
 */
interface NewTemplate {
  from?: string
  /** The id of a draft that the service keeps. */
  draft?: string
  file?: string
  lines?: string
  connection?: string
  table?: string
  metric?: string
}

const TEMPLATE_TABS = ['run', 'many', 'source'] as const
export type TemplateTab = (typeof TEMPLATE_TABS)[number]

interface AuditFilters {
  action?: AuditAction
  user?: string
  object?: string
  after?: string
  before?: string
}

const text = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : typeof value === 'number' ? String(value) : undefined
const oneOf = <Name extends string>(value: unknown, names: readonly Name[]): Name | undefined =>
  names.find((name) => name === value)

const root = createRootRoute({ notFoundComponent: NotFound })

const signIn = createRoute({
  getParentRoute: () => root,
  path: '/sign-in',
  component: SignInPage,
  validateSearch: (search: Search): { next?: string; by?: 'provider' } => ({
    next: text(search.next),
    by: oneOf(search.by, ['provider']),
  }),
})

const authorize = createRoute({
  getParentRoute: () => root,
  path: '/oauth/authorize',
  beforeLoad: () => {
    if (signInId() === null) throw redirect({ to: '/sign-in', search: { next: `/oauth/authorize${OPENED}` } })
  },
  component: page(() => import('./pages/authorize.tsx'), 'AuthorizePage'),
})

const shell = createRoute({
  getParentRoute: () => root,
  id: 'shell',
  component: Shell,
  beforeLoad: ({ location }) => {
    if (signInId() === null)
      throw redirect({ to: '/sign-in', search: { next: location.href === '/' ? undefined : location.href } })
  },
})

const home = createRoute({
  getParentRoute: () => shell,
  path: '/',
  beforeLoad: () => {
    throw redirect({ to: '/insights', search: {} })
  },
})

const templates = createRoute({
  getParentRoute: () => shell,
  path: '/templates',
  validateSearch: (search: Search): { q?: string; tag?: string } => ({
    q: text(search.q),
    tag: text(search.tag),
  }),
  component: page(() => import('./pages/templates.tsx'), 'TemplatesPage'),
})
const newTemplate = createRoute({
  getParentRoute: () => shell,
  path: '/templates/new',
  validateSearch: (search: Search): NewTemplate => ({
    from: text(search.from),
    draft: text(search.draft),
    file: text(search.file),
    lines: text(search.lines),
    connection: text(search.connection),
    table: text(search.table),
    metric: text(search.metric),
  }),
  component: page(() => import('./pages/editor.tsx'), 'NewTemplatePage'),
})
const template = createRoute({
  getParentRoute: () => shell,
  path: '/templates/$template_id',
  validateSearch: (search: Search): { tab?: TemplateTab; job?: string; metric?: string } => ({
    tab: oneOf(search.tab, TEMPLATE_TABS),
    job: text(search.job),
    metric: text(search.metric),
  }),
  component: page(() => import('./pages/template.tsx'), 'TemplatePage'),
})
const editTemplate = createRoute({
  getParentRoute: () => shell,
  path: '/templates/$template_id/edit',
  validateSearch: (search: Search): { line?: number } =>
    Number.isInteger(search.line) ? { line: search.line as number } : {},
  component: page(() => import('./pages/editor.tsx'), 'EditTemplatePage'),
})
const templateThen = createRoute({
  getParentRoute: () => shell,
  path: '/templates/$template_id/then/$assignment_id',
  component: page(() => import('./pages/template-then.tsx'), 'TemplateThenPage'),
})

const metrics = createRoute({
  getParentRoute: () => shell,
  path: '/metric',
  validateSearch: (search: Search): { q?: string } => ({ q: text(search.q) }),
  component: page(() => import('./pages/metrics/metrics.tsx'), 'MetricsPage'),
})
const newMetric = createRoute({
  getParentRoute: () => shell,
  path: '/metric/new',
  validateSearch: (search: Search): Omit<NewTemplate, 'lines' | 'metric'> => ({
    from: text(search.from),
    draft: text(search.draft),
    file: text(search.file),
    connection: text(search.connection),
    table: text(search.table),
  }),
  component: page(() => import('./pages/metrics/editor.tsx'), 'NewMetricPage'),
})
const metric = createRoute({
  getParentRoute: () => shell,
  path: '/metric/$metric_id',
  component: page(() => import('./pages/metrics/metric.tsx'), 'MetricPage'),
})
const metricThen = createRoute({
  getParentRoute: () => shell,
  path: '/metric/$metric_id/then/$assignment_id',
  component: page(() => import('./pages/metrics/then.tsx'), 'MetricThenPage'),
})
const editMetric = createRoute({
  getParentRoute: () => shell,
  path: '/metric/$metric_id/edit',
  component: page(() => import('./pages/metrics/editor.tsx'), 'EditMetricPage'),
})

const jobs = createRoute({
  getParentRoute: () => shell,
  path: '/jobs',
  validateSearch: (search: Search): JobFilters => ({
    status: oneOf(search.status, JOB_STATUSES),
    ending: oneOf(search.ending, ENDINGS),
    template: text(search.template),
    schedule: text(search.schedule),
    batch: text(search.batch),
    after: text(search.after),
    before: text(search.before),
  }),
  component: page(() => import('./pages/jobs.tsx'), 'JobsPage'),
})
const job = createRoute({
  getParentRoute: () => shell,
  path: '/jobs/$assignment_id',
  component: page(() => import('./pages/job.tsx'), 'JobPage'),
})
const insights = createRoute({
  getParentRoute: () => shell,
  path: '/insights',
  validateSearch: (search: Search): InsightFilters => ({
    q: text(search.q),
    template: text(search.template),
    tag: text(search.tag),
    metric: text(search.metric),
    grade: oneOf(search.grade, GRADES),
    collection: text(search.collection),
  }),
  component: page(() => import('./pages/insights.tsx'), 'InsightsPage'),
})
const insight = createRoute({
  getParentRoute: () => shell,
  path: '/insights/$insight_id',
  validateSearch: (search: Search): { beside?: string } => ({ beside: text(search.beside) }),
  component: page(() => import('./pages/insight.tsx'), 'InsightPage'),
})

const health = createRoute({
  getParentRoute: () => shell,
  path: '/health',
  component: page(() => import('./pages/health.tsx'), 'HealthPage'),
})

const account = createRoute({
  getParentRoute: () => shell,
  path: '/account',
  component: page(() => import('./pages/account.tsx'), 'AccountPage'),
})

const schedules = createRoute({
  getParentRoute: () => shell,
  path: '/schedules',
  component: page(() => import('./pages/schedules/schedules.tsx'), 'SchedulesPage'),
})
const newSchedule = createRoute({
  getParentRoute: () => shell,
  path: '/schedules/new',
  validateSearch: (search: Search): { template?: string } => ({ template: text(search.template) }),
  component: page(() => import('./pages/schedules/schedule-form.tsx'), 'NewSchedulePage'),
})
const schedule = createRoute({
  getParentRoute: () => shell,
  path: '/schedules/$schedule_id',
  component: page(() => import('./pages/schedules/schedule.tsx'), 'SchedulePage'),
})
const editSchedule = createRoute({
  getParentRoute: () => shell,
  path: '/schedules/$schedule_id/edit',
  component: page(() => import('./pages/schedules/schedule-form.tsx'), 'EditSchedulePage'),
})

const files = createRoute({
  getParentRoute: () => shell,
  path: '/files',
  validateSearch: (search: Search): { in?: string } => ({ in: text(search.in) }),
  component: page(() => import('./pages/files.tsx'), 'FilesPage'),
})

const data = createRoute({
  getParentRoute: () => shell,
  path: '/data',
  validateSearch: (search: Search): Pick<NewTemplate, 'file' | 'lines' | 'connection' | 'table'> => ({
    file: text(search.file),
    lines: text(search.lines),
    connection: text(search.connection),
    table: text(search.table),
  }),
  component: page(() => import('./pages/data.tsx'), 'DataPage'),
})

const webhooks = createRoute({
  getParentRoute: () => shell,
  path: '/webhooks',
  component: page(() => import('./pages/receivers/webhooks.tsx'), 'WebhooksPage'),
})
const newWebhook = createRoute({
  getParentRoute: () => shell,
  path: '/webhooks/new',
  component: page(() => import('./pages/receivers/new-webhook.tsx'), 'NewWebhookPage'),
})
const webhook = createRoute({
  getParentRoute: () => shell,
  path: '/webhooks/$webhook_id',
  validateSearch: (search: Search): { status?: DeliveryStatus; job?: string } => ({
    status: oneOf(search.status, DELIVERY_STATUSES),
    job: text(search.job),
  }),
  component: page(() => import('./pages/receivers/webhook.tsx'), 'WebhookPage'),
})
const delivery = createRoute({
  getParentRoute: () => shell,
  path: '/webhooks/$webhook_id/deliveries/$delivery_id',
  component: page(() => import('./pages/receivers/delivery.tsx'), 'DeliveryPage'),
})

const subscriptions = createRoute({
  getParentRoute: () => shell,
  path: '/subscriptions',
  component: page(() => import('./pages/receivers/subscriptions.tsx'), 'SubscriptionsPage'),
})
const newSubscription = createRoute({
  getParentRoute: () => shell,
  path: '/subscriptions/new',
  validateSearch: (search: Search): { follows?: string } => ({ follows: text(search.follows) }),
  component: page(() => import('./pages/receivers/new-subscription.tsx'), 'NewSubscriptionPage'),
})
const subscription = createRoute({
  getParentRoute: () => shell,
  path: '/subscriptions/$subscription_id',
  validateSearch: (search: Search): { status?: DeliveryStatus; job?: string } => ({
    status: oneOf(search.status, DELIVERY_STATUSES),
    job: text(search.job),
  }),
  component: page(() => import('./pages/receivers/subscription.tsx'), 'SubscriptionPage'),
})
const subscriptionDelivery = createRoute({
  getParentRoute: () => shell,
  path: '/subscriptions/$subscription_id/deliveries/$delivery_id',
  component: page(() => import('./pages/receivers/delivery.tsx'), 'SubscriptionDeliveryPage'),
})

const system = createRoute({
  getParentRoute: () => shell,
  path: '/system',
  component: page(() => import('./pages/admin/system.tsx'), 'SystemPage'),
})
const nodes = createRoute({
  getParentRoute: () => system,
  path: '/',
  component: page(() => import('./pages/admin/nodes.tsx'), 'NodesPage'),
})
const tokens = createRoute({
  getParentRoute: () => system,
  path: '/tokens',
  component: page(() => import('./pages/admin/tokens.tsx'), 'TokensPage'),
})
const connections = createRoute({
  getParentRoute: () => system,
  path: '/connections',
  component: page(() => import('./pages/connections/connections.tsx'), 'ConnectionsPage'),
})
const newConnection = createRoute({
  getParentRoute: () => shell,
  path: '/system/connections/new',
  component: page(() => import('./pages/connections/new-connection.tsx'), 'NewConnectionPage'),
})
const connection = createRoute({
  getParentRoute: () => shell,
  path: '/system/connections/$name',
  component: page(() => import('./pages/connections/connection.tsx'), 'ConnectionPage'),
})
const users = createRoute({
  getParentRoute: () => system,
  path: '/users',
  component: page(() => import('./pages/admin/users.tsx'), 'UsersPage'),
})
const readers = createRoute({
  getParentRoute: () => system,
  path: '/readers',
  component: page(() => import('./pages/readers/readers.tsx'), 'ReadersPage'),
})
const workspaces = createRoute({
  getParentRoute: () => system,
  path: '/workspaces',
  component: page(() => import('./pages/admin/workspaces.tsx'), 'WorkspacesPage'),
})
const audit = createRoute({
  getParentRoute: () => system,
  path: '/audit',
  validateSearch: (search: Search): AuditFilters => ({
    action: oneOf(search.action, ACTIONS),
    user: text(search.user),
    object: text(search.object),
    after: text(search.after),
    before: text(search.before),
  }),
  component: page(() => import('./pages/admin/audit.tsx'), 'AuditPage'),
})
const eventTypes = createRoute({
  getParentRoute: () => system,
  path: '/events',
  component: page(() => import('./pages/receivers/event-types.tsx'), 'EventTypesPage'),
})
const outgoing = createRoute({
  getParentRoute: () => system,
  path: '/outgoing',
  validateSearch: (search: Search): { workspace?: string } => ({ workspace: text(search.workspace) }),
  component: page(() => import('./pages/admin/outgoing.tsx'), 'OutgoingPage'),
})

const settings = createRoute({
  getParentRoute: () => system,
  path: '/settings',
  component: page(() => import('./pages/admin/settings.tsx'), 'SettingsPage'),
})

const routeTree = root.addChildren([
  signIn,
  authorize,
  shell.addChildren([
    home,
    templates,
    newTemplate,
    template,
    editTemplate,
    templateThen,
    metrics,
    newMetric,
    metric,
    editMetric,
    metricThen,
    jobs,
    job,
    insights,
    insight,
    health,
    account,
    schedules,
    newSchedule,
    schedule,
    editSchedule,
    files,
    data,
    webhooks,
    newWebhook,
    webhook,
    delivery,
    subscriptions,
    newSubscription,
    subscription,
    subscriptionDelivery,
    newConnection,
    connection,
    system.addChildren([
      nodes,
      connections,
      tokens,
      users,
      readers,
      workspaces,
      outgoing,
      audit,
      eventTypes,
      settings,
    ]),
  ]),
])

export const router = createRouter({
  routeTree,
  basepath: BASE === '' ? '/' : BASE,
  defaultErrorComponent: PageFault,
  defaultPreload: 'intent',
  scrollRestoration: true,
})

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}
