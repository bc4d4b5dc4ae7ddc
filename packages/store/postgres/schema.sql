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
  PRIMARY KEY (delivery_id),
  FOREIGN KEY (event_seq) REFERENCES events(seq),
  FOREIGN KEY (webhook_id) REFERENCES webhooks(webhook_id) ON DELETE CASCADE
) WITH (fillfactor=50, autovacuum_vacuum_scale_factor=0.01);

CREATE INDEX deliveries_by_event ON deliveries USING btree (event_seq, webhook_id);

CREATE INDEX deliveries_by_job ON deliveries USING btree (assignment_id) WHERE (assignment_id IS NOT NULL);

CREATE INDEX deliveries_by_status ON deliveries USING btree (webhook_id, status, created_at, delivery_id);

CREATE INDEX deliveries_by_time ON deliveries USING btree (webhook_id, created_at, delivery_id);

CREATE INDEX deliveries_due ON deliveries USING btree (webhook_id, due_at, delivery_id) WHERE (status = 'pending'::text);

CREATE INDEX deliveries_failed ON deliveries USING btree (webhook_id, event_at, event_seq) WHERE (status = 'failed'::text);

CREATE TABLE events (
  seq bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
  event_id text COLLATE "C" NOT NULL,
  workspace_id text COLLATE "C" NOT NULL,
  type text COLLATE "C" NOT NULL,
  "timestamp" timestamp(3) with time zone NOT NULL,
  data json NOT NULL,
  PRIMARY KEY (seq)
);

CREATE INDEX events_by_type ON events USING btree (workspace_id, type, xid, seq) WHERE ((type <> 'job.queued'::text) AND (type <> 'job.started'::text));

CREATE INDEX events_by_workspace ON events USING btree (workspace_id, xid, seq);

CREATE INDEX events_in_window ON events USING btree (workspace_id, "timestamp", seq);

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

CREATE TABLE insights (
  insight_id text COLLATE "C" NOT NULL,
  assignment_id text COLLATE "C" NOT NULL,
  workspace_id text COLLATE "C" NOT NULL,
  created_at timestamp(3) with time zone NOT NULL,
  body json NOT NULL,
  UNIQUE (assignment_id),
  PRIMARY KEY (insight_id)
);

CREATE TABLE job_counts (
  workspace_id text COLLATE "C" NOT NULL,
  part bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  draft bigint NOT NULL DEFAULT 0,
  queued bigint NOT NULL DEFAULT 0,
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
  schedule_id text COLLATE "C",
  scheduled_for timestamp(3) with time zone,
  batch_id text COLLATE "C",
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
  PRIMARY KEY (assignment_id),
  FOREIGN KEY (template_id, template_version) REFERENCES template_versions(template_id, version),
  FOREIGN KEY (workspace_id) REFERENCES workspaces(workspace_id)
) WITH (fillfactor=80, autovacuum_vacuum_scale_factor=0.01);

CREATE INDEX jobs_by_batch ON jobs USING btree (workspace_id, batch_id, created_at, assignment_id) WHERE (batch_id IS NOT NULL);

CREATE INDEX jobs_by_schedule ON jobs USING btree (workspace_id, schedule_id, created_at, assignment_id) WHERE (schedule_id IS NOT NULL);

CREATE INDEX jobs_by_status ON jobs USING btree (workspace_id, job_status, created_at, assignment_id) WHERE ((job_status <> 'active'::text) AND (job_status <> 'executing'::text));

CREATE INDEX jobs_by_template ON jobs USING btree (workspace_id, template_id, created_at, assignment_id);

CREATE INDEX jobs_by_time ON jobs USING btree (workspace_id, created_at, assignment_id);

CREATE INDEX jobs_by_version ON jobs USING btree (template_id, template_version);

CREATE INDEX jobs_owned ON jobs USING btree (owner, workspace_id, job_status) WHERE (owner IS NOT NULL);

CREATE INDEX jobs_queued ON jobs USING btree (workspace_id, priority DESC, queued_at, assignment_id) WHERE (job_status = 'queued'::text);

