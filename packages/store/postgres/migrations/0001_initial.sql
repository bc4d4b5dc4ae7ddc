-- The schema of the first release. Times are timestamptz with milliseconds. Ids sort by their bytes (COLLATE "C"), as on
-- SQLite. `json` keeps numbers and the order of keys as they were given; `jsonb` would not.
-- Rows that wait have partial indexes in the order in which they are claimed: a finished row costs a claim nothing.
-- Columns that change often (progress, owner, a lease) are in no index, so that their updates stay on the page (HOT).

-- Values that are set once for the whole service.
CREATE TABLE settings (
  key text COLLATE "C" PRIMARY KEY,
  value text NOT NULL
);

-- Token buckets that every process shares (failed logins). A full bucket has no row.
CREATE TABLE allowances (
  key text COLLATE "C" PRIMARY KEY,
  tokens double precision NOT NULL,
  at timestamptz(3) NOT NULL,
  full_at timestamptz(3) NOT NULL
);
CREATE INDEX allowances_by_time ON allowances (full_at);

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

-- A node holds what it claimed until `lease_until`.
CREATE TABLE nodes (
  node_id text COLLATE "C" PRIMARY KEY,
  name text NOT NULL,
  roles json NOT NULL,
  version text NOT NULL,
  started_at timestamptz(3) NOT NULL,
  lease_until timestamptz(3) NOT NULL
) WITH (fillfactor = 50);

-- The caps of a workspace are null where the service's own hold. `outgoing`: the rules of what may leave it. A workspace with
-- `deleted_at` is being deleted in steps: nobody sees it and it accepts nothing new.
CREATE TABLE workspaces (
  workspace_id text COLLATE "C" PRIMARY KEY,
  name text NOT NULL,
  data_folder text,
  max_queued integer,
  max_running integer,
  max_processor_seconds integer,
  max_spill_bytes bigint,
  max_stored_bytes bigint,
  rate_limit integer,
  max_file_bytes bigint,
  max_files_bytes bigint,
  created_at timestamptz(3) NOT NULL,
  outgoing json,
  deleted_at timestamptz(3)
);
CREATE INDEX workspaces_by_time ON workspaces (created_at, workspace_id);
CREATE INDEX workspaces_deleted ON workspaces (deleted_at) WHERE deleted_at IS NOT NULL;

CREATE TABLE users (
  user_id text COLLATE "C" NOT NULL,
  workspace_id text COLLATE "C" NOT NULL REFERENCES workspaces,
  username text COLLATE "C" NOT NULL,
  display_name text,
  -- The identity at the sign-in provider, of a user who comes from one.
  issuer text COLLATE "C",
  subject text COLLATE "C",
  -- The end of the rights that the provider gave: one life of a sign-in after the last sign-in.
  admitted_until timestamptz(3),
  password_hash text,
  scopes json NOT NULL,
  disabled boolean NOT NULL,
  created_at timestamptz(3) NOT NULL,
  PRIMARY KEY (workspace_id, user_id),
  UNIQUE (workspace_id, username)
);
CREATE UNIQUE INDEX users_by_identity ON users (issuer, subject, workspace_id) WHERE issuer IS NOT NULL;
CREATE INDEX users_by_time ON users (workspace_id, created_at, user_id);

CREATE TABLE tokens (
  token_id text COLLATE "C" PRIMARY KEY,
  token_hash text COLLATE "C" NOT NULL UNIQUE,
  workspace_id text COLLATE "C" NOT NULL REFERENCES workspaces,
  user_id text COLLATE "C" NOT NULL,
  name text NOT NULL,
  scopes json NOT NULL,
  templates json,
  collections json,
  expires_at timestamptz(3),
  created_at timestamptz(3) NOT NULL,
  last_used_at timestamptz(3)
);
CREATE INDEX tokens_by_user ON tokens (workspace_id, user_id, name);
CREATE INDEX tokens_by_time ON tokens (workspace_id, created_at, token_id);
CREATE INDEX tokens_by_expiry ON tokens (expires_at) WHERE expires_at IS NOT NULL;

-- The programs that people have let act in their name (OAuth). The token's secret changes with each refresh.
CREATE TABLE grants (
  token_id text COLLATE "C" PRIMARY KEY REFERENCES tokens ON DELETE CASCADE,
  client_id text COLLATE "C" NOT NULL,
  redirect_uri text NOT NULL,
  challenge text NOT NULL,
  resource text NOT NULL,
  scopes json NOT NULL,
  code_hash text COLLATE "C" NOT NULL UNIQUE,
  generation integer NOT NULL,
  begun_at timestamptz(3) NOT NULL,
  ends_at timestamptz(3) NOT NULL
);

