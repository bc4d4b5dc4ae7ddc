CREATE TABLE allowances (
  key text COLLATE "C" NOT NULL,
  tokens double precision NOT NULL,
  at timestamp(3) with time zone NOT NULL,
  full_at timestamp(3) with time zone NOT NULL,
  PRIMARY KEY (key)
);

CREATE INDEX allowances_by_time ON allowances USING btree (full_at);

CREATE TABLE attempt_counts (
  webhook_id text COLLATE "C" NOT NULL,
  hour timestamp(3) with time zone NOT NULL,
  bucket integer NOT NULL,
  count integer NOT NULL,
  PRIMARY KEY (webhook_id, hour, bucket),
  FOREIGN KEY (webhook_id) REFERENCES webhooks(webhook_id) ON DELETE CASCADE
) WITH (fillfactor=50);

CREATE INDEX attempt_counts_by_hour ON attempt_counts USING btree (hour);

CREATE TABLE attempts (
  delivery_id text COLLATE "C" NOT NULL,
  number integer NOT NULL,
  record json NOT NULL,
  PRIMARY KEY (delivery_id, number)
);

CREATE TABLE audit (
  audit_id text COLLATE "C" NOT NULL,
  workspace_id text COLLATE "C" NOT NULL,
  created_at timestamp(3) with time zone NOT NULL,
  action text COLLATE "C" NOT NULL,
  object_id text COLLATE "C",
  fields json NOT NULL,
  user_id text COLLATE "C",
  token_id text COLLATE "C",
  address text,
  request_id text,
  PRIMARY KEY (audit_id)
);

CREATE INDEX audit_by_action ON audit USING btree (workspace_id, action, created_at, audit_id) WHERE ((action <> 'job.create'::text) AND (action <> 'job.run'::text) AND (action <> 'result.read'::text) AND (action <> 'link.open'::text));

CREATE INDEX audit_by_object ON audit USING btree (workspace_id, object_id, created_at, audit_id) WHERE (object_id IS NOT NULL);

CREATE INDEX audit_by_time ON audit USING btree (workspace_id, created_at, audit_id);

CREATE TABLE collection_items (
  collection_id text COLLATE "C" NOT NULL,
  item_id text COLLATE "C" NOT NULL,
  workspace_id text COLLATE "C" NOT NULL,
  newest boolean NOT NULL,
  template_id text COLLATE "C" NOT NULL,
  variables json NOT NULL,
  user_id text COLLATE "C" NOT NULL,
  created_at timestamp(3) with time zone NOT NULL,
  PRIMARY KEY (collection_id, item_id),
  FOREIGN KEY (collection_id) REFERENCES collections(collection_id) ON DELETE CASCADE
);

CREATE INDEX collection_items_by_item ON collection_items USING btree (workspace_id, item_id);

CREATE INDEX collection_items_by_template ON collection_items USING btree (collection_id, template_id, item_id) WHERE newest;

CREATE TABLE collection_links (
  link_id text COLLATE "C" NOT NULL,
  link_hash text COLLATE "C" NOT NULL,
  workspace_id text COLLATE "C" NOT NULL,
  collection_id text COLLATE "C" NOT NULL,
  user_id text COLLATE "C" NOT NULL,
  label text,
  expires_at timestamp(3) with time zone NOT NULL,
  opened_count integer NOT NULL DEFAULT 0,
  last_opened_at timestamp(3) with time zone,
  created_at timestamp(3) with time zone NOT NULL,
  UNIQUE (link_hash),
  PRIMARY KEY (link_id),
  FOREIGN KEY (collection_id) REFERENCES collections(collection_id) ON DELETE CASCADE
);

CREATE INDEX collection_links_by_collection ON collection_links USING btree (collection_id, created_at, link_id);

CREATE INDEX collection_links_by_expiry ON collection_links USING btree (expires_at);

CREATE TABLE collections (
  collection_id text COLLATE "C" NOT NULL,
  workspace_id text COLLATE "C" NOT NULL,
  name text NOT NULL,
  description text,
  user_id text COLLATE "C" NOT NULL,
  pins boolean NOT NULL,
  created_at timestamp(3) with time zone NOT NULL,
  updated_at timestamp(3) with time zone NOT NULL,
  PRIMARY KEY (collection_id),
  FOREIGN KEY (workspace_id) REFERENCES workspaces(workspace_id)
);

CREATE INDEX collections_by_time ON collections USING btree (workspace_id, pins, created_at, collection_id);

CREATE TABLE connections (
  workspace_id text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  kind text NOT NULL,
  description text,
  options json NOT NULL,
  secrets json NOT NULL,
  limits json NOT NULL,
  user_id text COLLATE "C" NOT NULL,
  created_at timestamp(3) with time zone NOT NULL,
  updated_at timestamp(3) with time zone NOT NULL,
  PRIMARY KEY (workspace_id, name),
  FOREIGN KEY (workspace_id) REFERENCES workspaces(workspace_id)
);

