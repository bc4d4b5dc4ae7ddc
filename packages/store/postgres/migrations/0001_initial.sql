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

-- The caps of a workspace are null where the service's own hold. A workspace with `deleted_at` is being deleted in steps:
-- nobody sees it and it accepts nothing new.
CREATE TABLE workspaces (
  workspace_id text COLLATE "C" PRIMARY KEY,
  name text NOT NULL,
  data_folder text,
  max_queued integer,
  max_running integer,
  rate_limit integer,
  max_file_bytes bigint,
  max_files_bytes bigint,
  created_at timestamptz(3) NOT NULL,
  deleted_at timestamptz(3)
);
CREATE INDEX workspaces_by_time ON workspaces (created_at, workspace_id);
CREATE INDEX workspaces_deleted ON workspaces (deleted_at) WHERE deleted_at IS NOT NULL;

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
-- The actions that come with every request (store/lists.ts) are left out: their records do not pay for this index.
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

-- The sources that jobs were created with, once for each version.
CREATE TABLE template_versions (
  template_id text COLLATE "C" NOT NULL,
  version text COLLATE "C" NOT NULL,
  source text NOT NULL,
  partials json NOT NULL,
  PRIMARY KEY (template_id, version)
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
  priority integer NOT NULL,
  metadata json NOT NULL,
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
  schedule_id text COLLATE "C",
  scheduled_for timestamptz(3),
  batch_id text COLLATE "C",
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
  -- Keeps a version that jobs are made with while another node deletes the versions that nobody uses.
  FOREIGN KEY (template_id, template_version) REFERENCES template_versions (template_id, version)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.01);
CREATE INDEX jobs_queued ON jobs (workspace_id, priority DESC, queued_at, assignment_id) WHERE job_status = 'queued';
CREATE INDEX jobs_owned ON jobs (owner, workspace_id, job_status) WHERE owner IS NOT NULL;
CREATE INDEX jobs_by_time ON jobs (workspace_id, created_at, assignment_id);
-- Active and executing jobs are few and in jobs_owned: their two moves write no entry here.
CREATE INDEX jobs_by_status ON jobs (workspace_id, job_status, created_at, assignment_id)
  WHERE job_status <> 'active' AND job_status <> 'executing';
CREATE INDEX jobs_by_template ON jobs (workspace_id, template_id, created_at, assignment_id);
CREATE INDEX jobs_by_version ON jobs (template_id, template_version);
CREATE INDEX jobs_by_schedule ON jobs (workspace_id, schedule_id, created_at, assignment_id)
  WHERE schedule_id IS NOT NULL;
CREATE INDEX jobs_by_batch ON jobs (workspace_id, batch_id, created_at, assignment_id) WHERE batch_id IS NOT NULL;
CREATE INDEX jobs_unfinished_of_schedule ON jobs (schedule_id) WHERE schedule_id IS NOT NULL AND finished_at IS NULL;

CREATE TABLE insights (
  insight_id text COLLATE "C" PRIMARY KEY,
  assignment_id text COLLATE "C" NOT NULL UNIQUE,
  workspace_id text COLLATE "C" NOT NULL,
  created_at timestamptz(3) NOT NULL,
  body json NOT NULL
);

-- Links to the page of an insight.
CREATE TABLE links (
  link_id text COLLATE "C" PRIMARY KEY,
  link_hash text COLLATE "C" NOT NULL UNIQUE,
  workspace_id text COLLATE "C" NOT NULL,
  insight_id text COLLATE "C" NOT NULL REFERENCES insights ON DELETE CASCADE,
  user_id text COLLATE "C" NOT NULL,
  label text,
  expires_at timestamptz(3) NOT NULL,
  opened_count integer NOT NULL DEFAULT 0,
  last_opened_at timestamptz(3),
  created_at timestamptz(3) NOT NULL
);
CREATE INDEX links_by_insight ON links (insight_id, created_at, link_id);
CREATE INDEX links_by_expiry ON links (expires_at);

