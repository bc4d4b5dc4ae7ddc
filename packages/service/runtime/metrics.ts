/** Every metric that /metrics shows, in one place. Names end in their unit; labels are closed lists or workspace ids. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { VERSION } from './version.ts'

const MISNAMED = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
]
const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300]

/** Makes metrics in one registry. `name` follows "assay_"; `labels` are the names of the labels. */
function makersOf(registry: Registry) {
  const settings = <Label extends string>(name: string, help: string, labels: readonly Label[]) => ({
    name: `assay_${name}`,
    help,
    labelNames: labels,
    registers: [registry],
  })
  return {
    gauge: <Label extends string = never>(name: string, help: string, labels: readonly Label[] = []) =>
      new Gauge<Label>(settings(name, help, labels)),
    counter: <Label extends string = never>(name: string, help: string, labels: readonly Label[] = []) =>
      new Counter<Label>(settings(name, help, labels)),
    /** Makes a histogram of durations in seconds. */
    histogram: <Label extends string = never>(name: string, help: string, labels: readonly Label[] = []) =>
      new Histogram<Label>({ ...settings(name, help, labels), buckets: SECONDS }),
  }
}

type Makers = ReturnType<typeof makersOf>

function queueMetrics({ gauge, counter, histogram }: Makers) {
  return {
    jobs: gauge('jobs', 'Unfinished jobs by state', ['job_status']),
    oldestQueued: gauge('queue_oldest_seconds', 'Age of the oldest queued job'),
    jobsClaimed: counter('jobs_claimed_total', 'Jobs claimed by this node'),
    jobRuns: histogram('job_run_duration_seconds', 'Time of an attempt on this node, by outcome', [
      'outcome',
    ]),
    jobWait: histogram('job_wait_seconds', 'Time between queued and claimed'),
    workspaceJobs: gauge(
      'workspace_jobs',
      'Unfinished jobs by workspace and state: the workspaces with the most, the rest as (others)',
      ['workspace_id', 'job_status'],
    ),
    workspaceOldestQueued: gauge(
      'workspace_queue_oldest_seconds',
      'Age of the oldest queued job by workspace: the same workspaces',
      ['workspace_id'],
    ),
    schedulesSettled: counter(
      'schedule_due_times_total',
      'Due times of schedules that this node settled: run, failed or missed',
      ['outcome'],
    ),
  }
}

function storeMetrics({ gauge, counter }: Makers) {
  return {
    storeBytes: gauge('store_bytes', 'Size of the database'),
    workspaceStored: gauge(
      'workspace_stored_bytes',
      'What the jobs and insights of each workspace take: those with the most, the rest as (others)',
      ['workspace_id'],
    ),
    workspaceStoredShare: gauge(
      'workspace_stored_ratio',
      'The same as a share of max_stored_bytes; (others): the largest of them',
      ['workspace_id'],
    ),
    retention: gauge('retention_seconds', 'How long rows are kept, by kind', ['kind']),
    auditedDays: counter(
      'audited_days_total',
      'Kept days of metrics that were read again: same, different, or unread',
      ['result'],
    ),
    rowsDeleted: counter('rows_deleted_total', 'Rows that this node has deleted after their time, by kind', [
      'kind',
    ]),
  }
}