CREATE INDEX connections_by_time ON connections USING btree (workspace_id, created_at, name);

CREATE TABLE deliveries (
  delivery_id text COLLATE "C" NOT NULL,
  workspace_id text COLLATE "C" NOT NULL,
  webhook_id text COLLATE "C" NOT NULL,
  event_seq bigint NOT NULL,
  event_id text COLLATE "C" NOT NULL,
  event_type text COLLATE "C" NOT NULL,
  event_at timestamp(3) with time zone NOT NULL,
  assignment_id text COLLATE "C",
  status text COLLATE "C" NOT NULL,
  due_at timestamp(3) with time zone,
  owner text COLLATE "C",
  ahead boolean NOT NULL DEFAULT false,
  attempt_count integer NOT NULL DEFAULT 0,
  last_try boolean NOT NULL DEFAULT false,
  created_at timestamp(3) with time zone NOT NULL,
  PRIMARY KEY (delivery_id)
) WITH (fillfactor=50, autovacuum_vacuum_scale_factor=0.01);

CREATE INDEX deliveries_by_event ON deliveries USING btree (event_seq, webhook_id);

CREATE INDEX deliveries_by_job ON deliveries USING btree (assignment_id) WHERE (assignment_id IS NOT NULL);

CREATE INDEX deliveries_by_status ON deliveries USING btree (webhook_id, status, created_at, delivery_id);

CREATE INDEX deliveries_due ON deliveries USING btree (webhook_id, due_at, delivery_id) WHERE (status = 'pending'::text);

CREATE INDEX deliveries_failed ON deliveries USING btree (webhook_id, event_at, event_seq) WHERE (status = 'failed'::text);

CREATE TABLE events (
  seq bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  event_id text COLLATE "C" NOT NULL,
  workspace_id text COLLATE "C" NOT NULL,
  type text COLLATE "C" NOT NULL,
  "timestamp" timestamp(3) with time zone NOT NULL,
  data json NOT NULL,
  PRIMARY KEY (seq)
);

CREATE INDEX events_by_type ON events USING btree (workspace_id, type, seq) WHERE ((type <> 'job.queued'::text) AND (type <> 'job.started'::text) AND (type <> 'job.completed'::text));

CREATE INDEX events_by_workspace ON events USING btree (workspace_id, seq);

CREATE INDEX events_in_window ON events USING btree (workspace_id, "timestamp", seq);

CREATE TABLE file_dialects (
  workspace_id text COLLATE "C" NOT NULL,
  path text COLLATE "C" NOT NULL,
  lines json NOT NULL,
  updated_at timestamp(3) with time zone NOT NULL,
  PRIMARY KEY (workspace_id, path),
  FOREIGN KEY (workspace_id) REFERENCES workspaces(workspace_id) ON DELETE CASCADE
);

CREATE TABLE grants (
  token_id text COLLATE "C" NOT NULL,
  client_id text COLLATE "C" NOT NULL,
  redirect_uri text NOT NULL,
  challenge text NOT NULL,
  resource text NOT NULL,
  scopes json NOT NULL,
  code_hash text COLLATE "C" NOT NULL,
  generation integer NOT NULL,
  begun_at timestamp(3) with time zone NOT NULL,
  ends_at timestamp(3) with time zone NOT NULL,
  UNIQUE (code_hash),
  PRIMARY KEY (token_id),
  FOREIGN KEY (token_id) REFERENCES tokens(token_id) ON DELETE CASCADE
);

CREATE TABLE idempotency_keys (
  workspace_id text COLLATE "C" NOT NULL,
  method text COLLATE "C" NOT NULL,
  path text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  body_hash text NOT NULL,
  id text NOT NULL,
  node_id text COLLATE "C" NOT NULL,
  started_at timestamp(3) with time zone NOT NULL,
  answer text,
  PRIMARY KEY (workspace_id, method, path, key)
);

CREATE INDEX idempotency_keys_by_time ON idempotency_keys USING btree (started_at);

CREATE TABLE insight_cards (
  insight_id text COLLATE "C" NOT NULL,
  assignment_id text COLLATE "C" NOT NULL,
  workspace_id text COLLATE "C" NOT NULL,
  template_id text COLLATE "C" NOT NULL,
  title text NOT NULL,
  headline text,
  grade text COLLATE "C",
  figure json,
  figure_value double precision,
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
  created_at timestamp(3) with time zone NOT NULL,
  PRIMARY KEY (insight_id)
);

CREATE INDEX insight_cards_by_failed_tests ON insight_cards USING btree (workspace_id, created_at, insight_id) WHERE (failed_tests IS NOT NULL);

