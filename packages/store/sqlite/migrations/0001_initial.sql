-- The first schema. Times are RFC 3339 UTC with milliseconds as text (they sort as text); JSON is text.
-- Live rows have partial indexes in the order of their claim, so that finished rows cost a claim nothing.

CREATE TABLE settings (
  key TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE workspaces (
  workspace_id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  data_folder TEXT,
  created_at TEXT NOT NULL
) STRICT;
CREATE INDEX workspaces_by_time ON workspaces (created_at, workspace_id);

CREATE TABLE users (
  user_id TEXT NOT NULL,
  workspace_id TEXT NOT NULL REFERENCES workspaces,
  username TEXT NOT NULL UNIQUE,
  password_hash TEXT,
  scopes TEXT NOT NULL,
  created_at TEXT NOT NULL,
  PRIMARY KEY (workspace_id, user_id)
) STRICT;
CREATE INDEX users_by_time ON users (workspace_id, created_at, user_id);

CREATE TABLE tokens (
  token_id TEXT PRIMARY KEY,
  token_hash TEXT NOT NULL UNIQUE,
  workspace_id TEXT NOT NULL REFERENCES workspaces,
  user_id TEXT NOT NULL,
  name TEXT NOT NULL,
  scopes TEXT NOT NULL,
  expires_at TEXT,
  created_at TEXT NOT NULL
) STRICT;
CREATE INDEX tokens_by_time ON tokens (workspace_id, created_at, token_id);
CREATE INDEX tokens_by_expiry ON tokens (expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE templates (
  workspace_id TEXT NOT NULL REFERENCES workspaces,
  template_id TEXT NOT NULL,
  source TEXT NOT NULL,
  user_id TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  PRIMARY KEY (workspace_id, template_id)
) STRICT;

-- What jobs were created with, once for each version.
CREATE TABLE template_versions (
  template_id TEXT NOT NULL,
  version TEXT NOT NULL,
  source TEXT NOT NULL,
  partials TEXT NOT NULL,
  PRIMARY KEY (template_id, version)
) STRICT;

-- The queue. `owner` is the node that holds an active or executing job.
CREATE TABLE jobs (
  assignment_id TEXT PRIMARY KEY,
  workspace_id TEXT NOT NULL REFERENCES workspaces,
  user_id TEXT NOT NULL,
  template_id TEXT NOT NULL,
  template_version TEXT NOT NULL,
  job_status TEXT NOT NULL,
  priority INTEGER NOT NULL,
  attempt INTEGER NOT NULL DEFAULT 0,
  losses INTEGER NOT NULL DEFAULT 0,
  owner TEXT,
  presence_name TEXT,
  insight_id TEXT,
  skipped TEXT,
  created_at TEXT NOT NULL,
  queued_at TEXT,
  started_at TEXT,
  finished_at TEXT,
  progress TEXT NOT NULL,
  error TEXT,
  moves TEXT NOT NULL,
  metadata TEXT NOT NULL,
  variables TEXT NOT NULL
) STRICT;
CREATE INDEX jobs_queued ON jobs (workspace_id, priority DESC, queued_at, assignment_id) WHERE job_status = 'queued';
CREATE INDEX jobs_owned ON jobs (owner) WHERE owner IS NOT NULL;
CREATE INDEX jobs_by_time ON jobs (workspace_id, created_at, assignment_id);
CREATE INDEX jobs_by_status ON jobs (workspace_id, job_status, created_at, assignment_id);
CREATE INDEX jobs_by_template ON jobs (workspace_id, template_id, created_at, assignment_id);
CREATE INDEX jobs_by_version ON jobs (template_version);
CREATE INDEX jobs_finished ON jobs (finished_at) WHERE finished_at IS NOT NULL;

-- One row for each workspace: its unfinished jobs by state, and the job at the head of its queue. The claim reads
-- these instead of the queue: it costs the same however many wait.
CREATE TABLE lanes (
  workspace_id TEXT PRIMARY KEY REFERENCES workspaces ON DELETE CASCADE,
  draft INTEGER NOT NULL DEFAULT 0,
  queued INTEGER NOT NULL DEFAULT 0,
  active INTEGER NOT NULL DEFAULT 0,
  executing INTEGER NOT NULL DEFAULT 0,
  head_priority INTEGER,
  head_queued_at TEXT
) STRICT;
CREATE INDEX lanes_by_turn ON lanes (head_priority DESC, active + executing, head_queued_at)
  WHERE head_priority IS NOT NULL;

CREATE TABLE insights (
  insight_id TEXT PRIMARY KEY,
  assignment_id TEXT NOT NULL UNIQUE,
  workspace_id TEXT NOT NULL,
  created_at TEXT NOT NULL,
  body TEXT NOT NULL
) STRICT;

CREATE TABLE nodes (
  node_id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  roles TEXT NOT NULL,
  version TEXT NOT NULL,
  started_at TEXT NOT NULL,
  lease_until TEXT NOT NULL
) STRICT;

-- The last columns are what a claim of deliveries needs: it reads this row, never the waiting deliveries.
-- `due_at` is the earliest of the unclaimed ones, `claim_at` when one may be claimed (store/turn.ts works it out).
CREATE TABLE webhooks (
  webhook_id TEXT PRIMARY KEY,
  workspace_id TEXT NOT NULL REFERENCES workspaces,
  url TEXT NOT NULL,
  headers TEXT NOT NULL,
  user_id TEXT NOT NULL,
  presence_name TEXT NOT NULL,
  events TEXT,
  description TEXT,
  signature TEXT NOT NULL,
  secrets TEXT NOT NULL,
  public_key TEXT,
  retry_schedule TEXT,
  max_in_flight INTEGER,
  rate_per_second REAL,
  status TEXT NOT NULL,
  disabled_reason TEXT,
  failing_since TEXT,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  in_flight INTEGER NOT NULL DEFAULT 0,
  due_at TEXT,
  turn_at TEXT,
  rate_at REAL,
  failures INTEGER NOT NULL DEFAULT 0,
  open_until TEXT,
  claim_at TEXT
) STRICT;
CREATE INDEX webhooks_by_time ON webhooks (workspace_id, created_at, webhook_id);
CREATE INDEX webhooks_by_turn ON webhooks (in_flight, claim_at) WHERE claim_at IS NOT NULL;

-- Which enabled webhooks an event goes to: the rule of webhook.ts, worked out when a webhook is written.
CREATE TABLE subscriptions (
  workspace_id TEXT NOT NULL,
  event_type TEXT NOT NULL,
  presence_name TEXT NOT NULL,
  webhook_id TEXT NOT NULL REFERENCES webhooks ON DELETE CASCADE,
  PRIMARY KEY (workspace_id, event_type, presence_name, webhook_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX subscriptions_by_webhook ON subscriptions (webhook_id);

-- `seq` is the order of the commits, for there is one writer: a reader past it has seen all before it.
CREATE TABLE events (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  event_id TEXT NOT NULL UNIQUE,
  workspace_id TEXT NOT NULL,
  type TEXT NOT NULL,
  timestamp TEXT NOT NULL,
  data TEXT NOT NULL
) STRICT;
CREATE INDEX events_by_workspace ON events (workspace_id, seq);
CREATE INDEX events_by_type ON events (workspace_id, type, seq);
CREATE INDEX events_by_time ON events (timestamp);

-- The outbox. `owner` is the node that is sending it; `last_try` that a failure of this try ends it (canceled).
CREATE TABLE deliveries (
  delivery_id TEXT PRIMARY KEY,
  workspace_id TEXT NOT NULL,
  webhook_id TEXT NOT NULL REFERENCES webhooks ON DELETE CASCADE,
  event_seq INTEGER NOT NULL REFERENCES events,
  event_id TEXT NOT NULL,
  event_type TEXT NOT NULL,
  assignment_id TEXT,
  status TEXT NOT NULL,
  due_at TEXT,
  owner TEXT,
  attempt_count INTEGER NOT NULL DEFAULT 0,
  last_try INTEGER NOT NULL DEFAULT 0,
  created_at TEXT NOT NULL
) STRICT;
-- Ends with `owner` so that counting what is due reads the index alone.
CREATE INDEX deliveries_due ON deliveries (webhook_id, due_at, delivery_id, owner)
  WHERE status = 'pending' AND owner IS NULL;
CREATE INDEX deliveries_owned ON deliveries (owner) WHERE owner IS NOT NULL;
CREATE INDEX deliveries_by_time ON deliveries (webhook_id, created_at, delivery_id);
CREATE INDEX deliveries_by_status ON deliveries (webhook_id, status, created_at, delivery_id);
CREATE INDEX deliveries_by_event ON deliveries (event_seq, webhook_id);
CREATE INDEX deliveries_failed ON deliveries (webhook_id, event_seq) WHERE status = 'failed';
CREATE INDEX deliveries_by_job ON deliveries (assignment_id) WHERE assignment_id IS NOT NULL;

CREATE TABLE attempts (
  delivery_id TEXT NOT NULL REFERENCES deliveries ON DELETE CASCADE,
  number INTEGER NOT NULL,
  record TEXT NOT NULL,
  PRIMARY KEY (delivery_id, number)
) STRICT;

-- Attempts by hour and bucket of duration (delivery.ts); bucket -1: failed.
CREATE TABLE attempt_counts (
  webhook_id TEXT NOT NULL REFERENCES webhooks ON DELETE CASCADE,
  hour TEXT NOT NULL,
  bucket INTEGER NOT NULL,
  count INTEGER NOT NULL,
  PRIMARY KEY (webhook_id, hour, bucket)
) STRICT, WITHOUT ROWID;
CREATE INDEX attempt_counts_by_hour ON attempt_counts (hour);

-- Works through events from `next_seq` to `to_seq`.
CREATE TABLE recoveries (
  recovery_id TEXT PRIMARY KEY,
  workspace_id TEXT NOT NULL,
  webhook_id TEXT NOT NULL REFERENCES webhooks ON DELETE CASCADE,
  include_unsent INTEGER NOT NULL,
  next_seq INTEGER NOT NULL,
  to_seq INTEGER NOT NULL,
  status TEXT NOT NULL,
  done INTEGER NOT NULL DEFAULT 0,
  count INTEGER NOT NULL,
  created_at TEXT NOT NULL
) STRICT;
CREATE INDEX recoveries_running ON recoveries (created_at) WHERE status = 'running';
CREATE INDEX recoveries_by_webhook ON recoveries (webhook_id);

CREATE TABLE idempotency_keys (
  workspace_id TEXT NOT NULL,
  method TEXT NOT NULL,
  path TEXT NOT NULL,
  key TEXT NOT NULL,
  body_hash TEXT NOT NULL,
  id TEXT NOT NULL,
  node_id TEXT NOT NULL,
  started_at TEXT NOT NULL,
  answer TEXT,
  PRIMARY KEY (workspace_id, method, path, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_keys_by_time ON idempotency_keys (started_at);
