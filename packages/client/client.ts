/**
 * The client of the HTTP interface, for Node 20 and newer and for browsers (except `verify`). Each call takes the names
 * in its path, then its body, then its query and options. Types and addresses come from api.generated.ts. Calls that
 * may be repeated (reads, creations under an idempotency key, runs and cancels) are repeated on 429, 502, 503, 504,
 * broken connections and after the time limit. `all` stands beside each `list` that has pages: it yields every item.
 */
import { type Event, OPERATIONS, type PreviewTemplateRequest } from './api.generated.ts'
import { type Call, createCall } from './call.ts'
import { fileCalls } from './files.ts'
import { ClientError, type ClientOptions, createSender, type Send } from './http.ts'
import { jobCalls } from './jobs.ts'
import { type All, createAll } from './pages.ts'

export type {
  Attempt,
  AuditRecord,
  Batch as BatchView,
  BatchCheck,
  ChangeConnectionRequest as ConnectionChange,
  ChangeWebhookRequest as WebhookPatch,
  Collection as CollectionView,
  Connection as ConnectionView,
  ConnectionTest,
  CreateConnectionRequest as ConnectionInput,
  CreateJobsRequest as BatchInput,
  CreateLinkRequest as LinkInput,
  CreateScheduleRequest as ScheduleInput,
  CreateSubscriptionRequest as SubscriptionInput,
  CreateWebhookRequest as WebhookInput,
  Delivery as DeliveryView,
  DeliveryWithAttempts as FullDelivery,
  Draft as DraftView,
  Event,
  File as StoredFile,
  Insight as InsightView,
  InsightCard,
  Job as JobView,
  KeptDraft,
  KeptDraftWithSource,
  Link,
  LinkWithAddress as NewLink,
  Metric as MetricView,
  NewFile,
  Node as NodeView,
  Outgoing as OutgoingView,
  Problem,
  Queue as QueueView,
  Reader as ReaderView,
  RecoverRequest as RecoveryInput,
  Recovery,
  Repository as RepositoryView,
  Schedule as ScheduleView,
  SignIn,
  Subscription as SubscriptionView,
  Template as TemplateView,
  Token,
  User,
  Webhook as WebhookView,
  WebhookMessage,
  WebhookStats,
  WebhookWithSecret as NewWebhook,
  Workspace,
} from './api.generated.ts'
export { type CallOptions, carryTag, etagOf } from './call.ts'
export { ClientError, type ClientOptions } from './http.ts'
export { type EndedJob, JobFailed, type JobInput, type RunOptions } from './jobs.ts'
export { SignatureError, sign, type Verified, verify } from './signature.ts'

export type EventType = Event['type']

export interface Page<Item> {
  items: Item[]
  next_cursor: string | null
}

/** Names another workspace, for an admin of the default one. The default is the token's own. */
export interface OfWorkspace {
  workspace_id?: string | undefined
}

/** Sends a test. Throws with the code `not_tried` if no attempt was made within 20 seconds. */
function tester(call: Call, name: 'testWebhook' | 'testSubscription') {
  const test = call(name, 'once')
  return async (id: string) => {
    const answer = await test(id)
    if ('number' in answer) return answer
    const message = `It was not tried within 20 seconds: see delivery ${answer.delivery_id}.`
    throw new ClientError(message, 202, 'not_tried', null)
  }
}

function people(call: Call, all: All) {
  return {
    /** The persons for whom personal insights are made. */
    readers: {
      list: call('listReaders'),
      all: all('listReaders'),
      get: call('getReader'),
      put: call('putReader'),
      /** Puts up to 1,000 readers in one call, all or none. */
      putMany: call('putReaders'),
      delete: call('deleteReader'),
    },
    signIns: {
      /** Begins a sign-in in a browser, on a page of the service. The answer sets the cookie. */
      begin: call('beginSignIn', 'once'),
      /** Lists the ways in which a browser can sign in. It needs no token. */
      ways: call('signInWays'),
      list: call('listSignIns'),
      all: all('listSignIns'),
      end: call('endSignIn'),
      endAll: call('endSignIns'),
    },
    grants: {
      /** Reads the request of a client to a person. The page on which the person decides uses it. */
      read: call('readGrantRequest'),
      create: call('createGrant', 'once'),
      /** Lists the programs that you have authorized. */
      list: call('listGrants'),
      end: call('endGrant'),
    },
  }
}

