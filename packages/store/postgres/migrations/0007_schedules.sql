-- Schedules. `claim_at` is when the scheduler may look at one next: its due time, or a little later while one is at it;
-- the index holds what will ever be due. A job names the schedule that made it, and the call that made it with others.

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

ALTER TABLE jobs ADD COLUMN schedule_id text COLLATE "C";
ALTER TABLE jobs ADD COLUMN scheduled_for timestamptz(3);
ALTER TABLE jobs ADD COLUMN batch_id text COLLATE "C";
CREATE INDEX jobs_by_schedule ON jobs (workspace_id, schedule_id, created_at, assignment_id)
  WHERE schedule_id IS NOT NULL;
CREATE INDEX jobs_by_batch ON jobs (workspace_id, batch_id, created_at, assignment_id) WHERE batch_id IS NOT NULL;
CREATE INDEX jobs_unfinished_of_schedule ON jobs (schedule_id) WHERE schedule_id IS NOT NULL AND finished_at IS NULL;

-- Webhooks that asked for all events get the new one, too.
INSERT INTO subscriptions (workspace_id, event_type, presence_name, webhook_id)
  SELECT workspace_id, 'schedule.failed', presence_name, webhook_id FROM webhooks
  WHERE status = 'enabled' AND events::text LIKE '%"*"%'
    AND presence_name NOT IN ('job.queued', 'job.started', 'job.completed', 'job.failed', 'job.canceled',
      'webhook.test', 'webhook.disabled');
