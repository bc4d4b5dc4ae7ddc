-- What a workspace may take of the service; null: what holds for every workspace (the settings).
ALTER TABLE workspaces ADD COLUMN max_queued integer;
ALTER TABLE workspaces ADD COLUMN max_running integer;
ALTER TABLE workspaces ADD COLUMN rate_limit integer;

-- Token buckets that every process sees (failed logins); one that is full again has no row.
CREATE TABLE allowances (
  key text COLLATE "C" PRIMARY KEY,
  tokens double precision NOT NULL,
  at timestamptz(3) NOT NULL,
  full_at timestamptz(3) NOT NULL
);
CREATE INDEX allowances_by_time ON allowances (full_at);

-- How many jobs of a workspace are drafts and how many are queued, as the sum over its rows: whoever counts takes a row
-- that nobody else holds in this moment, or makes one, so that none waits for another. (SQLite has one row for each
-- workspace and one writer.) What is active or executing is few and is counted where it stands, in jobs_owned.
CREATE TABLE lanes (
  workspace_id text COLLATE "C" NOT NULL REFERENCES workspaces ON DELETE CASCADE,
  part bigint GENERATED ALWAYS AS IDENTITY,
  draft bigint NOT NULL DEFAULT 0,
  queued bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (workspace_id, part)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.01);

INSERT INTO lanes (workspace_id, draft, queued)
SELECT workspace_id, count(*) FILTER (WHERE job_status = 'draft'), count(*) FILTER (WHERE job_status = 'queued')
FROM jobs WHERE job_status IN ('draft', 'queued') GROUP BY workspace_id;

CREATE FUNCTION count_lane(workspace text, drafts bigint, waiting bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  UPDATE lanes SET draft = draft + drafts, queued = queued + waiting
  WHERE workspace_id = workspace AND part = (
    SELECT part FROM lanes WHERE workspace_id = workspace LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED);
  IF NOT FOUND THEN
    INSERT INTO lanes (workspace_id, draft, queued) VALUES (workspace, drafts, waiting);
  END IF;
END $$;

-- In the statement that moves the jobs, so that no writer of jobs can forget it; many rows are counted as one.
CREATE FUNCTION count_jobs() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    PERFORM count_lane(workspace_id, count(*) FILTER (WHERE job_status = 'draft'), count(*) FILTER (WHERE job_status = 'queued'))
    FROM gained WHERE job_status IN ('draft', 'queued') GROUP BY workspace_id;
  ELSIF TG_OP = 'DELETE' THEN
    PERFORM count_lane(workspace_id, -count(*) FILTER (WHERE job_status = 'draft'), -count(*) FILTER (WHERE job_status = 'queued'))
    FROM lost WHERE job_status IN ('draft', 'queued') GROUP BY workspace_id;
  ELSE
    PERFORM count_lane(workspace_id, sum(draft), sum(queued)) FROM (
      SELECT workspace_id, (job_status = 'draft')::int AS draft, (job_status = 'queued')::int AS queued FROM gained
      WHERE job_status IN ('draft', 'queued')
      UNION ALL
      SELECT workspace_id, -(job_status = 'draft')::int, -(job_status = 'queued')::int FROM lost
      WHERE job_status IN ('draft', 'queued')) AS moved
    GROUP BY workspace_id HAVING sum(draft) <> 0 OR sum(queued) <> 0;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER jobs_made AFTER INSERT ON jobs
  REFERENCING NEW TABLE AS gained FOR EACH STATEMENT EXECUTE FUNCTION count_jobs();
CREATE TRIGGER jobs_moved AFTER UPDATE ON jobs
  REFERENCING OLD TABLE AS lost NEW TABLE AS gained FOR EACH STATEMENT EXECUTE FUNCTION count_jobs();
CREATE TRIGGER jobs_removed AFTER DELETE ON jobs
  REFERENCING OLD TABLE AS lost FOR EACH STATEMENT EXECUTE FUNCTION count_jobs();

-- The cap of a workspace that may not have so many more queued, else null. Far below the cap nobody waits; near it those
-- who would use the last places take turns, each seeing what those before it have committed.
CREATE FUNCTION reached_queue_cap(workspace text, cap_of_all integer, more integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  most integer;
  near CONSTANT integer := 500;
BEGIN
  SELECT coalesce(max_queued, cap_of_all) INTO most FROM workspaces WHERE workspace_id = workspace;
  IF most IS NULL THEN RETURN NULL; END IF;
  IF (SELECT coalesce(sum(queued), 0) FROM lanes WHERE workspace_id = workspace) + more <= most - near THEN
    RETURN NULL;
  END IF;
  PERFORM pg_advisory_xact_lock(hashtextextended('assay queue ' || workspace, 0));
  IF (SELECT coalesce(sum(queued), 0) FROM lanes WHERE workspace_id = workspace) + more <= most THEN
    RETURN NULL;
  END IF;
  RETURN most;
END $$;

-- How many more of a workspace may run. None while another claims of it: that one's claims are not seen yet. What is
-- counted is read after the lock was given, as every statement of a volatile function sees what is committed by then.
CREATE FUNCTION room_to_run(workspace text, most integer) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
  IF NOT pg_try_advisory_xact_lock(hashtextextended('assay run ' || workspace, 0)) THEN RETURN 0; END IF;
  RETURN most - (SELECT count(*) FROM jobs WHERE owner IS NOT NULL AND workspace_id = workspace);
END $$;
