-- Schedules. `claim_at` is when the scheduler may look at one next: its due time, or a little later while one is at it;
-- the index holds what will ever be due. A job names the schedule that made it, and the call that made it with others.

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
  priority INTEGER NOT NULL,
  metadata TEXT NOT NULL,
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

ALTER TABLE jobs ADD COLUMN schedule_id TEXT;
ALTER TABLE jobs ADD COLUMN scheduled_for TEXT;
ALTER TABLE jobs ADD COLUMN batch_id TEXT;
CREATE INDEX jobs_by_schedule ON jobs (workspace_id, schedule_id, created_at, assignment_id)
  WHERE schedule_id IS NOT NULL;
CREATE INDEX jobs_by_batch ON jobs (workspace_id, batch_id, created_at, assignment_id) WHERE batch_id IS NOT NULL;
CREATE INDEX jobs_unfinished_of_schedule ON jobs (schedule_id) WHERE schedule_id IS NOT NULL AND finished_at IS NULL;

-- Webhooks that asked for all events get the new one, too.
INSERT INTO subscriptions (workspace_id, event_type, presence_name, webhook_id)
  SELECT workspace_id, 'schedule.failed', presence_name, webhook_id FROM webhooks
  WHERE status = 'enabled' AND events LIKE '%"*"%'
    AND presence_name NOT IN ('job.queued', 'job.started', 'job.completed', 'job.failed', 'job.canceled',
      'webhook.test', 'webhook.disabled');
