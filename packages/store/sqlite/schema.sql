CREATE TABLE allowances (
  key TEXT PRIMARY KEY,
  tokens REAL NOT NULL,
  at TEXT NOT NULL,
  full_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX allowances_by_time ON allowances (full_at);

CREATE TABLE attempt_counts (
  webhook_id TEXT NOT NULL REFERENCES webhooks ON DELETE CASCADE,
  hour TEXT NOT NULL,
  bucket INTEGER NOT NULL,
  count INTEGER NOT NULL,
  PRIMARY KEY (webhook_id, hour, bucket)
) STRICT, WITHOUT ROWID;

CREATE INDEX attempt_counts_by_hour ON attempt_counts (hour);

CREATE TABLE attempts (
  delivery_id TEXT NOT NULL REFERENCES deliveries ON DELETE CASCADE,
  number INTEGER NOT NULL,
  record TEXT NOT NULL,
  PRIMARY KEY (delivery_id, number)
) STRICT;

CREATE TABLE audit (
  audit_id TEXT PRIMARY KEY,
  workspace_id TEXT NOT NULL,
  created_at TEXT NOT NULL,
  action TEXT NOT NULL,
  object_id TEXT,
  fields TEXT NOT NULL,
  user_id TEXT,
  token_id TEXT,
  address TEXT,
  request_id TEXT
) STRICT, WITHOUT ROWID;

CREATE INDEX audit_by_action ON audit (workspace_id, action, created_at, audit_id)
  WHERE action <> 'job.create' AND action <> 'job.run' AND action <> 'result.read' AND action <> 'link.open';

CREATE INDEX audit_by_object ON audit (workspace_id, object_id, created_at, audit_id) WHERE object_id IS NOT NULL;

CREATE INDEX audit_by_time ON audit (workspace_id, created_at, audit_id);

CREATE TABLE collection_items (
  collection_id TEXT NOT NULL REFERENCES collections ON DELETE CASCADE,
  item_id TEXT NOT NULL,
  workspace_id TEXT NOT NULL,
  newest INTEGER NOT NULL,
  template_id TEXT NOT NULL,
  variables TEXT NOT NULL,
  user_id TEXT NOT NULL,
  created_at TEXT NOT NULL,
  PRIMARY KEY (collection_id, item_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX collection_items_by_item ON collection_items (workspace_id, item_id);

CREATE INDEX collection_items_by_template ON collection_items (collection_id, template_id, item_id) WHERE newest;

CREATE TABLE collection_links (
  link_id TEXT PRIMARY KEY,
  link_hash TEXT NOT NULL UNIQUE,
  workspace_id TEXT NOT NULL,
  collection_id TEXT NOT NULL REFERENCES collections ON DELETE CASCADE,
  user_id TEXT NOT NULL,
  label TEXT,
  expires_at TEXT NOT NULL,
  opened_count INTEGER NOT NULL DEFAULT 0,
  last_opened_at TEXT,
  created_at TEXT NOT NULL
) STRICT;

CREATE INDEX collection_links_by_collection ON collection_links (collection_id, created_at, link_id);

CREATE INDEX collection_links_by_expiry ON collection_links (expires_at);

CREATE TABLE collections (
  collection_id TEXT PRIMARY KEY,
  workspace_id TEXT NOT NULL REFERENCES workspaces,
  name TEXT NOT NULL,
  description TEXT,
  user_id TEXT NOT NULL,
  pins INTEGER NOT NULL,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL
) STRICT;

CREATE INDEX collections_by_time ON collections (workspace_id, pins, created_at, collection_id);

CREATE TABLE connections (
  workspace_id TEXT NOT NULL REFERENCES workspaces,
  name TEXT NOT NULL,
  kind TEXT NOT NULL,
  description TEXT,
  options TEXT NOT NULL,
  secrets TEXT NOT NULL,
  limits TEXT NOT NULL,
  user_id TEXT NOT NULL,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  PRIMARY KEY (workspace_id, name)
) STRICT;

CREATE INDEX connections_by_time ON connections (workspace_id, created_at, name);

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
  ahead INTEGER NOT NULL DEFAULT 0,
  attempt_count INTEGER NOT NULL DEFAULT 0,
  last_try INTEGER NOT NULL DEFAULT 0,
  created_at TEXT NOT NULL
) STRICT;

CREATE INDEX deliveries_by_event ON deliveries (event_seq, webhook_id);

CREATE INDEX deliveries_by_job ON deliveries (assignment_id) WHERE assignment_id IS NOT NULL;

CREATE INDEX deliveries_by_status ON deliveries (webhook_id, status, created_at, delivery_id);

CREATE INDEX deliveries_by_time ON deliveries (webhook_id, created_at, delivery_id);

CREATE INDEX deliveries_due ON deliveries (webhook_id, due_at, delivery_id, owner)
  WHERE status = 'pending' AND owner IS NULL;

CREATE INDEX deliveries_failed ON deliveries (webhook_id, event_seq) WHERE status = 'failed';

CREATE INDEX deliveries_owned ON deliveries (owner) WHERE owner IS NOT NULL;

CREATE TABLE events (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  event_id TEXT NOT NULL UNIQUE,
  workspace_id TEXT NOT NULL,
  type TEXT NOT NULL,
  timestamp TEXT NOT NULL,
  data TEXT NOT NULL
) STRICT;

CREATE INDEX events_by_time ON events (timestamp);

CREATE INDEX events_by_type ON events (workspace_id, type, seq)
  WHERE type <> 'job.queued' AND type <> 'job.started' AND type <> 'job.completed';

CREATE INDEX events_by_workspace ON events (workspace_id, seq);

CREATE TABLE file_dialects (
  workspace_id TEXT NOT NULL REFERENCES workspaces ON DELETE CASCADE,
  path TEXT NOT NULL,
  lines TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  PRIMARY KEY (workspace_id, path)
) STRICT;

CREATE TABLE grants (
  token_id TEXT PRIMARY KEY REFERENCES tokens ON DELETE CASCADE,
  client_id TEXT NOT NULL,
  redirect_uri TEXT NOT NULL,
  challenge TEXT NOT NULL,
  resource TEXT NOT NULL,
  scopes TEXT NOT NULL,
  code_hash TEXT NOT NULL UNIQUE,
  generation INTEGER NOT NULL,
  begun_at TEXT NOT NULL,
  ends_at TEXT NOT NULL
) STRICT;

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

CREATE TABLE insight_cards (
  insight_id TEXT PRIMARY KEY REFERENCES insights ON DELETE CASCADE,
  assignment_id TEXT NOT NULL,
  workspace_id TEXT NOT NULL,
  template_id TEXT NOT NULL,
  title TEXT NOT NULL,
  headline TEXT,
  grade TEXT,
  figure TEXT,
  figure_value REAL,
  period TEXT,
  period_start TEXT,
  series TEXT NOT NULL,
  failed_tests TEXT,
  tags TEXT NOT NULL,
  metrics TEXT NOT NULL,
  search TEXT NOT NULL,
  user_id TEXT NOT NULL,
  schedule_id TEXT,
  reader_id TEXT,
  created_at TEXT NOT NULL
) STRICT;

CREATE INDEX insight_cards_by_failed_tests ON insight_cards (workspace_id, created_at, insight_id)
  WHERE failed_tests IS NOT NULL;

CREATE INDEX insight_cards_by_period ON insight_cards (workspace_id, series, period_start, created_at, insight_id)
  WHERE period_start IS NOT NULL;

CREATE INDEX insight_cards_by_reader ON insight_cards (workspace_id, reader_id, created_at, insight_id)
  WHERE reader_id IS NOT NULL;

CREATE INDEX insight_cards_by_series ON insight_cards (workspace_id, series, created_at, insight_id);

CREATE INDEX insight_cards_by_template ON insight_cards (workspace_id, template_id, created_at, insight_id)
  WHERE reader_id IS NULL;

CREATE INDEX insight_cards_by_template_of_readers ON insight_cards (workspace_id, template_id, created_at, insight_id)
  WHERE reader_id IS NOT NULL;

CREATE INDEX insight_cards_by_time ON insight_cards (workspace_id, created_at, insight_id) WHERE reader_id IS NULL;

CREATE INDEX insight_cards_by_time_of_readers ON insight_cards (workspace_id, created_at, insight_id)
  WHERE reader_id IS NOT NULL;

CREATE TRIGGER insights_removed AFTER DELETE ON insights BEGIN
  UPDATE job_counts SET stored_bytes = stored_bytes - octet_length(OLD.body) WHERE workspace_id = OLD.workspace_id;
END;

CREATE TRIGGER insights_stored AFTER INSERT ON insights BEGIN
  UPDATE job_counts SET stored_bytes = stored_bytes + octet_length(NEW.body) WHERE workspace_id = NEW.workspace_id;
END;

CREATE TABLE insights (
  insight_id TEXT PRIMARY KEY,
  assignment_id TEXT NOT NULL,
  workspace_id TEXT NOT NULL,
  created_at TEXT NOT NULL,
  body TEXT NOT NULL
) STRICT;

CREATE TABLE job_counts (
  workspace_id TEXT PRIMARY KEY REFERENCES workspaces ON DELETE CASCADE,
  draft INTEGER NOT NULL DEFAULT 0,
  queued INTEGER NOT NULL DEFAULT 0,
  active INTEGER NOT NULL DEFAULT 0,
  executing INTEGER NOT NULL DEFAULT 0,
  stored_bytes INTEGER NOT NULL DEFAULT 0,
  head_queued_at TEXT,
  -- Rises with each claim: the workspace that was served last has the highest.
  served INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE INDEX job_counts_claimable ON job_counts (active + executing, served, head_queued_at)
  WHERE head_queued_at IS NOT NULL;

CREATE INDEX job_counts_served ON job_counts (served);

CREATE TRIGGER jobs_of_deleted BEFORE INSERT ON jobs
WHEN EXISTS (SELECT 1 FROM workspaces WHERE workspace_id = NEW.workspace_id AND deleted_at IS NOT NULL)
BEGIN
  SELECT RAISE(ABORT, 'the workspace is being deleted');
END;

CREATE TRIGGER jobs_removed AFTER DELETE ON jobs BEGIN
  UPDATE job_counts SET stored_bytes = stored_bytes - (octet_length(OLD.variables) + octet_length(OLD.metadata) + coalesce((
    SELECT octet_length(source) + octet_length(partials) FROM template_versions
    WHERE template_id = OLD.template_id AND version = OLD.template_version), 0))
  WHERE workspace_id = OLD.workspace_id;
END;

CREATE TRIGGER jobs_stored AFTER INSERT ON jobs BEGIN
  INSERT INTO job_counts (workspace_id, stored_bytes) VALUES (NEW.workspace_id, octet_length(NEW.variables) + octet_length(NEW.metadata) + coalesce((
    SELECT octet_length(source) + octet_length(partials) FROM template_versions
    WHERE template_id = NEW.template_id AND version = NEW.template_version), 0))
  ON CONFLICT DO UPDATE SET stored_bytes = stored_bytes + excluded.stored_bytes;
END;

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
  notify TEXT,
  schedule_id TEXT,
  scheduled_for TEXT,
  batch_id TEXT,
  reader_id TEXT,
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

CREATE INDEX jobs_by_batch ON jobs (workspace_id, batch_id, created_at, assignment_id) WHERE batch_id IS NOT NULL;

CREATE INDEX jobs_by_reader ON jobs (workspace_id, reader_id, created_at, assignment_id) WHERE reader_id IS NOT NULL;

CREATE INDEX jobs_by_schedule ON jobs (workspace_id, schedule_id, created_at, assignment_id)
  WHERE schedule_id IS NOT NULL;

CREATE INDEX jobs_by_status ON jobs (workspace_id, job_status, created_at, assignment_id);

CREATE INDEX jobs_by_template ON jobs (workspace_id, template_id, created_at, assignment_id) WHERE reader_id IS NULL;

CREATE INDEX jobs_by_template_of_readers ON jobs (workspace_id, template_id, created_at, assignment_id)
  WHERE reader_id IS NOT NULL;

CREATE INDEX jobs_by_time ON jobs (workspace_id, created_at, assignment_id) WHERE reader_id IS NULL;

CREATE INDEX jobs_by_time_of_readers ON jobs (workspace_id, created_at, assignment_id) WHERE reader_id IS NOT NULL;

CREATE INDEX jobs_by_version ON jobs (template_version);

CREATE INDEX jobs_owned ON jobs (owner) WHERE owner IS NOT NULL;

CREATE INDEX jobs_queued ON jobs (workspace_id, priority DESC, queued_at, assignment_id) WHERE job_status = 'queued';

CREATE INDEX jobs_unfinished_of_schedule ON jobs (schedule_id) WHERE schedule_id IS NOT NULL AND finished_at IS NULL;

CREATE TABLE kept_days (
  workspace_id TEXT NOT NULL,
  series_key TEXT NOT NULL,
  day TEXT NOT NULL,
  statistics TEXT NOT NULL,
  bytes INTEGER NOT NULL,
  read_at TEXT NOT NULL,
  PRIMARY KEY (workspace_id, series_key, day),
  FOREIGN KEY (workspace_id, series_key) REFERENCES kept_series ON DELETE CASCADE
) STRICT;

CREATE TABLE kept_drafts (
  draft_id TEXT PRIMARY KEY,
  workspace_id TEXT NOT NULL REFERENCES workspaces,
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  user_id TEXT NOT NULL,
  source TEXT NOT NULL,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  UNIQUE (workspace_id, kind, name, user_id)
) STRICT;

CREATE INDEX kept_drafts_by_time ON kept_drafts (workspace_id, created_at, draft_id);

CREATE TABLE kept_series (
  workspace_id TEXT NOT NULL REFERENCES workspaces ON DELETE CASCADE,
  series_key TEXT NOT NULL,
  metric TEXT NOT NULL,
  recipe TEXT NOT NULL,
  first_day TEXT,
  looked_at TEXT NOT NULL,
  doubt TEXT,
  audited_at TEXT NOT NULL,
  used_at TEXT NOT NULL,
  PRIMARY KEY (workspace_id, series_key)
) STRICT;

CREATE INDEX kept_series_by_audit ON kept_series (audited_at);

CREATE INDEX kept_series_by_use ON kept_series (used_at);

CREATE TABLE links (
  link_id TEXT PRIMARY KEY,
  link_hash TEXT NOT NULL UNIQUE,
  workspace_id TEXT NOT NULL,
  insight_id TEXT NOT NULL REFERENCES insights ON DELETE CASCADE,
  user_id TEXT NOT NULL,
  label TEXT,
  newest INTEGER NOT NULL,
  rows INTEGER NOT NULL,
  expires_at TEXT NOT NULL,
  opened_count INTEGER NOT NULL DEFAULT 0,
  last_opened_at TEXT,
  created_at TEXT NOT NULL
) STRICT;

CREATE INDEX links_by_expiry ON links (expires_at);

CREATE INDEX links_by_insight ON links (insight_id, created_at, link_id);

CREATE TABLE mail_consents (
  workspace_id TEXT NOT NULL REFERENCES workspaces ON DELETE CASCADE,
  address_hash TEXT NOT NULL,
  asked_at TEXT,
  confirmed_at TEXT,
  left_at TEXT,
  PRIMARY KEY (workspace_id, address_hash)
) STRICT, WITHOUT ROWID;

CREATE TABLE metrics (
  workspace_id TEXT NOT NULL REFERENCES workspaces,
  metric_id TEXT NOT NULL,
  source TEXT NOT NULL,
  user_id TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  PRIMARY KEY (workspace_id, metric_id)
) STRICT;

CREATE TABLE migrations (number INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at TEXT NOT NULL) STRICT;

CREATE TABLE narratives (
  workspace_id TEXT NOT NULL REFERENCES workspaces ON DELETE CASCADE,
  hash TEXT NOT NULL,
  text TEXT NOT NULL,
  created_at TEXT NOT NULL,
  PRIMARY KEY (workspace_id, hash)
) STRICT;

CREATE INDEX narratives_by_age ON narratives (created_at);

CREATE TABLE nodes (
  node_id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  roles TEXT NOT NULL,
  version TEXT NOT NULL,
  started_at TEXT NOT NULL,
  lease_until TEXT NOT NULL
) STRICT;

CREATE TABLE outgoing (
  workspace_id TEXT NOT NULL REFERENCES workspaces ON DELETE CASCADE,
  day TEXT NOT NULL,
  kind TEXT NOT NULL,
  count INTEGER NOT NULL,
  refused INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  PRIMARY KEY (workspace_id, day, kind)
) STRICT, WITHOUT ROWID;

CREATE INDEX outgoing_by_day ON outgoing (day);

CREATE TABLE processor_use (
  workspace_id TEXT NOT NULL REFERENCES workspaces ON DELETE CASCADE,
  hour TEXT NOT NULL,
  ms INTEGER NOT NULL,
  PRIMARY KEY (workspace_id, hour)
) STRICT, WITHOUT ROWID;

CREATE INDEX processor_use_by_hour ON processor_use (hour);

CREATE TABLE readers (
  workspace_id TEXT NOT NULL REFERENCES workspaces,
  reader_id TEXT NOT NULL,
  name TEXT NOT NULL,
  email TEXT,
  user_id TEXT,
  attributes TEXT NOT NULL,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  PRIMARY KEY (workspace_id, reader_id)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX readers_by_user ON readers (workspace_id, user_id) WHERE user_id IS NOT NULL;

CREATE TABLE recoveries (
  recovery_id TEXT PRIMARY KEY,
  workspace_id TEXT NOT NULL,
  webhook_id TEXT NOT NULL REFERENCES webhooks ON DELETE CASCADE,
  include_unsent INTEGER NOT NULL,
  event_types TEXT,
  next_seq INTEGER NOT NULL,
  to_seq INTEGER NOT NULL,
  status TEXT NOT NULL,
  done INTEGER NOT NULL DEFAULT 0,
  count INTEGER NOT NULL,
  created_at TEXT NOT NULL
) STRICT;

CREATE INDEX recoveries_by_webhook ON recoveries (webhook_id);

CREATE INDEX recoveries_running ON recoveries (created_at) WHERE status = 'running';

CREATE TABLE repositories (
  repository_id TEXT PRIMARY KEY,
  address TEXT NOT NULL,
  branch TEXT,
  folder TEXT NOT NULL,
  taken TEXT,
  tree TEXT,
  latest TEXT,
  pulled_at TEXT,
  unreached TEXT,
  owned TEXT NOT NULL,
  asked INTEGER NOT NULL,
  due_at TEXT NOT NULL,
  held_until TEXT NOT NULL,
  revision INTEGER NOT NULL
) STRICT;

CREATE TABLE schedules (
  schedule_id TEXT PRIMARY KEY,
  workspace_id TEXT NOT NULL REFERENCES workspaces,
  user_id TEXT NOT NULL,
  name TEXT NOT NULL,
  template_id TEXT NOT NULL,
  variables TEXT NOT NULL,
  cron TEXT NOT NULL,
  time_zone TEXT NOT NULL,
  starts_at TEXT,
  ends_at TEXT,
  missed TEXT NOT NULL,
  missed_limit INTEGER NOT NULL,
  overlap TEXT NOT NULL,
  paused INTEGER NOT NULL,
  presence_name TEXT,
  notify TEXT,
  priority INTEGER NOT NULL,
  metadata TEXT NOT NULL,
  readers TEXT,
  firing TEXT,
  counts TEXT NOT NULL,
  last_run TEXT,
  last_error TEXT,
  next_due_at TEXT,
  claim_at TEXT,
  revision INTEGER NOT NULL,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL
) STRICT;

CREATE INDEX schedules_by_time ON schedules (workspace_id, created_at, schedule_id);

CREATE INDEX schedules_due ON schedules (claim_at, schedule_id) WHERE claim_at IS NOT NULL;

CREATE TABLE settings (
  key TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE sign_ins (
  sign_in_id TEXT PRIMARY KEY,
  secret_hash TEXT NOT NULL UNIQUE,
  workspace_id TEXT NOT NULL REFERENCES workspaces,
  user_id TEXT NOT NULL,
  token_id TEXT,
  scopes TEXT NOT NULL,
  templates TEXT,
  device TEXT NOT NULL,
  address TEXT NOT NULL,
  created_at TEXT NOT NULL,
  last_used_at TEXT NOT NULL,
  idle_ends_at TEXT NOT NULL,
  ends_at TEXT NOT NULL
) STRICT;

CREATE INDEX sign_ins_by_end ON sign_ins (idle_ends_at);

CREATE INDEX sign_ins_by_token ON sign_ins (token_id) WHERE token_id IS NOT NULL;

CREATE INDEX sign_ins_by_user ON sign_ins (workspace_id, user_id, created_at, sign_in_id);

CREATE TABLE template_versions (
  template_id TEXT NOT NULL,
  version TEXT NOT NULL,
  source TEXT NOT NULL,
  partials TEXT NOT NULL,
  commit_id TEXT,
  PRIMARY KEY (template_id, version)
) STRICT;

CREATE TABLE templates (
  workspace_id TEXT NOT NULL REFERENCES workspaces,
  template_id TEXT NOT NULL,
  source TEXT NOT NULL,
  user_id TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  PRIMARY KEY (workspace_id, template_id)
) STRICT;

CREATE TABLE tokens (
  token_id TEXT PRIMARY KEY,
  token_hash TEXT NOT NULL UNIQUE,
  workspace_id TEXT NOT NULL REFERENCES workspaces,
  user_id TEXT NOT NULL,
  name TEXT NOT NULL,
  scopes TEXT NOT NULL,
  templates TEXT,
  collections TEXT,
  expires_at TEXT,
  created_at TEXT NOT NULL,
  last_used_at TEXT
) STRICT;

CREATE INDEX tokens_by_expiry ON tokens (expires_at) WHERE expires_at IS NOT NULL;

CREATE INDEX tokens_by_time ON tokens (workspace_id, created_at, token_id);

CREATE INDEX tokens_by_user ON tokens (workspace_id, user_id, name);

CREATE TABLE users (
  user_id TEXT NOT NULL,
  workspace_id TEXT NOT NULL REFERENCES workspaces,
  username TEXT NOT NULL,
  display_name TEXT,
  -- The identity at the sign-in provider, of a user who comes from one.
  issuer TEXT,
  subject TEXT,
  -- The end of the rights that the provider gave: one life of a sign-in after the last sign-in.
  admitted_until TEXT,
  password_hash TEXT,
  scopes TEXT NOT NULL,
  disabled INTEGER NOT NULL,
  created_at TEXT NOT NULL,
  PRIMARY KEY (workspace_id, user_id),
  UNIQUE (workspace_id, username)
) STRICT;

CREATE UNIQUE INDEX users_by_identity ON users (issuer, subject, workspace_id) WHERE issuer IS NOT NULL;

CREATE INDEX users_by_time ON users (workspace_id, created_at, user_id);

CREATE TABLE webhook_events (
  workspace_id TEXT NOT NULL,
  event_type TEXT NOT NULL,
  people INTEGER NOT NULL,
  presence_name TEXT NOT NULL,
  webhook_id TEXT NOT NULL REFERENCES webhooks ON DELETE CASCADE,
  skipped INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (workspace_id, event_type, people, presence_name, webhook_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX webhook_events_by_webhook ON webhook_events (webhook_id);

CREATE TABLE webhook_follows (
  workspace_id TEXT NOT NULL,
  followed TEXT NOT NULL,
  webhook_id TEXT NOT NULL REFERENCES webhooks ON DELETE CASCADE,
  PRIMARY KEY (workspace_id, followed, webhook_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX webhook_follows_by_webhook ON webhook_follows (webhook_id);

CREATE TABLE webhooks (
  webhook_id TEXT PRIMARY KEY,
  workspace_id TEXT NOT NULL REFERENCES workspaces,
  kind TEXT NOT NULL DEFAULT 'webhook',
  url TEXT NOT NULL,
  target TEXT,
  headers TEXT NOT NULL,
  user_id TEXT NOT NULL,
  presence_name TEXT NOT NULL,
  events TEXT,
  tells_skipped INTEGER NOT NULL DEFAULT 0,
  personal INTEGER NOT NULL DEFAULT 0,
  follows TEXT,
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
  failing_reason TEXT,
  warned_at TEXT,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  in_flight INTEGER NOT NULL DEFAULT 0,
  due_at TEXT,
  last_claim_at TEXT,
  rate_at REAL,
  failures INTEGER NOT NULL DEFAULT 0,
  open_until TEXT,
  held_until TEXT,
  held_reason TEXT,
  claim_at TEXT
) STRICT;

CREATE INDEX webhooks_by_time ON webhooks (workspace_id, created_at, webhook_id);

CREATE INDEX webhooks_claimable ON webhooks (in_flight, claim_at) WHERE claim_at IS NOT NULL;

CREATE INDEX webhooks_held ON webhooks (workspace_id) WHERE held_until IS NOT NULL;

CREATE INDEX webhooks_personal ON webhooks (workspace_id, user_id, created_at, webhook_id) WHERE personal;

CREATE TABLE workspaces (
  workspace_id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  data_folder TEXT,
  max_queued INTEGER,
  max_running INTEGER,
  max_processor_seconds INTEGER,
  max_spill_bytes INTEGER,
  max_stored_bytes INTEGER,
  rate_limit INTEGER,
  max_file_bytes INTEGER,
  max_files_bytes INTEGER,
  created_at TEXT NOT NULL,
  outgoing TEXT,
  deleted_at TEXT
) STRICT;

CREATE INDEX workspaces_by_time ON workspaces (created_at, workspace_id);

CREATE INDEX workspaces_deleted ON workspaces (deleted_at) WHERE deleted_at IS NOT NULL;