CREATE INDEX jobs_unfinished_of_schedule ON jobs USING btree (schedule_id) WHERE ((schedule_id IS NOT NULL) AND (finished_at IS NULL));

CREATE TABLE links (
  link_id text COLLATE "C" NOT NULL,
  link_hash text COLLATE "C" NOT NULL,
  workspace_id text COLLATE "C" NOT NULL,
  insight_id text COLLATE "C" NOT NULL,
  user_id text COLLATE "C" NOT NULL,
  label text,
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
  priority integer NOT NULL,
  metadata json NOT NULL,
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

CREATE TABLE template_versions (
  template_id text COLLATE "C" NOT NULL,
  version text COLLATE "C" NOT NULL,
  source text NOT NULL,
  partials json NOT NULL,
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
  expires_at timestamp(3) with time zone,
  created_at timestamp(3) with time zone NOT NULL,
  UNIQUE (token_hash),
  PRIMARY KEY (token_id),
  FOREIGN KEY (workspace_id) REFERENCES workspaces(workspace_id)
);

CREATE INDEX tokens_by_expiry ON tokens USING btree (expires_at) WHERE (expires_at IS NOT NULL);

CREATE INDEX tokens_by_time ON tokens USING btree (workspace_id, created_at, token_id);

CREATE TABLE users (
  user_id text COLLATE "C" NOT NULL,
  workspace_id text COLLATE "C" NOT NULL,
  username text COLLATE "C" NOT NULL,
  password_hash text,
  scopes json NOT NULL,
  created_at timestamp(3) with time zone NOT NULL,
  UNIQUE (username),
  PRIMARY KEY (workspace_id, user_id),
  FOREIGN KEY (workspace_id) REFERENCES workspaces(workspace_id)
);

CREATE INDEX users_by_time ON users USING btree (workspace_id, created_at, user_id);

CREATE TABLE webhook_events (
  workspace_id text COLLATE "C" NOT NULL,
  event_type text COLLATE "C" NOT NULL,
  presence_name text COLLATE "C" NOT NULL,
  webhook_id text COLLATE "C" NOT NULL,
  skipped boolean NOT NULL DEFAULT false,
  PRIMARY KEY (workspace_id, event_type, presence_name, webhook_id),
  FOREIGN KEY (webhook_id) REFERENCES webhooks(webhook_id) ON DELETE CASCADE
);

CREATE INDEX webhook_events_by_webhook ON webhook_events USING btree (webhook_id);

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
  claim_at timestamp(3) with time zone,
  PRIMARY KEY (webhook_id),
  FOREIGN KEY (workspace_id) REFERENCES workspaces(workspace_id)
) WITH (fillfactor=50, autovacuum_vacuum_scale_factor=0.01);

CREATE INDEX webhooks_by_time ON webhooks USING btree (workspace_id, created_at, webhook_id);

CREATE INDEX webhooks_claimable ON webhooks USING btree (in_flight, claim_at) WHERE (claim_at IS NOT NULL);

CREATE TABLE workspaces (
  workspace_id text COLLATE "C" NOT NULL,
  name text NOT NULL,
  data_folder text,
  max_queued integer,
  max_running integer,
  rate_limit integer,
  max_file_bytes bigint,
  max_files_bytes bigint,
  created_at timestamp(3) with time zone NOT NULL,
  deleted_at timestamp(3) with time zone,
  PRIMARY KEY (workspace_id)
);

CREATE INDEX workspaces_by_time ON workspaces USING btree (created_at, workspace_id);

CREATE INDEX workspaces_deleted ON workspaces USING btree (deleted_at) WHERE (deleted_at IS NOT NULL);

CREATE OR REPLACE FUNCTION claim_jobs(node text, most integer, cap_of_all integer)
 RETURNS TABLE(turn integer, folder text, job json)
 LANGUAGE plpgsql
 SET jit TO 'off'
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
 SET enable_sort TO 'off'
 SET enable_incremental_sort TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
 SET lock_timeout TO '5s'