-- Browsers in which people are signed in. A sign-in by a token ends with the token.
CREATE TABLE sign_ins (
  sign_in_id text COLLATE "C" PRIMARY KEY,
  secret_hash text COLLATE "C" NOT NULL UNIQUE,
  workspace_id text COLLATE "C" NOT NULL REFERENCES workspaces,
  user_id text COLLATE "C" NOT NULL,
  token_id text COLLATE "C",
  scopes json NOT NULL,
  templates json,
  device text NOT NULL,
  address text NOT NULL,
  created_at timestamptz(3) NOT NULL,
  last_used_at timestamptz(3) NOT NULL,
  idle_ends_at timestamptz(3) NOT NULL,
  ends_at timestamptz(3) NOT NULL
);
CREATE INDEX sign_ins_by_user ON sign_ins (workspace_id, user_id, created_at, sign_in_id);
CREATE INDEX sign_ins_by_token ON sign_ins (token_id) WHERE token_id IS NOT NULL;
CREATE INDEX sign_ins_by_end ON sign_ins (idle_ends_at);

-- Who did what. The records of a deleted workspace stay until they are old enough.
CREATE TABLE audit (
  audit_id text COLLATE "C" PRIMARY KEY,
  workspace_id text COLLATE "C" NOT NULL,
  created_at timestamptz(3) NOT NULL,
  action text COLLATE "C" NOT NULL,
  object_id text COLLATE "C",
  fields json NOT NULL,
  user_id text COLLATE "C",
  token_id text COLLATE "C",
  address text,
  request_id text
);
CREATE INDEX audit_by_time ON audit (workspace_id, created_at, audit_id);
CREATE INDEX audit_by_object ON audit (workspace_id, object_id, created_at, audit_id) WHERE object_id IS NOT NULL;
-- The actions that come with every request (store/list.ts) are left out: their records do not pay for this index.
CREATE INDEX audit_by_action ON audit (workspace_id, action, created_at, audit_id)
  WHERE action <> 'job.create' AND action <> 'job.run' AND action <> 'result.read' AND action <> 'link.open';

CREATE TABLE templates (
  workspace_id text COLLATE "C" NOT NULL REFERENCES workspaces,
  template_id text COLLATE "C" NOT NULL,
  source text NOT NULL,
  user_id text COLLATE "C" NOT NULL,
  updated_at timestamptz(3) NOT NULL,
  PRIMARY KEY (workspace_id, template_id)
);

CREATE TABLE metrics (
  workspace_id text COLLATE "C" NOT NULL REFERENCES workspaces,
  metric_id text COLLATE "C" NOT NULL,
  source text NOT NULL,
  user_id text COLLATE "C" NOT NULL,
  updated_at timestamptz(3) NOT NULL,
  PRIMARY KEY (workspace_id, metric_id)
);

-- Texts of templates and metrics that their authors have not published.
CREATE TABLE kept_drafts (
  draft_id text COLLATE "C" PRIMARY KEY,
  workspace_id text COLLATE "C" NOT NULL REFERENCES workspaces,
  kind text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  user_id text COLLATE "C" NOT NULL,
  source text NOT NULL,
  created_at timestamptz(3) NOT NULL,
  updated_at timestamptz(3) NOT NULL,
  UNIQUE (workspace_id, kind, name, user_id)
);
CREATE INDEX kept_drafts_by_time ON kept_drafts (workspace_id, created_at, draft_id);

-- The sources that jobs were created with, once for each version.
CREATE TABLE template_versions (
  template_id text COLLATE "C" NOT NULL,
  version text COLLATE "C" NOT NULL,
  source text NOT NULL,
  partials json NOT NULL,
  bytes bigint GENERATED ALWAYS AS (octet_length(source) + octet_length(partials::text)) STORED,
  commit_id text,
  PRIMARY KEY (template_id, version)
);

-- The git repository of templates: one row. `tree` is the last commit that passed; `due_at`: when a node looks
-- next. `held_until`: until when a node holds the row. `revision` fences what the node writes.
CREATE TABLE repositories (
  repository_id text COLLATE "C" PRIMARY KEY,
  address text NOT NULL,
  branch text,
  folder text NOT NULL,
  taken json,
  tree json,
  latest json,
  pulled_at timestamptz(3),
  unreached json,
  owned json NOT NULL,
  asked boolean NOT NULL,
  due_at timestamptz(3) NOT NULL,
  held_until timestamptz(3) NOT NULL,
  revision int NOT NULL
);

-- Answers of language models, by the SHA-256 of model and question.
CREATE TABLE narratives (
  workspace_id text COLLATE "C" NOT NULL REFERENCES workspaces ON DELETE CASCADE,
  hash text COLLATE "C" NOT NULL,
  text text NOT NULL,
  created_at timestamptz(3) NOT NULL,
  PRIMARY KEY (workspace_id, hash)
);
CREATE INDEX narratives_by_age ON narratives (created_at);

-- The statistics of days of metrics, so that a run reads new days only.
CREATE TABLE kept_series (
  workspace_id text COLLATE "C" NOT NULL REFERENCES workspaces ON DELETE CASCADE,
  series_key text COLLATE "C" NOT NULL,
  metric text NOT NULL,
  recipe text NOT NULL,
  first_day text,
  looked_at timestamptz(3) NOT NULL,
  doubt text,
  audited_at timestamptz(3) NOT NULL,
  used_at timestamptz(3) NOT NULL,
  PRIMARY KEY (workspace_id, series_key)
);
CREATE INDEX kept_series_by_use ON kept_series (used_at);
CREATE INDEX kept_series_by_audit ON kept_series (audited_at);