CREATE INDEX insight_cards_by_period ON insight_cards USING btree (workspace_id, series, period_start, created_at, insight_id) WHERE (period_start IS NOT NULL);

CREATE INDEX insight_cards_by_reader ON insight_cards USING btree (workspace_id, reader_id, created_at, insight_id) WHERE (reader_id IS NOT NULL);

CREATE INDEX insight_cards_by_series ON insight_cards USING btree (workspace_id, series, created_at, insight_id);

CREATE INDEX insight_cards_by_template ON insight_cards USING btree (workspace_id, template_id, created_at, insight_id) WHERE (reader_id IS NULL);

CREATE INDEX insight_cards_by_template_of_readers ON insight_cards USING btree (workspace_id, template_id, created_at, insight_id) WHERE (reader_id IS NOT NULL);

CREATE INDEX insight_cards_by_time ON insight_cards USING btree (workspace_id, created_at, insight_id) WHERE (reader_id IS NULL);

CREATE INDEX insight_cards_by_time_of_readers ON insight_cards USING btree (workspace_id, created_at, insight_id) WHERE (reader_id IS NOT NULL);

CREATE TABLE insights (
  insight_id text COLLATE "C" NOT NULL,
  assignment_id text COLLATE "C" NOT NULL,
  workspace_id text COLLATE "C" NOT NULL,
  created_at timestamp(3) with time zone NOT NULL,
  bytes bigint DEFAULT octet_length((body)::text),
  body json NOT NULL,
  PRIMARY KEY (insight_id)
);

CREATE TABLE job_counts (
  workspace_id text COLLATE "C" NOT NULL,
  part bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  draft bigint NOT NULL DEFAULT 0,
  queued bigint NOT NULL DEFAULT 0,
  stored_bytes bigint NOT NULL DEFAULT 0,
  served bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (workspace_id, part),
  FOREIGN KEY (workspace_id) REFERENCES workspaces(workspace_id) ON DELETE CASCADE
) WITH (fillfactor=50, autovacuum_vacuum_scale_factor=0.01);

CREATE TABLE jobs (
  assignment_id text COLLATE "C" NOT NULL,
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
  scheduled_for timestamp(3) with time zone,
  batch_id text COLLATE "C",
  reader_id text COLLATE "C",
  insight_id text COLLATE "C",
  skipped text,
  created_at timestamp(3) with time zone NOT NULL,
  queued_at timestamp(3) with time zone,
  started_at timestamp(3) with time zone,
  finished_at timestamp(3) with time zone,
  progress json NOT NULL,
  error json,
  moves json NOT NULL,
  metadata json NOT NULL,
  variables json NOT NULL,
  PRIMARY KEY (assignment_id)
) WITH (fillfactor=80, autovacuum_vacuum_scale_factor=0.01);

CREATE INDEX jobs_by_batch ON jobs USING btree (workspace_id, batch_id, created_at, assignment_id) WHERE (batch_id IS NOT NULL);

CREATE INDEX jobs_by_reader ON jobs USING btree (workspace_id, reader_id, created_at, assignment_id) WHERE (reader_id IS NOT NULL);

CREATE INDEX jobs_by_schedule ON jobs USING btree (workspace_id, schedule_id, created_at, assignment_id) WHERE (schedule_id IS NOT NULL);

CREATE INDEX jobs_by_status ON jobs USING btree (workspace_id, job_status, created_at, assignment_id) WHERE (owner IS NULL);

CREATE INDEX jobs_by_template ON jobs USING btree (workspace_id, template_id, created_at, assignment_id) WHERE ((owner IS NULL) AND (reader_id IS NULL));

CREATE INDEX jobs_by_template_of_readers ON jobs USING btree (workspace_id, template_id, created_at, assignment_id) WHERE ((owner IS NULL) AND (reader_id IS NOT NULL));

CREATE INDEX jobs_by_time ON jobs USING btree (workspace_id, created_at, assignment_id) WHERE ((owner IS NULL) AND (reader_id IS NULL));

CREATE INDEX jobs_by_time_of_readers ON jobs USING btree (workspace_id, created_at, assignment_id) WHERE ((owner IS NULL) AND (reader_id IS NOT NULL));

CREATE INDEX jobs_by_version ON jobs USING btree (template_id, template_version) WHERE (owner IS NULL);

CREATE INDEX jobs_owned ON jobs USING btree (owner, workspace_id, job_status) WHERE (owner IS NOT NULL);

CREATE INDEX jobs_queued ON jobs USING btree (workspace_id, priority DESC, queued_at, assignment_id) WHERE (job_status = 'queued'::text);

CREATE INDEX jobs_unfinished_of_schedule ON jobs USING btree (schedule_id) WHERE ((schedule_id IS NOT NULL) AND (finished_at IS NULL));

