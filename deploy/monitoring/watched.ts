/**
 * The table of what to watch. docs/operating/monitoring.md, the dashboard and the alert rules are generated from it. Every node
 * reports the gauges of the store alike, so the largest value is taken; those of a node are shown by instance.
 */

export interface Alert {
  name: string
  /** A condition in PromQL that is true while something is wrong. */
  when: string
  for: string
  /** `page` wakes somebody up. `ticket` waits for the morning. */
  severity: 'page' | 'ticket'
  /** The sentence of the alert. It may hold `{{ $value }}`. */
  says: string
  remedy: string
}

export interface Panel {
  title: string
  unit: 's' | 'bytes' | 'short' | 'ops' | 'percentunit' | 'dateTimeFromNow'
  /** Each query in PromQL with its legend. */
  queries: [expression: string, legend: string][]
}

export interface Watched {
  /** The metric as the page of operation shows it. */
  metric: string
  meaning: string
  /** The condition in words, for the page. */
  alertWhen: string
  panel: Panel | null
  alerts: Alert[]
}

const RATE = '[$__rate_interval]'

export const WATCHED: readonly Watched[] = [
  {
    metric: '`assay_queue_oldest_seconds`',
    meaning: 'age of the oldest queued job',
    alertWhen: 'above what your readers can wait, for 5 minutes: add workers',
    panel: {
      title: 'Oldest queued job',
      unit: 's',
      queries: [['max(assay_queue_oldest_seconds)', 'oldest']],
    },
    alerts: [
      {
        name: 'AssayQueueIsOld',
        when: 'max(assay_queue_oldest_seconds) > 300',
        for: '5m',
        severity: 'page',
        says: 'The oldest queued job has waited {{ $value | humanizeDuration }}.',
        remedy: 'Add workers, or see in assay status which workspace waits.',
      },
    ],
  },
  {
    metric: '`assay_jobs` by `job_status`',
    meaning: 'the backlog of all workspaces: unfinished jobs',
    alertWhen: '`queued` rises for an hour',
    panel: {
      title: 'Unfinished jobs',
      unit: 'short',
      queries: [['max by (job_status) (assay_jobs)', '{{job_status}}']],
    },
    alerts: [
      {
        name: 'AssayBacklogRises',
        when: 'min_over_time(max(assay_jobs{job_status="queued"})[1h:5m]) > 100 and max(deriv(assay_jobs{job_status="queued"}[1h])) > 0',
        for: '15m',
        severity: 'ticket',
        says: 'At least {{ $value }} jobs have been queued for an hour, and they become more.',
        remedy: 'Add workers, or set max_queued of the workspace that queues them.',
      },
    ],
  },
  {
    metric: '`assay_workspace_jobs`, `assay_workspace_queue_oldest_seconds` by `workspace_id`',
    meaning: 'the 20 workspaces with the most unfinished jobs, the rest together as `(others)`',
    alertWhen: 'one waits and the others do not: see [`max_running`](limits.md)',
    panel: {
      title: 'Oldest queued job by workspace',
      unit: 's',
      queries: [['max by (workspace_id) (assay_workspace_queue_oldest_seconds)', '{{workspace_id}}']],
    },
    alerts: [],
  },
  {
    metric: '`assay_workers`',
    meaning: 'analyses that this node may run at a time',
    alertWhen: '',
    panel: {
      title: 'Capacity in use',
      unit: 'percentunit',
      queries: [['max(assay_jobs{job_status="executing"}) / clamp_min(sum(assay_workers), 1)', 'in use']],
    },
    alerts: [
      {
        name: 'AssayHasNoWorker',
        when: 'sum(assay_workers) == 0 and max(assay_jobs{job_status="queued"}) > 0',
        for: '5m',
        severity: 'page',
        says: 'Jobs are queued and no node runs any.',
        remedy: 'Start a node with the role worker; its log says why one stopped.',
      },
    ],
  },
  {
    metric: '`assay_build_info` by `version`, `node`',
    meaning: 'always 1',
    alertWhen: 'two versions for longer than an upgrade takes',
    panel: {
      title: 'Nodes by version',
      unit: 'short',
      queries: [['count by (version) (assay_build_info)', '{{version}}']],
    },
    alerts: [
      {
        name: 'AssayVersionsDiffer',
        when: 'count(count by (version) (assay_build_info)) > 1',
        for: '6h',
        severity: 'ticket',
        says: 'Nodes of {{ $value }} versions have run for six hours.',
        remedy: 'Finish the upgrade, or go back by a restore.',
      },
    ],
  },
  {
    metric: '`assay_jobs_claimed_total`, `assay_job_wait_seconds`',
    meaning: 'claims, and the time from queued to claimed',
    alertWhen: '',
    panel: {
      title: 'Time from queued to claimed',
      unit: 's',
      queries: [
        [`histogram_quantile(0.5, sum by (le) (rate(assay_job_wait_seconds_bucket${RATE})))`, 'half within'],
        [`histogram_quantile(0.95, sum by (le) (rate(assay_job_wait_seconds_bucket${RATE})))`, '95 % within'],
      ],
    },
    alerts: [],
  },
  {
    metric: '`assay_job_run_duration_seconds` by `outcome`',
    meaning: 'runs by how they ended',
    alertWhen: 'the share of `failed` or `lost` rises',
    panel: {
      title: 'Runs by outcome',
      unit: 'ops',
      queries: [[`sum by (outcome) (rate(assay_job_run_duration_seconds_count${RATE}))`, '{{outcome}}']],
    },
    alerts: [
      {
        name: 'AssayWorkersAreLost',
        when: 'sum(increase(assay_job_run_duration_seconds_count{outcome="lost"}[30m])) > 3',
        for: '0m',
        severity: 'page',
        says: 'Analysis processes ended by themselves {{ $value | humanize }} times in half an hour.',
        remedy:
          'Look for the memory of the machine or of its container; lower ASSAY_WORKERS or limits.memory.',
      },
      {
        name: 'AssayRunsFail',
        when: 'sum(rate(assay_job_run_duration_seconds_count{outcome="failed"}[30m])) / sum(rate(assay_job_run_duration_seconds_count[30m])) > 0.2',
        for: '30m',
        severity: 'ticket',
        says: '{{ $value | humanizePercentage }} of the runs fail.',
        remedy: 'See the page Health of the console, or assay jobs list --ending failed.',
      },
    ],
  },
  {
    metric: '`assay_schedule_due_times_total` by `outcome`',
    meaning: 'due times of schedules that this node settled: run, failed or missed',
    alertWhen: '`failed` or `missed` rises',
    panel: {
      title: 'Due times of schedules',
      unit: 'ops',
      queries: [[`sum by (outcome) (rate(assay_schedule_due_times_total${RATE}))`, '{{outcome}}']],
    },
    alerts: [
      {
        name: 'AssaySchedulesFail',
        when: 'sum(increase(assay_schedule_due_times_total{outcome!="run"}[1h])) > 0',
        for: '0m',
        severity: 'ticket',
        says: '{{ $value | humanize }} due times of schedules made no job in an hour.',
        remedy: 'See the page Health of the console.',
      },
    ],
  },
  {
    metric: '`assay_deliveries_pending` by `state`, `assay_deliveries_oldest_seconds`',
    meaning: 'deliveries to be sent (counted up to 100,000), and how long the oldest has been due',
    alertWhen: 'the oldest is due for minutes: the dispatcher is behind',
    panel: {
      title: 'Pending deliveries',
      unit: 'short',
      queries: [['max by (state) (assay_deliveries_pending)', '{{state}}']],
    },
    alerts: [
      {
        name: 'AssayDeliveriesAreLate',
        when: 'max(assay_deliveries_oldest_seconds) > 300',
        for: '5m',
        severity: 'page',
        says: 'A delivery has been due for {{ $value | humanizeDuration }}.',
        remedy: 'Start a node with the role dispatcher; its log says why one stopped.',
      },
    ],
  },
  {
    metric: '`assay_events_lag_seconds`',
    meaning:
      'age of the oldest event that `GET /v1alpha/events` in order does not give yet, because a transaction of this database may still write an earlier one',
    alertWhen: 'above 30 seconds: a node hangs in the middle of a transaction',
    panel: {
      title: 'Lag of the events in order',
      unit: 's',
      queries: [['max(assay_events_lag_seconds)', 'lag']],
    },
    alerts: [
      {
        name: 'AssayEventsAreHeld',
        when: 'max(assay_events_lag_seconds) > 30',
        for: '1m',
        severity: 'ticket',
        says: 'Readers of the events in order are {{ $value | humanizeDuration }} behind.',
        remedy:
          'Look in pg_stat_activity for a transaction of this database that stands still; PostgreSQL ends it after a while.',
      },
    ],
  },
  {
    metric: '`assay_delivery_lag_seconds`, `assay_delivery_attempt_duration_seconds` by `outcome`',
    meaning: 'time from the event to its first attempt; attempts by how they ended',
    alertWhen: '',
    panel: {
      title: 'Attempts by outcome',
      unit: 'ops',
      queries: [
        [`sum by (outcome) (rate(assay_delivery_attempt_duration_seconds_count${RATE}))`, '{{outcome}}'],
      ],
    },
    alerts: [],
  },
  {
    metric: '`assay_webhooks` by `state`',
    meaning: 'webhooks whose last attempts failed, and disabled ones',
    alertWhen: 'it rises',
    panel: {
      title: 'Webhooks in trouble',
      unit: 'short',
      queries: [['max by (state) (assay_webhooks)', '{{state}}']],
    },
    alerts: [
      {
        name: 'AssayWebhooksFail',
        when: 'max(assay_webhooks{state="failing"}) > 0',
        for: '1h',
        severity: 'ticket',
        says: '{{ $value }} webhooks and subscriptions have failed for an hour.',
        remedy: 'See the page Health of the console. One that fails for five days is disabled.',
      },
    ],
  },
  {
    metric: '`assay_outgoing_total` by `kind`; `assay_outgoing_refused_total` by `kind`, `cause`',
    meaning: 'what this node let leave, and what it refused or held back',
    alertWhen: '`refused` rises: see System, Outgoing of the workspaces',
    panel: {
      title: 'Refused on the way out',
      unit: 'ops',
      queries: [[`sum by (kind, cause) (rate(assay_outgoing_refused_total${RATE}))`, '{{kind}}: {{cause}}']],
    },
    alerts: [],
  },
  {
    metric: '`assay_http_request_duration_seconds` by `method`, `route`, `status`',
    meaning: 'requests by how they were answered',
    alertWhen: 'the share of answers 5xx is above 1 %',
    panel: {
      title: 'Requests by status',
      unit: 'ops',
      queries: [[`sum by (status) (rate(assay_http_request_duration_seconds_count${RATE}))`, '{{status}}']],
    },
    alerts: [
      {
        name: 'AssayAnswersFail',
        when: 'sum(rate(assay_http_request_duration_seconds_count{status=~"5.."}[5m])) / sum(rate(assay_http_request_duration_seconds_count[5m])) > 0.01',
        for: '10m',
        severity: 'page',
        says: '{{ $value | humanizePercentage }} of the requests are answered 5xx.',
        remedy: 'The log has a line for each with its request_id; assay doctor tries each part.',
      },
    ],
  },
  {
    metric: '`assay_lease_left_seconds`',
    meaning: "time until this node's lease ends; normally 20 to 30",
    alertWhen: 'below 10: the node cannot reach its database',
    panel: { title: 'Lease left', unit: 's', queries: [['assay_lease_left_seconds', '{{instance}}']] },
    alerts: [
      {
        name: 'AssayNodeLosesItsLease',
        when: 'assay_lease_left_seconds < 10',
        for: '1m',
        severity: 'page',
        says: 'The node {{ $labels.instance }} has {{ $value }} s of its lease left.',
        remedy: 'Check that it reaches its database: assay doctor.',
      },
    ],
  },
  {
    metric: '`assay_clock_skew_seconds`',
    meaning: 'by how much the clock of this machine is ahead of the store, whose time counts (PostgreSQL)',
    alertWhen: 'beyond 5 seconds either way; beyond 60 the node is not ready',
    panel: {
      title: 'Clock beside the store',
      unit: 's',
      queries: [['assay_clock_skew_seconds', '{{instance}}']],
    },
    alerts: [
      {
        name: 'AssayClockIsOff',
        when: 'abs(assay_clock_skew_seconds) > 5',
        for: '10m',
        severity: 'ticket',
        says: 'The clock of {{ $labels.instance }} is {{ $value }} s off the store.',
        remedy: 'Set it by NTP.',
      },
    ],
  },
  {
    metric: '`assay_store_connections` by `state`',
    meaning: 'the pool to PostgreSQL',
    alertWhen:
      '`waiting` stays above 0: raise `ASSAY_STORE_CONNECTIONS` if the database has idle cores, or add nodes',
    panel: {
      title: 'Connections to PostgreSQL',
      unit: 'short',
      queries: [['sum by (state) (assay_store_connections)', '{{state}}']],
    },
    alerts: [
      {
        name: 'AssayWaitsForConnections',
        when: 'assay_store_connections{state="waiting"} > 0',
        for: '10m',
        severity: 'ticket',
        says: 'Requests of {{ $labels.instance }} wait for connections to PostgreSQL.',
        remedy: 'Raise ASSAY_STORE_CONNECTIONS if the database has idle cores, or add nodes.',
      },
    ],
  },
  {
    metric: '`assay_store_bytes`, `assay_retention_seconds` by `kind`, `assay_rows_deleted_total` by `kind`',
    meaning:
      'the size of the database, how long each kind of row is kept, and rows that this node has deleted after that',
    alertWhen: 'the size outgrows its disk',
    panel: {
      title: 'Size of the database',
      unit: 'bytes',
      queries: [['max(assay_store_bytes)', 'database']],
    },
    alerts: [],
  },
  {
    metric: '`assay_audited_days_total` by `result`',
    meaning:
      'kept days of metrics that this node has read again, one of each series a day: `same`, `different`, or `unread` where the database did not answer',
    alertWhen: 'a day is different',
    panel: {
      title: 'Kept days that were read again',
      unit: 'short',
      queries: [['sum by (result) (increase(assay_audited_days_total[1d]))', '{{result}}']],
    },
    alerts: [
      {
        name: 'AssayKeptDayDiffers',
        when: 'sum(increase(assay_audited_days_total{result="different"}[1d])) > 0',
        for: '0m',
        severity: 'ticket',
        says: 'A closed day of a metric has changed in its database against what its file declares.',
        remedy:
          'Find the metric in the trail (`metric.doubt`), widen its `reopen` or correct `deletes`, and run a report over it with `--full`.',
      },
    ],
  },
  {
    metric: '`assay_analysis_children`, `assay_analysis_children_resident_bytes`',
    meaning: 'analysis processes and their memory',
    alertWhen: 'near the memory of the machine',
    panel: {
      title: 'Memory of analyses and of nodes',
      unit: 'bytes',
      queries: [
        ['assay_analysis_children_resident_bytes', 'analyses of {{instance}}'],
        ['process_resident_memory_bytes{job=~".*assay.*"}', '{{instance}}'],
      ],
    },
    alerts: [],
  },
  {
    metric:
      '`assay_workspace_tasks` by `workspace_id`, `queue`, `state`; `assay_workspace_task_seconds_total`; `assay_workspace_processor_seconds_total`; `assay_workspace_open_requests`',
    meaning:
      'what each workspace runs and waits for on this node, the time and the processor time it took, its open streams and waits',
    alertWhen:
      'one waits while another runs for long: give the other a `max_running` or `max_processor_seconds`',
    panel: {
      title: 'Processors that analyses use, by workspace',
      unit: 'short',
      queries: [
        [`sum by (workspace_id) (rate(assay_workspace_processor_seconds_total${RATE}))`, '{{workspace_id}}'],
      ],
    },
    alerts: [],
  },
  {
    metric: '`assay_cap` by `cap`',
    meaning: 'the caps of a workspace that has none of its own',
    alertWhen: '',
    panel: null,
    alerts: [],
  },
  {
    metric: '`assay_workspace_stored_bytes`, `assay_workspace_stored_ratio` by `workspace_id`',
    meaning:
      'what the jobs and insights of each workspace take, and which share of its `max_stored_bytes` that is',
    alertWhen: 'near 1: new jobs are refused there',
    panel: {
      title: 'Stored jobs and insights, by workspace',
      unit: 'bytes',
      queries: [['max by (workspace_id) (assay_workspace_stored_bytes)', '{{workspace_id}}']],
    },
    alerts: [
      {
        name: 'AssayWorkspaceIsNearlyFull',
        when: 'max by (workspace_id) (assay_workspace_stored_ratio) > 0.9',
        for: '15m',
        severity: 'ticket',
        says: 'The jobs and insights of {{ $labels.workspace_id }} take {{ $value | humanizePercentage }} of what they may.',
        remedy:
          'Raise max_stored_bytes of the workspace, delete jobs that have ended, or shorten ASSAY_KEEP_JOBS.',
      },
    ],
  },
  {
    metric: '`assay_spilled_bytes`',
    meaning: 'what analyses have written to disk',
    alertWhen: 'near `ASSAY_MAX_SPILL`',
    panel: { title: 'Spilled to disk', unit: 'bytes', queries: [['assay_spilled_bytes', '{{instance}}']] },
    alerts: [
      {
        name: 'AssaySpillIsNearItsCap',
        when: 'assay_spilled_bytes > on (instance) 0.9 * assay_cap{cap="max_spill"}',
        for: '5m',
        severity: 'ticket',
        says: 'Analyses of {{ $labels.instance }} have spilled {{ $value | humanize1024 }}B.',
        remedy: 'Raise ASSAY_MAX_SPILL if the disk has room, or give templates more memory.',
      },
    ],
  },
  {
    metric: '`assay_backup_last_timestamp_seconds`, `assay_backups_total` by `outcome`',
    meaning: 'when the newest backup in `ASSAY_BACKUP` was made; backups that this node began',
    alertWhen: 'older than two days, or whatever you can lose',
    panel: {
      title: 'Newest backup',
      unit: 'dateTimeFromNow',
      queries: [['max(assay_backup_last_timestamp_seconds) * 1000', 'made']],
    },
    alerts: [
      {
        name: 'AssayBackupIsOld',
        when: 'max(assay_backup_last_timestamp_seconds) > 0 and time() - max(assay_backup_last_timestamp_seconds) > 172800',
        for: '1h',
        severity: 'ticket',
        says: 'No backup was made for two days.',
        remedy: 'Look for "no backup could be made" in the log; assay doctor tries the place.',
      },
    ],
  },
  {
    metric: '`assay_disk_free_bytes`, `assay_disk_size_bytes`',
    meaning: 'the disk of the home',
    alertWhen: 'below 1 GB',
    panel: {
      title: 'Free on the disk of the home',
      unit: 'bytes',
      queries: [['assay_disk_free_bytes', '{{instance}}']],
    },
    alerts: [
      {
        name: 'AssayDiskIsAlmostFull',
        when: 'assay_disk_free_bytes < 1e9',
        for: '5m',
        severity: 'page',
        says: '{{ $value | humanize1024 }}B are free on the disk of {{ $labels.instance }}.',
        remedy:
          'Free some space, or keep less: ASSAY_KEEP_JOBS, ASSAY_KEEP_EVENTS. With a full disk nothing is written.',
      },
    ],
  },
  {
    metric: '`nodejs_eventloop_lag_p99_seconds`, `process_resident_memory_bytes`',
    meaning: 'the process itself',
    alertWhen: 'above 0.5 s',
    panel: {
      title: 'Lag of the event loop',
      unit: 's',
      queries: [['nodejs_eventloop_lag_p99_seconds and on (instance) assay_build_info', '{{instance}}']],
    },
    alerts: [
      {
        name: 'AssayNodeIsSlow',
        when: 'nodejs_eventloop_lag_p99_seconds > 0.5 and on (instance) assay_build_info',
        for: '10m',
        severity: 'ticket',
        says: 'The node {{ $labels.instance }} answers late by {{ $value | humanizeDuration }}.',
        remedy: 'Give it a core of its own, or add nodes.',
      },
    ],
  },
]

/** The alert for a node that is gone. Such a node reports nothing, so the scrape itself is watched. */
const GONE: Alert = {
  name: 'AssayIsGone',
  when: 'absent(assay_build_info)',
  for: '2m',
  severity: 'page',
  says: 'No node of assay is scraped.',
  remedy: 'Check that a node runs, and that Prometheus reaches its /metrics with ASSAY_METRICS_TOKEN.',
}

export const ALERTS: readonly Alert[] = [GONE, ...WATCHED.flatMap(({ alerts }) => alerts)]

/** Returns the table of docs/operating/monitoring.md. */
export function watchTable(): string {
  const rows = WATCHED.map(
    ({ metric, meaning, alertWhen }) =>
      `| ${metric} | ${meaning} | ${alertWhen}${alertWhen === '' ? '' : ' '}|`,
  )
  return ['| metric | meaning | alert when |', '|---|---|---|', ...rows].join('\n')
}