CREATE TABLE kept_days (
  workspace_id text COLLATE "C" NOT NULL,
  series_key text COLLATE "C" NOT NULL,
  day text COLLATE "C" NOT NULL,
  statistics text NOT NULL,
  bytes bigint NOT NULL,
  read_at timestamptz(3) NOT NULL,
  PRIMARY KEY (workspace_id, series_key, day),
  FOREIGN KEY (workspace_id, series_key) REFERENCES kept_series ON DELETE CASCADE
);

-- How people said that uploads are read, by the path of the upload.
CREATE TABLE file_dialects (
  workspace_id text COLLATE "C" NOT NULL REFERENCES workspaces ON DELETE CASCADE,
  path text COLLATE "C" NOT NULL,
  lines json NOT NULL,
  updated_at timestamptz(3) NOT NULL,
  PRIMARY KEY (workspace_id, path)
);

-- What left a workspace, by day (UTC) and kind (model/webhooks/outgoing.ts).
CREATE TABLE outgoing (
  workspace_id text COLLATE "C" NOT NULL REFERENCES workspaces ON DELETE CASCADE,
  day text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  count bigint NOT NULL,
  refused bigint NOT NULL,
  bytes bigint NOT NULL,
  PRIMARY KEY (workspace_id, day, kind)
);
CREATE INDEX outgoing_by_day ON outgoing (day);

-- Milliseconds of processor time that the analyses of a workspace took, by hour (UTC): "2026-03-04T05".
CREATE TABLE processor_use (
  workspace_id text COLLATE "C" NOT NULL REFERENCES workspaces ON DELETE CASCADE,
  hour text COLLATE "C" NOT NULL,
  ms bigint NOT NULL,
  PRIMARY KEY (workspace_id, hour)
);
CREATE INDEX processor_use_by_hour ON processor_use (hour);

-- The answers of owners of mail addresses. `address_hash` is a keyed hash of the address.
CREATE TABLE mail_consents (
  workspace_id text COLLATE "C" NOT NULL REFERENCES workspaces ON DELETE CASCADE,
  address_hash text COLLATE "C" NOT NULL,
  asked_at timestamptz(3),
  confirmed_at timestamptz(3),
  left_at timestamptz(3),
  PRIMARY KEY (workspace_id, address_hash)
);

-- Databases that sources with a query read. Secrets are sealed.
CREATE TABLE connections (
  workspace_id text COLLATE "C" NOT NULL REFERENCES workspaces,
  name text COLLATE "C" NOT NULL,
  kind text NOT NULL,
  description text,
  options json NOT NULL,
  secrets json NOT NULL,
  limits json NOT NULL,
  user_id text COLLATE "C" NOT NULL,
  created_at timestamptz(3) NOT NULL,
  updated_at timestamptz(3) NOT NULL,
  PRIMARY KEY (workspace_id, name)
);
CREATE INDEX connections_by_time ON connections (workspace_id, created_at, name);

-- Persons for whom personal insights are made. A user is at most one reader.
CREATE TABLE readers (
  workspace_id text COLLATE "C" NOT NULL REFERENCES workspaces,
  reader_id text COLLATE "C" NOT NULL,
  name text NOT NULL,
  email text,
  user_id text COLLATE "C",
  attributes json NOT NULL,
  created_at timestamptz(3) NOT NULL,
  updated_at timestamptz(3) NOT NULL,
  PRIMARY KEY (workspace_id, reader_id)
);
CREATE UNIQUE INDEX readers_by_user ON readers (workspace_id, user_id) WHERE user_id IS NOT NULL;

-- `claim_at` is when the scheduler may next look at a schedule: its due time, or a little later while a node works on it.
CREATE TABLE schedules (
  schedule_id text COLLATE "C" PRIMARY KEY,
  workspace_id text COLLATE "C" NOT NULL REFERENCES workspaces,
  user_id text COLLATE "C" NOT NULL,
  name text NOT NULL,
  template_id text COLLATE "C" NOT NULL,
  variables json NOT NULL,
  cron text NOT NULL,
  time_zone text NOT NULL,
  starts_at timestamptz(3),
  ends_at timestamptz(3),
  missed text NOT NULL,
  missed_limit integer NOT NULL,
  overlap text NOT NULL,
  paused boolean NOT NULL,
  presence_name text COLLATE "C",
  notify json,
  priority integer NOT NULL,
  metadata json NOT NULL,
  readers json,
  firing json,
  counts json NOT NULL,
  last_run json,
  last_error json,
  next_due_at timestamptz(3),
  claim_at timestamptz(3),
  revision integer NOT NULL,
  created_at timestamptz(3) NOT NULL,
  updated_at timestamptz(3) NOT NULL
);
CREATE INDEX schedules_by_time ON schedules (workspace_id, created_at, schedule_id);
CREATE INDEX schedules_due ON schedules (claim_at, schedule_id) WHERE claim_at IS NOT NULL;

