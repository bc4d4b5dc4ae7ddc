-- What a workspace may take of the service; null: what holds for every workspace (the settings).
ALTER TABLE workspaces ADD COLUMN max_queued INTEGER;
ALTER TABLE workspaces ADD COLUMN max_running INTEGER;
ALTER TABLE workspaces ADD COLUMN rate_limit INTEGER;

-- Token buckets that every process sees (failed logins); one that is full again has no row.
CREATE TABLE allowances (
  key TEXT PRIMARY KEY,
  tokens REAL NOT NULL,
  at TEXT NOT NULL,
  full_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX allowances_by_time ON allowances (full_at);