function nodeMetrics({ gauge, counter, histogram }: Makers) {
  const build = gauge('build_info', 'Always 1; the labels tell the version and its Node', ['version', 'node'])
  build.set({ version: VERSION, node: process.versions.node }, 1)
  return {
    workers: gauge('workers', 'Analyses that this node may run at a time; 0 without the role worker'),
    httpRequests: histogram('http_request_duration_seconds', 'Time to answer, by route and status', [
      'method',
      'route',
      'status',
    ]),
    leaseLeft: gauge(
      'lease_left_seconds',
      'Time until the lease of this node ends; it is renewed when a third has passed',
    ),
    clockSkew: gauge(
      'clock_skew_seconds',
      'By how much the clock of this machine is ahead of the store; the time of the store counts',
    ),
    storeConnections: gauge(
      'store_connections',
      'Connections of this node to PostgreSQL by state (waiting: requested and not yet there)',
      ['state'],
    ),
    workspaceOpen: gauge(
      'workspace_open_requests',
      'Live streams and waiting status requests on this node by workspace: those with the most, the rest as (others)',
      ['workspace_id'],
    ),
    workspaceTasks: gauge(
      'workspace_tasks',
      'Tasks of the analysis processes of this node by workspace, queue (job, preview, small) and state: the same way',
      ['workspace_id', 'queue', 'state'],
    ),
    workspaceTaskSeconds: counter(
      'workspace_task_seconds_total',
      'Time that the analysis processes of this node have worked for a workspace: the same way',
      ['workspace_id'],
    ),
    workspaceProcessorSeconds: counter(
      'workspace_processor_seconds_total',
      'Processor time that the analyses of a workspace took on this node: the same way',
      ['workspace_id'],
    ),
    caps: gauge('cap', 'The caps of each workspace that has none of its own, by name', ['cap']),
    spilled: gauge('spilled_bytes', 'Bytes on disk that the analyses of this node have spilled'),
    diskFree: gauge('disk_free_bytes', 'Free space on the disk that holds the home of this node'),
    diskSize: gauge('disk_size_bytes', 'Size of the disk that holds the home of this node'),
  }
}

function backupMetrics({ gauge, counter }: Makers) {
  return {
    backups: counter('backups_total', 'Backups that this node began, by outcome (made or failed)', [
      'outcome',
    ]),
    lastBackup: gauge(
      'backup_last_timestamp_seconds',
      'When the newest backup in ASSAY_BACKUP was made, since 1970; 0: there is none, or none is to be made',
    ),
  }
}

function deliveryMetrics({ gauge, counter, histogram }: Makers) {
  return {
    outgoing: counter(
      'outgoing_total',
      'What this node let leave, by kind: mails, chat messages, and what else the ledger counts',
      ['kind'],
    ),
    outgoingRefused: counter(
      'outgoing_refused_total',
      'What was refused or held back on this node, by kind and cause (stopped, budget, model, host)',
      ['kind', 'cause'],
    ),
    deliveriesPending: gauge(
      'deliveries_pending',
      'Pending deliveries: due now, or waiting for their next try',
      ['state'],
    ),
    deliveriesOldest: gauge(
      'deliveries_oldest_seconds',
      'For how long the oldest pending delivery has been due; 0: none is',
    ),
    eventsLag: gauge(
      'events_lag_seconds',
      'Age of the oldest event that readers of the events in order do not get yet; 0: they get all',
    ),
    webhooks: gauge('webhooks', 'Webhooks whose last attempts failed, and disabled ones', ['state']),
    attempts: histogram(
      'delivery_attempt_duration_seconds',
      'Time of a delivery attempt, by outcome (delivered or the class of the error)',
      ['outcome'],
    ),
    deliveryLag: histogram('delivery_lag_seconds', 'Time from the event to its first attempt'),
  }
}

function analysisMetrics({ gauge }: Makers, registry: Registry) {
  let measure: () => void = () => undefined
  return {
    /** Calls `ask`, which sets the two gauges below, whenever /metrics is read. */
    measureChildren(ask: () => void): void {
      measure = ask
    },
    children: new Gauge({
      name: 'assay_analysis_children',
      help: 'Analysis processes by state',
      labelNames: ['state'] as const,
      registers: [registry],
      collect: () => measure(),
    }),
    childrenMemory: gauge('analysis_children_resident_bytes', 'Resident memory of the analysis processes'),
  }
}

export function createMetrics() {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  // These gauges of the library have the names of counters. nodejs_active_handles and the like tell the same by type.
  for (const name of MISNAMED) registry.removeSingleMetric(name)
  const makers = makersOf(registry)
  return {
    registry,
    ...queueMetrics(makers),
    ...storeMetrics(makers),
    ...nodeMetrics(makers),
    ...backupMetrics(makers),
    ...deliveryMetrics(makers),
    ...analysisMetrics(makers, registry),
  }
}

export type Metrics = ReturnType<typeof createMetrics>