-- The queue. `owner` is the node that holds an active or executing job, `attempt` only rises and fences every settle.
CREATE TABLE jobs (
  assignment_id text COLLATE "C" PRIMARY KEY,
  workspace_id text COLLATE "C" NOT NULL,
  user_id text COLLATE "C" NOT NULL,
  template_id text COLLATE "C" NOT NULL,
  template_version text COLLATE "C" NOT NULL,
  job_status text COLLATE "C" NOT NULL,
  priority integer NOT NULL,
  attempt integer NOT NULL DEFAULT 0,
  losses integer NOT NULL DEFAULT 0,
  owner text COLLATE "C",
  presence_name text COLLATE "C",
  notify json,
  schedule_id text COLLATE "C",
  scheduled_for timestamptz(3),
  batch_id text COLLATE "C",
  reader_id text COLLATE "C",
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
  variables json NOT NULL
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.01);
CREATE INDEX jobs_queued ON jobs (workspace_id, priority DESC, queued_at, assignment_id) WHERE job_status = 'queued';
CREATE INDEX jobs_owned ON jobs (owner, workspace_id, job_status) WHERE owner IS NOT NULL;
-- jobs_owned lists the few jobs that nodes hold. The other indexes have `owner IS NULL`, so a claim and a start write no entry of
-- them. A job of a reader is in the index `..._of_readers` only, so that the list of one person reads no job of another.
CREATE INDEX jobs_by_time ON jobs (workspace_id, created_at, assignment_id) WHERE owner IS NULL AND reader_id IS NULL;
CREATE INDEX jobs_by_time_of_readers ON jobs (workspace_id, created_at, assignment_id)
  WHERE owner IS NULL AND reader_id IS NOT NULL;
CREATE INDEX jobs_by_status ON jobs (workspace_id, job_status, created_at, assignment_id) WHERE owner IS NULL;
CREATE INDEX jobs_by_template ON jobs (workspace_id, template_id, created_at, assignment_id)
  WHERE owner IS NULL AND reader_id IS NULL;
CREATE INDEX jobs_by_template_of_readers ON jobs (workspace_id, template_id, created_at, assignment_id)
  WHERE owner IS NULL AND reader_id IS NOT NULL;
CREATE INDEX jobs_by_version ON jobs (template_id, template_version) WHERE owner IS NULL;
CREATE INDEX jobs_by_schedule ON jobs (workspace_id, schedule_id, created_at, assignment_id)
  WHERE schedule_id IS NOT NULL;
CREATE INDEX jobs_by_batch ON jobs (workspace_id, batch_id, created_at, assignment_id) WHERE batch_id IS NOT NULL;
CREATE INDEX jobs_by_reader ON jobs (workspace_id, reader_id, created_at, assignment_id) WHERE reader_id IS NOT NULL;
CREATE INDEX jobs_unfinished_of_schedule ON jobs (schedule_id) WHERE schedule_id IS NOT NULL AND finished_at IS NULL;

-- Returns the jobs that nodes hold in a workspace. It reads jobs_owned, however old the planner's statistics are.
CREATE FUNCTION held_jobs(workspace text) RETURNS SETOF jobs LANGUAGE plpgsql STABLE
SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off AS $$
BEGIN
  RETURN QUERY SELECT * FROM jobs WHERE owner IS NOT NULL AND workspace_id = workspace;
END $$;

-- The results of completed jobs, found by the job.
CREATE TABLE insights (
  insight_id text COLLATE "C" PRIMARY KEY,
  assignment_id text COLLATE "C" NOT NULL,
  workspace_id text COLLATE "C" NOT NULL,
  created_at timestamptz(3) NOT NULL,
  bytes bigint GENERATED ALWAYS AS (octet_length(body::text)) STORED,
  body json NOT NULL
);

-- The cards that the list of insights shows. A trigger deletes a card with its insight. A foreign key would look up the insight
-- that the same transaction has written.
CREATE TABLE insight_cards (
  insight_id text COLLATE "C" PRIMARY KEY,
  assignment_id text COLLATE "C" NOT NULL,
  workspace_id text COLLATE "C" NOT NULL,
  template_id text COLLATE "C" NOT NULL,
  title text NOT NULL,
  headline text,
  grade text COLLATE "C",
  figure json,
  figure_value float8,
  period text,
  period_start text COLLATE "C",
  series text COLLATE "C" NOT NULL,
  failed_tests json,
  tags json NOT NULL,
  metrics json NOT NULL,
  search text NOT NULL,
  user_id text COLLATE "C" NOT NULL,
  schedule_id text COLLATE "C",
  reader_id text COLLATE "C",
  created_at timestamptz(3) NOT NULL
);
CREATE INDEX insight_cards_by_time ON insight_cards (workspace_id, created_at, insight_id) WHERE reader_id IS NULL;
CREATE INDEX insight_cards_by_time_of_readers ON insight_cards (workspace_id, created_at, insight_id)
  WHERE reader_id IS NOT NULL;
CREATE INDEX insight_cards_by_template ON insight_cards (workspace_id, template_id, created_at, insight_id)
  WHERE reader_id IS NULL;
CREATE INDEX insight_cards_by_template_of_readers ON insight_cards (workspace_id, template_id, created_at, insight_id)
  WHERE reader_id IS NOT NULL;
CREATE INDEX insight_cards_by_reader ON insight_cards (workspace_id, reader_id, created_at, insight_id)
  WHERE reader_id IS NOT NULL;
CREATE INDEX insight_cards_by_failed_tests ON insight_cards (workspace_id, created_at, insight_id)
  WHERE failed_tests IS NOT NULL;