AS $function$
#variable_conflict use_column
DECLARE
  head record;
  wanted integer := most;
  -- So many workers may be claiming in the same moment without one of them going away empty.
  spare CONSTANT integer := 16;
  chosen text[];
  took integer;
  one record;
  places text[];
BEGIN
  IF most <= 0 THEN RETURN; END IF;
  -- A node that was reaped claims nothing: the lock keeps it from being reaped until the claim is committed. (A renewal
  -- changes no key and does not wait for it.)
  PERFORM 1 FROM nodes WHERE node_id = node FOR KEY SHARE;
  IF NOT FOUND THEN
    turn := -1;
    RETURN NEXT;
    RETURN;
  END IF;
  SELECT first.workspace_id, data_folder, coalesce(max_running, cap_of_all) AS cap, (
      SELECT jobs.workspace_id FROM jobs WHERE job_status = 'queued' AND jobs.workspace_id > first.workspace_id
      ORDER BY jobs.workspace_id, priority DESC, queued_at, assignment_id LIMIT 1) AS other
    INTO head FROM (
      SELECT workspace_id FROM jobs WHERE job_status = 'queued'
      ORDER BY workspace_id, priority DESC, queued_at, assignment_id LIMIT 1) AS first JOIN workspaces USING (workspace_id);
  IF NOT FOUND THEN RETURN; END IF;

  -- Only one workspace has a queue: its first are taken as they come out of the index.
  IF head.other IS NULL THEN
    IF head.cap IS NOT NULL THEN
      wanted := least(most, room_to_run(head.workspace_id, head.cap));
      IF wanted <= 0 THEN RETURN; END IF;
    END IF;
    RETURN QUERY UPDATE jobs SET job_status = 'active', owner = node, attempt = jobs.attempt + 1,
        moves = with_move(jobs.moves::text, 'active',
          greatest(clock_timestamp()::timestamptz(3), (jobs.moves->-1->>'at')::timestamptz(3)), jobs.attempt + 1)::json
      WHERE ctid = ANY (ARRAY (
        SELECT ctid FROM jobs WHERE workspace_id = head.workspace_id AND job_status = 'queued'
        ORDER BY priority DESC, queued_at, assignment_id LIMIT wanted FOR UPDATE SKIP LOCKED))
      RETURNING 0, head.data_folder, row_to_json(jobs);
    GET DIAGNOSTICS took = ROW_COUNT;
    IF took > 0 THEN PERFORM count_jobs_of(head.workspace_id, 0, -took); END IF;
    RETURN;
  END IF;

  -- Of the best queues the first jobs are looked at, a few more than are wanted, and again where others came before.
  -- Within a queue the k-th job counts as if the k-1 before it ran already, so the whole order is one ORDER BY, and what
  -- would be beyond the cap is left out.
  FOR round IN 0..3 LOOP
    chosen := ARRAY (
      WITH RECURSIVE heads AS (
        (SELECT workspace_id, priority, queued_at FROM jobs WHERE job_status = 'queued'
         ORDER BY workspace_id, priority DESC, queued_at, assignment_id LIMIT 1)
        UNION ALL
        SELECT next.* FROM heads CROSS JOIN LATERAL (
          SELECT jobs.workspace_id, jobs.priority, jobs.queued_at FROM jobs
          WHERE job_status = 'queued' AND jobs.workspace_id > heads.workspace_id
          ORDER BY jobs.workspace_id, jobs.priority DESC, jobs.queued_at, jobs.assignment_id LIMIT 1) AS next
      ),
      running AS MATERIALIZED (SELECT workspace_id, count(*) AS count FROM jobs WHERE owner IS NOT NULL GROUP BY workspace_id),
      open AS (
        SELECT * FROM (
          SELECT workspace_id, priority, queued_at, coalesce(running.count, 0) AS running, CASE
            WHEN coalesce(max_running, cap_of_all) IS NULL THEN 1000000000
            WHEN coalesce(running.count, 0) >= coalesce(max_running, cap_of_all) THEN 0
            ELSE room_to_run(workspace_id, coalesce(max_running, cap_of_all)) END AS room
          FROM heads JOIN workspaces USING (workspace_id) LEFT JOIN running USING (workspace_id) OFFSET 0) AS waiting
        WHERE waiting.room > 0 ORDER BY priority DESC, running, queued_at LIMIT wanted + spare
      )
      SELECT waiting.assignment_id FROM open CROSS JOIN LATERAL (
        SELECT assignment_id, priority, queued_at,
          row_number() OVER (ORDER BY priority DESC, queued_at, assignment_id) AS place
        FROM (SELECT assignment_id, priority, queued_at FROM jobs
              WHERE jobs.workspace_id = open.workspace_id AND job_status = 'queued'
              ORDER BY priority DESC, queued_at, assignment_id LIMIT wanted + spare) AS first) AS waiting
      WHERE waiting.place <= open.room
      ORDER BY waiting.priority DESC, open.running + waiting.place, waiting.queued_at, waiting.assignment_id
      LIMIT wanted + spare);
    places := '{}';
    FOR one IN
      UPDATE jobs SET job_status = 'active', owner = node, attempt = jobs.attempt + 1,
        moves = with_move(jobs.moves::text, 'active',
          greatest(clock_timestamp()::timestamptz(3), (jobs.moves->-1->>'at')::timestamptz(3)), jobs.attempt + 1)::json
      FROM (
        SELECT jobs.ctid AS place, found.turn FROM unnest(chosen) WITH ORDINALITY AS found (id, turn)
        JOIN jobs ON assignment_id = found.id
        -- Looked at anew in the locked row, and in no form in which it would tempt the planner to walk the queue for each.
        WHERE job_status || '' = 'queued'
        ORDER BY found.turn LIMIT wanted FOR UPDATE OF jobs SKIP LOCKED) AS first
      WHERE jobs.ctid = first.place
      RETURNING first.turn, (SELECT data_folder FROM workspaces WHERE workspaces.workspace_id = jobs.workspace_id) AS folder,
        jobs.workspace_id, row_to_json(jobs) AS job
    LOOP
      turn := round * (most + spare) + one.turn;
      folder := one.folder;
      job := one.job;
      places := places || one.workspace_id;
      RETURN NEXT;
    END LOOP;
    took := cardinality(places);
    PERFORM count_jobs_of(workspace, 0, -count(*)) FROM unnest(places) AS workspace GROUP BY workspace;
    EXIT WHEN took = wanted OR cardinality(chosen) < wanted + spare;
    wanted := wanted - took;
  END LOOP;