CREATE TABLE kept_days (
  workspace_id text COLLATE "C" NOT NULL,
  series_key text COLLATE "C" NOT NULL,
  day text COLLATE "C" NOT NULL,
  statistics text NOT NULL,
  bytes bigint NOT NULL,
  read_at timestamp(3) with time zone NOT NULL,
  PRIMARY KEY (workspace_id, series_key, day),
  FOREIGN KEY (workspace_id, series_key) REFERENCES kept_series(workspace_id, series_key) ON DELETE CASCADE
);

CREATE TABLE kept_drafts (
  draft_id text COLLATE "C" NOT NULL,
  workspace_id text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  user_id text COLLATE "C" NOT NULL,
  source text NOT NULL,
  created_at timestamp(3) with time zone NOT NULL,
  updated_at timestamp(3) with time zone NOT NULL,
  UNIQUE (workspace_id, kind, name, user_id),
  PRIMARY KEY (draft_id),
  FOREIGN KEY (workspace_id) REFERENCES workspaces(workspace_id)
);

CREATE INDEX kept_drafts_by_time ON kept_drafts USING btree (workspace_id, created_at, draft_id);

CREATE TABLE kept_series (
  workspace_id text COLLATE "C" NOT NULL,
  series_key text COLLATE "C" NOT NULL,
  metric text NOT NULL,
  recipe text NOT NULL,
  first_day text,
  looked_at timestamp(3) with time zone NOT NULL,
  doubt text,
  audited_at timestamp(3) with time zone NOT NULL,
  used_at timestamp(3) with time zone NOT NULL,
  PRIMARY KEY (workspace_id, series_key),
  FOREIGN KEY (workspace_id) REFERENCES workspaces(workspace_id) ON DELETE CASCADE
);

CREATE INDEX kept_series_by_audit ON kept_series USING btree (audited_at);

CREATE INDEX kept_series_by_use ON kept_series USING btree (used_at);

CREATE TABLE links (
  link_id text COLLATE "C" NOT NULL,
  link_hash text COLLATE "C" NOT NULL,
  workspace_id text COLLATE "C" NOT NULL,
  insight_id text COLLATE "C" NOT NULL,
  user_id text COLLATE "C" NOT NULL,
  label text,
  newest boolean NOT NULL,
  rows boolean NOT NULL,
  expires_at timestamp(3) with time zone NOT NULL,
  opened_count integer NOT NULL DEFAULT 0,
  last_opened_at timestamp(3) with time zone,
  created_at timestamp(3) with time zone NOT NULL,
  UNIQUE (link_hash),
  PRIMARY KEY (link_id),
  FOREIGN KEY (insight_id) REFERENCES insights(insight_id) ON DELETE CASCADE
);

CREATE INDEX links_by_expiry ON links USING btree (expires_at);

CREATE INDEX links_by_insight ON links USING btree (insight_id, created_at, link_id);

CREATE TABLE mail_consents (
  workspace_id text COLLATE "C" NOT NULL,
  address_hash text COLLATE "C" NOT NULL,
  asked_at timestamp(3) with time zone,
  confirmed_at timestamp(3) with time zone,
  left_at timestamp(3) with time zone,
  PRIMARY KEY (workspace_id, address_hash),
  FOREIGN KEY (workspace_id) REFERENCES workspaces(workspace_id) ON DELETE CASCADE
);

CREATE TABLE metrics (
  workspace_id text COLLATE "C" NOT NULL,
  metric_id text COLLATE "C" NOT NULL,
  source text NOT NULL,
  user_id text COLLATE "C" NOT NULL,
  updated_at timestamp(3) with time zone NOT NULL,
  PRIMARY KEY (workspace_id, metric_id),
  FOREIGN KEY (workspace_id) REFERENCES workspaces(workspace_id)
);

CREATE TABLE migrations (
  number integer NOT NULL,
  name text NOT NULL,
  applied_at timestamp(3) with time zone NOT NULL,
  PRIMARY KEY (number)
);

CREATE TABLE narratives (
  workspace_id text COLLATE "C" NOT NULL,
  hash text COLLATE "C" NOT NULL,
  text text NOT NULL,
  created_at timestamp(3) with time zone NOT NULL,
  PRIMARY KEY (workspace_id, hash),
  FOREIGN KEY (workspace_id) REFERENCES workspaces(workspace_id) ON DELETE CASCADE
);

CREATE INDEX narratives_by_age ON narratives USING btree (created_at);

CREATE TABLE nodes (
  node_id text COLLATE "C" NOT NULL,
  name text NOT NULL,
  roles json NOT NULL,
  version text NOT NULL,
  started_at timestamp(3) with time zone NOT NULL,
  lease_until timestamp(3) with time zone NOT NULL,
  PRIMARY KEY (node_id)
) WITH (fillfactor=50);