CREATE INDEX insight_cards_by_series ON insight_cards (workspace_id, series, created_at, insight_id);
CREATE INDEX insight_cards_by_period ON insight_cards (workspace_id, series, period_start, created_at, insight_id)
  WHERE period_start IS NOT NULL;

CREATE FUNCTION delete_cards() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM insight_cards WHERE insight_id = ANY (ARRAY (SELECT insight_id FROM gone));
  RETURN NULL;
END $$;
CREATE TRIGGER cards_go_with_insights AFTER DELETE ON insights
  REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION delete_cards();

-- Collections of insights. `pins`: the collection of a user's pins.
CREATE TABLE collections (
  collection_id text COLLATE "C" PRIMARY KEY,
  workspace_id text COLLATE "C" NOT NULL REFERENCES workspaces,
  name text NOT NULL,
  description text,
  user_id text COLLATE "C" NOT NULL,
  pins boolean NOT NULL,
  created_at timestamptz(3) NOT NULL,
  updated_at timestamptz(3) NOT NULL
);
CREATE INDEX collections_by_time ON collections (workspace_id, pins, created_at, collection_id);

-- `item_id` is an insight, or a series of which the newest run is shown. A series has the variables without the periods, so that
-- a new job of it is recognized. An entry whose insight is deleted is passed over.
CREATE TABLE collection_items (
  collection_id text COLLATE "C" NOT NULL REFERENCES collections ON DELETE CASCADE,
  item_id text COLLATE "C" NOT NULL,
  workspace_id text COLLATE "C" NOT NULL,
  newest boolean NOT NULL,
  template_id text COLLATE "C" NOT NULL,
  variables json NOT NULL,
  user_id text COLLATE "C" NOT NULL,
  created_at timestamptz(3) NOT NULL,
  PRIMARY KEY (collection_id, item_id)
);
CREATE INDEX collection_items_by_item ON collection_items (workspace_id, item_id);
CREATE INDEX collection_items_by_template ON collection_items (collection_id, template_id, item_id) WHERE newest;

-- Links to the page of an insight.
CREATE TABLE links (
  link_id text COLLATE "C" PRIMARY KEY,
  link_hash text COLLATE "C" NOT NULL UNIQUE,
  workspace_id text COLLATE "C" NOT NULL,
  insight_id text COLLATE "C" NOT NULL REFERENCES insights ON DELETE CASCADE,
  user_id text COLLATE "C" NOT NULL,
  label text,
  newest boolean NOT NULL,
  rows boolean NOT NULL,
  expires_at timestamptz(3) NOT NULL,
  opened_count integer NOT NULL DEFAULT 0,
  last_opened_at timestamptz(3),
  created_at timestamptz(3) NOT NULL
);
CREATE INDEX links_by_insight ON links (insight_id, created_at, link_id);
CREATE INDEX links_by_expiry ON links (expires_at);

CREATE TABLE collection_links (
  link_id text COLLATE "C" PRIMARY KEY,
  link_hash text COLLATE "C" NOT NULL UNIQUE,
  workspace_id text COLLATE "C" NOT NULL,
  collection_id text COLLATE "C" NOT NULL REFERENCES collections ON DELETE CASCADE,
  user_id text COLLATE "C" NOT NULL,
  label text,
  expires_at timestamptz(3) NOT NULL,
  opened_count integer NOT NULL DEFAULT 0,
  last_opened_at timestamptz(3),
  created_at timestamptz(3) NOT NULL
);
CREATE INDEX collection_links_by_collection ON collection_links (collection_id, created_at, link_id);
CREATE INDEX collection_links_by_expiry ON collection_links (expires_at);

-- Webhooks, and the subscriptions by mail and chat (`kind`; their `target` is sealed). The columns from `in_flight` on are
-- the sending state (store/nouns/webhooks/sending-state.ts): a claim of deliveries reads them, never the deliveries that wait.
CREATE TABLE webhooks (
  webhook_id text COLLATE "C" PRIMARY KEY,
  workspace_id text COLLATE "C" NOT NULL REFERENCES workspaces,
  kind text COLLATE "C" NOT NULL DEFAULT 'webhook',
  url text NOT NULL,
  target text,
  headers json NOT NULL,
  user_id text COLLATE "C" NOT NULL,
  presence_name text COLLATE "C" NOT NULL,
  events json,
  tells_skipped boolean NOT NULL DEFAULT false,
  personal boolean NOT NULL DEFAULT false,
  follows json,
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
  failing_reason text,
  warned_at timestamptz(3),
  created_at timestamptz(3) NOT NULL,
  updated_at timestamptz(3) NOT NULL,
  in_flight integer NOT NULL DEFAULT 0,
  due_at timestamptz(3),
  last_claim_at timestamptz(3),
  rate_at double precision,
  failures integer NOT NULL DEFAULT 0,
  open_until timestamptz(3),
  held_until timestamptz(3),
  held_reason text,
  claim_at timestamptz(3)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.01);
