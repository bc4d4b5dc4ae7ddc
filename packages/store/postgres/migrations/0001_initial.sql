-- The first schema. Times are timestamptz with milliseconds; ids are text in the order of their bytes (COLLATE "C"), as
-- on SQLite; `json` keeps numbers and the order of keys as they were given, `jsonb` would not.
-- Live rows have partial indexes in the order of their claim, so that finished rows cost a claim nothing.
-- What is written most often stays on its page (HOT): no index holds a column that a renewal or a progress touches.

CREATE TABLE settings (
  key text COLLATE "C" PRIMARY KEY,
  value text NOT NULL
);

CREATE TABLE workspaces (
  workspace_id text COLLATE "C" PRIMARY KEY,
  name text NOT NULL,
  data_folder text,
  created_at timestamptz(3) NOT NULL
);
CREATE INDEX workspaces_by_time ON workspaces (created_at, workspace_id);

CREATE TABLE users (
  user_id text COLLATE "C" NOT NULL,
  workspace_id text COLLATE "C" NOT NULL REFERENCES workspaces,
  username text COLLATE "C" NOT NULL UNIQUE,
  password_hash text,
  scopes json NOT NULL,
  created_at timestamptz(3) NOT NULL,
  PRIMARY KEY (workspace_id, user_id)
);
CREATE INDEX users_by_time ON users (workspace_id, created_at, user_id);