CREATE TABLE outgoing (
  workspace_id text COLLATE "C" NOT NULL,
  day text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  count bigint NOT NULL,
  refused bigint NOT NULL,
  bytes bigint NOT NULL,
  PRIMARY KEY (workspace_id, day, kind),
  FOREIGN KEY (workspace_id) REFERENCES workspaces(workspace_id) ON DELETE CASCADE
);

CREATE INDEX outgoing_by_day ON outgoing USING btree (day);

CREATE TABLE processor_use (
  workspace_id text COLLATE "C" NOT NULL,
  hour text COLLATE "C" NOT NULL,
  ms bigint NOT NULL,
  PRIMARY KEY (workspace_id, hour),
  FOREIGN KEY (workspace_id) REFERENCES workspaces(workspace_id) ON DELETE CASCADE
);

CREATE INDEX processor_use_by_hour ON processor_use USING btree (hour);

CREATE TABLE readers (
  workspace_id text COLLATE "C" NOT NULL,
  reader_id text COLLATE "C" NOT NULL,
  name text NOT NULL,
  email text,
  user_id text COLLATE "C",
  attributes json NOT NULL,
  created_at timestamp(3) with time zone NOT NULL,
  updated_at timestamp(3) with time zone NOT NULL,
  PRIMARY KEY (workspace_id, reader_id),
  FOREIGN KEY (workspace_id) REFERENCES workspaces(workspace_id)
);

CREATE UNIQUE INDEX readers_by_user ON readers USING btree (workspace_id, user_id) WHERE (user_id IS NOT NULL);

CREATE TABLE recoveries (
  recovery_id text COLLATE "C" NOT NULL,
  workspace_id text COLLATE "C" NOT NULL,
  webhook_id text COLLATE "C" NOT NULL,
  include_unsent boolean NOT NULL,
  event_types json,
  next_at timestamp(3) with time zone NOT NULL,
  next_seq bigint NOT NULL,
  until timestamp(3) with time zone NOT NULL,
  status text COLLATE "C" NOT NULL,
  done integer NOT NULL DEFAULT 0,
  count integer NOT NULL,
  created_at timestamp(3) with time zone NOT NULL,
  PRIMARY KEY (recovery_id),
  FOREIGN KEY (webhook_id) REFERENCES webhooks(webhook_id) ON DELETE CASCADE
);

CREATE INDEX recoveries_by_webhook ON recoveries USING btree (webhook_id);

CREATE INDEX recoveries_running ON recoveries USING btree (created_at) WHERE (status = 'running'::text);

CREATE TABLE repositories (
  repository_id text COLLATE "C" NOT NULL,
  address text NOT NULL,
  branch text,
  folder text NOT NULL,
  taken json,
  tree json,
  latest json,
  pulled_at timestamp(3) with time zone,
  unreached json,
  owned json NOT NULL,
  asked boolean NOT NULL,
  due_at timestamp(3) with time zone NOT NULL,
  held_until timestamp(3) with time zone NOT NULL,
  revision integer NOT NULL,
  PRIMARY KEY (repository_id)
);

CREATE TABLE schedules (
  schedule_id text COLLATE "C" NOT NULL,
  workspace_id text COLLATE "C" NOT NULL,
  user_id text COLLATE "C" NOT NULL,
  name text NOT NULL,
  template_id text COLLATE "C" NOT NULL,
  variables json NOT NULL,
  cron text NOT NULL,
  time_zone text NOT NULL,
  starts_at timestamp(3) with time zone,
  ends_at timestamp(3) with time zone,
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
  next_due_at timestamp(3) with time zone,
  claim_at timestamp(3) with time zone,
  revision integer NOT NULL,
  created_at timestamp(3) with time zone NOT NULL,
  updated_at timestamp(3) with time zone NOT NULL,
  PRIMARY KEY (schedule_id),
  FOREIGN KEY (workspace_id) REFERENCES workspaces(workspace_id)
);

CREATE INDEX schedules_by_time ON schedules USING btree (workspace_id, created_at, schedule_id);

CREATE INDEX schedules_due ON schedules USING btree (claim_at, schedule_id) WHERE (claim_at IS NOT NULL);

CREATE TABLE settings (
  key text COLLATE "C" NOT NULL,
  value text NOT NULL,
  PRIMARY KEY (key)
);

CREATE TABLE sign_ins (
  sign_in_id text COLLATE "C" NOT NULL,
  secret_hash text COLLATE "C" NOT NULL,
  workspace_id text COLLATE "C" NOT NULL,
  user_id text COLLATE "C" NOT NULL,
  token_id text COLLATE "C",
  scopes json NOT NULL,
  templates json,
  device text NOT NULL,
  address text NOT NULL,
  created_at timestamp(3) with time zone NOT NULL,
  last_used_at timestamp(3) with time zone NOT NULL,
  idle_ends_at timestamp(3) with time zone NOT NULL,
  ends_at timestamp(3) with time zone NOT NULL,
  UNIQUE (secret_hash),
  PRIMARY KEY (sign_in_id),
  FOREIGN KEY (workspace_id) REFERENCES workspaces(workspace_id)
);