END $function$;

CREATE OR REPLACE FUNCTION count_job()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  IF TG_OP = 'DELETE' THEN
    PERFORM count_jobs_of(OLD.workspace_id, -(OLD.job_status = 'draft')::int, -(OLD.job_status = 'queued')::int);
  ELSE
    PERFORM count_jobs_of(OLD.workspace_id, (NEW.job_status = 'draft')::int - (OLD.job_status = 'draft')::int,
      (NEW.job_status = 'queued')::int - (OLD.job_status = 'queued')::int);
  END IF;
  RETURN NULL;
END $function$;

CREATE OR REPLACE FUNCTION count_jobs_of(workspace text, drafts bigint, waiting bigint)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
BEGIN
  UPDATE job_counts SET draft = draft + drafts, queued = queued + waiting
  WHERE workspace_id = workspace AND part = (
    SELECT part FROM job_counts WHERE workspace_id = workspace LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED);
  IF NOT FOUND THEN
    INSERT INTO job_counts (workspace_id, draft, queued) VALUES (workspace, drafts, waiting);
  END IF;
END $function$;

CREATE OR REPLACE FUNCTION count_new_jobs()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  PERFORM count_jobs_of(workspace_id, count(*) FILTER (WHERE job_status = 'draft'), count(*) FILTER (WHERE job_status = 'queued'))
  FROM gained WHERE job_status IN ('draft', 'queued') GROUP BY workspace_id;
  RETURN NULL;