CREATE INDEX webhooks_by_time ON webhooks (workspace_id, created_at, webhook_id);
CREATE INDEX webhooks_personal ON webhooks (workspace_id, user_id, created_at, webhook_id) WHERE personal;
CREATE INDEX webhooks_claimable ON webhooks (in_flight, claim_at) WHERE claim_at IS NOT NULL;
CREATE INDEX webhooks_held ON webhooks (workspace_id) WHERE held_until IS NOT NULL;

-- An index of the enabled webhooks by the events that they get (model/webhooks/webhook.ts makes the rows). `skipped`: also those of
-- skipped runs. `people`: subscriptions.
CREATE TABLE webhook_events (
  workspace_id text COLLATE "C" NOT NULL,
  event_type text COLLATE "C" NOT NULL,
  people boolean NOT NULL,
  presence_name text COLLATE "C" NOT NULL,
  webhook_id text COLLATE "C" NOT NULL REFERENCES webhooks ON DELETE CASCADE,
  skipped boolean NOT NULL DEFAULT false,
  PRIMARY KEY (workspace_id, event_type, people, presence_name, webhook_id)
);
CREATE INDEX webhook_events_by_webhook ON webhook_events (webhook_id);

-- What the enabled subscriptions follow.
CREATE TABLE webhook_follows (
  workspace_id text COLLATE "C" NOT NULL,
  followed text COLLATE "C" NOT NULL,
  webhook_id text COLLATE "C" NOT NULL REFERENCES webhooks ON DELETE CASCADE,
  PRIMARY KEY (workspace_id, followed, webhook_id)
);
CREATE INDEX webhook_follows_by_webhook ON webhook_follows (webhook_id);

CREATE TABLE events (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  event_id text COLLATE "C" NOT NULL,
  workspace_id text COLLATE "C" NOT NULL,
  type text COLLATE "C" NOT NULL,
  timestamp timestamptz(3) NOT NULL,
  data json NOT NULL
);
CREATE INDEX events_by_workspace ON events (workspace_id, seq);
-- Types that nearly every job writes are left out. A page of such a type reads the events of all types.
CREATE INDEX events_by_type ON events (workspace_id, type, seq)
  WHERE type <> 'job.queued' AND type <> 'job.started' AND type <> 'job.completed';
CREATE INDEX events_in_window ON events (workspace_id, timestamp, seq);

-- A lower `seq` may be committed later than a higher one. A writer of events first takes a shared lock with the last
-- number that was given, and holds it until its transaction ends. The numbers that it writes are higher. The locks belong to
-- this database alone, and nobody waits for one. 16723 ("AS") in the upper 16 bits tells them from other locks.
CREATE FUNCTION begin_events() RETURNS void LANGUAGE sql VOLATILE AS $$
  SELECT pg_advisory_xact_lock_shared((16723::bigint << 48) + coalesce(pg_sequence_last_value('events_seq_seq'), 0))
$$;

-- Returns the highest `seq` below which no open transaction can still write. A later statement asks for the events up to it, and
-- sees what had ended before this one.
CREATE FUNCTION settled_events() RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  last CONSTANT bigint := coalesce(pg_sequence_last_value('events_seq_seq'), 0);
BEGIN
  RETURN least(last, (
    SELECT min(((classid::bigint & 65535) << 32) | objid::bigint) FROM pg_locks
    WHERE locktype = 'advisory' AND mode = 'ShareLock' AND objsubid = 1 AND classid::bigint >> 16 = 16723
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())));
END $$;

-- The outbox. `due_at` is null once a delivery has ended. `owner` is the node that sends it now, `event_at` the time of its
-- event. `last_try`: the delivery ends if this try fails. Several deliveries may be sent one after the other as one claim. All
-- but the last are `ahead`, and only the last counts as in flight. A writer locks the webhook and the event (FOR KEY SHARE, or
-- has just written them), and triggers delete a delivery with either. Foreign keys would look up both for each row again.
CREATE TABLE deliveries (
  delivery_id text COLLATE "C" PRIMARY KEY,
  workspace_id text COLLATE "C" NOT NULL,
  webhook_id text COLLATE "C" NOT NULL,
  event_seq bigint NOT NULL,
  event_id text COLLATE "C" NOT NULL,
  event_type text COLLATE "C" NOT NULL,
  event_at timestamptz(3) NOT NULL,
  assignment_id text COLLATE "C",
  status text COLLATE "C" NOT NULL,
  due_at timestamptz(3),
  owner text COLLATE "C",
  ahead boolean NOT NULL DEFAULT false,
  attempt_count integer NOT NULL DEFAULT 0,
  last_try boolean NOT NULL DEFAULT false,
  created_at timestamptz(3) NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.01);
-- No index has `owner`, so a claim is a HOT update: 5 us instead of 26 us, which an update of every index takes.
CREATE INDEX deliveries_due ON deliveries (webhook_id, due_at, delivery_id) WHERE status = 'pending';
-- The list of all deliveries reads it too, state by state.
CREATE INDEX deliveries_by_status ON deliveries (webhook_id, status, created_at, delivery_id);
CREATE INDEX deliveries_by_event ON deliveries (event_seq, webhook_id);
CREATE INDEX deliveries_by_job ON deliveries (assignment_id) WHERE assignment_id IS NOT NULL;
CREATE INDEX deliveries_failed ON deliveries (webhook_id, event_at, event_seq) WHERE status = 'failed';