CREATE INDEX sign_ins_by_end ON sign_ins USING btree (idle_ends_at);

CREATE INDEX sign_ins_by_token ON sign_ins USING btree (token_id) WHERE (token_id IS NOT NULL);

CREATE INDEX sign_ins_by_user ON sign_ins USING btree (workspace_id, user_id, created_at, sign_in_id);

CREATE TABLE template_versions (
  template_id text COLLATE "C" NOT NULL,
  version text COLLATE "C" NOT NULL,
  source text NOT NULL,
  partials json NOT NULL,
  bytes bigint DEFAULT (octet_length(source) + octet_length((partials)::text)),
  commit_id text,
  PRIMARY KEY (template_id, version)
);

CREATE TABLE templates (
  workspace_id text COLLATE "C" NOT NULL,
  template_id text COLLATE "C" NOT NULL,
  source text NOT NULL,
  user_id text COLLATE "C" NOT NULL,
  updated_at timestamp(3) with time zone NOT NULL,
  PRIMARY KEY (workspace_id, template_id),
  FOREIGN KEY (workspace_id) REFERENCES workspaces(workspace_id)
);

CREATE TABLE tokens (
  token_id text COLLATE "C" NOT NULL,
  token_hash text COLLATE "C" NOT NULL,
  workspace_id text COLLATE "C" NOT NULL,
  user_id text COLLATE "C" NOT NULL,
  name text NOT NULL,
  scopes json NOT NULL,
  templates json,
  collections json,
  expires_at timestamp(3) with time zone,
  created_at timestamp(3) with time zone NOT NULL,
  last_used_at timestamp(3) with time zone,
  UNIQUE (token_hash),
  PRIMARY KEY (token_id),
  FOREIGN KEY (workspace_id) REFERENCES workspaces(workspace_id)
);

CREATE INDEX tokens_by_expiry ON tokens USING btree (expires_at) WHERE (expires_at IS NOT NULL);

CREATE INDEX tokens_by_time ON tokens USING btree (workspace_id, created_at, token_id);

CREATE INDEX tokens_by_user ON tokens USING btree (workspace_id, user_id, name);

CREATE TABLE users (
  user_id text COLLATE "C" NOT NULL,
  workspace_id text COLLATE "C" NOT NULL,
  username text COLLATE "C" NOT NULL,
  display_name text,
  issuer text COLLATE "C",
  subject text COLLATE "C",
  admitted_until timestamp(3) with time zone,
  password_hash text,
  scopes json NOT NULL,
  disabled boolean NOT NULL,
  created_at timestamp(3) with time zone NOT NULL,
  UNIQUE (workspace_id, username),
  PRIMARY KEY (workspace_id, user_id),
  FOREIGN KEY (workspace_id) REFERENCES workspaces(workspace_id)
);

CREATE UNIQUE INDEX users_by_identity ON users USING btree (issuer, subject, workspace_id) WHERE (issuer IS NOT NULL);

CREATE INDEX users_by_time ON users USING btree (workspace_id, created_at, user_id);

CREATE TABLE webhook_events (
  workspace_id text COLLATE "C" NOT NULL,
  event_type text COLLATE "C" NOT NULL,
  people boolean NOT NULL,
  presence_name text COLLATE "C" NOT NULL,
  webhook_id text COLLATE "C" NOT NULL,
  skipped boolean NOT NULL DEFAULT false,
  PRIMARY KEY (workspace_id, event_type, people, presence_name, webhook_id),
  FOREIGN KEY (webhook_id) REFERENCES webhooks(webhook_id) ON DELETE CASCADE
);

CREATE INDEX webhook_events_by_webhook ON webhook_events USING btree (webhook_id);

CREATE TABLE webhook_follows (
  workspace_id text COLLATE "C" NOT NULL,
  followed text COLLATE "C" NOT NULL,
  webhook_id text COLLATE "C" NOT NULL,
  PRIMARY KEY (workspace_id, followed, webhook_id),
  FOREIGN KEY (webhook_id) REFERENCES webhooks(webhook_id) ON DELETE CASCADE
);

CREATE INDEX webhook_follows_by_webhook ON webhook_follows USING btree (webhook_id);