END $function$;

CREATE OR REPLACE FUNCTION delete_attempts()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  DELETE FROM attempts WHERE delivery_id IN (SELECT delivery_id FROM gone);
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

CREATE OR REPLACE FUNCTION ended_moves(moves text, started timestamp with time zone, status text, ended timestamp with time zone, attempt integer)
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$ SELECT with_move(CASE WHEN started IS NULL THEN moves ELSE with_move(moves, 'executing', started, attempt) END,
  status, ended, attempt) $function$;

CREATE OR REPLACE FUNCTION ended_progress(progress json)
 RETURNS json
 LANGUAGE sql
 STABLE
AS $function$ SELECT json_build_object('percent', 100, 'step', progress->'steps', 'steps', progress->'steps',
  'label', progress->'label') $function$;

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

CREATE OR REPLACE FUNCTION room_to_run(workspace text, most integer)
 RETURNS bigint
 LANGUAGE plpgsql
AS $function$
BEGIN
  IF NOT pg_try_advisory_xact_lock(hashtextextended('assay run ' || workspace, 0)) THEN RETURN 0; END IF;
  RETURN most - (SELECT count(*) FROM jobs WHERE owner IS NOT NULL AND workspace_id = workspace);
END $function$;

CREATE OR REPLACE FUNCTION settle_many_jobs(attempts integer[], ran_ms double precision[], ids text[], owners text[], claimed_at text[], insight_ids text[], bodies text[], skips text[], errors text[], start_events text[], starts_data text[], end_events text[], end_types text[], ends_data text[])
 RETURNS text[]
 LANGUAGE plpgsql
AS $function$
#variable_conflict use_column
DECLARE
  now timestamptz(3) := clock_timestamp();
  done text[];
BEGIN
  WITH ended AS (
    UPDATE jobs SET job_status = input.status, owner = NULL, insight_id = input.insight_id, skipped = input.skipped,
      error = input.error::json, started_at = coalesce(input.started, jobs.started_at),
      finished_at = greatest(now, input.claimed, jobs.started_at),
      progress = CASE WHEN input.insight_id IS NULL THEN jobs.progress ELSE ended_progress(jobs.progress) END,
      moves = ended_moves(jobs.moves::text, input.started, input.status, greatest(now, input.claimed, jobs.started_at),
        jobs.attempt)::json
    FROM (
      SELECT *, CASE WHEN insight_id IS NULL THEN 'canceled' ELSE 'completed' END AS status,
        CASE WHEN claimed IS NOT NULL
          THEN greatest((now - greatest(ran, 0) * interval '1 ms')::timestamptz(3), claimed) END AS started
      FROM (
        SELECT *, (SELECT ctid FROM jobs WHERE assignment_id = id) AS place, claimed_text::timestamptz(3) AS claimed
        FROM unnest(attempts, ran_ms, ids, owners, claimed_at, insight_ids, bodies, skips, errors, start_events,
          starts_data, end_events, end_types, ends_data) AS given (of_attempt, ran, id, of_owner, claimed_text, insight_id,
          body, skipped, error, start_event, start_data, end_event, end_type, end_data) OFFSET 0) AS given OFFSET 0) AS input
    -- Found by where it lies. The rest is in no form in which it would tempt the planner to read all that is owned.
    WHERE jobs.ctid = input.place AND jobs.attempt = input.of_attempt AND jobs.owner || '' = input.of_owner
      AND jobs.job_status || '' = CASE WHEN input.claimed IS NULL THEN 'executing' ELSE 'active' END
      AND NOT EXISTS (SELECT 1 FROM webhook_events WHERE webhook_events.workspace_id = jobs.workspace_id)
    RETURNING jobs.assignment_id, jobs.workspace_id, jobs.finished_at, input.*
  ),
  found AS (
    INSERT INTO insights (insight_id, assignment_id, workspace_id, created_at, body)
    SELECT insight_id, assignment_id, workspace_id, finished_at, body::json FROM ended WHERE insight_id IS NOT NULL
  ),
  told AS (
    INSERT INTO events (event_id, workspace_id, type, timestamp, data)
    SELECT event.id, workspace_id, event.type, event.at, event.data::json
    FROM ended CROSS JOIN LATERAL (VALUES
      (start_event, 'job.started', started, start_data), (end_event, end_type, finished_at, end_data))
      AS event (id, type, at, data)
    WHERE event.at IS NOT NULL
  )
  SELECT array_agg(assignment_id) INTO done FROM ended;
  IF cardinality(done) = cardinality(ids) THEN RETURN '{}'; END IF;
  RETURN ARRAY (SELECT unnest(ids) EXCEPT SELECT unnest(done));