function administration(call: Call, all: All) {
  return {
    tokens: {
      get: call('getToken'),
      list: call('listTokens'),
      all: all('listTokens'),
      create: call('createToken'),
      /** Changes the name, the end or the scopes. Scopes can only become fewer. */
      update: call('changeToken'),
      delete: call('deleteToken'),
    },
    users: {
      get: call('getUser'),
      list: call('listUsers'),
      all: all('listUsers'),
      create: call('createUser'),
      /** Changes or disables a user. A new password ends the user's sign-ins. */
      update: call('changeUser'),
      /** Ends every sign-in of the user, and the tokens of logins. Resolves with the number of sign-ins. */
      signOut: call('endUserSignIns'),
      delete: call('deleteUser'),
      /** Makes one step. Call it again with `next_cursor` until that is null. */
      eraseJobs: call('eraseUserJobs'),
    },
    workspaces: {
      get: call('getWorkspace'),
      list: call('listWorkspaces'),
      all: all('listWorkspaces'),
      create: call('createWorkspace'),
      change: call('changeWorkspace'),
      delete: call('deleteWorkspace'),
    },
    ...people(call, all),
    changePassword: call('changePassword', 'once'),
    logout: call('logout'),
    me: call('whoAmI'),
    /** Shows what leaves a workspace by day, sets its budgets, and stops all of it. */
    outgoing: { read: call('readOutgoing'), change: call('changeOutgoing') },
    /** Lists who did what, newest first. */
    audit: call('listAudit'),
    allAudit: all('listAudit'),
    nodes: call('listNodes'),
    queue: call('readQueue'),
    settings: call('listSettings'),
  }
}

function connections(call: Call, all: All) {
  return {
    connections: {
      list: call('listConnections'),
      all: all('listConnections'),
      get: call('getConnection'),
      create: call('createConnection'),
      change: call('changeConnection'),
      delete: call('deleteConnection'),
      test: call('testConnection', 'once'),
      /** Tests a connection before it is added. Stores nothing. */
      try: call('tryConnection', 'once'),
    },
  }
}

function notifications(call: Call, all: All) {
  return {
    webhooks: {
      create: call('createWebhook'),
      list: call('listWebhooks'),
      all: all('listWebhooks'),
      get: call('getWebhook'),
      update: call('changeWebhook'),
      delete: call('deleteWebhook'),
      test: tester(call, 'testWebhook'),
      rotateSecret: call('rotateSecret'),
      deliveries: call('listDeliveries'),
      allDeliveries: all('listDeliveries'),
      delivery: call('getDelivery'),
      redeliver: call('redeliver'),
      recover: call('recoverDeliveries'),
      recovery: call('getRecovery'),
      cancelPending: call('cancelPending', 'harmless'),
      stats: call('getWebhookStats'),
    },
    /** Use `webhooks.delivery` and `webhooks.redeliver` to read a delivery and to send it again. */
    subscriptions: {
      create: call('createSubscription'),
      list: call('listSubscriptions'),
      all: all('listSubscriptions'),
      get: call('getSubscription'),
      update: call('changeSubscription'),
      delete: call('deleteSubscription'),
      test: tester(call, 'testSubscription'),
      deliveries: call('listSubscriptionDeliveries'),
      allDeliveries: all('listSubscriptionDeliveries'),
      recover: call('recoverSubscription'),
      recovery: call('getSubscriptionRecovery'),
      cancelPending: call('cancelSubscriptionPending', 'harmless'),
      stats: call('getSubscriptionStats'),
    },
  }
}