-- Webhooks, and the webhook_events by mail and chat (`kind`; their `target` is sealed). The columns from `in_flight` on are
-- the sending state (store/sending-state.ts): a claim of deliveries reads them, never the deliveries that wait.
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
  claim_at timestamptz(3)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.01);
CREATE INDEX webhooks_by_time ON webhooks (workspace_id, created_at, webhook_id);
CREATE INDEX webhooks_claimable ON webhooks (in_flight, claim_at) WHERE claim_at IS NOT NULL;

-- An index of the enabled webhooks by the events that they get (model/webhook.ts makes the rows). `skipped`: also those of
-- skipped runs.
CREATE TABLE webhook_events (
  workspace_id text COLLATE "C" NOT NULL,
  event_type text COLLATE "C" NOT NULL,
  presence_name text COLLATE "C" NOT NULL,
  webhook_id text COLLATE "C" NOT NULL REFERENCES webhooks ON DELETE CASCADE,
  skipped boolean NOT NULL DEFAULT false,
  PRIMARY KEY (workspace_id, event_type, presence_name, webhook_id)
);
CREATE INDEX webhook_events_by_webhook ON webhook_events (webhook_id);

-- A lower `seq` may be committed later than a higher one. Readers go by (xid, seq) and stop before the oldest transaction
-- that is still under way, so that they skip nothing.
CREATE TABLE events (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
  event_id text COLLATE "C" NOT NULL,
  workspace_id text COLLATE "C" NOT NULL,
  type text COLLATE "C" NOT NULL,
  timestamp timestamptz(3) NOT NULL,
  data json NOT NULL
);
CREATE INDEX events_by_workspace ON events (workspace_id, xid, seq);
-- Every job makes one event of the two types that are left out: a page of them reads the pages of all.
CREATE INDEX events_by_type ON events (workspace_id, type, xid, seq)
  WHERE type <> 'job.queued' AND type <> 'job.started';
CREATE INDEX events_in_window ON events (workspace_id, timestamp, seq);

-- The outbox. `due_at` is null once a delivery has ended, `owner` is the node that sends it now, `event_at` the time of its
-- event. `last_try`: it ends if this try fails. Several deliveries may be sent one after the other as one claim: all
-- but the last are `ahead`, and only the last counts as in flight.
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
  ahead boolean NOT NULL DEFAULT false,
  attempt_count integer NOT NULL DEFAULT 0,
  last_try boolean NOT NULL DEFAULT false,
  created_at timestamptz(3) NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.01);
-- No index has `owner`: a claim is a HOT update, a fifth of the work of one that writes every index (5 and 26 us).
CREATE INDEX deliveries_due ON deliveries (webhook_id, due_at, delivery_id) WHERE status = 'pending';
CREATE INDEX deliveries_by_time ON deliveries (webhook_id, created_at, delivery_id);
CREATE INDEX deliveries_by_status ON deliveries (webhook_id, status, created_at, delivery_id);
CREATE INDEX deliveries_by_event ON deliveries (event_seq, webhook_id);
CREATE INDEX deliveries_by_job ON deliveries (assignment_id) WHERE assignment_id IS NOT NULL;
CREATE INDEX deliveries_failed ON deliveries (webhook_id, event_at, event_seq) WHERE status = 'failed';

-- The trigger stands for a foreign key, whose check was half of what it costs to write an attempt.
CREATE TABLE attempts (
  delivery_id text COLLATE "C" NOT NULL,
  number integer NOT NULL,
  record json NOT NULL,
  PRIMARY KEY (delivery_id, number)
);
CREATE FUNCTION delete_attempts() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM attempts WHERE delivery_id IN (SELECT delivery_id FROM gone);
  RETURN NULL;
END $$;
CREATE TRIGGER attempts_go_with_deliveries AFTER DELETE ON deliveries
  REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION delete_attempts();