END $function$;

CREATE OR REPLACE FUNCTION settle_one_job(of_attempt integer, ran double precision, id text, of_owner text, claimed timestamp with time zone, insight text, body text, why_skipped text, why_failed text, start_event text, start_data text, end_event text, end_type text, end_data text)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
#variable_conflict use_column
DECLARE
  now timestamptz(3) := clock_timestamp();
  started timestamptz(3) := CASE WHEN claimed IS NOT NULL THEN greatest(now - greatest(ran, 0) * interval '1 ms', claimed) END;
  status text := CASE WHEN insight IS NULL THEN 'canceled' ELSE 'completed' END;
  done record;
BEGIN
  UPDATE jobs SET job_status = status, owner = NULL, insight_id = insight, skipped = why_skipped, error = why_failed::json,
    started_at = coalesce(started, started_at), finished_at = greatest(now, claimed, started_at),
    progress = CASE WHEN insight IS NULL THEN progress ELSE ended_progress(progress) END,
    moves = ended_moves(moves::text, started, status, greatest(now, claimed, started_at), attempt)::json
  -- In no form in which it would tempt the planner to read all that is owned.
  WHERE assignment_id = id AND attempt = of_attempt AND owner || '' = of_owner
    AND job_status || '' = CASE WHEN claimed IS NULL THEN 'executing' ELSE 'active' END
    AND NOT EXISTS (SELECT 1 FROM webhook_events WHERE webhook_events.workspace_id = jobs.workspace_id)
  RETURNING workspace_id, finished_at INTO done;
  IF NOT FOUND THEN RETURN false; END IF;
  IF insight IS NOT NULL THEN
    INSERT INTO insights (insight_id, assignment_id, workspace_id, created_at, body)
    VALUES (insight, id, done.workspace_id, done.finished_at, body::json);
  END IF;
  IF claimed IS NULL THEN
    INSERT INTO events (event_id, workspace_id, type, timestamp, data)
    VALUES (end_event, done.workspace_id, end_type, done.finished_at, end_data::json);
  ELSE
    INSERT INTO events (event_id, workspace_id, type, timestamp, data) VALUES
      (start_event, done.workspace_id, 'job.started', started, start_data::json),
      (end_event, done.workspace_id, end_type, done.finished_at, end_data::json);
  END IF;
  RETURN true;
END $function$;

CREATE OR REPLACE FUNCTION turn_jobs(attempts integer[], ran_ms double precision[], ids text[], owners text[], claimed_at text[], insight_ids text[], bodies text[], skips text[], errors text[], start_events text[], starts_data text[], end_events text[], end_types text[], ends_data text[], node text, most integer, cap_of_all integer)
 RETURNS TABLE(refused text[], turn integer, folder text, job json)
 LANGUAGE plpgsql
 SET jit TO 'off'
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
 SET enable_sort TO 'off'
 SET enable_incremental_sort TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
 SET lock_timeout TO '5s'
AS $function$
#variable_conflict use_column
DECLARE
  head record;
  took integer;