function findings(call: Call, all: All) {
  return {
    /** Lists the cards of insights, newest first. `jobs.result` and its neighbours read a whole insight. */
    insights: {
      list: call('listInsights'),
      all: all('listInsights'),
      /** Lists the insights with which this one may be compared. */
      earlier: call('earlierInsights'),
      /** Draws the charts of an insight over those of an earlier one. */
      overlay: call('overlayCharts'),
      /** Pins an insight. Only you see your pins. */
      pin: call('pinInsight'),
      unpin: call('unpinInsight'),
      /** Lists who read the insight. */
      readings: call('listReadings'),
    },
    /** Collections. `insights.list({ collection_id })` lists the insights of one. */
    collections: {
      create: call('createCollection'),
      list: call('listCollections'),
      all: all('listCollections'),
      get: call('getCollection'),
      update: call('changeCollection'),
      delete: call('deleteCollection'),
      add: call('addToCollection'),
      remove: call('removeFromCollection'),
    },
    links: {
      create: call('createLink'),
      list: call('listLinks'),
      all: all('listLinks'),
      delete: call('deleteLink'),
      /** Makes a link that opens a collection. */
      createOfCollection: call('createCollectionLink'),
      listOfCollection: call('listCollectionLinks'),
      allOfCollection: all('listCollectionLinks'),
      deleteOfCollection: call('deleteCollectionLink'),
    },
  }
}

/** Makes the call that returns a preview as the bytes of a PDF. */
function previewPdf(send: Send) {
  return async (body: PreviewTemplateRequest): Promise<Uint8Array<ArrayBuffer>> => {
    const headers = { accept: 'application/pdf', 'content-type': 'application/json' }
    const asked = { body: JSON.stringify(body), headers, slow: true, repeatable: false }
    const answer = await send('POST', OPERATIONS.previewTemplate.path, asked)
    return new Uint8Array(await answer.arrayBuffer())
  }
}

export function createClient(options: ClientOptions) {
  const send = createSender(options)
  const call = createCall(send)
  const all = createAll(call)
  return {
    url: options.url,
    templates: {
      list: call('listTemplates'),
      get: call('getTemplate'),
      put: call('putTemplate'),
      delete: call('deleteTemplate'),
      check: call('checkTemplate', 'harmless'),
      preview: call('previewTemplate', 'once'),
      previewPdf: previewPdf(send),
      explain: call('explainTemplate', 'harmless'),
      choices: call('listChoices'),
    },
    metrics: {
      list: call('listMetrics'),
      all: all('listMetrics'),
      get: call('getMetric'),
      put: call('putMetric'),
      delete: call('deleteMetric'),
      check: call('checkMetric', 'harmless'),
    },
    repository: {
      get: call('getRepository'),
      pull: call('pullRepository'),
      /** Pushes a change of a template as a branch. */
      propose: call('proposeChange'),
    },
    drafts: {
      /** Drafts metrics and a template for a table, decided by its columns. Stores nothing. */
      create: call('createDraft', 'once'),
      /** Keeps your draft of a template or a metric. */
      keep: call('keepDraft'),
      list: call('listKeptDrafts'),
      all: all('listKeptDrafts'),
      get: call('getKeptDraft'),
      delete: call('deleteKeptDraft'),
    },
    jobs: jobCalls(send, call, all),
    ...findings(call, all),
    schedules: {
      create: call('createSchedule'),
      list: call('listSchedules'),
      all: all('listSchedules'),
      /** Returns the next five due times of a cron expression. Stores nothing. */
      preview: call('previewSchedule'),
      get: call('getSchedule'),
      /** Changes, pauses or resumes a schedule. */
      update: call('changeSchedule'),
      delete: call('deleteSchedule'),
      runNow: call('runScheduleNow'),
    },
    files: fileCalls(send, call, all),
    /**
     * Events. With `order: 'oldest'` the list goes forward and `next_cursor` is never null: send it later to read
     * further events.
     */
    events: { list: call('listEvents'), all: all('listEvents'), types: call('listEventTypes') },
    ...notifications(call, all),
    ...administration(call, all),
    ...connections(call, all),
  }
}

export type Client = ReturnType<typeof createClient>