CREATE TABLE webhooks (
  webhook_id text COLLATE "C" NOT NULL,
  workspace_id text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL DEFAULT 'webhook'::text,
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
  failing_since timestamp(3) with time zone,
  failing_reason text,
  warned_at timestamp(3) with time zone,
  created_at timestamp(3) with time zone NOT NULL,
  updated_at timestamp(3) with time zone NOT NULL,
  in_flight integer NOT NULL DEFAULT 0,
  due_at timestamp(3) with time zone,
  last_claim_at timestamp(3) with time zone,
  rate_at double precision,
  failures integer NOT NULL DEFAULT 0,
  open_until timestamp(3) with time zone,
  held_until timestamp(3) with time zone,
  held_reason text,
  claim_at timestamp(3) with time zone,
  PRIMARY KEY (webhook_id),
  FOREIGN KEY (workspace_id) REFERENCES workspaces(workspace_id)
) WITH (fillfactor=50, autovacuum_vacuum_scale_factor=0.01);

CREATE INDEX webhooks_by_time ON webhooks USING btree (workspace_id, created_at, webhook_id);

CREATE INDEX webhooks_claimable ON webhooks USING btree (in_flight, claim_at) WHERE (claim_at IS NOT NULL);

CREATE INDEX webhooks_held ON webhooks USING btree (workspace_id) WHERE (held_until IS NOT NULL);

CREATE INDEX webhooks_personal ON webhooks USING btree (workspace_id, user_id, created_at, webhook_id) WHERE personal;

CREATE TABLE workspaces (
  workspace_id text COLLATE "C" NOT NULL,
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
  created_at timestamp(3) with time zone NOT NULL,
  outgoing json,
  deleted_at timestamp(3) with time zone,
  PRIMARY KEY (workspace_id)
);

CREATE INDEX workspaces_by_time ON workspaces USING btree (created_at, workspace_id);

CREATE INDEX workspaces_deleted ON workspaces USING btree (deleted_at) WHERE (deleted_at IS NOT NULL);

CREATE OR REPLACE FUNCTION begin_events()
 RETURNS void
 LANGUAGE sql
AS $function$
  SELECT pg_advisory_xact_lock_shared((16723::bigint << 48) + coalesce(pg_sequence_last_value('events_seq_seq'), 0))
$function$;

CREATE OR REPLACE FUNCTION count_deleted_insights()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  PERFORM count_jobs_of(workspace_id, 0, 0, -sum(bytes)::bigint) FROM lost GROUP BY workspace_id;
  RETURN NULL;
END $function$;

CREATE OR REPLACE FUNCTION count_deleted_jobs()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  PERFORM count_jobs_of(workspace_id, -count(*) FILTER (WHERE job_status = 'draft'), -count(*) FILTER (WHERE job_status = 'queued'),
    -sum(octet_length(variables::text) + octet_length(metadata::text) + coalesce((
      SELECT bytes FROM template_versions AS used WHERE used.template_id = changed.template_id AND version = template_version), 0))::bigint)
  FROM lost AS changed GROUP BY workspace_id;
  RETURN NULL;
END $function$;

CREATE OR REPLACE FUNCTION count_jobs_of(workspace text, drafts bigint, waiting bigint, stored bigint)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
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
END $function$;

CREATE OR REPLACE FUNCTION count_new_insights()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  PERFORM count_jobs_of(workspace_id, 0, 0, sum(bytes)::bigint) FROM gained GROUP BY workspace_id;
  RETURN NULL;
END $function$;

CREATE OR REPLACE FUNCTION count_new_jobs()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  -- Waits for a workspace that is being closed, and holds its closing up. A foreign key would do so too, and look for the
  -- jobs of a deleted workspace in an index of its own.
  PERFORM 1 FROM workspaces WHERE workspace_id = ANY (ARRAY (SELECT DISTINCT workspace_id FROM gained)) FOR KEY SHARE;
  PERFORM count_jobs_of(workspace_id, count(*) FILTER (WHERE job_status = 'draft'), count(*) FILTER (WHERE job_status = 'queued'),
    sum(octet_length(variables::text) + octet_length(metadata::text) + coalesce((
      SELECT bytes FROM template_versions AS used WHERE used.template_id = changed.template_id AND version = template_version), 0))::bigint)
  FROM gained AS changed GROUP BY workspace_id;
  RETURN NULL;
END $function$;

CREATE OR REPLACE FUNCTION delete_attempts()
 RETURNS trigger
 LANGUAGE plpgsql
 SET enable_sort TO 'on'
AS $function$
BEGIN
  DELETE FROM attempts WHERE ctid = ANY (ARRAY (
    SELECT ctid FROM attempts WHERE delivery_id = ANY (ARRAY (SELECT delivery_id FROM gone))
    ORDER BY delivery_id, number FOR UPDATE));
  RETURN NULL;
END $function$;

CREATE OR REPLACE FUNCTION delete_cards()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  DELETE FROM insight_cards WHERE insight_id = ANY (ARRAY (SELECT insight_id FROM gone));
  RETURN NULL;
END $function$;

CREATE OR REPLACE FUNCTION delete_deliveries_of_events()
 RETURNS trigger
 LANGUAGE plpgsql
 SET enable_sort TO 'on'
