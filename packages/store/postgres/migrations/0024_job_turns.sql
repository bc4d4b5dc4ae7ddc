-- Settles and a claim as one function, leaner than `settle_jobs` and `claim_jobs`, which stay for the version before.

-- A settle sets `progress` and changes no count: that is seen before the function is called, not by it.
CREATE OR REPLACE TRIGGER jobs_moved AFTER UPDATE OF progress ON jobs FOR EACH ROW
  WHEN (OLD.job_status <> NEW.job_status
    AND (OLD.job_status IN ('draft', 'queued') OR NEW.job_status IN ('draft', 'queued')))
  EXECUTE FUNCTION count_job();

-- `moves` with the last of them, and before it the start where that comes with it.
CREATE FUNCTION ended_moves(moves text, started timestamptz, status text, ended timestamptz, attempt integer) RETURNS text
LANGUAGE sql STABLE AS
$$ SELECT with_move(CASE WHEN started IS NULL THEN moves ELSE with_move(moves, 'executing', started, attempt) END,
  status, ended, attempt) $$;

CREATE FUNCTION ended_progress(progress json) RETURNS json LANGUAGE sql STABLE AS
$$ SELECT json_build_object('percent', 100, 'step', progress->'steps', 'steps', progress->'steps',
  'label', progress->'label') $$;

-- A settle is written where its lease (attempt, owner) is still held and the job's state is the one that the node knows:
-- active since `claimed`, or, where that is null, executing. An active one's start is written with its end, `ran` ms
-- before it. What is not so, and what somebody in the workspace subscribes to, is left as it is. With an insight the job is
-- completed, else canceled. One is settled by plain statements: half of the time that it would take as one of many is the
-- beginning of that plan.
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
    AND NOT EXISTS (SELECT 1 FROM subscriptions WHERE subscriptions.workspace_id = jobs.workspace_id)
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

-- The same for many, in the order in which they come. Answers the ids of those that were left as they are.
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
      AND NOT EXISTS (SELECT 1 FROM subscriptions WHERE subscriptions.workspace_id = jobs.workspace_id)
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

-- Settles, in the order of their ids, in which they are locked, and then claims, so that a claim finds the places that
-- were freed. The first row bears the ids of what was not settled, and each other a job that was taken. The
-- settings are those of `settle_jobs`.
--
-- The claim is that of `claim_jobs`. The turn 0 says that no other workspace had a queue and no cap was looked at.
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
  IF took > 0 THEN PERFORM count_lane(head.workspace_id, 0, -took); END IF;
END $$;
