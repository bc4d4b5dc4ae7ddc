/** Every metric that /metrics shows, in one place. Names end in their unit; labels are closed lists or workspace ids. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300]

function jobMetrics(registers: Registry[]) {
  return {
    jobs: new Gauge({
      name: 'assay_jobs',
      help: 'Unfinished jobs by state',
      labelNames: ['job_status'] as const,
      registers,
    }),
    oldestQueued: new Gauge({
      name: 'assay_queue_oldest_seconds',
      help: 'Age of the oldest queued job',
      registers,
    }),
    jobsClaimed: new Counter({
      name: 'assay_jobs_claimed_total',
      help: 'Jobs claimed by this node',
      registers,
    }),
    jobRuns: new Histogram({
      name: 'assay_job_run_duration_seconds',
      help: 'Time of an attempt on this node, by outcome',
      labelNames: ['outcome'] as const,
      buckets: SECONDS,
      registers,
    }),
    jobWait: new Histogram({
      name: 'assay_job_wait_seconds',
      help: 'Time between queued and claimed',
      buckets: SECONDS,
      registers,
    }),
  }
}

function scheduleMetrics(registers: Registry[]) {
  return {
    schedulesSettled: new Counter({
      name: 'assay_schedule_due_times_total',
      help: 'Due times of schedules that this node settled: run, failed or missed',
      labelNames: ['outcome'] as const,
      registers,
    }),
  }
}

function workspaceMetrics(registers: Registry[]) {
  return {
    workspaceJobs: new Gauge({
      name: 'assay_workspace_jobs',
      help: 'Unfinished jobs by workspace and state: the workspaces with the most, the rest as (others)',
      labelNames: ['workspace_id', 'job_status'] as const,
      registers,
    }),
    workspaceOldestQueued: new Gauge({
      name: 'assay_workspace_queue_oldest_seconds',
      help: 'Age of the oldest queued job by workspace: the same workspaces',
      labelNames: ['workspace_id'] as const,
      registers,
    }),
  }
}

function nodeMetrics(registers: Registry[]) {
  return {
    leaseLeft: new Gauge({
      name: 'assay_lease_left_seconds',
      help: 'Time until the lease of this node ends; it is renewed when a third has passed',
      registers,
    }),
    storeConnections: new Gauge({
      name: 'assay_store_connections',
      help: 'Connections of this node to PostgreSQL by state (waiting: asked for and not yet given)',
      labelNames: ['state'] as const,
      registers,
    }),
    diskFree: new Gauge({
      name: 'assay_disk_free_bytes',
      help: 'Free space on the disk that holds the home of this node',
      registers,
    }),
  }
}

function deliveryMetrics(registers: Registry[]) {
  return {
    deliveriesPending: new Gauge({
      name: 'assay_deliveries_pending',
      help: 'Pending deliveries: due now, or waiting for their next try',
      labelNames: ['state'] as const,
      registers,
    }),
    webhooks: new Gauge({
      name: 'assay_webhooks',
      help: 'Webhooks whose last attempts failed, and disabled ones',
      labelNames: ['state'] as const,
      registers,
    }),
    attempts: new Histogram({
      name: 'assay_delivery_attempt_duration_seconds',
      help: 'Time of a delivery attempt, by outcome (delivered or the class of the error)',
      labelNames: ['outcome'] as const,
      buckets: SECONDS,
      registers,
    }),
    deliveryLag: new Histogram({
      name: 'assay_delivery_lag_seconds',
      help: 'Time from the event to its first attempt',
      buckets: SECONDS,
      registers,
    }),
  }
}

function analysisMetrics(registers: Registry[]) {
  let measure: () => void = () => undefined
  return {
    /** `ask` sets the two below; called when somebody looks at them. */
    measureChildren(ask: () => void): void {
      measure = ask
    },
    children: new Gauge({
      name: 'assay_analysis_children',
      help: 'Analysis processes by state',
      labelNames: ['state'] as const,
      registers,
      collect: () => measure(),
    }),
    childrenMemory: new Gauge({
      name: 'assay_analysis_children_resident_bytes',
      help: 'Resident memory of the analysis processes',
      registers,
    }),
  }
}

export function createMetrics() {
  const registry = new Registry()
  const registers = [registry]
  collectDefaultMetrics({ register: registry })
  return {
    registry,
    httpRequests: new Histogram({
      name: 'assay_http_request_duration_seconds',
      help: 'Time to answer, by route and status',
      labelNames: ['method', 'route', 'status'] as const,
      buckets: SECONDS,
      registers,
    }),
    ...jobMetrics(registers),
    ...scheduleMetrics(registers),
    ...workspaceMetrics(registers),
    ...nodeMetrics(registers),
    ...deliveryMetrics(registers),
    ...analysisMetrics(registers),
  }
}

export type Metrics = ReturnType<typeof createMetrics>
