-- Settles and a claim as one function, leaner than `settle_jobs` and `claim_jobs`, which stay for the version before.

-- A settle sets `progress` and changes no count: that is seen before the function is called, not by it.
CREATE OR REPLACE TRIGGER jobs_moved AFTER UPDATE OF progress ON jobs FOR EACH ROW
  WHEN (OLD.job_status <> NEW.job_status
    AND (OLD.job_status IN ('draft', 'queued') OR NEW.job_status IN ('draft', 'queued')))
  EXECUTE FUNCTION count_job();

-- As JSON.stringify writes a time.
CREATE FUNCTION iso_time(at timestamptz) RETURNS text LANGUAGE sql STABLE AS
$$ SELECT to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') $$;

-- One of `moves`, behind those before it.
CREATE FUNCTION as_move(status text, at text, attempt integer) RETURNS text LANGUAGE sql STABLE AS
$$ SELECT ',{"job_status":"' || status || '","at":"' || at || '","attempt":' || attempt || '}' $$;

-- The time of the last move, whose attempt is the job's. It stands at the end of the text as JSON.stringify writes it;
-- where it does not, the text is parsed, which takes ten times as long.
CREATE FUNCTION last_move_at(moves text, attempt integer) RETURNS text LANGUAGE sql STABLE AS
$$ SELECT CASE WHEN right(moves, 44 + length(attempt::text)) LIKE '"at":"____-__-__T__:__:__.___Z","attempt":' || attempt || '}]'
  THEN left(right(moves, 38 + length(attempt::text)), 24) ELSE moves::json->-1->>'at' END COLLATE "C" $$;

-- Settles first, and then claims, so that a claim finds the places that were freed. The first row bears the ids of what
-- was settled, and each other a job that was taken. The settings are those of `settle_jobs`.
--
-- A settle is written where its lease (attempt, owner) is still held and the job's state is the one that the node knows:
-- active since `claimed_at`, or, where that is null, executing. An active one's start is written with its end, `ran_ms`
-- before it. What is not so, and what somebody in the workspace subscribes to, is left as it is. The jobs come in the
-- order of their ids, in which they are locked.
--
-- The claim is that of `claim_jobs`. The turn 0 says that no other workspace had a queue and no cap was looked at.
CREATE FUNCTION turn_jobs(ids text[], attempts integer[], owners text[], claimed_at timestamptz[], ran_ms double precision[],
  insight_ids text[], bodies text[], skips text[], errors text[], start_events text[], starts_data text[], end_events text[],
  end_types text[], ends_data text[], node text, most integer, cap_of_all integer)
RETURNS TABLE (settled text[], turn integer, folder text, job json) LANGUAGE plpgsql
SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET enable_incremental_sort = off
SET enable_hashjoin = off SET enable_mergejoin = off SET plan_cache_mode = force_generic_plan SET lock_timeout = '5s' AS $$
#variable_conflict use_column
DECLARE
  now timestamptz(3) := clock_timestamp();
  now_text text COLLATE "C" := iso_time(now);
  head record;
  took integer;
  done text[] := '{}';
BEGIN
  IF cardinality(ids) > 0 THEN
    WITH ended AS (
      UPDATE jobs SET job_status = input.status, owner = NULL, insight_id = input.insight_id, skipped = input.skipped,
        error = input.error::json, started_at = coalesce(input.started, jobs.started_at),
        finished_at = greatest(now, input.claimed, jobs.started_at),
        progress = CASE WHEN input.insight_id IS NULL THEN jobs.progress
          ELSE json_build_object('percent', 100, 'step', jobs.progress->'steps', 'steps', jobs.progress->'steps',
            'label', jobs.progress->'label') END,
        moves = (left(jobs.moves::text, -1)
          || CASE WHEN input.started IS NULL THEN '' ELSE as_move('executing', iso_time(input.started), jobs.attempt) END
          || as_move(input.status, CASE WHEN now >= coalesce(input.claimed, jobs.started_at) THEN now_text
               ELSE iso_time(coalesce(input.claimed, jobs.started_at)) END, jobs.attempt) || ']')::json
      FROM (
        SELECT *, (SELECT ctid FROM jobs WHERE assignment_id = id) AS place,
          CASE WHEN insight_id IS NULL THEN 'canceled' ELSE 'completed' END AS status,
          CASE WHEN claimed IS NOT NULL
            THEN greatest((now - greatest(ran, 0) * interval '1 ms')::timestamptz(3), claimed) END AS started
        FROM unnest(ids, attempts, owners, claimed_at, ran_ms, insight_ids, bodies, skips, errors, start_events, starts_data,
          end_events, end_types, ends_data) AS input (id, of_attempt, of_owner, claimed, ran, insight_id, body, skipped, error,
          start_event, start_data, end_event, end_type, end_data) OFFSET 0) AS input
      -- Found by where it lies: whatever the statistics say, nothing else is read.
      WHERE jobs.ctid = input.place AND jobs.attempt = input.of_attempt AND jobs.owner = input.of_owner
        AND jobs.job_status = CASE WHEN input.claimed IS NULL THEN 'executing' ELSE 'active' END
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
  END IF;
  settled := coalesce(done, '{}');
  RETURN NEXT;

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
  now := clock_timestamp();
  now_text := iso_time(now);
  RETURN QUERY UPDATE jobs SET job_status = 'active', owner = node, attempt = jobs.attempt + 1,
      moves = (left(jobs.moves::text, -1) || as_move('active',
        greatest(now_text, last_move_at(jobs.moves::text, jobs.attempt)), jobs.attempt + 1) || ']')::json
    WHERE ctid = ANY (ARRAY (
      SELECT ctid FROM jobs WHERE workspace_id = head.workspace_id AND job_status = 'queued'
      ORDER BY priority DESC, queued_at, assignment_id LIMIT most FOR UPDATE SKIP LOCKED))
    RETURNING NULL::text[], 0, head.data_folder, row_to_json(jobs);
  GET DIAGNOSTICS took = ROW_COUNT;
  IF took > 0 THEN PERFORM count_lane(head.workspace_id, 0, -took); END IF;
END $$;
