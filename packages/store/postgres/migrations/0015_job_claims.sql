-- Claims and settles as functions: one statement, one message, one transaction, and plans that are made once a session,
-- behind a pooler, too. And fewer indexes: each entry of a claim or a settle is written, logged and vacuumed.
-- contract: the triggers and the constraint are replaced here, in one transaction, by what does the same for every version.

-- Events are found by their sequence, by their transaction (pages), and by their time; each within its workspace. A page
-- of one type walks the pages of all where that type is a good part of them, as those two are, of which each job makes one.
DROP INDEX events_by_time;
DROP INDEX events_by_xid;
DROP INDEX events_by_type;
CREATE INDEX events_by_type ON events (workspace_id, type, xid, seq)
  WHERE type <> 'job.queued' AND type <> 'job.started';
ALTER TABLE events DROP CONSTRAINT events_event_id_key;

-- Retention finds what has ended by its state; what is owned has an index of its own.
DROP INDEX jobs_finished;
DROP INDEX jobs_by_status;
CREATE INDEX jobs_by_status ON jobs (workspace_id, job_status, created_at, assignment_id)
  WHERE job_status <> 'active' AND job_status <> 'executing';

-- Drafts and queued jobs are counted row by row, so that what is settled need not be gathered for it. A claim counts all
-- that it takes at once and sets no `progress` (that of a queued job is none already): the trigger passes it over.
DROP TRIGGER jobs_moved ON jobs;
DROP TRIGGER jobs_removed ON jobs;
CREATE FUNCTION count_job() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    PERFORM count_lane(OLD.workspace_id, -(OLD.job_status = 'draft')::int, -(OLD.job_status = 'queued')::int);
  ELSIF OLD.job_status <> NEW.job_status
    AND (OLD.job_status IN ('draft', 'queued') OR NEW.job_status IN ('draft', 'queued')) THEN
    PERFORM count_lane(OLD.workspace_id, (NEW.job_status = 'draft')::int - (OLD.job_status = 'draft')::int,
      (NEW.job_status = 'queued')::int - (OLD.job_status = 'queued')::int);
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER jobs_moved AFTER UPDATE OF progress ON jobs FOR EACH ROW EXECUTE FUNCTION count_job();
CREATE TRIGGER jobs_removed AFTER DELETE ON jobs FOR EACH ROW
  WHEN (OLD.job_status IN ('draft', 'queued')) EXECUTE FUNCTION count_job();

-- `moves` with one more, as JSON.stringify writes it.
CREATE FUNCTION with_move(moves text, status text, at timestamptz, attempt integer) RETURNS text LANGUAGE sql STABLE AS
$$ SELECT left(moves, -1) || ',{"job_status":"' || status || '","at":"'
  || to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '","attempt":' || attempt || '}]' $$;

-- The settings of both functions: the order of a queue comes out of its index, however old the statistics are (where the
-- planner takes a burst of jobs for a short queue it sorts it: 187 ms a claim at 300,000 jobs, against 3), nothing is compiled
-- (0.5 s), and the plan is made once. Who holds a row for too long is not waited for.

-- Takes up to `most` jobs for the node: the highest priority at the head of a queue first, then the workspace with the
-- fewest running, then the oldest; what another has locked in this moment is passed over. Each as JSON: one column is
-- described, sent and parsed faster than all of a job's. One row with the turn -1: the node is not registered.
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
    IF took > 0 THEN PERFORM count_lane(head.workspace_id, 0, -took); END IF;
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
    PERFORM count_lane(workspace, 0, -count(*)) FROM unnest(places) AS workspace GROUP BY workspace;
    EXIT WHEN took = wanted OR cardinality(chosen) < wanted + spare;
    wanted := wanted - took;
  END LOOP;
END $$;

-- Settles each of the jobs whose lease (attempt, owner) is given and still held, with its start where that was not written
-- and `ran_ms` says how long it ran, and answers which. The others, and those of a workspace in which somebody subscribes
-- to events, are left as they are. The jobs come in the order of their ids, in which they are locked.
CREATE FUNCTION settle_jobs(ids text[], attempts integer[], owners text[], ran_ms double precision[], statuses text[],
  insight_ids text[], bodies text[], skips text[], errors text[], start_events text[], starts_data text[],
  end_events text[], end_types text[], ends_data text[])
RETURNS text[] LANGUAGE plpgsql
SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET enable_incremental_sort = off
SET enable_hashjoin = off SET enable_mergejoin = off SET plan_cache_mode = force_generic_plan SET lock_timeout = '5s' AS $$
#variable_conflict use_column
DECLARE
  done text[];
BEGIN
  IF cardinality(ids) = 0 THEN RETURN '{}'; END IF;
  WITH leased AS MATERIALIZED (
    SELECT input.*, jobs.ctid AS place, jobs.workspace_id, jobs.job_status, jobs.owner AS present_owner,
      (jobs.moves->-1->>'at')::timestamptz(3) AS last, clock_timestamp()::timestamptz(3) AS now
    FROM unnest(ids, attempts, owners, ran_ms, statuses, insight_ids, bodies, skips, errors, start_events, starts_data,
      end_events, end_types, ends_data) AS input (id, of_attempt, of_owner, ran, status, insight_id, body, skipped, error,
      start_event, start_data, end_event, end_type, end_data)
    JOIN jobs ON jobs.assignment_id = input.id WHERE jobs.attempt = input.of_attempt FOR UPDATE OF jobs
  ),
  -- Judged here and not above, where these conditions would tempt the planner to read all that is owned.
  timed AS MATERIALIZED (
    SELECT leased.*, job_status = 'active' AS starts, greatest(now, last) AS ended,
      greatest((now - greatest(ran, 0) * interval '1 ms')::timestamptz(3), last) AS started
    FROM leased
    WHERE present_owner = of_owner AND (job_status = 'executing' OR (job_status = 'active' AND ran IS NOT NULL))
      AND NOT EXISTS (SELECT 1 FROM subscriptions WHERE subscriptions.workspace_id = leased.workspace_id)
  ),
  settled AS (
    UPDATE jobs SET job_status = timed.status, owner = NULL, insight_id = timed.insight_id, skipped = timed.skipped,
      error = timed.error::json, started_at = CASE WHEN starts THEN started ELSE jobs.started_at END, finished_at = ended,
      progress = CASE WHEN timed.status = 'completed' THEN json_build_object('percent', 100,
        'step', jobs.progress->'steps', 'steps', jobs.progress->'steps', 'label', jobs.progress->'label')
        ELSE jobs.progress END,
      moves = with_move(CASE WHEN starts THEN with_move(jobs.moves::text, 'executing', started, jobs.attempt)
        ELSE jobs.moves::text END, timed.status, ended, jobs.attempt)::json
    FROM timed WHERE jobs.ctid = timed.place
    RETURNING jobs.assignment_id
  ),
  found AS (
    INSERT INTO insights (insight_id, assignment_id, workspace_id, created_at, body)
    SELECT insight_id, id, workspace_id, ended, body::json FROM timed WHERE status = 'completed'
  ),
  told AS (
    INSERT INTO events (event_id, workspace_id, type, timestamp, data)
    SELECT event.id, workspace_id, event.type, event.at, event.data::json
    FROM timed CROSS JOIN LATERAL (VALUES
      (false, start_event, 'job.started', started, start_data), (true, end_event, end_type, ended, end_data))
      AS event (ends, id, type, at, data)
    WHERE starts OR ends
  )
  SELECT array_agg(assignment_id) INTO done FROM settled;
  RETURN coalesce(done, '{}');
END $$;