AS $function$
BEGIN
  DELETE FROM deliveries WHERE delivery_id = ANY (ARRAY (
    SELECT delivery_id FROM deliveries WHERE event_seq = ANY (ARRAY (SELECT seq FROM gone))
    ORDER BY delivery_id FOR UPDATE));
  RETURN NULL;
END $function$;

CREATE OR REPLACE FUNCTION delete_deliveries_of_webhooks()
 RETURNS trigger
 LANGUAGE plpgsql
 SET enable_sort TO 'on'
AS $function$
BEGIN
  DELETE FROM deliveries WHERE delivery_id = ANY (ARRAY (
    SELECT delivery_id FROM deliveries WHERE webhook_id = ANY (ARRAY (SELECT webhook_id FROM gone))
    ORDER BY delivery_id FOR UPDATE));
  RETURN NULL;
END $function$;

CREATE OR REPLACE FUNCTION due_deliveries(webhook_ids text[], since timestamp with time zone[], most integer[])
 RETURNS TABLE(webhook_id text, delivery_id text, due_at timestamp with time zone)
 LANGUAGE plpgsql
 STABLE
 SET jit TO 'off'
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
 SET enable_sort TO 'off'
 SET enable_incremental_sort TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
#variable_conflict use_column
BEGIN
  RETURN QUERY SELECT given.id, due.delivery_id, due.due_at
    FROM unnest(webhook_ids, since, most) AS given (id, since, most), LATERAL (
      SELECT deliveries.delivery_id, deliveries.due_at FROM deliveries
      WHERE deliveries.webhook_id = given.id AND status = 'pending' AND owner IS NULL AND deliveries.due_at >= given.since
      ORDER BY deliveries.due_at, deliveries.delivery_id LIMIT given.most) AS due;
END $function$;

CREATE OR REPLACE FUNCTION held_jobs(workspace text)
 RETURNS SETOF jobs
 LANGUAGE plpgsql
 STABLE
 SET jit TO 'off'
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
AS $function$
BEGIN
  RETURN QUERY SELECT * FROM jobs WHERE owner IS NOT NULL AND workspace_id = workspace;
END $function$;

CREATE OR REPLACE FUNCTION reached_queue_cap(workspace text, cap_of_all integer, more integer)
 RETURNS integer
 LANGUAGE plpgsql
AS $function$
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
END $function$;

CREATE OR REPLACE FUNCTION refuse_job_of_deleted()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  IF EXISTS (SELECT 1 FROM workspaces WHERE workspace_id = NEW.workspace_id AND deleted_at IS NOT NULL) THEN
    RAISE foreign_key_violation USING MESSAGE = format('the workspace %s is being deleted', NEW.workspace_id);
  END IF;
  RETURN NEW;
END $function$;

CREATE OR REPLACE FUNCTION settled_events()
 RETURNS bigint
 LANGUAGE plpgsql
AS $function$
DECLARE
  last CONSTANT bigint := coalesce(pg_sequence_last_value('events_seq_seq'), 0);
BEGIN
  RETURN least(last, (
    SELECT min(((classid::bigint & 65535) << 32) | objid::bigint) FROM pg_locks
    WHERE locktype = 'advisory' AND mode = 'ShareLock' AND objsubid = 1 AND classid::bigint >> 16 = 16723
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())));
END $function$;

CREATE TRIGGER attempts_go_with_deliveries AFTER DELETE ON deliveries REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION delete_attempts();

CREATE TRIGGER cards_go_with_insights AFTER DELETE ON insights REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION delete_cards();

CREATE TRIGGER deliveries_go_with_events AFTER DELETE ON events REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION delete_deliveries_of_events();

CREATE TRIGGER deliveries_go_with_webhooks AFTER DELETE ON webhooks REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION delete_deliveries_of_webhooks();

CREATE TRIGGER insights_made AFTER INSERT ON insights REFERENCING NEW TABLE AS gained FOR EACH STATEMENT EXECUTE FUNCTION count_new_insights();

CREATE TRIGGER insights_removed AFTER DELETE ON insights REFERENCING OLD TABLE AS lost FOR EACH STATEMENT EXECUTE FUNCTION count_deleted_insights();

CREATE TRIGGER jobs_made AFTER INSERT ON jobs REFERENCING NEW TABLE AS gained FOR EACH STATEMENT EXECUTE FUNCTION count_new_jobs();

CREATE TRIGGER jobs_of_deleted BEFORE INSERT ON job_counts FOR EACH ROW EXECUTE FUNCTION refuse_job_of_deleted();

CREATE TRIGGER jobs_removed AFTER DELETE ON jobs REFERENCING OLD TABLE AS lost FOR EACH STATEMENT EXECUTE FUNCTION count_deleted_jobs();