BEGIN
  refused := '{}';
  IF cardinality(ids) = 1 THEN
    IF NOT settle_one_job(attempts[1], ran_ms[1], ids[1], owners[1], claimed_at[1]::timestamptz, insight_ids[1], bodies[1],
      skips[1], errors[1], start_events[1], starts_data[1], end_events[1], end_types[1], ends_data[1])
    THEN refused := ids; END IF;
  ELSIF cardinality(ids) > 1 THEN
    refused := settle_many_jobs(attempts, ran_ms, ids, owners, claimed_at, insight_ids, bodies, skips, errors, start_events,
      starts_data, end_events, end_types, ends_data);
  END IF;
  RETURN NEXT;
  refused := NULL;

  IF most <= 0 THEN RETURN; END IF;
  -- A node that was reaped claims nothing: the lock keeps it from being reaped until the claim is committed. (A renewal
  -- changes no key and does not wait for it.)
  PERFORM 1 FROM nodes WHERE node_id = node FOR KEY SHARE;
  IF NOT FOUND THEN
    turn := -1;
    RETURN NEXT;
    RETURN;
  END IF;
  SELECT first.workspace_id, data_folder, coalesce(max_running, cap_of_all) IS NULL AND (
      SELECT jobs.workspace_id FROM jobs WHERE job_status = 'queued' AND jobs.workspace_id > first.workspace_id
      ORDER BY jobs.workspace_id, priority DESC, queued_at, assignment_id LIMIT 1) IS NULL AS alone
    INTO head FROM (
      SELECT workspace_id FROM jobs WHERE job_status = 'queued'
      ORDER BY workspace_id, priority DESC, queued_at, assignment_id LIMIT 1) AS first JOIN workspaces USING (workspace_id);
  IF NOT FOUND THEN RETURN; END IF;
  IF NOT head.alone THEN
    RETURN QUERY SELECT NULL::text[], claimed.turn + 1, claimed.folder, claimed.job
      FROM claim_jobs(node, most, cap_of_all) AS claimed;
    RETURN;
  END IF;
  -- Its first are taken as they come out of the index.
  RETURN QUERY UPDATE jobs SET job_status = 'active', owner = node, attempt = jobs.attempt + 1,
      moves = with_move(jobs.moves::text, 'active',
        greatest(clock_timestamp()::timestamptz(3), (jobs.moves->-1->>'at')::timestamptz(3)), jobs.attempt + 1)::json
    WHERE ctid = ANY (ARRAY (
      SELECT ctid FROM jobs WHERE workspace_id = head.workspace_id AND job_status = 'queued'
      ORDER BY priority DESC, queued_at, assignment_id LIMIT most FOR UPDATE SKIP LOCKED))
    RETURNING NULL::text[], 0, head.data_folder, row_to_json(jobs);
  GET DIAGNOSTICS took = ROW_COUNT;
  IF took > 0 THEN PERFORM count_jobs_of(head.workspace_id, 0, -took); END IF;
END $function$;

CREATE OR REPLACE FUNCTION with_move(moves text, status text, at timestamp with time zone, attempt integer)
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$ SELECT left(moves, -1) || ',{"job_status":"' || status || '","at":"'
  || to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '","attempt":' || attempt || '}]' $function$;

CREATE TRIGGER attempts_go_with_deliveries AFTER DELETE ON deliveries REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION delete_attempts();

CREATE TRIGGER jobs_made AFTER INSERT ON jobs REFERENCING NEW TABLE AS gained FOR EACH STATEMENT EXECUTE FUNCTION count_new_jobs();

CREATE TRIGGER jobs_moved AFTER UPDATE OF progress ON jobs FOR EACH ROW WHEN (((old.job_status <> new.job_status) AND ((old.job_status = ANY (ARRAY['draft'::text, 'queued'::text])) OR (new.job_status = ANY (ARRAY['draft'::text, 'queued'::text]))))) EXECUTE FUNCTION count_job();

CREATE TRIGGER jobs_of_deleted BEFORE INSERT ON job_counts FOR EACH ROW EXECUTE FUNCTION refuse_job_of_deleted();

CREATE TRIGGER jobs_removed AFTER DELETE ON jobs FOR EACH ROW WHEN ((old.job_status = ANY (ARRAY['draft'::text, 'queued'::text]))) EXECUTE FUNCTION count_job();