-- Attempts by whole hour and bucket of duration (model/delivery.ts); bucket -1: failed.
CREATE TABLE attempt_counts (
  webhook_id text COLLATE "C" NOT NULL REFERENCES webhooks ON DELETE CASCADE,
  hour timestamptz(3) NOT NULL,
  bucket integer NOT NULL,
  count integer NOT NULL,
  PRIMARY KEY (webhook_id, hour, bucket)
) WITH (fillfactor = 50);
CREATE INDEX attempt_counts_by_hour ON attempt_counts (hour);

-- Goes over the events of a window by (timestamp, seq), because sequence numbers and times do not rise together here.
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

-- How many jobs of a workspace are drafts and how many are queued, as the sum over its rows. A writer takes a row that
-- nobody else holds, or makes one, so that none waits for another. Active and executing jobs are counted in jobs_owned.
CREATE TABLE job_counts (
  workspace_id text COLLATE "C" NOT NULL REFERENCES workspaces ON DELETE CASCADE,
  part bigint GENERATED ALWAYS AS IDENTITY,
  draft bigint NOT NULL DEFAULT 0,
  queued bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (workspace_id, part)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.01);

CREATE FUNCTION count_jobs_of(workspace text, drafts bigint, waiting bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  UPDATE job_counts SET draft = draft + drafts, queued = queued + waiting
  WHERE workspace_id = workspace AND part = (
    SELECT part FROM job_counts WHERE workspace_id = workspace LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED);
  IF NOT FOUND THEN
    INSERT INTO job_counts (workspace_id, draft, queued) VALUES (workspace, drafts, waiting);
  END IF;
END $$;

-- A new job is counted by its statement, a changed or deleted one by its row. A claim counts all that it takes at once and
-- sets no `progress`: the trigger passes it over.
CREATE FUNCTION count_new_jobs() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM count_jobs_of(workspace_id, count(*) FILTER (WHERE job_status = 'draft'), count(*) FILTER (WHERE job_status = 'queued'))
  FROM gained WHERE job_status IN ('draft', 'queued') GROUP BY workspace_id;
  RETURN NULL;
END $$;
CREATE FUNCTION count_job() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    PERFORM count_jobs_of(OLD.workspace_id, -(OLD.job_status = 'draft')::int, -(OLD.job_status = 'queued')::int);
  ELSE
    PERFORM count_jobs_of(OLD.workspace_id, (NEW.job_status = 'draft')::int - (OLD.job_status = 'draft')::int,
      (NEW.job_status = 'queued')::int - (OLD.job_status = 'queued')::int);
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER jobs_made AFTER INSERT ON jobs
  REFERENCING NEW TABLE AS gained FOR EACH STATEMENT EXECUTE FUNCTION count_new_jobs();
CREATE TRIGGER jobs_moved AFTER UPDATE OF progress ON jobs FOR EACH ROW
  WHEN (OLD.job_status <> NEW.job_status
    AND (OLD.job_status IN ('draft', 'queued') OR NEW.job_status IN ('draft', 'queued')))
  EXECUTE FUNCTION count_job();
CREATE TRIGGER jobs_removed AFTER DELETE ON jobs FOR EACH ROW
  WHEN (OLD.job_status IN ('draft', 'queued')) EXECUTE FUNCTION count_job();

-- The counts of a workspace that is being deleted are gone, so its next job needs a new row: only then is this asked.
CREATE FUNCTION refuse_job_of_deleted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT 1 FROM workspaces WHERE workspace_id = NEW.workspace_id AND deleted_at IS NOT NULL) THEN
    RAISE foreign_key_violation USING MESSAGE = format('the workspace %s is being deleted', NEW.workspace_id);
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER jobs_of_deleted BEFORE INSERT ON job_counts FOR EACH ROW EXECUTE FUNCTION refuse_job_of_deleted();

-- The cap of a workspace that may not have `more` more jobs queued, else null. Far below the cap nobody waits. Near it
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