CREATE TABLE tokens (
  token_id text COLLATE "C" PRIMARY KEY,
  token_hash text COLLATE "C" NOT NULL UNIQUE,
  workspace_id text COLLATE "C" NOT NULL REFERENCES workspaces,
  user_id text COLLATE "C" NOT NULL,
  name text NOT NULL,
  scopes json NOT NULL,
  expires_at timestamptz(3),
  created_at timestamptz(3) NOT NULL
);
CREATE INDEX tokens_by_time ON tokens (workspace_id, created_at, token_id);
CREATE INDEX tokens_by_expiry ON tokens (expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE templates (
  workspace_id text COLLATE "C" NOT NULL REFERENCES workspaces,
  template_id text COLLATE "C" NOT NULL,
  source text NOT NULL,
  user_id text COLLATE "C" NOT NULL,
  updated_at timestamptz(3) NOT NULL,
  PRIMARY KEY (workspace_id, template_id)
);

-- What jobs were created with, once for each version.
CREATE TABLE template_versions (
  template_id text COLLATE "C" NOT NULL,
  version text COLLATE "C" NOT NULL,
  source text NOT NULL,
  partials json NOT NULL,
  PRIMARY KEY (template_id, version)
);

-- The queue. `owner` is the node that holds an active or executing job. Unlike SQLite's there are no lanes beside it:
-- a row of counts would make all workers of a workspace wait for each other.
CREATE TABLE jobs (
  assignment_id text COLLATE "C" PRIMARY KEY,
  workspace_id text COLLATE "C" NOT NULL REFERENCES workspaces,
  user_id text COLLATE "C" NOT NULL,
  template_id text COLLATE "C" NOT NULL,
  template_version text COLLATE "C" NOT NULL,
  job_status text COLLATE "C" NOT NULL,
  priority integer NOT NULL,
  attempt integer NOT NULL DEFAULT 0,
  losses integer NOT NULL DEFAULT 0,
  owner text COLLATE "C",
  presence_name text COLLATE "C",
  insight_id text COLLATE "C",
  skipped text,
  created_at timestamptz(3) NOT NULL,
  queued_at timestamptz(3),
  started_at timestamptz(3),
  finished_at timestamptz(3),
  progress json NOT NULL,
  error json,
  moves json NOT NULL,
  metadata json NOT NULL,
  variables json NOT NULL,
  -- Holds a version while jobs are made with it: another node may be deleting what nobody uses.
  FOREIGN KEY (template_id, template_version) REFERENCES template_versions (template_id, version)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.01);
CREATE INDEX jobs_queued ON jobs (workspace_id, priority DESC, queued_at, assignment_id) WHERE job_status = 'queued';
CREATE INDEX jobs_owned ON jobs (owner, workspace_id, job_status) WHERE owner IS NOT NULL;
CREATE INDEX jobs_by_time ON jobs (workspace_id, created_at, assignment_id);
CREATE INDEX jobs_by_status ON jobs (workspace_id, job_status, created_at, assignment_id);
CREATE INDEX jobs_by_template ON jobs (workspace_id, template_id, created_at, assignment_id);
CREATE INDEX jobs_by_version ON jobs (template_id, template_version);
CREATE INDEX jobs_finished ON jobs (finished_at) WHERE finished_at IS NOT NULL;

CREATE TABLE insights (
  insight_id text COLLATE "C" PRIMARY KEY,
  assignment_id text COLLATE "C" NOT NULL UNIQUE,
  workspace_id text COLLATE "C" NOT NULL,
  created_at timestamptz(3) NOT NULL,
  body json NOT NULL
);

CREATE TABLE nodes (
  node_id text COLLATE "C" PRIMARY KEY,
  name text NOT NULL,
  roles json NOT NULL,
  version text NOT NULL,
  started_at timestamptz(3) NOT NULL,
  lease_until timestamptz(3) NOT NULL
) WITH (fillfactor = 50);

-- The claim state of a webhook is in its own row (in_flight to claim_at, see store/turn.ts): caps are exact, and a
-- claim looks at no more webhooks than it takes from.
CREATE TABLE webhooks (
  webhook_id text COLLATE "C" PRIMARY KEY,
  workspace_id text COLLATE "C" NOT NULL REFERENCES workspaces,
  url text NOT NULL,
  headers json NOT NULL,
  user_id text COLLATE "C" NOT NULL,
  presence_name text COLLATE "C" NOT NULL,
  events json,
  description text,
  signature text NOT NULL,
  secrets json NOT NULL,
  public_key text,
  retry_schedule json,
  max_in_flight integer,
  rate_per_second double precision,
  status text COLLATE "C" NOT NULL,
  disabled_reason text,
  failing_since timestamptz(3),
  created_at timestamptz(3) NOT NULL,
  updated_at timestamptz(3) NOT NULL,
  in_flight integer NOT NULL DEFAULT 0,
  due_at timestamptz(3),
  turn_at timestamptz(3),
  rate_at double precision,
  failures integer NOT NULL DEFAULT 0,
  open_until timestamptz(3),
  claim_at timestamptz(3)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.01);
CREATE INDEX webhooks_by_time ON webhooks (workspace_id, created_at, webhook_id);
CREATE INDEX webhooks_by_turn ON webhooks (in_flight, claim_at) WHERE claim_at IS NOT NULL;

-- What each enabled webhook is told of, worked out by webhook.ts.
CREATE TABLE subscriptions (
  workspace_id text COLLATE "C" NOT NULL,
  event_type text COLLATE "C" NOT NULL,
  presence_name text COLLATE "C" NOT NULL,
  webhook_id text COLLATE "C" NOT NULL REFERENCES webhooks ON DELETE CASCADE,
  PRIMARY KEY (workspace_id, event_type, presence_name, webhook_id)
);
CREATE INDEX subscriptions_by_webhook ON subscriptions (webhook_id);

-- A lower `seq` may be committed later than a higher one. Readers go by (xid, seq) and stop before the oldest
-- transaction that is still under way, so that they skip nothing.
CREATE TABLE events (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
  event_id text COLLATE "C" NOT NULL UNIQUE,
  workspace_id text COLLATE "C" NOT NULL,
  type text COLLATE "C" NOT NULL,
  timestamp timestamptz(3) NOT NULL,
  data json NOT NULL
);
CREATE INDEX events_by_workspace ON events (workspace_id, xid, seq);
CREATE INDEX events_by_type ON events (workspace_id, type, xid, seq);
CREATE INDEX events_by_time ON events (timestamp, seq);
CREATE INDEX events_in_window ON events (workspace_id, timestamp, seq);
CREATE INDEX events_by_xid ON events (xid);

-- The outbox. `due_at` is null once it has ended; `owner` is the node that tries it now; `event_at` is its event's time.
CREATE TABLE deliveries (
  delivery_id text COLLATE "C" PRIMARY KEY,
  workspace_id text COLLATE "C" NOT NULL,
  webhook_id text COLLATE "C" NOT NULL REFERENCES webhooks ON DELETE CASCADE,
  event_seq bigint NOT NULL REFERENCES events,
  event_id text COLLATE "C" NOT NULL,
  event_type text COLLATE "C" NOT NULL,
  event_at timestamptz(3) NOT NULL,
  assignment_id text COLLATE "C",
  status text COLLATE "C" NOT NULL,
  due_at timestamptz(3),
  owner text COLLATE "C",
  attempt_count integer NOT NULL DEFAULT 0,
  last_try boolean NOT NULL DEFAULT false,
  created_at timestamptz(3) NOT NULL
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.01);
CREATE INDEX deliveries_due ON deliveries (webhook_id, due_at, delivery_id) WHERE status = 'pending' AND owner IS NULL;
CREATE INDEX deliveries_owned ON deliveries (owner) WHERE owner IS NOT NULL;
CREATE INDEX deliveries_by_time ON deliveries (webhook_id, created_at, delivery_id);
CREATE INDEX deliveries_by_status ON deliveries (webhook_id, status, created_at, delivery_id);
CREATE INDEX deliveries_by_event ON deliveries (event_seq, webhook_id);
CREATE INDEX deliveries_by_job ON deliveries (assignment_id) WHERE assignment_id IS NOT NULL;
CREATE INDEX deliveries_failed ON deliveries (webhook_id, event_at, event_seq) WHERE status = 'failed';

CREATE TABLE attempts (
  delivery_id text COLLATE "C" NOT NULL REFERENCES deliveries ON DELETE CASCADE,
  number integer NOT NULL,
  record json NOT NULL,
  PRIMARY KEY (delivery_id, number)
);

-- Attempts by whole hour and bucket of duration (delivery.ts); bucket -1: failed.
CREATE TABLE attempt_counts (
  webhook_id text COLLATE "C" NOT NULL REFERENCES webhooks ON DELETE CASCADE,
  hour timestamptz(3) NOT NULL,
  bucket integer NOT NULL,
  count integer NOT NULL,
  PRIMARY KEY (webhook_id, hour, bucket)
) WITH (fillfactor = 50);
CREATE INDEX attempt_counts_by_hour ON attempt_counts (hour);

-- Goes over the events of a window in time by (timestamp, seq): sequence numbers and times do not rise together here.
CREATE TABLE recoveries (
  recovery_id text COLLATE "C" PRIMARY KEY,
  workspace_id text COLLATE "C" NOT NULL,
  webhook_id text COLLATE "C" NOT NULL REFERENCES webhooks ON DELETE CASCADE,
  include_unsent boolean NOT NULL,
  next_at timestamptz(3) NOT NULL,
  next_seq bigint NOT NULL,
  until timestamptz(3) NOT NULL,
  status text COLLATE "C" NOT NULL,
  done integer NOT NULL DEFAULT 0,
  count integer NOT NULL,
  created_at timestamptz(3) NOT NULL
);
CREATE INDEX recoveries_by_webhook ON recoveries (webhook_id);
CREATE INDEX recoveries_running ON recoveries (created_at) WHERE status = 'running';

CREATE TABLE idempotency_keys (
  workspace_id text COLLATE "C" NOT NULL,
  method text COLLATE "C" NOT NULL,
  path text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  body_hash text NOT NULL,
  id text NOT NULL,
  node_id text COLLATE "C" NOT NULL,
  started_at timestamptz(3) NOT NULL,
  answer text,
  PRIMARY KEY (workspace_id, method, path, key)
);
CREATE INDEX idempotency_keys_by_time ON idempotency_keys (started_at);