-- A trigger replaces a foreign key, whose check took half the time of writing an attempt.
CREATE TABLE attempts (
  delivery_id text COLLATE "C" NOT NULL,
  number integer NOT NULL,
  record json NOT NULL,
  PRIMARY KEY (delivery_id, number)
);
-- Rows are locked in the order of their keys before they are deleted, so that no two deletions wait for each other.
-- Rows are locked in one order. Work that keeps to the order of indexes turns sorting off; without it the whole table
-- would be read in that order.
CREATE FUNCTION delete_attempts() RETURNS trigger LANGUAGE plpgsql SET enable_sort = on AS $$
BEGIN
  DELETE FROM attempts WHERE ctid = ANY (ARRAY (
    SELECT ctid FROM attempts WHERE delivery_id = ANY (ARRAY (SELECT delivery_id FROM gone))
    ORDER BY delivery_id, number FOR UPDATE));
  RETURN NULL;
END $$;
CREATE TRIGGER attempts_go_with_deliveries AFTER DELETE ON deliveries
  REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION delete_attempts();

CREATE FUNCTION delete_deliveries_of_webhooks() RETURNS trigger LANGUAGE plpgsql SET enable_sort = on AS $$
BEGIN
  DELETE FROM deliveries WHERE delivery_id = ANY (ARRAY (
    SELECT delivery_id FROM deliveries WHERE webhook_id = ANY (ARRAY (SELECT webhook_id FROM gone))
    ORDER BY delivery_id FOR UPDATE));
  RETURN NULL;
END $$;
CREATE TRIGGER deliveries_go_with_webhooks AFTER DELETE ON webhooks
  REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION delete_deliveries_of_webhooks();
CREATE FUNCTION delete_deliveries_of_events() RETURNS trigger LANGUAGE plpgsql SET enable_sort = on AS $$
BEGIN
  DELETE FROM deliveries WHERE delivery_id = ANY (ARRAY (
    SELECT delivery_id FROM deliveries WHERE event_seq = ANY (ARRAY (SELECT seq FROM gone))
    ORDER BY delivery_id FOR UPDATE));
  RETURN NULL;
END $$;
CREATE TRIGGER deliveries_go_with_events AFTER DELETE ON events
  REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION delete_deliveries_of_events();

-- Attempts by whole hour and bucket of duration (model/webhooks/delivery.ts); bucket -1: failed.
CREATE TABLE attempt_counts (
  webhook_id text COLLATE "C" NOT NULL REFERENCES webhooks ON DELETE CASCADE,
  hour timestamptz(3) NOT NULL,
  bucket integer NOT NULL,
  count integer NOT NULL,
  PRIMARY KEY (webhook_id, hour, bucket)
) WITH (fillfactor = 50);
CREATE INDEX attempt_counts_by_hour ON attempt_counts (hour);

