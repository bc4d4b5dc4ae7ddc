-- Links to the pages of insights: gone with their insight.
CREATE TABLE links (
  link_id TEXT PRIMARY KEY,
  link_hash TEXT NOT NULL UNIQUE,
  workspace_id TEXT NOT NULL,
  insight_id TEXT NOT NULL REFERENCES insights ON DELETE CASCADE,
  user_id TEXT NOT NULL,
  label TEXT,
  expires_at TEXT NOT NULL,
  opened_count INTEGER NOT NULL DEFAULT 0,
  last_opened_at TEXT,
  created_at TEXT NOT NULL
) STRICT;
CREATE INDEX links_by_insight ON links (insight_id, created_at, link_id);
CREATE INDEX links_by_expiry ON links (expires_at);