-- How many more jobs of a workspace may run. 0 while another node claims in it, whose claims are not seen yet.
CREATE FUNCTION room_to_run(workspace text, most integer) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
  IF NOT pg_try_advisory_xact_lock(hashtextextended('assay run ' || workspace, 0)) THEN RETURN 0; END IF;
  RETURN most - (SELECT count(*) FROM jobs WHERE owner IS NOT NULL AND workspace_id = workspace);
END $$;

-- `moves` with one more, as JSON.stringify writes it.
CREATE FUNCTION with_move(moves text, status text, at timestamptz, attempt integer) RETURNS text LANGUAGE sql STABLE AS
$$ SELECT left(moves, -1) || ',{"job_status":"' || status || '","at":"'
  || to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '","attempt":' || attempt || '}]' $$;

-- Claims up to `most` jobs for the node: the highest priority at the head of a queue first, then the workspace with the
-- fewest running, then the oldest. Rows that another has locked are passed over. Each job is JSON: one column is sent
-- and parsed faster than all of a job's. One row with the turn -1: the node is not registered.
-- The settings keep the planner to the indexes in their order, however old the statistics are (187 ms a claim at 300,000
-- jobs without them, 3 ms with them), and nothing is compiled (0.5 s).
CREATE FUNCTION claim_jobs(node text, most integer, cap_of_all integer)
RETURNS TABLE (turn integer, folder text, job json) LANGUAGE plpgsql
SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET enable_incremental_sort = off
SET enable_hashjoin = off SET enable_mergejoin = off SET plan_cache_mode = force_generic_plan SET lock_timeout = '5s' AS $$
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
END $$;

-- `moves` with the last of them, and before it the start where that comes with it.
CREATE FUNCTION ended_moves(moves text, started timestamptz, status text, ended timestamptz, attempt integer) RETURNS text
LANGUAGE sql STABLE AS
$$ SELECT with_move(CASE WHEN started IS NULL THEN moves ELSE with_move(moves, 'executing', started, attempt) END,
  status, ended, attempt) $$;

CREATE FUNCTION ended_progress(progress json) RETURNS json LANGUAGE sql STABLE AS
$$ SELECT json_build_object('percent', 100, 'step', progress->'steps', 'steps', progress->'steps',
  'label', progress->'label') $$;

-- A settle is written where its lease (attempt, owner) is still held and the job's state is the one that the node knows:
-- active since `claimed`, or executing where that is null. With an insight the job is completed, else canceled.
CREATE FUNCTION settle_one_job(of_attempt integer, ran double precision, id text, of_owner text, claimed timestamptz,
  insight text, body text, why_skipped text, why_failed text, start_event text, start_data text, end_event text, end_type text,
  end_data text)
RETURNS boolean LANGUAGE plpgsql AS $$
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
END $$;

-- The same for many. Answers the ids of those that were left as they are.
CREATE FUNCTION settle_many_jobs(attempts integer[], ran_ms double precision[], ids text[], owners text[], claimed_at text[],
  insight_ids text[], bodies text[], skips text[], errors text[], start_events text[], starts_data text[], end_events text[],
  end_types text[], ends_data text[])
RETURNS text[] LANGUAGE plpgsql AS $$
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
END $$;

-- Settles and then claims. The first row has the ids of what was not settled, each other a job that was claimed.
CREATE FUNCTION turn_jobs(attempts integer[], ran_ms double precision[], ids text[], owners text[], claimed_at text[],
  insight_ids text[], bodies text[], skips text[], errors text[], start_events text[], starts_data text[], end_events text[],
  end_types text[], ends_data text[], node text, most integer, cap_of_all integer)
RETURNS TABLE (refused text[], turn integer, folder text, job json) LANGUAGE plpgsql
SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET enable_incremental_sort = off
SET enable_hashjoin = off SET enable_mergejoin = off SET plan_cache_mode = force_generic_plan SET lock_timeout = '5s' AS $$
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
END $$;

-- The deliveries that wait for each webhook, in the order in which they are due, out of the index that has it so.
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