-- A recovery goes over the events of a window by (timestamp, seq), because sequence numbers and times do not rise together here.
-- `event_types` is a JSON array; null: all.
CREATE TABLE recoveries (
  recovery_id text COLLATE "C" PRIMARY KEY,
  workspace_id text COLLATE "C" NOT NULL,
  webhook_id text COLLATE "C" NOT NULL REFERENCES webhooks ON DELETE CASCADE,
  include_unsent boolean NOT NULL,
  event_types json,
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

-- How many jobs of a workspace are drafts, how many are queued, and what all its jobs and insights take, as the sum over its
-- rows. A writer takes a row that nobody else holds, or makes one, so that none waits for another. Active and executing jobs
-- are counted in jobs_owned.
CREATE TABLE job_counts (
  workspace_id text COLLATE "C" NOT NULL REFERENCES workspaces ON DELETE CASCADE,
  part bigint GENERATED ALWAYS AS IDENTITY,
  draft bigint NOT NULL DEFAULT 0,
  queued bigint NOT NULL DEFAULT 0,
  stored_bytes bigint NOT NULL DEFAULT 0,
  -- When jobs last left the queue, in microseconds: a claim serves the workspace that was served longest ago.
  served bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (workspace_id, part)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.01);

CREATE FUNCTION count_jobs_of(workspace text, drafts bigint, waiting bigint, stored bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  now_us CONSTANT bigint := CASE WHEN waiting < 0 THEN extract(epoch FROM clock_timestamp()) * 1000000 ELSE 0 END;
BEGIN
  UPDATE job_counts SET draft = draft + drafts, queued = queued + waiting, stored_bytes = stored_bytes + stored,
    served = greatest(served, now_us)
  WHERE workspace_id = workspace AND part = (
    SELECT part FROM job_counts WHERE workspace_id = workspace LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED);
  -- A workspace that is being deleted has no counts, and what is removed from it needs none.
  IF NOT FOUND AND NOT (stored < 0 AND EXISTS (
    SELECT 1 FROM workspaces WHERE workspace_id = workspace AND deleted_at IS NOT NULL)) THEN
    INSERT INTO job_counts (workspace_id, draft, queued, stored_bytes, served) VALUES (workspace, drafts, waiting, stored, now_us);
  END IF;
END $$;

-- New and deleted jobs are counted here. A move is counted by the code that writes it (postgres/native.ts), at once for
-- all jobs of its statement. A job takes its variables, its metadata and the text of its template; an insight takes its body.
CREATE FUNCTION count_new_jobs() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  -- Waits for a workspace that is being closed, and holds its closing up. A foreign key would do so too, and look for the
  -- jobs of a deleted workspace in an index of its own.
  PERFORM 1 FROM workspaces WHERE workspace_id = ANY (ARRAY (SELECT DISTINCT workspace_id FROM gained)) FOR KEY SHARE;
  PERFORM count_jobs_of(workspace_id, count(*) FILTER (WHERE job_status = 'draft'), count(*) FILTER (WHERE job_status = 'queued'),
    sum(octet_length(variables::text) + octet_length(metadata::text) + coalesce((
      SELECT bytes FROM template_versions AS used WHERE used.template_id = changed.template_id AND version = template_version), 0))::bigint)
  FROM gained AS changed GROUP BY workspace_id;
  RETURN NULL;
END $$;
CREATE FUNCTION count_deleted_jobs() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM count_jobs_of(workspace_id, -count(*) FILTER (WHERE job_status = 'draft'), -count(*) FILTER (WHERE job_status = 'queued'),
    -sum(octet_length(variables::text) + octet_length(metadata::text) + coalesce((
      SELECT bytes FROM template_versions AS used WHERE used.template_id = changed.template_id AND version = template_version), 0))::bigint)
  FROM lost AS changed GROUP BY workspace_id;
  RETURN NULL;
END $$;
CREATE TRIGGER jobs_made AFTER INSERT ON jobs
  REFERENCING NEW TABLE AS gained FOR EACH STATEMENT EXECUTE FUNCTION count_new_jobs();
CREATE TRIGGER jobs_removed AFTER DELETE ON jobs
  REFERENCING OLD TABLE AS lost FOR EACH STATEMENT EXECUTE FUNCTION count_deleted_jobs();

CREATE FUNCTION count_new_insights() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM count_jobs_of(workspace_id, 0, 0, sum(bytes)::bigint) FROM gained GROUP BY workspace_id;
  RETURN NULL;
END $$;
CREATE FUNCTION count_deleted_insights() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM count_jobs_of(workspace_id, 0, 0, -sum(bytes)::bigint) FROM lost GROUP BY workspace_id;
  RETURN NULL;
END $$;
CREATE TRIGGER insights_made AFTER INSERT ON insights
  REFERENCING NEW TABLE AS gained FOR EACH STATEMENT EXECUTE FUNCTION count_new_insights();
CREATE TRIGGER insights_removed AFTER DELETE ON insights
  REFERENCING OLD TABLE AS lost FOR EACH STATEMENT EXECUTE FUNCTION count_deleted_insights();

-- A workspace that is being deleted has no counts, so its next job needs a new row. Only then does this check run.
CREATE FUNCTION refuse_job_of_deleted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT 1 FROM workspaces WHERE workspace_id = NEW.workspace_id AND deleted_at IS NOT NULL) THEN
    RAISE foreign_key_violation USING MESSAGE = format('the workspace %s is being deleted', NEW.workspace_id);
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER jobs_of_deleted BEFORE INSERT ON job_counts FOR EACH ROW EXECUTE FUNCTION refuse_job_of_deleted();

-- Returns the cap of a workspace that may not queue `more` further jobs, else null. Far below the cap nobody waits. Near it
-- callers take turns, and each sees what those before it have committed.
CREATE FUNCTION reached_queue_cap(workspace text, cap_of_all integer, more integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  most integer;
  near CONSTANT integer := 500;
BEGIN
  SELECT coalesce(max_queued, cap_of_all) INTO most FROM workspaces WHERE workspace_id = workspace;
  IF most IS NULL THEN RETURN NULL; END IF;
  IF (SELECT coalesce(sum(queued), 0) FROM job_counts WHERE workspace_id = workspace) + more <= most - near THEN
    RETURN NULL;
  END IF;
  PERFORM pg_advisory_xact_lock(hashtextextended('assay queue ' || workspace, 0));
  IF (SELECT coalesce(sum(queued), 0) FROM job_counts WHERE workspace_id = workspace) + more <= most THEN
    RETURN NULL;
  END IF;
  RETURN most;
END $$;

-- Returns the deliveries that wait for each webhook in the order in which they are due, read from the index of that order.
CREATE FUNCTION due_deliveries(webhook_ids text[], since timestamptz[], most integer[])
RETURNS TABLE (webhook_id text, delivery_id text, due_at timestamptz)
LANGUAGE plpgsql STABLE
SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET enable_incremental_sort = off
SET enable_hashjoin = off SET enable_mergejoin = off SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY SELECT given.id, due.delivery_id, due.due_at
    FROM unnest(webhook_ids, since, most) AS given (id, since, most), LATERAL (
      SELECT deliveries.delivery_id, deliveries.due_at FROM deliveries
      WHERE deliveries.webhook_id = given.id AND status = 'pending' AND owner IS NULL AND deliveries.due_at >= given.since
      ORDER BY deliveries.due_at, deliveries.delivery_id LIMIT given.most) AS due;
END $$;
